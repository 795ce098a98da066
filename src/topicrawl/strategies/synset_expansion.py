"""Semantic crawler with synonym set expansion: Batsakis 2007, the second section 3.2.3, equation 10."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from topicrawl.errors import StrategyError
from topicrawl.models import Page
from topicrawl.relevance.term_similarity import OntologyTerms
from topicrawl.relevance.vsm import Vsm
from topicrawl.strategies.semantic import SemanticStrategy
from topicrawl.text.sparse_vectors import cosine
from topicrawl.topic import Topic

#: Size of the cache of expanded terms, about 20 MB when full.
_CACHED_TERMS = 20_000


@dataclass
class SynsetExpansion(SemanticStrategy):
    """Best-first by page and anchor text, with synonyms added to the words of the topic and the anchor.

        Priority(i) = (similarity(pᵢ, q̂) + similarity(âᵢ, q̂)) / 2                                   (10)

    pᵢ: the page that contains the link i; âᵢ: its anchor text and q̂: the topic, both with the synonyms of their words
    added (all terms that share a synset with them, or only those of the first `senses` meanings); similarity: the
    cosine of tf·idf vectors. A synonym has the frequency of its word. The words of a multi-word synonym count
    separately.

    "Automobile" and "car" have the same synonyms, except for other meanings of "car": a railway carriage, a gondola.

    >>> from random import Random
    >>> from topicrawl.strategies.base import StrategyContext
    >>> crawler = SynsetExpansion(senses=1)
    >>> crawler.bind(StrategyContext(Topic.of("car"), Vsm(Topic.of("car")), Random(0)))
    >>> round(crawler.compute_similarity(["automobile"]), 6), crawler.compute_similarity(["bicycle"])
    (1.0, 0.0)
    """

    name = "synset_expansion"
    paper = "Batsakis 2007, 3.2.3, Eq 10"

    page: float = 0.5
    anchor: float = 0.5
    senses: int = 0  # number of meanings of a word that give synonyms, the most frequent first; 0: all

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.senses < 0:
            raise StrategyError(f"synset_expansion: senses is {self.senses}, it must be 0 or more")

    def prepare_similarity(self, topic: Topic, terms: OntologyTerms) -> None:
        """Expand the topic with synonyms."""
        self._terms = terms
        self._cached_expansion: Callable[[str], tuple[str, ...]] = lru_cache(_CACHED_TERMS)(self._expand_term)
        words: dict[str, tuple[str, float]] = {}  # stem → its first word and the weight
        for term, weight in self._terms.topic_weights.items():
            for word in (*term.split(" "), *self._list_synonyms(term)):
                first, most = words.get(self._terms.stem(word), (word, 0.0))
                words[self._terms.stem(word)] = (first, max(most, weight))
        expanded = Topic(topic.name, dict(words.values()), languages=topic.languages)
        self._expanded_vsm = Vsm(expanded, self.context.vsm.vocabularies)

    def compute_page_similarity(self, page: Page) -> float:
        """Return the similarity of a page to the expanded topic."""
        return self._expanded_vsm.score(page)

    def compute_similarity(self, words: Sequence[str]) -> float:
        """Return the similarity of a text, expanded with synonyms, to the expanded topic."""
        counts = self._terms.count_terms(words)
        expanded: dict[str, float] = {}
        for term, count in counts.items():
            for stem in self._cached_expansion(term):
                expanded[stem] = expanded.get(stem, 0.0) + count
        if self._expanded_vsm.query.keys().isdisjoint(expanded):
            return 0.0
        idf = self._terms.lexicon.idf
        return cosine({stem: count * idf(stem) for stem, count in expanded.items()}, self._expanded_vsm.query)

    def _expand_term(self, term: str) -> tuple[str, ...]:
        """Return the stems that an anchor term adds: its own stem if it is one word, and the stems of its synonyms."""
        own = () if " " in term else (term,)
        return tuple(dict.fromkeys(map(self._terms.stem, (*own, *self._list_synonyms(term)))))

    def _list_synonyms(self, term: str) -> list[str]:
        """Return the words of a term's synonyms, without stop words and without the term's own words."""
        words = " ".join(self._terms.ontology.get_synonyms(term, self.senses)).split()
        own = set(self._terms.stem(term).split(" "))
        stems = self._terms.lexicon.align_terms(words)
        return [word for word, stem in zip(words, stems, strict=True) if stem and stem not in own]
