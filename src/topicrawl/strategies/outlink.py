"""Out-link count: Batsakis 2007, section 2.2 b, after Cho, Garcia-Molina and Page 1998 (forward link count)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from topicrawl.errors import StrategyError
from topicrawl.models import Link, Priority, Visit
from topicrawl.strategies.base import Strategy


@dataclass
class OutlinkCount(Strategy):
    """Score a link by the number of links on its page, so directories and link lists come first.

        priority(i) = n / (n + half)

    n: the number of distinct URLs that the page of the link i links to; half: the number of links that scores .5, which
    does not change the order. The links of a page that is not fetched are unknown, so the strategy counts the links of
    the page that contains the link. If several pages contain it, the page with the most links counts. The topic has no
    influence.

    A page with links to 3 URLs, half = 100: 3/103.

    >>> from topicrawl.models import Page
    >>> links = tuple(Link(f"http://a/{name}") for name in "bccd")
    >>> visit = Visit(1, Link("http://a/"), Priority(1.0), "http://a/", Page("http://a/", links=links))
    >>> round(OutlinkCount().score_links(links[:1], visit)[0].score, 6)
    0.029126
    """

    name = "outlink"
    family = "importance"
    paper = "Cho et al. 1998; Batsakis 2007, 2.2 b"

    half: float = 100.0  # number of links that scores .5

    def __post_init__(self) -> None:
        if self.half <= 0:
            raise StrategyError(f"{self.name}: half is {self.half:g}, it must be above 0")

    def score_links(self, links: Sequence[Link], visit: Visit) -> list[Priority | None]:
        """Return one priority for all links of a page."""
        count = len({link.url for link in visit.page.links}) if visit.page is not None else 0
        return [Priority(count / (count + self.half), None, (("links", float(count)),)) for _ in links]
