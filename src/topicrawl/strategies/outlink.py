"""Out-link count: Batsakis 2007, section 2.2 b, after Cho, Garcia-Molina and Page 1998 (forward link count)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from topicrawl.errors import StrategyError
from topicrawl.records import Link, Place, Visit
from topicrawl.strategies.strategy import Strategy


@dataclass
class Outlink(Strategy):
    """A link is worth as much as its page has links: directories and lists of links go first.

        priority(i) = n / (n + half)

    n: the distinct URLs that the page of the link i leads to; half: the number that is worth .5, which changes no
    order. What a page that was not fetched links to is not known, so the count is that of the page the link stands on;
    of several such pages, the one with the most links counts. The topic plays no part.

    A page with links to 3 URLs, half = 100: 3/103.

    >>> from topicrawl.records import Page
    >>> links = tuple(Link(f"http://a/{name}") for name in "bccd")
    >>> visit = Visit(1, Link("http://a/"), Place(1.0), "http://a/", Page("http://a/", links=links))
    >>> round(Outlink().place(links[:1], visit)[0].score, 6)
    0.029126
    """

    name = "outlink"
    family = "importance"
    paper = "Cho et al. 1998; Batsakis 2007, 2.2 b"

    half: float = 100.0  # links that are worth .5

    def __post_init__(self) -> None:
        if self.half <= 0:
            raise StrategyError(f"{self.name}: half is {self.half:g}, it must be above 0")

    def place(self, links: Sequence[Link], visit: Visit) -> list[Place | None]:
        count = len({link.url for link in visit.page.links}) if visit.page is not None else 0
        return [Place(count / (count + self.half), None, (("links", float(count)),)) for _ in links]
