"""Semantic crawler with the text similarity of Corley and Mihalcea 2005, mentioned in Batsakis 2007, section 3.3."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from topicrawl.errors import StrategyError
from topicrawl.relevance.semantic_similarity import LiMeasure, PathMeasure, corley_mihalcea
from topicrawl.relevance.term_similarity import OntologyTerms, TermSimilarity
from topicrawl.strategies.semantic import TermSimilarityStrategy
from topicrawl.topic import Topic


@dataclass
class CorleyMihalcea(TermSimilarityStrategy):
    """Score a link by how well the words of its anchor text and of the topic match each other pairwise.

        Priority(i) = ½ · (Σⱼ maxₖ sim(tⱼ, tₖ)·idfⱼ / Σⱼ idfⱼ  +  Σₖ maxⱼ sim(tⱼ, tₖ)·idfₖ / Σₖ idfₖ)

    tⱼ, tₖ: terms of the anchor i and of the topic, each once; idf: inverse document frequency. `measure` is the word
    similarity: `li` (equation 4 of the thesis) or `path` (equation 3). A text has the similarity 1 to itself.

    >>> from random import Random
    >>> from topicrawl.relevance.vsm import Vsm
    >>> from topicrawl.strategies.base import StrategyContext
    >>> crawler = CorleyMihalcea(measure="path")
    >>> crawler.bind(StrategyContext(Topic.of("car"), Vsm(Topic.of("car")), Random(0)))
    >>> crawler.compute_similarity(["cars"]), crawler.compute_similarity(["bicycle"]), crawler.compute_similarity([])
    (1.0, 0.25, 0.0)
    """

    name = "corley_mihalcea"
    paper = "Corley and Mihalcea 2005; Batsakis 2007, 3.3"

    measure: str = "li"  # li or path

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.measure not in ("li", "path"):
            raise StrategyError(f"corley_mihalcea: measure is li or path, not {self.measure!r}")

    def prepare_similarity(self, topic: Topic, terms: OntologyTerms) -> None:
        """Create the term similarity that `measure` names."""
        self._term_similarity = TermSimilarity(
            terms, LiMeasure() if self.measure == "li" else PathMeasure(), min_similarity=self.least
        )

    def compute_similarity(self, words: Sequence[str]) -> float:
        """Return the similarity of a text to the topic, from 0 to 1."""
        likeness = self._term_similarity
        # This measure counts each term once, independent of its frequency.
        rows = likeness.build_rows(dict.fromkeys(likeness.terms.count_terms(words), 1.0))
        return min(1.0, corley_mihalcea(rows, likeness.topic_weights))
