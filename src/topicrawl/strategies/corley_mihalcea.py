"""A semantic crawler by the text similarity of Corley and Mihalcea 2005, which Batsakis 2007, section 3.3, names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from topicrawl.errors import StrategyError
from topicrawl.relevance.likeness import Likeness, Terms
from topicrawl.relevance.semantic import Li, Path, corley_mihalcea
from topicrawl.strategies.semantic import TermByTerm
from topicrawl.topic import Topic


@dataclass
class CorleyMihalcea(TermByTerm):
    """A link is worth how well each word of its anchor finds a like one in the topic, and the other way round.

        Priority(i) = ½ · (Σⱼ maxₖ sim(tⱼ, tₖ)·idfⱼ / Σⱼ idfⱼ  +  Σₖ maxⱼ sim(tⱼ, tₖ)·idfₖ / Σₖ idfₖ)

    tⱼ, tₖ: terms of the anchor i and of the topic, each once; idf: how rare they are. `measure` is the similarity of
    words: `li` (equation 4 of the thesis) or `path` (equation 3). A text compares to itself with 1.

    >>> from random import Random
    >>> from topicrawl.relevance.vsm import Vsm
    >>> from topicrawl.strategies.strategy import Setting
    >>> crawler = CorleyMihalcea(measure="path")
    >>> crawler.begin(Setting(Topic.of("car"), Vsm(Topic.of("car")), Random(0)))
    >>> crawler.alike(["cars"]), crawler.alike(["bicycle"]), crawler.alike([])
    (1.0, 0.25, 0.0)
    """

    name = "corley_mihalcea"
    paper = "Corley and Mihalcea 2005; Batsakis 2007, 3.3"

    measure: str = "li"  # li or path

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.measure not in ("li", "path"):
            raise StrategyError(f"corley_mihalcea: measure is li or path, not {self.measure!r}")

    def open(self, topic: Topic, terms: Terms) -> None:
        self._likeness = Likeness(terms, Li() if self.measure == "li" else Path(), least=self.least)

    def alike(self, words: Sequence[str]) -> float:
        likeness = self._likeness
        # In this measure a term counts once, however often it is said.
        rows = likeness.rows(dict.fromkeys(likeness.terms.counts(words), 1.0))
        return min(1.0, corley_mihalcea(rows, likeness.topic))
