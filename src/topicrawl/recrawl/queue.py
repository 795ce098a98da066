"""Recrawl queue: the frontier of a recrawl. It contains the stored pages to revisit, most overdue first.

New links of revisited pages do not enter the queue: the recorder adds them to the frontier of the crawl.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from topicrawl.frontier.base import Completion, Frontier, FrontierRules, Lease, Offer
from topicrawl.frontier.memory import MemoryFrontier
from topicrawl.models import Priority


class RevisitRecorder(Protocol):
    """Records the results of revisits before the queue completes them."""

    async def record_visits(self, offers: Mapping[str, Sequence[Offer]]) -> None:
        """Record the processed visits of the pages with these URLs, and handle the offers of their links."""

    async def record_redirect(self, url: str, targets: Sequence[str]) -> None:
        """Record that a page redirects to URLs on hosts that are not ready yet."""


class RecrawlQueue(MemoryFrontier):
    """Frontier of a recrawl in memory.

    Crawl delays and scores also concern the frontier of the crawl, so the queue passes them on. A page is completed
    after the recorder has recorded its result, so a kill loses nothing: a visit that was not recorded is repeated.
    """

    def __init__(
        self,
        crawl_frontier: Frontier,
        recorder: RevisitRecorder,
        rules: FrontierRules,
        clock: Callable[[], float],
    ) -> None:
        super().__init__(rules, clock)
        self.crawl_frontier, self.recorder = crawl_frontier, recorder

    async def set_host_delay(self, host: str, delay: float) -> None:
        """Set the crawl delay of a host here and in the frontier of the crawl."""
        await super().set_host_delay(host, delay)
        await self.crawl_frontier.set_host_delay(host, delay)

    def find_closed(self, urls: Sequence[str]) -> set[str]:
        """Return an empty set: the frontier of the crawl decides about the links of changed pages."""
        return set()

    async def get_priorities(self, urls: Sequence[str]) -> dict[str, Priority]:
        """Return the priorities of waiting links in the frontier of the crawl."""
        return await self.crawl_frontier.get_priorities(urls)

    async def rescore(self, scores: Mapping[str, float]) -> int:
        """Rescore waiting links in the frontier of the crawl. Return how many of the URLs are waiting there."""
        return await self.crawl_frontier.rescore(scores)

    async def complete(
        self, lease: Lease, reason: str, offers: Sequence[Offer] = (), *, wait: float = 0.0, unused: bool = False
    ) -> bool:
        """Record that a page redirects to a host that is not ready yet, and complete it.

        The recorder adds the redirect targets to the frontier of the crawl. Return False if the lease is stale.
        """
        await self.recorder.record_redirect(lease.link.url, [offer.link.url for offer in offers])
        return await super().complete(lease, reason, wait=wait, unused=unused)

    async def complete_all(self, completions: Sequence[Completion]) -> list[bool]:
        """Record the results of revisits, then complete their leases. Return for each whether its lease was valid."""
        await self.recorder.record_visits({end.lease.link.url: end.offers for end in completions})
        return [
            # Not `self.complete`, which handles redirected pages.
            await super(RecrawlQueue, self).complete(end.lease, end.reason, wait=end.wait, unused=end.unused)
            for end in completions
        ]
