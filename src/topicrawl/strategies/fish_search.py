"""Fish-Search: De Bra, Houben, Kornatzky and Post 1994; Batsakis 2007, section 2.3.

One of the first crawlers that used the content of fetched pages, in the form of Hersovici et al. 1998 (figure 1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from topicrawl.errors import StrategyError
from topicrawl.models import Link, Priority, Visit
from topicrawl.strategies.base import Strategy


@dataclass
class FishSearch(Strategy):
    """Prefer links of relevant pages and end a path after `depth` irrelevant pages in a row.

        potential(child) = 1    for the first α·width links of a relevant page,
                           .5   for the first width links of another page,
                           0    for the rest
        depth(child) = D        from a relevant page,
                       depth(page) − 1   from another page; at depth 0 its links are not followed

    width and D: parameters; α = `growth`; a child: a link. A page is relevant if the crawl judges it relevant. With
    `threshold=0`, a page is relevant if it contains any word of the topic, which is the keyword matching of 1994. A
    second page that links to a waiting URL can only raise its potential and its depth. With `anchor=yes`, a link whose
    anchor text contains a word of the topic counts as a link of a relevant page: the separate use of anchors that the
    first paper tries.

    An irrelevant page with depth 1 and width 1: its first link gets .5, the second 0, and both have no depth left.

    >>> from random import Random
    >>> from topicrawl.models import Page
    >>> from topicrawl.relevance.vsm import Vsm
    >>> from topicrawl.strategies.base import StrategyContext
    >>> from topicrawl.topic import Topic
    >>> topic = Topic.of("dengue fever")
    >>> crawler = FishSearch(width=1, threshold=0.2)
    >>> crawler.bind(StrategyContext(topic, Vsm(topic), Random(0)))
    >>> visit = Visit(1, Link("http://a/"), Priority(1.0, 1), "http://a/", Page("http://a/"), 0.1)
    >>> [
    ...     (priority.score, priority.payload)
    ...     for priority in crawler.score_links([Link("http://b/"), Link("http://c/")], visit)
    ... ]
    [(0.5, 0), (0.0, 0)]
    """

    name = "fish_search"
    family = "classic"
    paper = "De Bra et al. 1994; Batsakis 2007, 2.3"

    width: int = 10  # number of links of an irrelevant page that are tried first
    depth: int = 3  # number of irrelevant pages in a row after which a path ends
    growth: float = 1.5  # factor on `width` for a relevant page
    threshold: float = -1.0  # minimum similarity of a relevant page; below 0: the threshold of the topic
    anchor: bool = False  # whether the anchor text can make a link promising

    def __post_init__(self) -> None:
        if self.width < 1 or self.depth < 1 or self.growth <= 0:
            raise StrategyError(f"{self.name}: width and depth are 1 or more, growth is above 0")

    def score_seeds(self, links: Sequence[Link]) -> list[Priority]:
        """Return the highest score and the full depth for each seed."""
        return [Priority(1.0, self.depth) for _ in links]

    def score_links(self, links: Sequence[Link], visit: Visit) -> list[Priority | None]:
        """Return potential and remaining depth of each link, or None if the path ends here."""
        relevant = self._is_relevant(visit)
        payload = visit.priority.payload
        depth = payload if isinstance(payload, int) else self.depth
        if not relevant and depth <= 0:
            return [None] * len(links)
        remaining = self.depth if relevant else depth - 1
        limit = int(self.growth * self.width) if relevant else self.width
        potential = 1.0 if relevant else 0.5
        first = set(list(dict.fromkeys(link.url for link in links))[:limit])
        anchor_scores = (
            self.context.vsm.score_texts([link.anchor or link.alt for link in links])
            if self.anchor
            else [0.0] * len(links)
        )
        priorities: list[Priority | None] = []
        for link, in_anchor in zip(links, anchor_scores, strict=True):
            score = 1.0 if in_anchor > 0 else potential if link.url in first else 0.0
            priorities.append(Priority(score, remaining, (("relevant", float(relevant)), ("depth", float(remaining)))))
        return priorities

    def merge(self, old: Priority, new: Priority) -> Priority:
        """Keep the higher score and the larger remaining depth."""
        best = new if new.score > old.score else old
        depths = [priority.payload for priority in (old, new) if isinstance(priority.payload, int)]
        return Priority(best.score, max(depths, default=self.depth), best.parts)

    def _is_relevant(self, visit: Visit) -> bool:
        """Return whether the page of a visit reaches the relevance threshold."""
        if self.threshold < 0 or visit.page is None:
            return self.context.is_relevant(visit)
        similarity = self.context.score_page(visit.page)
        return similarity > 0 and similarity >= self.threshold
