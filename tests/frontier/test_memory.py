"""Memory frontier: memory usage is proportional to the number of waiting links."""

from __future__ import annotations

import asyncio

from topicrawl.frontier.base import FrontierRules, Offer
from topicrawl.frontier.memory import MemoryFrontier
from topicrawl.models import Link, Priority


def test_repeated_rescoring_does_not_accumulate_stale_heap_entries() -> None:
    async def run() -> None:
        frontier = MemoryFrontier(FrontierRules(), clock=lambda: 0.0)
        urls = [f"http://a.org/{n}" for n in range(100)]
        await frontier.add([Offer(Link(url), Priority(0.5)) for url in urls])
        for step in range(1, 300):
            await frontier.rescore({url: (n * step % 101) / 101 for n, url in enumerate(urls)})
        (queue,) = frontier._queues
        assert len(queue) <= 2 * len(urls) + 100 + 16

    asyncio.run(run())


def test_link_fields_for_scoring_are_not_stored() -> None:
    async def run() -> None:
        frontier = MemoryFrontier(FrontierRules(), clock=lambda: 0.0)
        link = Link("http://a.org/", "http://b.org/", "anchor", before=("a",) * 20, sentence="long", depth=3)
        await frontier.add([Offer(link, Priority(0.5))])
        (lease,) = await frontier.lease(1)
        assert lease.link == Link("http://a.org/", "http://b.org/", "anchor", depth=3)

    asyncio.run(run())
