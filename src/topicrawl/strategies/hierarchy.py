"""URL depth within a site: Batsakis 2007, section 2.2 b, after Cho, Garcia-Molina and Page 1998 (location)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from topicrawl.models import Link, Priority, Visit
from topicrawl.strategies.base import Strategy


@dataclass
class UrlHierarchy(Strategy):
    """Prefer links whose URL is higher in its site: home pages first, short paths before long ones.

        priority(i) = 1 / (1 + parts of the path of i)

    i: a link. A part is a path segment: the text between two slashes or after the last slash. A query counts as one
    more part. The topic has no influence.

    >>> urls = ("http://a/", "http://a/owls.html", "http://a/birds/owls/", "http://a/find?owl")
    >>> visit = Visit(1, Link("http://a/"), Priority(1.0), "http://a/")
    >>> [round(priority.score, 3) for priority in UrlHierarchy().score_links([Link(url) for url in urls], visit)]
    [1.0, 0.5, 0.333, 0.333]
    """

    name = "hierarchy"
    family = "importance"
    paper = "Cho et al. 1998; Batsakis 2007, 2.2 b"

    def score_links(self, links: Sequence[Link], visit: Visit) -> list[Priority | None]:
        """Return a score for each link that falls with the depth of its URL."""
        return [Priority(1 / (1 + count_path_segments(link.url))) for link in links]


def count_path_segments(url: str) -> int:
    """Count the path segments of a URL. A query counts as one segment.

    >>> count_path_segments("http://a/"), count_path_segments("http://a/b/c/"), count_path_segments("http://a/?q=1")
    (0, 2, 1)
    """
    address, query, _ = url.partition("?")
    return sum(map(bool, address.split("/")[3:])) + bool(query)
