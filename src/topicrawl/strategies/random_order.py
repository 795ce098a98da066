"""Random order: what a crawler finds that knows nothing at all. A yardstick beside breadth-first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xxhash import xxh64_intdigest

from topicrawl.errors import StrategyError
from topicrawl.records import Link, Place, Visit
from topicrawl.strategies.strategy import Strategy

_ALL = 2**64


@dataclass
class RandomOrder(Strategy):
    """Fetches links in an order that has nothing to do with what they say.

        priority(i) = xxh64(url of i, seed) / 2⁶⁴

    i: a link. The number is drawn from the URL and the seed, so a link that is found twice keeps its place and nothing
    has to be remembered. Another seed is another order.

    >>> visit = Visit(1, Link("http://a/"), Place(1.0), "http://a/")
    >>> links = [Link("http://b/"), Link("http://c/")]
    >>> [round(place.score, 3) for place in RandomOrder().place(links, visit)]
    [0.769, 0.51]
    """

    name = "random"
    family = "classic"
    paper = "no paper: a yardstick"

    seed: int = 0  # 0 or more

    def __post_init__(self) -> None:
        if not 0 <= self.seed < _ALL:
            raise StrategyError(f"{self.name}: seed is {self.seed}, it must be from 0 to 2^64 - 1")

    def place(self, links: Sequence[Link], visit: Visit) -> list[Place | None]:
        return [Place(xxh64_intdigest(link.url.encode(), self.seed) / _ALL) for link in links]
