"""A running crawl follows its readers: verdicts and orders that others write into its collection.

It looks twice a second whether anyone has written, at the price of a microsecond, and off the way of pages. Verdicts
teach the judge, and all links that wait are scored anew. Whether a link's score holds what readers said is known by
two numbers in the fact `heeded`: the last verdict and the last order that have reached the frontier.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import inf
from time import time
from types import TracebackType
from typing import Self

from topicrawl.collection import orders, verdicts
from topicrawl.collection.directory import Collection
from topicrawl.collection.orders import Order, Told
from topicrawl.collection.shelf import reread
from topicrawl.collection.store import Stored
from topicrawl.collection.verdicts import Verdict
from topicrawl.crawl import Crawl, seed_links
from topicrawl.ending import ended
from topicrawl.errors import TopicError, TopicrawlError
from topicrawl.frontier.sqlite_look import SqliteLook, look
from topicrawl.guidance import Guidance
from topicrawl.records import Carry
from topicrawl.relevance.model import Forgetful, Relevance
from topicrawl.settings import seed_urls
from topicrawl.strategies.strategy import Strategy
from topicrawl.topic import Topic

log = logging.getLogger("topicrawl")

_LOOK = 0.5  # seconds
_SLICE = 500  # links that are scored anew before the crawl goes on for a moment
_LEAST = 1e-9


@dataclass
class Steering:
    """Follows readers on a task of its own. `async with` brings the crawl up to date, starts and ends it."""

    collection: Collection
    crawl: Crawl
    guidance: Guidance
    judge: Relevance
    every: float = _LOOK
    clock: Callable[[], float] = time
    _number: int = 0  # of the last verdict that is known
    _order: int = 0
    _version: int = -1
    _counted: dict[int, Verdict] = field(default_factory=dict)  # page → the verdict that was learned from

    async def __aenter__(self) -> Self:
        await self._caught_up()
        self._task = asyncio.create_task(self._run())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        (trouble,) = await ended([self._task])
        if error is None and isinstance(trouble, TopicrawlError):
            raise trouble

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(self.every)
            # Between learning from a page and completing it nothing may be changed.
            if self.crawl.settled and self._news():
                await self.follow()

    def _news(self) -> bool:
        """Whether anyone else has written into the collection."""
        (version,) = self.collection.store.rows("PRAGMA data_version")[0]
        before, self._version = self._version, int(str(version))
        return before != self._version

    async def _caught_up(self) -> None:
        """Know what was known when the crawl stopped, then follow what was said since."""
        store = self.collection.store
        heeded = store.fact("heeded")
        known = heeded if isinstance(heeded, dict) else {}
        if store.fact("paused") or store.fact("stopping"):
            store.set_facts({"paused": False, "stopping": False})  # the run that was told so is over
        self._number, self._order = (int(str(known.get(name, 0))) for name in ("verdict", "order"))
        for verdict in verdicts.latest(store, until=self._number).values():
            self._learn(verdict)
        words: dict[str, float] = {}
        for order in orders.given(store):
            if order.number <= self._order and order.kind in (Order.BOOST, Order.WORD):
                (self.guidance.boosts if order.kind == Order.BOOST else words)[order.target] = order.amount
        self._say(words)
        await self.follow(started=self.clock())

    async def follow(self, *, started: float = -inf) -> None:
        """Learn what was said since the last look, and let the frontier feel it.

        Whether to pause or to stop is for the run that was going on then: what is older than `started` is left out.
        """
        store, begun = self.collection.store, self.clock()
        said, told = verdicts.since(store, self._number), orders.given(store, after=self._order)
        if not said and not told:
            return
        before = self.guidance.copy()
        for verdict in said:
            self._learn(verdict)
            self._number = verdict.number
        for order in told:
            if order.kind not in (Order.PAUSE, Order.RESUME, Order.STOP) or order.at >= started:
                await self._obey(order)
            self._order = order.number
        moved = await self._rescored(before)
        heeded: dict[str, Carry] = {"verdict": self._number, "order": self._order, "links": moved}
        store.set_facts({"heeded": {**heeded, "at": self.clock(), "seconds": round(self.clock() - begun, 3)}})
        log.info("followed %d verdicts and %d orders: %d links moved", len(said), len(told), moved)
        self.crawl.wake()

    # Verdicts

    def _learn(self, verdict: Verdict) -> None:
        """Take the page's earlier verdict back, and learn from this one."""
        row = self.collection.store.visit_of(verdict.url)
        if row is None:
            return
        before = self._counted.pop(verdict.page, None)
        title = self._title(row)
        # What led to the page, as if it stood where the page is found.
        link = replace(row.link, url=row.url)
        if before is not None and before.relevant is not None:
            self.guidance.judge(link, relevant=before.relevant, title=title, count=-1)
            if isinstance(self.judge, Forgetful):
                self.judge.forget(row.url)
        if verdict.relevant is None:
            return
        self._counted[verdict.page] = verdict
        self.guidance.judge(link, relevant=verdict.relevant, title=title)
        page = reread(self.collection.archive, row, self.crawl.parts.parse)
        if page is not None:
            self.judge.learn(page, verdict.relevant)

    def _title(self, row: Stored) -> str:
        titles = self.collection.store.rows("SELECT title FROM pages WHERE step=?", (row.step,))
        return str(titles[0][0]) if titles else ""

    # Orders

    async def _obey(self, order: Told) -> None:
        crawl, frontier = self.crawl, self.crawl.parts.frontier
        if order.kind == Order.SEED:
            links = [it for it in seed_links(seed_urls([order.target])) if not crawl.parts.fences.refusal(it)]
            await crawl.seed(links)
        elif order.kind == Order.BLOCK:
            await frontier.block(order.target, inf if order.amount else 0.0)
        elif order.kind == Order.BOOST:
            self.guidance.boosts[order.target] = order.amount
        elif order.kind == Order.WORD:
            self._say({order.target: order.amount})
        elif order.kind == Order.STOP:
            self.collection.store.set_facts({"stopping": True})
            crawl.interrupt()
        else:
            crawl.paused = order.kind == Order.PAUSE
            self.collection.store.set_facts({"paused": crawl.paused})

    def _say(self, words: dict[str, float]) -> None:
        """Words that were added count for links, and for pages from now on."""
        self.guidance.words.update(words)
        for word in [word for word, weight in words.items() if not weight]:
            del self.guidance.words[word]
        if words:
            strategy = self.crawl.parts.strategy
            try:
                # Shared with the judge, unless that is one of the user's own.
                strategy.setting.vsm.retell(_with_words(strategy, self.guidance.words))
            except TopicError as error:
                log.warning("words were not taken up: %s", error)

    # Links that wait

    async def _rescored(self, before: Guidance) -> int:
        """Score all links anew that wait; returns how many have moved."""
        path = self.collection.directory / "frontier.sqlite"
        if not path.exists():
            return 0  # a frontier elsewhere is not gone through; links that are found from now on are guided
        frontier = look(path)
        try:
            return await self._all_rescored(frontier, before)
        finally:
            await frontier.close()

    async def _all_rescored(self, frontier: SqliteLook, before: Guidance) -> int:
        moved, after, end = 0, 0, await frontier.last()
        while after < end:
            entries = await frontier.waiting(_SLICE, after=after, until=end)
            if not entries:
                break
            after = entries[-1][0]
            scores = {
                entry.link.url: score
                for _, entry in entries
                if abs((score := self.guidance.moved(entry.link, entry.place.score, before)) - entry.place.score)
                > _LEAST
            }
            moved += await self.crawl.parts.frontier.rescore(scores) if scores else 0
            await asyncio.sleep(0)
        return moved


def _with_words(strategy: Strategy, words: dict[str, float]) -> Topic:
    topic = strategy.setting.topic
    return replace(topic, words={**topic.words, **words})


def steered(collection: Collection, crawl: Crawl) -> Steering:
    """The steering of a crawl whose fences have a guidance."""
    guidance = crawl.parts.fences.guidance
    assert guidance is not None
    return Steering(collection, crawl, guidance, crawl.parts.relevance)
