"""Back-link count: Cho, Garcia-Molina and Page 1998; Batsakis 2007, section 2.2 b."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from topicrawl.errors import StrategyError
from topicrawl.packing import numbers_of, packed_numbers
from topicrawl.records import Carry, Link, Place, Visit
from topicrawl.strategies.link_graph import distinct
from topicrawl.strategies.strategy import Strategy
from topicrawl.urls import fingerprint


@dataclass
class Backlink(Strategy):
    """A link is worth as much as fetched pages lead to its URL: what many pages link to goes first.

        priority(i) = n / (n + 1)

    n: the fetched pages with a link to the URL of i, the page itself not counted. The fraction only brings the count
    between 0 and 1. The topic plays no part. Counts stay exact for `urls` URLs; when there are more, the quarter with
    the lowest counts is forgotten, the oldest first, and starts anew when it is seen again.

    Two pages link to http://c/, one of them to http://b/ too: 2/3 against 1/2.

    >>> from topicrawl.records import Page
    >>> def visit(url, *targets):
    ...     return Visit(1, Link(url), Place(1.0), url, Page(url, links=tuple(Link(target, url) for target in targets)))
    >>> crawler = Backlink()
    >>> for seen in (visit("http://a/", "http://b/", "http://c/"), visit("http://d/", "http://c/", "http://d/")):
    ...     crawler.learn(seen)
    >>> [round(place.score, 3) for place in crawler.place([Link("http://b/"), Link("http://c/")], seen)]
    [0.5, 0.667]
    """

    name = "backlink"
    family = "importance"
    paper = "Cho et al. 1998; Batsakis 2007, 2.2 b"

    urls: int = 500_000  # URLs whose in-links are counted
    _counts: dict[int, int] = field(default_factory=dict, init=False, repr=False)  # fingerprint → pages

    def __post_init__(self) -> None:
        if self.urls < 1:
            raise StrategyError(f"{self.name}: urls is {self.urls}, it must be 1 or more")

    def learn(self, visit: Visit) -> None:
        if visit.page is None:
            return
        for url in distinct((link.url for link in visit.page.links), but=(visit.link.url, visit.url)):
            key = fingerprint(url)
            self._counts[key] = self._counts.get(key, 0) + 1
        if len(self._counts) > self.urls:
            # A stable sort: among equal counts, those that were seen first go first.
            least = sorted(self._counts, key=self._counts.__getitem__)[: len(self._counts) - self.urls * 3 // 4]
            for key in least:
                del self._counts[key]

    def place(self, links: Sequence[Link], visit: Visit) -> list[Place | None]:
        # The page itself has been counted: a link that waits is raised when the next page with it is placed.
        counts = [self._counts.get(fingerprint(link.url), 1) for link in links]
        return [Place(count / (count + 1), None, (("in-links", float(count)),)) for count in counts]

    def state(self) -> Carry:
        return [packed_numbers("q", self._counts), packed_numbers("I", self._counts.values())]

    def restore(self, state: Carry) -> None:
        if isinstance(state, list):
            keys, counts = state
            pairs = zip(numbers_of("q", keys), numbers_of("I", counts), strict=True)
            self._counts = {int(key): int(count) for key, count in pairs}
