"""From texts to what `relevance.semantic` compares: their terms, what these weigh, how alike they are to the topic's.

A text's terms are its words without stop words, and the terms of several words that the ontology knows: "hot dog
stand" is hot, dog, stand and "hot dog". Words with the same stem are one term and fully alike, whether the ontology
knows them or not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache

from topicrawl.relevance.semantic import Measure, Row
from topicrawl.text.ontology import Ontology
from topicrawl.text.tokens import words as tokenise
from topicrawl.topic import Topic

#: Terms whose similarities to the topic are kept; some 20 MB when full.
_KEPT = 50_000


class Terms:
    """The terms of texts, and the topic's own.

    >>> from topicrawl.text.wordnet import wordnet
    >>> terms = Terms(Topic.of("dengue fever"), wordnet())
    >>> terms.topic
    {'dengue': 1.0, 'fever': 1.0, 'dengue fever': 1.0}
    >>> terms.counts(tokenise("A fever, fevers and the weather"))
    {'fever': 2.0, 'weather': 1.0}
    """

    def __init__(self, topic: Topic, ontology: Ontology) -> None:
        self.ontology = ontology
        self.lexicon = topic.lexicon
        parts = [(token, weight) for word, weight in topic.words.items() for token in tokenise(word)]
        # The topic's own words are never stop words.
        self._own = frozenset(token for token, _ in parts if not self.lexicon.terms([token]))
        self.stem: Callable[[str], str] = lru_cache(_KEPT)(self._stem)
        heavy: dict[str, float] = {}
        for token, weight in parts:
            heavy[token] = heavy.get(token, 0.0) + weight
        for phrase in ontology.phrases([token for token, _ in parts]):
            heavy[phrase] = min(heavy[word] for word in phrase.split(" "))
        most = max(heavy.values(), default=1.0)
        self.topic = {term: weight / most for term, weight in self._merged(heavy.items()).items()}

    def counts(self, words: Sequence[str]) -> dict[str, float]:
        """Term → how often it occurs, under the first of its forms."""
        return self._merged(Counter([*words, *self.ontology.phrases(words)]).items())

    def idf(self, term: str) -> float:
        """How rare a term is: as its rarest word."""
        return max(map(self.lexicon.idf, self.stem(term).split(" ")))

    def _merged(self, items: Iterable[tuple[str, float]]) -> dict[str, float]:
        first: dict[str, str] = {"": ""}
        found: dict[str, float] = {}
        for term, weight in items:
            form = first.setdefault(self.stem(term), term)
            found[form] = found.get(form, 0.0) + weight
        found.pop("", None)
        return found

    def _stem(self, term: str) -> str:
        """What the inflections of a term have in common; nothing for a stop word."""
        if " " in term:
            return " ".join(map(self.lexicon.stem, term.split(" ")))
        return self.lexicon.stem(term) if term in self._own else self.lexicon.aligned((term,))[0]


class Likeness:
    """How alike texts are to a topic, term by term.

    >>> from topicrawl.relevance.semantic import Path
    >>> from topicrawl.text.wordnet import wordnet
    >>> cars = Likeness(Terms(Topic.of("cars"), wordnet()), Path())
    >>> cars.of("car"), cars.of("automobiles"), cars.of("bicycle"), cars.of("qqqq")
    ((1.0,), (1.0,), (0.25,), (0.0,))
    """

    def __init__(self, terms: Terms, measure: Measure, *, rare: bool = True, least: float = 0.0) -> None:
        self.terms = terms
        self._measure = measure
        self._rare = rare  # whether rare terms weigh more: tf·idf instead of tf
        self._least = least  # similarities below count as none
        self._stems = list(map(terms.stem, terms.topic))
        self._above = list(map(self._climb, terms.topic))
        self.topic = [weight * self._rarity(term) for term, weight in terms.topic.items()]
        self._nothing = (0.0,) * len(self.topic)  # shared by the many names that nobody knows
        self._kept: Callable[[str], Row] = lru_cache(_KEPT)(self._row)

    def of(self, term: str) -> tuple[float, ...]:
        """The similarities of a term to the topic's terms."""
        return tuple(self._kept(term)[1])

    def rows(self, counts: Mapping[str, float]) -> list[Row]:
        """The terms of a text by their frequencies relative to the most frequent one, as rows."""
        most = max(counts.values(), default=1.0)
        kept = map(self._kept, counts)
        return [(count / most * rarity, alike) for count, (rarity, alike) in zip(counts.values(), kept, strict=True)]

    def _row(self, term: str) -> Row:
        stem, above = self.terms.stem(term), self._climb(term)
        between, ontology = self._measure.between, self.terms.ontology
        pairs = zip(self._stems, self._above, strict=True)
        if not above and stem not in self._stems:
            return self._rarity(term), self._nothing
        alike = [1.0 if own == stem else between(ontology, above, there) for own, there in pairs]
        return self._rarity(term), tuple([value if value >= self._least else 0.0 for value in alike])

    def _rarity(self, term: str) -> float:
        return self.terms.idf(term) if self._rare else 1.0

    def _climb(self, term: str) -> dict[int, int]:
        ontology = self.terms.ontology
        return ontology.climb(ontology.senses(term), parts=self._measure.parts)
