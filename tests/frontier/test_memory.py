"""Memory stays in proportion to what waits."""

from __future__ import annotations

import asyncio

from topicrawl.frontier.contract import Offer, Rules
from topicrawl.frontier.memory import Memory
from topicrawl.records import Link, Place


def test_scoring_again_and_again_leaves_no_heap_of_stale_entries() -> None:
    async def run() -> None:
        frontier = Memory(Rules(), clock=lambda: 0.0)
        urls = [f"http://a.org/{n}" for n in range(100)]
        await frontier.add([Offer(Link(url), Place(0.5)) for url in urls])
        for step in range(1, 300):
            await frontier.rescore({url: (n * step % 101) / 101 for n, url in enumerate(urls)})
        (queue,) = frontier._queues
        assert len(queue) <= 2 * len(urls) + 100 + 16

    asyncio.run(run())


def test_what_serves_placing_only_is_not_kept() -> None:
    async def run() -> None:
        frontier = Memory(Rules(), clock=lambda: 0.0)
        link = Link("http://a.org/", "http://b.org/", "anchor", before=("a",) * 20, sentence="long", depth=3)
        await frontier.add([Offer(link, Place(0.5))])
        (lease,) = await frontier.lease(1)
        assert lease.link == Link("http://a.org/", "http://b.org/", "anchor", depth=3)

    asyncio.run(run())
