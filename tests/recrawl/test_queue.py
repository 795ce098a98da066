"""Recrawl queue: the frontier of a recrawl, and what it passes on to the frontier of the crawl and to the recorder."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from topicrawl.frontier.base import Completion, FrontierRules, Offer
from topicrawl.frontier.memory import MemoryFrontier
from topicrawl.models import Link, Priority
from topicrawl.recrawl.queue import RecrawlQueue

A, B, NEW = "http://a.example/", "http://b.example/", "http://new.example/"


@dataclass
class Recorder:
    """Recorder that notes its calls, and the number of leased pages at that moment."""

    queue: RecrawlQueue | None = None
    calls: list[tuple[str, object, int]] = field(default_factory=list)

    async def record_visits(self, offers: Mapping[str, Sequence[Offer]]) -> None:
        await self._note("visits", {url: [offer.link.url for offer in links] for url, links in offers.items()})

    async def record_redirect(self, url: str, targets: Sequence[str]) -> None:
        await self._note("redirect", (url, list(targets)))

    async def _note(self, name: str, values: object) -> None:
        assert self.queue is not None
        self.calls.append((name, values, (await self.queue.get_counts()).leased))


def create_queue() -> tuple[RecrawlQueue, MemoryFrontier, Recorder]:
    rules = FrontierRules(delay=0.0, parallel=0)
    frontier, recorder = MemoryFrontier(rules, lambda: 0.0), Recorder()
    recorder.queue = queue = RecrawlQueue(frontier, recorder, rules, lambda: 0.0)
    return queue, frontier, recorder


async def add_pages(queue: RecrawlQueue) -> None:
    assert await queue.add([Offer(Link(A), Priority(1.0)), Offer(Link(B), Priority(2.0))]) == 2


def test_the_most_overdue_page_is_leased_first() -> None:
    async def main() -> list[str]:
        queue, _, _ = create_queue()
        await add_pages(queue)
        return [lease.link.url for lease in await queue.lease(2)]

    assert asyncio.run(main()) == [B, A]


def test_results_are_recorded_before_the_leases_are_completed_and_links_stay_out_of_the_queue() -> None:
    async def main() -> None:
        queue, _, recorder = create_queue()
        await add_pages(queue)
        first, second = await queue.lease(2)
        offers = [Offer(Link(NEW), Priority(0.5))]
        ended = [Completion(first, "fetched", offers), Completion(second, "fetched")]
        assert await queue.complete_all(ended) == [True, True]
        assert recorder.calls == [("visits", {B: [NEW], A: []}, 2)]
        counts = await queue.get_counts()
        assert (counts.waiting, counts.leased, counts.done) == (0, 0, 2)
        assert await queue.get_entry(NEW) is None

    asyncio.run(main())


def test_a_redirect_to_a_host_that_is_not_ready_is_recorded_as_such() -> None:
    async def main() -> None:
        queue, _, recorder = create_queue()
        await add_pages(queue)
        (lease,) = await queue.lease(1)
        assert await queue.complete(lease, f"moved {NEW}", [Offer(Link(NEW), Priority(0.5))])
        assert recorder.calls == [("redirect", (B, [NEW]), 1)]
        assert await queue.get_entry(NEW) is None

    asyncio.run(main())


def test_priorities_scores_and_crawl_delays_concern_the_frontier_of_the_crawl() -> None:
    async def main() -> None:
        queue, frontier, _ = create_queue()
        await add_pages(queue)
        await frontier.add([Offer(Link(NEW), Priority(0.5))])
        assert await queue.get_priorities([NEW, A]) == {NEW: Priority(0.5)}
        assert await queue.rescore({NEW: 0.75, A: 9.0}) == 1
        assert (await frontier.get_priorities([NEW]))[NEW].score == 0.75
        assert [lease.priority.score for lease in await queue.lease(2)] == [2.0, 1.0]
        await frontier.add([Offer(Link(f"{A}{n}"), Priority(0.1)) for n in range(2)])
        await queue.set_host_delay("a.example", 60.0)
        (lease,) = [lease for lease in await frontier.lease(9) if lease.host == "a.example"]
        await frontier.complete(lease, "fetched", wait=60.0)
        assert await frontier.count_delayed_hosts() == 1

    asyncio.run(main())
