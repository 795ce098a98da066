"""Random order: a baseline without any knowledge, next to breadth-first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xxhash import xxh64_intdigest

from topicrawl.errors import StrategyError
from topicrawl.models import Link, Priority, Visit
from topicrawl.strategies.base import Strategy

_HASH_RANGE = 2**64


@dataclass
class RandomOrder(Strategy):
    """Fetch links in a pseudo-random order that is independent of their content.

        priority(i) = xxh64(url of i, seed) / 2⁶⁴

    i: a link. The number depends only on the URL and the seed. A link that is found twice keeps its score, and the
    strategy needs no memory. Another seed gives another order.

    >>> visit = Visit(1, Link("http://a/"), Priority(1.0), "http://a/")
    >>> links = [Link("http://b/"), Link("http://c/")]
    >>> [round(priority.score, 3) for priority in RandomOrder().score_links(links, visit)]
    [0.769, 0.51]
    """

    name = "random"
    family = "classic"
    paper = "no paper: a baseline"
    is_focused = False

    seed: int = 0  # 0 or more

    def __post_init__(self) -> None:
        if not 0 <= self.seed < _HASH_RANGE:
            raise StrategyError(f"{self.name}: seed is {self.seed}, it must be from 0 to 2^64 - 1")

    def score_links(self, links: Sequence[Link], visit: Visit) -> list[Priority | None]:
        """Return the hash of each URL as its score."""
        return [Priority(xxh64_intdigest(link.url.encode(), self.seed) / _HASH_RANGE) for link in links]
