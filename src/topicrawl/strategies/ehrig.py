"""Semantic crawler after Ehrig and Maedche: Batsakis 2007, sections 2.4 and 3.3.1, equations 3 and 8.

The anchor text of a link represents its target page, as in the thesis. The parameter `page` adds the page that contains
the link. The ontology is WordNet, as in the thesis, or a thesaurus of the topic's field, as in its outlook.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from topicrawl.errors import StrategyError
from topicrawl.relevance.semantic_similarity import PathMeasure, scale_to_unit, weighted_sum
from topicrawl.relevance.term_similarity import OntologyTerms, TermSimilarity
from topicrawl.strategies.semantic import TermSimilarityStrategy
from topicrawl.topic import Topic


@dataclass
class Ehrig(TermSimilarityStrategy):
    """Score a link by the distance between the words of its anchor text and the topic's words in the ontology.

        Priority(i) = Σⱼ Σₖ sim(tⱼ, tₖ) · wij · wqk,   sim(tⱼ, tₖ) = df^sp(tⱼ, tₖ)                  (8, 3)

    tⱼ, tₖ: terms of the anchor i and of the topic q; w: their tf weights; sp: the length of the path between the terms,
    0 within a synset; df: `factor`. The sum grows with the length of the anchor, as the thesis specifies. x / (1 + x)
    maps it to the range from 0 to 1 and keeps the order. Other relations: `neighbours` and `is_a`, see
    `topicrawl.relevance.semantic_similarity`.

    "Automobile" is a synonym of "car": 1 / (1 + 1). A bicycle and a (railway) car are both wheeled vehicles, two steps
    apart: .25 / (1 + .25).

    >>> from random import Random
    >>> from topicrawl.models import Link, Page, Priority, Visit
    >>> from topicrawl.relevance.vsm import Vsm
    >>> from topicrawl.strategies.base import StrategyContext
    >>> crawler = Ehrig()
    >>> crawler.bind(StrategyContext(Topic.of("car"), Vsm(Topic.of("car")), Random(0)))
    >>> visit = Visit(1, Link("http://a/"), Priority(1.0), "http://a/", Page("http://a/"))
    >>> links = [Link("http://b/", anchor="Automobiles"), Link("http://c/", anchor="bicycle")]
    >>> [round(priority.score, 6) for priority in crawler.score_links(links, visit)]
    [0.5, 0.2]
    """

    name = "ehrig"
    paper = "Batsakis 2007, 3.3.1, Eq 3, 8"

    relation: str = "path"  # path, neighbours or is_a
    factor: float = 0.5  # factor on the similarity per step of the path

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.relation not in ("path", "neighbours", "is_a"):
            raise StrategyError(f"ehrig: relation is path, neighbours or is_a, not {self.relation!r}")
        if not 0 < self.factor < 1:
            raise StrategyError(f"ehrig: factor is {self.factor}, it must be between 0 and 1")

    def prepare_similarity(self, topic: Topic, terms: OntologyTerms) -> None:
        """Create the term similarity of equation 3."""
        self._term_similarity = TermSimilarity(
            terms, PathMeasure(self.factor, self.relation), use_idf=False, min_similarity=self.least
        )

    def compute_similarity(self, words: Sequence[str]) -> float:
        """Return the similarity of a text to the topic (equation 8), from 0 to 1."""
        likeness = self._term_similarity
        return scale_to_unit(
            weighted_sum(likeness.build_rows(likeness.terms.count_terms(words)), likeness.topic_weights)
        )
