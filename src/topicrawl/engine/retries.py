"""Retry transient failures, and requeue redirects to hosts that cannot be requested yet."""

from __future__ import annotations

from dataclasses import dataclass, field

from msgspec.structs import replace

from topicrawl.engine.context import CrawlContext
from topicrawl.engine.limits import CrawlLimits
from topicrawl.engine.page_processing import politeness_delay
from topicrawl.fetch.backoff import TRANSIENT_FAILURES, backoff_seconds
from topicrawl.frontier.base import Lease, Offer
from topicrawl.models import Failure, Refusal, Response
from topicrawl.urls import get_host

_MAX_STREAKS = 10_000  # maximum number of hosts whose consecutive failures are counted


@dataclass
class RetryPolicy:
    """Requeue links after transient failures with exponential backoff, and count the attempts."""

    context: CrawlContext
    limits: CrawlLimits
    last_failure: str = ""  # description of the last failed attempt that the crawler will repeat
    _failure_streaks: dict[str, int] = field(default_factory=dict)  # host → consecutive failures, oldest entry first
    _attempts: dict[str, int] = field(default_factory=dict)  # URL → failed attempts in this run

    async def requeue(self, lease: Lease, response: Response) -> bool:
        """Return the link, or its redirect target, to the frontier if it must be fetched later.

        Return False if the response is final and the caller must process it.
        """
        if response.failure in (Failure.HOST_LEASE_EXPIRED, Failure.ADDRESS_BUSY):
            # The link itself did not fail. Requests made for it, such as for robots.txt, still count for politeness.
            await self.context.frontier.release(
                lease, wait=politeness_delay(self.context, lease.host, response), count_attempt=False
            )
            return True
        if response.failure is Failure.ADDRESS_FULL:
            await self.context.frontier.complete(lease, Refusal.ADDRESS_BUDGET, unused=True)
            return True
        if response.failure in TRANSIENT_FAILURES and await self._retry_later(lease, response):
            return True
        self._failure_streaks.pop(get_host(response.final_url), None)
        self._attempts.pop(lease.link.url, None)
        if response.is_unfollowed_redirect:
            await self._requeue_redirect(lease, response)
            return True
        return False

    async def requeue_processing_error(self, lease: Lease, response: Response) -> bool:
        """Return the link of a page whose processing raised an exception to the frontier.

        Return False if the link has no attempts left. The frontier counts the attempts, so the attempts of earlier runs
        count too.
        """
        if lease.attempts >= self.limits.attempts:
            return False
        self.last_failure = f"{response.failure} {response.final_url}: {response.detail}"
        self.context.sink.record_retry(lease.link, response, lease.attempts)
        await self.context.frontier.release(lease, wait=politeness_delay(self.context, lease.host, response))
        return True

    async def _retry_later(self, lease: Lease, response: Response) -> bool:
        """Requeue the link of a transient failure after a wait, and record the attempt.

        Return False if the link has no attempts left. If the host of a redirect target has failed, the target is
        requeued instead, and its host is blocked for the wait.
        """
        name, url = get_host(response.final_url), lease.link.url
        self._failure_streaks[name] = self._failure_streaks.pop(name, 0) + 1
        if len(self._failure_streaks) > _MAX_STREAKS:
            del self._failure_streaks[next(iter(self._failure_streaks))]
        tries = self._attempts[url] = self._attempts.get(url, 0) + 1
        wait = backoff_seconds(max(tries, self._failure_streaks[name]), response, base=self.limits.backoff)
        self.last_failure = f"{response.failure} {response.final_url}: {response.detail}; next attempt in {wait:.0f} s"
        if name != lease.host:
            # The redirect target failed, not this host: requeue the target, and block its host for a while.
            self.context.sink.record_retry(lease.link, response, tries)
            await self.context.frontier.block(name, self.context.clock() + wait)
            await self._requeue_redirect(lease, response)
            return True
        if tries >= self.limits.attempts:
            return False
        self.context.sink.record_retry(lease.link, response, tries)
        wait = max(wait, politeness_delay(self.context, lease.host, response))
        await self.context.frontier.release(lease, wait=wait)
        return True

    async def _requeue_redirect(self, lease: Lease, response: Response) -> None:
        """Complete the link, and add its redirect target to the frontier instead, unless the link filter refuses it."""
        self._attempts.pop(lease.link.url, None)
        link = replace(lease.link, url=response.final_url, depth=lease.link.depth + 1)
        refusal = self.context.link_filter.get_refusal(link)
        offers = [Offer(link, lease.priority)] if refusal is None else []
        wait = politeness_delay(self.context, lease.host, response)
        await self.context.frontier.complete(lease, refusal or f"moved {link.url}", offers, wait=wait)
