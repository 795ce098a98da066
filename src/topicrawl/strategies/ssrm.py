"""The semantic crawler by the Semantic Similarity Retrieval Model: Batsakis 2007, section 3.3.2, equations 4 and 9.

The page a link leads to is represented by the link's anchor text, as in the thesis; `page` adds the page the link
stands on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from topicrawl.errors import StrategyError
from topicrawl.relevance.likeness import Likeness, Terms
from topicrawl.relevance.semantic import Li, bounded, ssrm
from topicrawl.strategies.semantic import TermByTerm
from topicrawl.topic import Topic


@dataclass
class Ssrm(TermByTerm):
    """A link is worth the similarity of its anchor to the topic in the Semantic Similarity Retrieval Model.

        Priority(i) = Σₖ Σⱼ sim(tₖ, tⱼ)·wik·wqj / (√Σⱼ wij² · √Σⱼ wqj²),   sim = exp(−a·L)·tanh(b·H)   (9, 4)

    tₖ, tⱼ: terms of the anchor i and of the topic q; w: their tf·idf weights; L: steps between the terms; H: depth of
    what they have in common. The printed form has no bound: x / (1 + x) brings it between 0 and 1 and keeps the order.
    `form=original` divides by Σₖ Σⱼ wik·wqj, as the model's authors do, which needs no bound.

    An anchor of the topic's own single word: 1 as printed, so ½.

    >>> from random import Random
    >>> from topicrawl.relevance.vsm import Vsm
    >>> from topicrawl.strategies.strategy import Setting
    >>> crawler = Ssrm()
    >>> crawler.begin(Setting(Topic.of("asthma"), Vsm(Topic.of("asthma")), Random(0)))
    >>> round(crawler.alike(["asthma"]), 6), crawler.alike(["zzzz"])
    (0.5, 0.0)
    """

    name = "ssrm"
    paper = "Batsakis 2007, 3.3.2, Eq 4, 9"

    form: str = "printed"  # printed or original
    a: float = 0.2  # how fast similarity falls with the length of the path
    b: float = 0.6  # how fast it rises with depth

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.form not in ("printed", "original"):
            raise StrategyError(f"ssrm: form is printed or original, not {self.form!r}")
        if self.a < 0 or self.b <= 0:
            raise StrategyError("ssrm: a must be 0 or more and b above 0")

    def open(self, topic: Topic, terms: Terms) -> None:
        self._likeness = Likeness(terms, Li(self.a, self.b), least=self.least)

    def alike(self, words: Sequence[str]) -> float:
        likeness = self._likeness
        rows = likeness.rows(likeness.terms.counts(words))
        if self.form == "original":
            return min(1.0, ssrm(rows, likeness.topic, printed=False))
        return bounded(ssrm(rows, likeness.topic))
