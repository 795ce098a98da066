"""Fish-Search: De Bra, Houben, Kornatzky and Post 1994; Batsakis 2007, section 2.3.

One of the first crawlers that looked at what it fetched, in the form that Hersovici et al. 1998 give it (figure 1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from topicrawl.errors import StrategyError
from topicrawl.records import Link, Place, Visit
from topicrawl.strategies.strategy import Strategy


@dataclass
class FishSearch(Strategy):
    """A school of fish: links of relevant pages go first, and a way that finds no food for too long ends.

        potential(child) = 1    for the first α·width links of a relevant page,
                           .5   for the first width links of another page,
                           0    for the rest
        depth(child) = D        from a relevant page,
                       depth(page) − 1   from another page; at depth 0 its links are not followed

    width and D: parameters, and α = `growth`; a child: a link. A page is relevant when the crawl judges it so; with
    `threshold=0`, when it says any word of the topic, the plain matching of keywords in 1994. A second page that links
    to a waiting URL can only better its potential and its depth. With `anchor=yes` a link whose own text has a word of
    the topic counts as a link of a relevant page: the separate use of anchors that the first paper tries.

    A page off the topic, depth 1, width 1: its first link gets .5, the second 0, and both may go no deeper.

    >>> from topicrawl.records import Page
    >>> crawler = FishSearch(width=1, threshold=0.2)
    >>> visit = Visit(1, Link("http://a/"), Place(1.0, 1), "http://a/", Page("http://a/"), 0.1)
    >>> [(place.score, place.carry) for place in crawler.place([Link("http://b/"), Link("http://c/")], visit)]
    [(0.5, 0), (0.0, 0)]
    """

    name = "fish_search"
    family = "classic"
    paper = "De Bra et al. 1994; Batsakis 2007, 2.3"

    width: int = 10  # links of an irrelevant page that are tried before others
    depth: int = 3  # irrelevant pages in a row after which a way ends
    growth: float = 1.5  # how much wider a relevant page is searched
    threshold: float = -1.0  # similarity from which a page is relevant; below 0: the topic's own
    anchor: bool = False  # whether a link's own text can make it promising

    def __post_init__(self) -> None:
        if self.width < 1 or self.depth < 1 or self.growth <= 0:
            raise StrategyError(f"{self.name}: width and depth are 1 or more, growth is above 0")

    def seeds(self, links: Sequence[Link]) -> list[Place]:
        return [Place(1.0, self.depth) for _ in links]

    def place(self, links: Sequence[Link], visit: Visit) -> list[Place | None]:
        relevant = self._relevant(visit)
        carry = visit.place.carry
        depth = carry if isinstance(carry, int) else self.depth
        if not relevant and depth <= 0:
            return [None] * len(links)
        left = self.depth if relevant else depth - 1
        most = int(self.growth * self.width) if relevant else self.width
        potential = 1.0 if relevant else 0.5
        first = set(list(dict.fromkeys(link.url for link in links))[:most])
        words = (
            self.setting.vsm.phrases([link.anchor or link.alt for link in links]) if self.anchor else [0.0] * len(links)
        )
        places: list[Place | None] = []
        for link, in_anchor in zip(links, words, strict=True):
            score = 1.0 if in_anchor > 0 else potential if link.url in first else 0.0
            places.append(Place(score, left, (("relevant", float(relevant)), ("depth", float(left)))))
        return places

    def combine(self, old: Place, new: Place) -> Place:
        best = new if new.score > old.score else old
        depths = [place.carry for place in (old, new) if isinstance(place.carry, int)]
        return Place(best.score, max(depths, default=self.depth), best.parts)

    def _relevant(self, visit: Visit) -> bool:
        line = self.threshold if self.threshold >= 0 else self.setting.topic.threshold
        return bool(visit.relevance) and (visit.relevance or 0.0) >= line
