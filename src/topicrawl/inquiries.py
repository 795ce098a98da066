"""Questions to search engines while a crawl runs: who links to relevant pages, and what waiting links are about.

Kluev 2000, 1: the first ten pages that link to a relevant page join the queue. Hati et al. 2010, 5.3: what an engine
says of a URL counts before it is fetched. Both are bounded in number, asked one at a time beside the crawl, and kept.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Self

from topicrawl.collection.told import DESCRIPTION, PARENTS, Told
from topicrawl.crawl import Crawl
from topicrawl.ending import ended
from topicrawl.frontier.contract import Offer
from topicrawl.placing import Outlink
from topicrawl.records import Link, Place, Visit
from topicrawl.seeds import questions
from topicrawl.seeds.asking import answers
from topicrawl.seeds.provider import Answer, Provider

log = logging.getLogger("topicrawl")

_RESULTS = 20  # of an engine
_PAUSE = 2.0  # seconds between two questions
_LOOK = 0.25  # seconds that a crawl without links waits before it looks whether it shall end


@dataclass
class Inquiries:
    """Asks on a task of its own. `async with` starts and ends it."""

    providers: Sequence[Provider]
    told: Told
    back_links: int = 0  # pages whose parents are asked for, at the most
    descriptions: int = 0  # links that are to be described, at the most
    seconds: float = 20.0
    crawl: Crawl | None = None
    _queue: deque[tuple[str, str, float]] = field(default_factory=deque)  # the first is being asked
    _woken: asyncio.Event = field(default_factory=asyncio.Event)
    _answered: asyncio.Event = field(default_factory=asyncio.Event)

    def about(self, crawl: Crawl) -> Self:
        """Whose pages the questions are about, and where the answers go."""
        self.crawl = crawl
        return self

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._run())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        (trouble,) = await ended([self._task])
        if trouble is not None:
            if error is None:
                raise trouble
            log.error("engines could not be asked any more: %r", trouble)

    def visited(self, visit: Visit, outlinks: Sequence[Outlink]) -> None:
        """A page was kept: who links to it, if it is relevant, and what is its best link about?"""
        threshold = self.crawl.parts.strategy.setting.topic.threshold if self.crawl is not None else 1.0
        if (visit.relevance or 0.0) >= threshold and visit.failure is None and self._may(PARENTS, visit.url):
            self._ask(PARENTS, visit.url, visit.relevance or 0.0)
        if self.descriptions and self._described is not None:
            placed = [out for out in outlinks if out.place is not None and self.told.description(out.link.url) is None]
            best = max(placed, key=lambda out: out.place.score if out.place else 0.0, default=None)
            if best is not None and self._may(DESCRIPTION, best.link.url):
                self._ask(DESCRIPTION, best.link.url, 0.0)

    async def more(self) -> bool:
        """Nothing else is left to crawl: wait a moment for an answer. False: none is to come."""
        if self._task.done():
            self._task.result()
        if not self._queue:
            return False
        self._answered.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(_LOOK):
                await self._answered.wait()
        return True

    @property
    def _described(self) -> Callable[[Place, str], Place] | None:
        """How the strategy takes a description up; most do not."""
        return getattr(self.crawl.parts.strategy, "described", None) if self.crawl is not None else None

    def _may(self, kind: str, url: str) -> bool:
        most = self.back_links if kind == PARENTS else self.descriptions
        waiting = sum(asked == kind for asked, _, _ in self._queue)
        return self.told.asked(kind) + waiting < most and not self.told.knows(kind, url)

    def _ask(self, kind: str, url: str, worth: float) -> None:
        if all(item[:2] != (kind, url) for item in self._queue):
            self._queue.append((kind, url, worth))
            self._woken.set()

    async def _run(self) -> None:
        while True:
            while self._queue:
                kind, url, worth = self._queue[0]
                await (self._parents(url, worth) if kind == PARENTS else self._description(url))
                self._queue.popleft()
                self._answered.set()
                await asyncio.sleep(_PAUSE)
            self._woken.clear()
            await self._woken.wait()

    async def _answers(self, query: str) -> list[Answer]:
        found = await answers(self.providers, query, _RESULTS, self.seconds)
        for answer in found:
            if answer.trouble:
                log.info("%s did not answer %r: %s", answer.engine, query, answer.trouble)
        return found

    async def _parents(self, url: str, worth: float) -> None:
        """The pages that link to a page go into the frontier, worth what the page is worth."""
        found = questions.parents(await self._answers(questions.who_links_to(url)), url)
        self.told.keep(PARENTS, url, found)
        if self.crawl is None:
            return
        parts = self.crawl.parts
        links = [Link(parent) for parent in found]
        links = [link for link in links if parts.fences.refusal(link) is None]
        places = [replace(place, score=place.score * worth) for place in parts.strategy.seeds(links)]
        new = [pair for pair in zip(links, places, strict=True) if await parts.frontier.find(pair[0].url) is None]
        await parts.frontier.add([Offer(link, place) for link, place in new])
        log.info("%d pages may link to %s, %d of them new", len(found), url, len(new))

    async def _description(self, url: str) -> None:
        """A waiting link gets the score that its description gives it."""
        text = questions.description(await self._answers(questions.what_is(url)), url)
        self.told.keep(DESCRIPTION, url, [text] if text else [])
        if self.crawl is None or self._described is None or not text:
            return
        frontier = self.crawl.parts.frontier
        place = (await frontier.places([url])).get(url)
        if place is not None:
            await frontier.rescore(self.crawl.parts.fences.late({url: self._described(place, text).score}))
