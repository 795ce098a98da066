"""Breadth-first: Batsakis 2007, sections 2.2 a and 3.2. The baseline for all other strategies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from topicrawl.models import Link, Priority, Visit
from topicrawl.strategies.base import Strategy


@dataclass
class BreadthFirst(Strategy):
    """Fetch links in the order in which the crawl finds them.

        priority(i) = constant

    i: a link. The frontier returns links of equal score in the order of insertion, which is the FIFO queue of the
    paper.

    >>> from topicrawl.models import Page
    >>> visit = Visit(1, Link("http://a/"), Priority(1.0), "http://a/", Page("http://a/"), 0.9)
    >>> [priority.score for priority in BreadthFirst().score_links([Link("http://b/"), Link("http://c/")], visit)]
    [1.0, 1.0]
    """

    name = "breadth_first"
    family = "classic"
    paper = "Batsakis 2007, 3.2"
    needs_all_links = False

    def score_links(self, links: Sequence[Link], visit: Visit) -> list[Priority | None]:
        """Return the same score for all links."""
        return [Priority(1.0) for _ in links]
