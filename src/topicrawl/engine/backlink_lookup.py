"""Query search engines during a crawl: for backlinks of relevant pages, and for descriptions of waiting links.

Kluev 2000, 1: the first ten pages that link to a relevant page are added to the queue. Hati et al. 2010, 5.3: the
description of a URL by a search engine counts before the page is fetched. The number of queries is limited. They are
sent one at a time by a background task, and the answers are cached.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from math import inf
from types import TracebackType
from typing import Self

from msgspec.structs import replace

from topicrawl.engine.link_filter import LinkFilter
from topicrawl.engine.periodic_task import PeriodicTask
from topicrawl.engine.scheduling import OutlinkDecision
from topicrawl.engine.sinks import VisitObserver
from topicrawl.frontier.base import Frontier, Offer
from topicrawl.models import Link, Priority, Visit
from topicrawl.seeds import page_queries
from topicrawl.seeds.engine_queries import collect_answers
from topicrawl.seeds.provider import EngineAnswer, SearchProvider
from topicrawl.seeds.search_engine_cache import BACKLINKS, DESCRIPTION, SearchEngineCache
from topicrawl.strategies.base import Strategy

log = logging.getLogger("topicrawl")

_MAX_RESULTS = 20  # results per engine
_QUERY_INTERVAL = 2.0  # seconds between two queries
_IDLE_WAIT = 0.25  # seconds that a crawl without waiting links waits for an answer before it checks its limits again


@dataclass
class BacklinkLookup(VisitObserver):
    """Query search engines about visited pages and waiting links in a background task.

    `async with` starts and stops the task.
    """

    providers: Sequence[SearchProvider]
    cache: SearchEngineCache
    frontier: Frontier  # receives the backlinks
    strategy: Strategy
    link_filter: LinkFilter
    max_backlinks: int = 0  # maximum number of pages whose backlinks are queried
    max_descriptions: int = 0  # maximum number of links whose descriptions are queried
    timeout: float = 20.0
    _queue: deque[tuple[str, str, float]] = field(default_factory=deque)  # kind, URL, score; the first is in progress
    _answer_received: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self._task = PeriodicTask(self._send_queries, inf, name="queries to search engines")

    async def __aenter__(self) -> Self:
        await self._task.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._task.__aexit__(kind, error, trace)

    def observe_visit(self, visit: Visit, outlinks: Sequence[OutlinkDecision]) -> None:
        """Queue the queries for a stored page: its backlinks if it is relevant, and a description of its best link."""
        if (
            (visit.relevance or 0.0) >= self.strategy.context.topic.threshold
            and visit.failure is None
            and self._is_query_allowed(BACKLINKS, visit.url)
        ):
            self._enqueue_query(BACKLINKS, visit.url, visit.relevance or 0.0)
        if self.max_descriptions and self._apply_description is not None:
            candidates = [
                out for out in outlinks if out.priority is not None and self.cache.get_description(out.link.url) is None
            ]
            best = max(candidates, key=lambda out: out.priority.score if out.priority else 0.0, default=None)
            if best is not None and self._is_query_allowed(DESCRIPTION, best.link.url):
                self._enqueue_query(DESCRIPTION, best.link.url, 0.0)

    async def wait_for_answer(self) -> bool:
        """Wait briefly for an answer when the frontier is empty. Return False if no query is pending."""
        self._task.raise_error()
        if not self._queue:
            return False
        self._answer_received.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(_IDLE_WAIT):
                await self._answer_received.wait()
        return True

    @property
    def _apply_description(self) -> Callable[[Priority, str], Priority] | None:
        """The strategy's method that applies a description to a priority, or None. Few strategies have one."""
        return getattr(self.strategy, "rescore_with_description", None)

    def _is_query_allowed(self, kind: str, url: str) -> bool:
        """Return whether a query has no cached answer and is within the limit of its kind.

        The limit counts the queries that were sent in all runs, and those that are queued.
        """
        limit = self.max_backlinks if kind == BACKLINKS else self.max_descriptions
        waiting = sum(queued_kind == kind for queued_kind, _, _ in self._queue)
        return self.cache.count_queries(kind) + waiting < limit and not self.cache.has_answer(kind, url)

    def _enqueue_query(self, kind: str, url: str, score: float) -> None:
        """Add a query to the queue, unless it is already there."""
        if all(item[:2] != (kind, url) for item in self._queue):
            self._queue.append((kind, url, score))
            self._task.wake()

    async def _send_queries(self) -> None:
        """Send the queued queries, one at a time, until the queue is empty. Use their answers and cache them."""
        while self._queue:
            kind, url, score = self._queue[0]
            await (self._add_backlinks(url, score) if kind == BACKLINKS else self._rescore_link(url))
            self._queue.popleft()
            self._answer_received.set()
            await asyncio.sleep(_QUERY_INTERVAL)

    async def _query_engines(self, query: str) -> list[EngineAnswer]:
        """Send a query to all engines, log the failures, and return all answers, including the failed ones."""
        received = await collect_answers(self.providers, query, _MAX_RESULTS, self.timeout)
        for answer in received:
            if answer.trouble:
                log.info("%s did not answer %r: %s", answer.engine, query, answer.trouble)
        return received

    async def _add_backlinks(self, url: str, relevance: float) -> None:
        """Query the backlinks of a page, cache them, and add the new ones that the link filter permits to the frontier.

        They have the scores of seeds, multiplied by the relevance of the page.
        """
        backlinks = page_queries.extract_backlinks(
            await self._query_engines(page_queries.build_backlink_query(url)), url
        )
        self.cache.store_answer(BACKLINKS, url, backlinks)
        links = [Link(parent) for parent in backlinks]
        links = [link for link in links if self.link_filter.get_refusal(link) is None]
        priorities = [
            replace(priority, score=priority.score * relevance) for priority in self.strategy.score_seeds(links)
        ]
        new = [
            pair for pair in zip(links, priorities, strict=True) if await self.frontier.get_entry(pair[0].url) is None
        ]
        await self.frontier.add([Offer(link, priority) for link, priority in new])
        log.info("%d pages may link to %s, %d of them new", len(backlinks), url, len(new))

    async def _rescore_link(self, url: str) -> None:
        """Query the description of a URL and cache it. If the link is waiting, rescore it by the description."""
        text = page_queries.extract_description(await self._query_engines(page_queries.build_description_query(url)))
        self.cache.store_answer(DESCRIPTION, url, [text] if text else [])
        if self._apply_description is None or not text:
            return
        priority = (await self.frontier.get_priorities([url])).get(url)
        if priority is not None:
            score = self._apply_description(priority, text).score
            await self.frontier.rescore(self.link_filter.adjust_scores({url: score}))
