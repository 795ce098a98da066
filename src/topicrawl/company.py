"""What a worker does beside its pages when it shares a crawl: it exchanges lessons, and passes addresses on."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import replace
from types import TracebackType
from typing import Self

from topicrawl.checkpoint import learns
from topicrawl.crawl import Crawl
from topicrawl.ending import ended
from topicrawl.errors import TopicrawlError
from topicrawl.exchange import Exchange
from topicrawl.frontier.redis import Redis, pairs
from topicrawl.frontier.redis_crawl import SharedCrawl, Worker
from topicrawl.frontier.redis_links import mark
from topicrawl.frontier.redis_waiting import links
from topicrawl.passing import Passing
from topicrawl.records import Visit
from topicrawl.strategies.visits import Visits

log = logging.getLogger("topicrawl")

_OFTEN = 0.5  # seconds between two rounds
_SHARES = 10  # rounds between two looks at who else is at work


class Company:
    """One worker among others. `async with` brings it up to date, and keeps it so."""

    def __init__(self, shared: SharedCrawl, frontier: Redis, crawl: Crawl, *, cooperate: bool) -> None:
        self.shared, self.frontier, self.crawl = shared, frontier, crawl
        strategy = crawl.parts.strategy
        self._visits: Visits | None = None
        self.exchange: Exchange | None = None
        if learns(strategy):
            colleague = strategy.colleague()
            if colleague is None:
                colleague = self._visits = Visits(strategy, self.ours)
            self.exchange = Exchange(shared, crawl, colleague)
        self.passing = Passing(shared, crawl) if cooperate else None
        self._number, self._workers, self._round = 0, 1, 0
        crawl.parts = replace(crawl.parts, revised=self.revised)

    async def __aenter__(self) -> Self:
        if self.exchange is not None:
            await self.exchange.join()
        await self._rounds_once()
        self._task = asyncio.create_task(self._rounds())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        (trouble,) = await ended([self._task])
        if error is not None:
            return
        if trouble is not None:
            raise trouble
        # What was learned from the last pages.
        await self._rounds_once()

    async def _rounds(self) -> None:
        while True:
            await asyncio.sleep(_OFTEN)
            try:
                await self._rounds_once()
            except TopicrawlError as error:
                # The crawl itself asks the frontier all the time and ends with the same words.
                log.warning("%s", error)
                return

    async def _rounds_once(self) -> None:
        if self._visits is not None and self._round % _SHARES == 0:
            await self._count_workers()
        self._round += 1
        if self.exchange is not None and (scores := await self.exchange.round()):
            await self._tell(scores)
            self.crawl.wake()
        if self.exchange is not None:
            self.crawl.lessons = self.exchange.lessons
        if self.passing is not None:
            await self.passing.round()

    # What the crawl tells and asks

    def seen(self, visit: Visit) -> None:
        """A visit of this worker."""
        if self._visits is not None:
            self._visits.seen(visit)
        if self.passing is not None:
            self.passing.seen(visit)

    async def revised(self, scores: Mapping[str, float]) -> None:
        """The strategy has new scores for waiting links: those that this worker is to tell reach the frontier."""
        if self._visits is not None:
            scores = self._visits.chosen(scores)
        if scores:
            await self._tell(scores)

    async def _tell(self, scores: Mapping[str, float]) -> None:
        fences = self.crawl.parts.fences
        if fences.guidance:
            # Opinions have changed since the links were found, or another worker has found them.
            for link in await links(self.frontier, list(scores)):
                fences.guidance.applied(link, 0.0)
        await self.frontier.rescore(fences.late(scores))

    # Shares, where every worker could tell the same

    def ours(self, url: str) -> bool:
        """Whether it is for this worker to tell the frontier a link's new score."""
        return int.from_bytes(mark(url)[:2], "big") % self._workers == self._number

    async def _count_workers(self) -> None:
        server = self.shared.server
        asked: list[tuple[str | bytes | float, ...]] = [("TIME",), ("HGETALL", f"{self.shared.base}:workers")]
        (seconds, _), found = await server.ask_all(asked)
        names = sorted(
            name.decode()
            for name, said in pairs(found)
            if Worker(name.decode(), int(seconds) - float(said.partition(b" ")[0]), {}).alive
        )
        self._workers = max(1, len(names))
        self._number = names.index(self.frontier.worker) if self.frontier.worker in names else 0
