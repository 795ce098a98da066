"""Backlink count: Cho, Garcia-Molina and Page 1998; Batsakis 2007, section 2.2 b."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from topicrawl.errors import StrategyError
from topicrawl.models import JsonValue, Link, Priority, Visit
from topicrawl.serialization import pack_numbers, unpack_numbers
from topicrawl.strategies.base import Strategy
from topicrawl.strategies.link_graph import deduplicate_urls
from topicrawl.urls import fingerprint


@dataclass
class BacklinkCount(Strategy):
    """Score a link by the number of fetched pages that link to its URL.

        priority(i) = n / (n + 1)

    n: the number of fetched pages with a link to the URL of i, without the page itself. The fraction maps the count to
    the range from 0 to 1. The topic has no influence. Counts are exact for up to `urls` URLs. Above this limit, the
    strategy drops the quarter with the lowest counts, the oldest first. A dropped URL starts again at 0.

    Two pages link to http://c/ and one of them links to http://b/ too: 2/3 and 1/2.

    >>> from topicrawl.models import Page
    >>> def visit(url, *targets):
    ...     return Visit(
    ...         1, Link(url), Priority(1.0), url, Page(url, links=tuple(Link(target, url) for target in targets))
    ...     )
    >>> crawler = BacklinkCount()
    >>> for seen in (visit("http://a/", "http://b/", "http://c/"), visit("http://d/", "http://c/", "http://d/")):
    ...     crawler.learn(seen)
    >>> [round(priority.score, 3) for priority in crawler.score_links([Link("http://b/"), Link("http://c/")], seen)]
    [0.5, 0.667]
    """

    name = "backlink"
    family = "importance"
    paper = "Cho et al. 1998; Batsakis 2007, 2.2 b"

    urls: int = 500_000  # number of URLs with a backlink count
    _counts: dict[int, int] = field(default_factory=dict, init=False, repr=False)  # URL fingerprint → number of pages

    def __post_init__(self) -> None:
        if self.urls < 1:
            raise StrategyError(f"{self.name}: urls is {self.urls}, it must be 1 or more")

    def learn(self, visit: Visit) -> None:
        """Count the distinct links of a page."""
        if visit.page is None:
            return
        for url in deduplicate_urls((link.url for link in visit.page.links), exclude=(visit.link.url, visit.url)):
            key = fingerprint(url)
            self._counts[key] = self._counts.get(key, 0) + 1
        if len(self._counts) > self.urls:
            # The sort is stable: among equal counts, the oldest URLs come first.
            least = sorted(self._counts, key=self._counts.__getitem__)[: len(self._counts) - self.urls * 3 // 4]
            for key in least:
                del self._counts[key]

    def score_links(self, links: Sequence[Link], visit: Visit) -> list[Priority | None]:
        """Return a score for each link that rises with its backlink count."""
        # `learn` has already counted this page. A waiting link gets its new score when the next page links to it.
        counts = [self._counts.get(fingerprint(link.url), 1) for link in links]
        return [Priority(count / (count + 1), None, (("in-links", float(count)),)) for count in counts]

    def get_state(self) -> JsonValue:
        """Return the learned state as plain values."""
        return [pack_numbers("q", self._counts), pack_numbers("I", self._counts.values())]

    def restore_state(self, state: JsonValue) -> None:
        """Restore a state that `get_state` returned."""
        if isinstance(state, list):
            keys, counts = state
            pairs = zip(unpack_numbers("q", keys), unpack_numbers("I", counts), strict=True)
            self._counts = {int(key): int(count) for key, count in pairs}
