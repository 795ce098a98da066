"""Place in the site's hierarchy: Batsakis 2007, section 2.2 b, after Cho, Garcia-Molina and Page 1998 (location)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from topicrawl.records import Link, Place, Visit
from topicrawl.strategies.strategy import Strategy


@dataclass
class Hierarchy(Strategy):
    """A link is worth more the higher its URL stands in its site: home pages first, fewer slashes before more.

        priority(i) = 1 / (1 + parts of the path of i)

    i: a link. A part is what stands between two slashes, or behind the last one; a query counts as one more part. The
    topic plays no part.

    >>> urls = ("http://a/", "http://a/owls.html", "http://a/birds/owls/", "http://a/find?owl")
    >>> visit = Visit(1, Link("http://a/"), Place(1.0), "http://a/")
    >>> [round(place.score, 3) for place in Hierarchy().place([Link(url) for url in urls], visit)]
    [1.0, 0.5, 0.333, 0.333]
    """

    name = "hierarchy"
    family = "importance"
    paper = "Cho et al. 1998; Batsakis 2007, 2.2 b"

    def place(self, links: Sequence[Link], visit: Visit) -> list[Place | None]:
        return [Place(1 / (1 + parts(link.url))) for link in links]


def parts(url: str) -> int:
    """How deep in its site a URL stands.

    >>> parts("http://a/"), parts("http://a/b/c/"), parts("http://a/?q=1")
    (0, 2, 1)
    """
    address, query, _ = url.partition("?")
    return sum(map(bool, address.split("/")[3:])) + bool(query)
