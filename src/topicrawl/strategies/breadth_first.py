"""Breadth-first: Batsakis 2007, sections 2.2 a and 3.2. The yardstick for all the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from topicrawl.records import Link, Place, Visit
from topicrawl.strategies.strategy import Strategy


@dataclass
class BreadthFirst(Strategy):
    """Fetches links in the order in which they were found.

        priority(i) = constant

    i: a link. The frontier hands out equal scores first found, first fetched, which is the paper's FIFO queue.

    >>> from topicrawl.records import Page
    >>> visit = Visit(1, Link("http://a/"), Place(1.0), "http://a/", Page("http://a/"), 0.9)
    >>> [place.score for place in BreadthFirst().place([Link("http://b/"), Link("http://c/")], visit)]
    [1.0, 1.0]
    """

    name = "breadth_first"
    family = "classic"
    paper = "Batsakis 2007, 3.2"

    def place(self, links: Sequence[Link], visit: Visit) -> list[Place | None]:
        return [Place(1.0) for _ in links]
