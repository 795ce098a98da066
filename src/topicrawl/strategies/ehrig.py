"""The semantic crawler after Ehrig and Maedche: Batsakis 2007, sections 2.4 and 3.3.1, equations 3 and 8.

The page a link leads to is represented by the link's anchor text, as in the thesis; `page` adds the page the link
stands on. The ontology is WordNet, as in the thesis, or a thesaurus of the topic's field, as in its outlook.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from topicrawl.errors import StrategyError
from topicrawl.relevance.likeness import Likeness, Terms
from topicrawl.relevance.semantic import Path, bounded, weighted_sum
from topicrawl.strategies.semantic import TermByTerm
from topicrawl.topic import Topic


@dataclass
class Ehrig(TermByTerm):
    """A link is worth the more, the nearer the words of its anchor are to the topic's words in the ontology.

        Priority(i) = Σⱼ Σₖ sim(tⱼ, tₖ) · wij · wqk,   sim(tⱼ, tₖ) = df^sp(tⱼ, tₖ)                  (8, 3)

    tⱼ, tₖ: terms of the anchor i and of the topic q; w: their tf weights; sp: the length of the path between the terms,
    0 within a synset; df: `factor`. The sum grows with the anchor's length, as the thesis wants it; x / (1 + x) brings
    it between 0 and 1 and keeps the order. Other relations: `neighbours` and `is_a`, see `relevance.semantic.Path`.

    "Automobile" is a synonym of "car", 1 / (1 + 1); a bicycle and a (railway) car are both wheeled vehicles, two steps
    apart, .25 / (1 + .25):

    >>> from random import Random
    >>> from topicrawl.records import Link, Page, Place, Visit
    >>> from topicrawl.relevance.vsm import Vsm
    >>> from topicrawl.strategies.strategy import Setting
    >>> crawler = Ehrig()
    >>> crawler.begin(Setting(Topic.of("car"), Vsm(Topic.of("car")), Random(0)))
    >>> visit = Visit(1, Link("http://a/"), Place(1.0), "http://a/", Page("http://a/"))
    >>> links = [Link("http://b/", anchor="Automobiles"), Link("http://c/", anchor="bicycle")]
    >>> [round(place.score, 6) for place in crawler.place(links, visit)]
    [0.5, 0.2]
    """

    name = "ehrig"
    paper = "Batsakis 2007, 3.3.1, Eq 3, 8"

    relation: str = "path"  # path, neighbours or is_a
    factor: float = 0.5  # what is left of similarity with each step of the path

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.relation not in ("path", "neighbours", "is_a"):
            raise StrategyError(f"ehrig: relation is path, neighbours or is_a, not {self.relation!r}")
        if not 0 < self.factor < 1:
            raise StrategyError(f"ehrig: factor is {self.factor}, it must be between 0 and 1")

    def open(self, topic: Topic, terms: Terms) -> None:
        self._likeness = Likeness(terms, Path(self.factor, self.relation), rare=False, least=self.least)

    def alike(self, words: Sequence[str]) -> float:
        likeness = self._likeness
        return bounded(weighted_sum(likeness.rows(likeness.terms.counts(words)), likeness.topic))
