"""What came back and is no visit yet: failures that may pass, and redirects to hosts that have to be waited for."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from topicrawl.budget import Budget
from topicrawl.fetch.retry import TRANSIENT, backoff
from topicrawl.fetch.status import REDIRECTS
from topicrawl.frontier.contract import Lease, Offer
from topicrawl.judging import pause
from topicrawl.parts import Parts
from topicrawl.records import Failure, Response
from topicrawl.urls import host

_STREAKS = 10_000  # hosts whose failures in a row are remembered


@dataclass
class Setbacks:
    """Sends links back to the frontier, and remembers how often that has happened."""

    parts: Parts
    budget: Budget
    trouble: str = ""  # the last attempt that failed and will be made again, for people
    _streaks: dict[str, int] = field(default_factory=dict)  # host → failures in a row, the oldest first
    _tries: dict[str, int] = field(default_factory=dict)  # link → attempts that failed in this run

    async def waits(self, lease: Lease, response: Response) -> bool:
        """Whether the link has gone back to the frontier, or another in its place."""
        if response.failure is Failure.TURN:
            # Nothing is wrong with the link; what was asked on the way to it, such as a robots.txt, still counts.
            await self.parts.frontier.give_back(lease, wait=pause(self.parts, lease.host, response), count=False)
            return True
        if response.failure in TRANSIENT and await self._again(lease, response):
            return True
        self._streaks.pop(host(response.final_url), None)
        self._tries.pop(lease.link.url, None)
        if response.failure is None and response.status in REDIRECTS:
            await self._moved(lease, response)
            return True
        return False

    async def _again(self, lease: Lease, response: Response) -> bool:
        """Whether a failure that may pass is given another chance, later."""
        name, url = host(response.final_url), lease.link.url
        self._streaks[name] = self._streaks.pop(name, 0) + 1
        if len(self._streaks) > _STREAKS:
            del self._streaks[next(iter(self._streaks))]
        tries = self._tries[url] = self._tries.get(url, 0) + 1
        wait = backoff(max(tries, self._streaks[name]), response, base=self.budget.backoff)
        self.trouble = f"{response.failure} {response.final_url}: {response.detail}; next attempt in {wait:.0f} s"
        if name != lease.host:
            # Not this host's fault: its redirect is taken at its word, and the other host is left alone for a while.
            self.parts.keep.retry(lease.link, response, tries)
            await self.parts.frontier.block(name, self.parts.clock() + wait)
            await self._moved(lease, response)
            return True
        if tries >= self.budget.attempts:
            return False
        self.parts.keep.retry(lease.link, response, tries)
        wait = max(wait, pause(self.parts, lease.host, response))
        await self.parts.frontier.give_back(lease, wait=wait)
        return True

    async def _moved(self, lease: Lease, response: Response) -> None:
        """The link leads to a host that has to be waited for: the frontier gets the new address in its place."""
        self._tries.pop(lease.link.url, None)
        link = replace(lease.link, url=response.final_url, depth=lease.link.depth + 1)
        refusal = self.parts.fences.refusal(link)
        offers = [Offer(link, lease.place)] if refusal is None else []
        wait = pause(self.parts, lease.host, response)
        await self.parts.frontier.complete(lease, refusal or f"moved {link.url}", offers, wait=wait)
