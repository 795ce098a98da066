"""The semantic crawler with synonym set expansion: Batsakis 2007, the second section 3.2.3, equation 10."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from topicrawl.errors import StrategyError
from topicrawl.records import Page
from topicrawl.relevance.likeness import Terms
from topicrawl.relevance.vsm import Vsm
from topicrawl.strategies.semantic import Semantic
from topicrawl.text.vectors import cosine
from topicrawl.topic import Topic

#: Words whose synonyms are kept; some 20 MB when full.
_KEPT = 20_000


@dataclass
class SynsetExpansion(Semantic):
    """Best-first by page and anchor, with the synonyms of the topic's words and of the anchor's.

        Priority(i) = (similarity(pᵢ, q̂) + similarity(âᵢ, q̂)) / 2                                   (10)

    pᵢ: the page the link i stands on; âᵢ: its anchor text and q̂: the topic, both with the synonyms of their words added
    (all terms that share a synset with them, or those of the first `senses` meanings); similarity: the cosine of
    tf·idf vectors. A synonym has the frequency of the word it stands for; its words count one by one.

    "Automobile" and "car" have the same synonyms but for other meanings of "car": a railway carriage, a gondola.

    >>> from random import Random
    >>> from topicrawl.strategies.strategy import Setting
    >>> crawler = SynsetExpansion(senses=1)
    >>> crawler.begin(Setting(Topic.of("car"), Vsm(Topic.of("car")), Random(0)))
    >>> round(crawler.alike(["automobile"]), 6), crawler.alike(["bicycle"])
    (1.0, 0.0)
    """

    name = "synset_expansion"
    paper = "Batsakis 2007, 3.2.3, Eq 10"

    page: float = 0.5
    anchor: float = 0.5
    senses: int = 0  # how many meanings of a word give synonyms, the most usual first; 0: all

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.senses < 0:
            raise StrategyError(f"synset_expansion: senses is {self.senses}, it must be 0 or more")

    def open(self, topic: Topic, terms: Terms) -> None:
        self._terms = terms
        self._stems: Callable[[str], tuple[str, ...]] = lru_cache(_KEPT)(self._expanded_stems)
        words: dict[str, tuple[str, float]] = {}  # stem → the first word of it, and the weight
        for term, weight in self._terms.topic.items():
            for word in (*term.split(" "), *self._synonyms(term)):
                first, most = words.get(self._terms.stem(word), (word, 0.0))
                words[self._terms.stem(word)] = (first, max(most, weight))
        self._vsm = Vsm(Topic(topic.name, dict(words.values()), languages=topic.languages))

    def page_alike(self, page: Page) -> float:
        return self._vsm.score(page)

    def alike(self, words: Sequence[str]) -> float:
        counts = self._terms.counts(words)
        expanded: dict[str, float] = {}
        for term, count in counts.items():
            for stem in self._stems(term):
                expanded[stem] = expanded.get(stem, 0.0) + count
        if self._vsm.query.keys().isdisjoint(expanded):
            return 0.0
        idf = self._terms.lexicon.idf
        return cosine({stem: count * idf(stem) for stem, count in expanded.items()}, self._vsm.query)

    def _expanded_stems(self, term: str) -> tuple[str, ...]:
        """What a term of an anchor adds: itself, if it is a word, and the words of its synonyms."""
        own = () if " " in term else (term,)
        return tuple(dict.fromkeys(map(self._terms.stem, (*own, *self._synonyms(term)))))

    def _synonyms(self, term: str) -> list[str]:
        """The words of a term's synonyms, without stop words and without its own."""
        words = " ".join(self._terms.ontology.synonyms(term, self.senses)).split()
        own = set(self._terms.stem(term).split(" "))
        stems = self._terms.lexicon.aligned(words)
        return [word for word, stem in zip(words, stems, strict=True) if stem and stem not in own]
