"""Focus of a crawl: decide how many links with poor scores may be fetched while better ones wait for their hosts.

The hosts of good links are often in their crawl delay. If every free fetch took the best link that is ready, most
fetches would go to poor links in the meantime. Poor links therefore get a share of the fetches:

    credit += share / (1 − share)   for each fetch of another link, up to 4
    credit −= 1                     for each fetch of a poor link, which requires a credit of 1

A poor link scores below a fraction of the best link that waits or is being fetched (`LeaseLimits`). If all links score
the same, none is poor. The share does not apply before the crawl has found a relevant page, because the scores may be
wrong, and after a minute without a page from a better link, because the hosts of the better links may be down. Poor
links may then use four of the concurrent fetches of all workers.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from topicrawl.frontier.base import EXPECTED_SECONDS, LeaseLimits

_MAX_CREDIT = 4.0  # poor links that may be fetched in a row
_FEW_FETCHES = 4  # concurrent fetches up to which poor links are fetched while the share does not apply


@dataclass
class FocusPolicy:
    """Share of the fetches that poor links get. Every process counts its own fetches.

    >>> policy = FocusPolicy(poor_share=0.2)
    >>> policy.record_page(now=100.0)
    >>> policy.build_limits(0.25, now=101.0, has_relevant=True).max_poor
    0
    >>> for _ in range(4):
    ...     policy.count_fetch(is_poor=False)
    >>> policy.build_limits(0.25, now=101.0, has_relevant=True).max_poor
    1
    >>> policy.build_limits(0.25, now=161.0, has_relevant=True).min_leased
    4
    """

    poor_share: float  # share of the fetches, less than 1
    _credit: float = 0.0
    _last_page_at: float | None = None  # time of the last page that was not found through a poor link

    def build_limits(self, focus: float, *, now: float, has_relevant: bool, min_score: float = -inf) -> LeaseLimits:
        """Return which links may be leased now; `has_relevant` says whether a relevant page is known."""
        if self._last_page_at is None:
            self._last_page_at = now
        if has_relevant and now - self._last_page_at <= EXPECTED_SECONDS:
            return LeaseLimits(min_score, focus, max_poor=int(self._credit))
        return LeaseLimits(min_score, focus, min_leased=_FEW_FETCHES)

    def count_fetch(self, *, is_poor: bool) -> None:
        """Count the start of a fetch."""
        if is_poor:
            self._credit = max(0.0, self._credit - 1.0)
        else:
            self._credit = min(_MAX_CREDIT, self._credit + self.poor_share / (1.0 - self.poor_share))

    def record_page(self, now: float) -> None:
        """Record that a link that is not poor has led to a page, or that the crawl was paused until now."""
        self._last_page_at = now
