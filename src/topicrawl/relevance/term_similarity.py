"""Prepare texts for `topicrawl.relevance.semantic_similarity`: terms, weights and similarities to the topic's terms.

The terms of a text are its words without stop words. A multi-word term of the ontology replaces its words if the
ontology does not contain all of them. It is never counted in addition to its words, because equations 8 and 9 would
count the same evidence twice: "steam engine" gives steam and engine, and "Aedes aegypti" is one term. Words with the
same stem are one term with similarity 1, even if the ontology does not contain them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache

from topicrawl.relevance.semantic_similarity import SimilarityMeasure, SimilarityRow
from topicrawl.text.ontology import Ontology
from topicrawl.text.tokenizer import tokenise
from topicrawl.topic import Topic

#: Terms whose similarities to the topic are cached; about 20 MB when full.
_CACHE_SIZE = 50_000


class OntologyTerms:
    """Extract the terms of texts and of the topic.

    >>> from topicrawl.text.wordnet import load_wordnet
    >>> terms = OntologyTerms(Topic.of("dengue fever"), load_wordnet())
    >>> terms.topic_weights
    {'dengue': 1.0, 'fever': 1.0}
    >>> terms.count_terms(tokenise("A fever, fevers and the weather"))
    {'fever': 2.0, 'weather': 1.0}
    """

    def __init__(self, topic: Topic, ontology: Ontology) -> None:
        self.ontology = ontology
        self.lexicon = topic.lexicon
        parts = [(token, weight) for word, weight in topic.words.items() for token in tokenise(word)]
        # The words of the topic are never stop words.
        self._keep_words = frozenset(token for token, _ in parts if not self.lexicon.extract_terms([token]))
        self.stem: Callable[[str], str] = lru_cache(_CACHE_SIZE)(self._compute_stem)
        weights: dict[str, float] = {}
        for token, weight in parts:
            weights[token] = weights.get(token, 0.0) + weight
        for phrase in self._find_terms([token for token, _ in parts]):
            weights[phrase] = min(weights[word] for word in phrase.split(" "))
            for word in phrase.split(" "):
                weights[word] -= weights[phrase]
        weights = {term: weight for term, weight in weights.items() if weight > 0}
        heaviest = max(weights.values(), default=1.0)
        self.topic_weights = {term: weight / heaviest for term, weight in self._merge_forms(weights.items()).items()}

    def count_terms(self, words: Sequence[str]) -> dict[str, float]:
        """Count the terms of a text. Inflected forms count for the first form in the text."""
        counts = Counter(words)
        for phrase in self._find_terms(words):
            counts[phrase] += 1
            counts.subtract(phrase.split(" "))
        return self._merge_forms(item for item in counts.items() if item[1] > 0)

    def _find_terms(self, words: Sequence[str]) -> list[str]:
        """Return the multi-word terms in a text that replace their words: the ontology lacks one of the words."""
        get_senses = self.ontology.get_senses
        phrases = self.ontology.find_phrases(words)
        return [phrase for phrase in phrases if not all(map(get_senses, phrase.split(" ")))]

    def idf(self, term: str) -> float:
        """Return the idf of a term. A multi-word term has the idf of its rarest word."""
        return max(map(self.lexicon.idf, self.stem(term).split(" ")))

    def _merge_forms(self, items: Iterable[tuple[str, float]]) -> dict[str, float]:
        """Sum the weights of all forms of a term under its first form. Stop words are dropped."""
        first_form: dict[str, str] = {"": ""}
        merged: dict[str, float] = {}
        for term, weight in items:
            form = first_form.setdefault(self.stem(term), term)
            merged[form] = merged.get(form, 0.0) + weight
        merged.pop("", None)
        return merged

    def _compute_stem(self, term: str) -> str:
        """Return the stem of a term, or "" for a stop word."""
        if " " in term:
            return " ".join(map(self.lexicon.stem, term.split(" ")))
        return self.lexicon.stem(term) if term in self._keep_words else self.lexicon.align_terms((term,))[0]


class TermSimilarity:
    """Similarity of the terms of a text to the terms of a topic.

    >>> from topicrawl.relevance.semantic_similarity import PathMeasure
    >>> from topicrawl.text.wordnet import load_wordnet
    >>> cars = TermSimilarity(OntologyTerms(Topic.of("cars"), load_wordnet()), PathMeasure())
    >>> (
    ...     cars.get_similarities("car"),
    ...     cars.get_similarities("automobiles"),
    ...     cars.get_similarities("bicycle"),
    ...     cars.get_similarities("qqqq"),
    ... )
    ((1.0,), (1.0,), (0.25,), (0.0,))
    """

    def __init__(
        self, terms: OntologyTerms, measure: SimilarityMeasure, *, use_idf: bool = True, min_similarity: float = 0.0
    ) -> None:
        self.terms = terms
        self._measure = measure
        self._use_idf = use_idf  # whether terms are weighted by tf·idf instead of tf
        self._min_similarity = min_similarity  # lower similarities count as 0
        self._topic_stems = list(map(terms.stem, terms.topic_weights))
        self._topic_ancestors = list(map(self._get_ancestors, terms.topic_weights))
        self.topic_weights = [weight * self._get_idf(term) for term, weight in terms.topic_weights.items()]
        self._zero_similarities = (0.0,) * len(
            self.topic_weights
        )  # shared by the many names that are not in the ontology
        self._get_cached_row: Callable[[str], SimilarityRow] = lru_cache(_CACHE_SIZE)(self._build_row)

    def get_similarities(self, term: str) -> tuple[float, ...]:
        """Return the similarities of a term to the topic's terms."""
        return tuple(self._get_cached_row(term)[1])

    def build_rows(self, counts: Mapping[str, float]) -> list[SimilarityRow]:
        """Return the rows of a text: term frequencies relative to the most frequent term, and similarities."""
        highest = max(counts.values(), default=1.0)
        cached = map(self._get_cached_row, counts)
        return [
            (count / highest * rarity, similarities)
            for count, (rarity, similarities) in zip(counts.values(), cached, strict=True)
        ]

    def _build_row(self, term: str) -> SimilarityRow:
        stem, above = self.terms.stem(term), self._get_ancestors(term)
        between, ontology = self._measure.compare_ancestors, self.terms.ontology
        pairs = zip(self._topic_stems, self._topic_ancestors, strict=True)
        if not above and stem not in self._topic_stems:
            return self._get_idf(term), self._zero_similarities
        similarities = [
            1.0 if topic_stem == stem else between(ontology, above, topic_above) for topic_stem, topic_above in pairs
        ]
        return self._get_idf(term), tuple([value if value >= self._min_similarity else 0.0 for value in similarities])

    def _get_idf(self, term: str) -> float:
        return self.terms.idf(term) if self._use_idf else 1.0

    def _get_ancestors(self, term: str) -> dict[int, int]:
        ontology = self.terms.ontology
        return ontology.get_ancestors(ontology.get_senses(term), include_parts=self._measure.include_parts)
