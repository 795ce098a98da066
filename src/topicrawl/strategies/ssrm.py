"""Semantic crawler with the Semantic Similarity Retrieval Model: Batsakis 2007, section 3.3.2, equations 4 and 9.

The anchor text of a link represents its target page, as in the thesis. The parameter `page` adds the page that contains
the link.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from topicrawl.errors import StrategyError
from topicrawl.relevance.semantic_similarity import LiMeasure, scale_to_unit, ssrm
from topicrawl.relevance.term_similarity import OntologyTerms, TermSimilarity
from topicrawl.strategies.semantic import TermSimilarityStrategy
from topicrawl.topic import Topic


@dataclass
class Ssrm(TermSimilarityStrategy):
    """Score a link by the similarity of its anchor text to the topic in the Semantic Similarity Retrieval Model.

        Priority(i) = Σₖ Σⱼ sim(tₖ, tⱼ)·wik·wqj / Σₖ Σⱼ wik·wqj,   sim = exp(−a·L)·tanh(b·H)             (9, 4)

    tₖ, tⱼ: terms of the anchor i and of the topic q; w: their tf·idf weights; L: the number of steps between the terms;
    H: the depth of their common ancestor. This is the form of the authors of the model. The form printed in the thesis
    (`form=printed`) divides by √Σⱼ wij² · √Σⱼ wqj² and grows with the number of words, so that many unrelated words
    outweigh a word of the topic. It has no upper bound: x / (1 + x) maps it to the range from 0 to 1.

    An anchor that is the only word of the topic scores 1:

    >>> from random import Random
    >>> from topicrawl.relevance.vsm import Vsm
    >>> from topicrawl.strategies.base import StrategyContext
    >>> crawler = Ssrm()
    >>> crawler.bind(StrategyContext(Topic.of("asthma"), Vsm(Topic.of("asthma")), Random(0)))
    >>> round(crawler.compute_similarity(["asthma"]), 6), crawler.compute_similarity(["zzzz"])
    (1.0, 0.0)
    """

    name = "ssrm"
    paper = "Batsakis 2007, 3.3.2, Eq 4, 9"

    form: str = "original"  # original or printed
    a: float = 0.2  # rate at which the similarity falls with the length of the path
    b: float = 0.6  # rate at which it rises with the depth

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.form not in ("printed", "original"):
            raise StrategyError(f"ssrm: form is original or printed, not {self.form!r}")
        if self.a < 0 or self.b <= 0:
            raise StrategyError("ssrm: a must be 0 or more and b above 0")

    def prepare_similarity(self, topic: Topic, terms: OntologyTerms) -> None:
        """Create the term similarity of equation 4."""
        self._term_similarity = TermSimilarity(terms, LiMeasure(self.a, self.b), min_similarity=self.least)

    def compute_similarity(self, words: Sequence[str]) -> float:
        """Return the similarity of a text to the topic (equation 9), from 0 to 1."""
        likeness = self._term_similarity
        rows = likeness.build_rows(likeness.terms.count_terms(words))
        if self.form == "original":
            return min(1.0, ssrm(rows, likeness.topic_weights, printed=False))
        return scale_to_unit(ssrm(rows, likeness.topic_weights))
