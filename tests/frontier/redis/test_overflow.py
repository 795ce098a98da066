"""Overflow of a Redis frontier: the worst links of a long queue move to the overflow, and none is lost."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from random import Random

from tests.helpers.redis_server import RedisServer

from topicrawl.frontier.base import FrontierRules, LeaseLimits, Offer
from topicrawl.frontier.redis.frontier import RedisFrontier
from topicrawl.frontier.redis.overflow import OverflowCounts, OverflowStore
from topicrawl.frontier.redis.server import connect_redis
from topicrawl.frontier.redis.shared_crawl import build_initial_facts, build_shared_facts
from topicrawl.models import Link, Priority

ROOM = 400
URLS = [f"http://h{n % 9}.org/{n}" for n in range(1000)]
Use = Callable[[RedisFrontier, OverflowStore], Awaitable[None]]


async def run_crawl(address: str, use: Use) -> None:
    """Call `use` with a crawl of a thousand links whose capacity is smaller."""
    server = await connect_redis(address)
    rules = FrontierRules(delay=0.0, parallel=0, lease_seconds=60.0, capacity=ROOM)
    facts = {**build_initial_facts(rules), **build_shared_facts(rules, 0)}
    frontier = RedisFrontier(server, f"{{topicrawl}}:{facts['epoch']}", facts["epoch"], "w")
    await server.execute("HSET", f"{frontier.key_prefix}:c", *(text for pair in facts.items() for text in pair))
    scores = Random(1).sample(range(1000), 1000)
    offers = [
        Offer(Link(url, "http://s.org/", f"anchor {score}"), Priority(score / 1000, {"level": 1}))
        for url, score in zip(URLS, scores, strict=True)
    ]
    await frontier.add(offers)
    try:
        await use(frontier, OverflowStore(frontier))
    finally:
        await frontier.close()


async def rebalance_fully(overflow: OverflowStore) -> None:
    """Rebalance until nothing changes."""
    while await overflow.rebalance():
        pass


def test_the_worst_links_move_to_the_overflow_until_the_queue_fits(redis_server: RedisServer) -> None:
    async def use(frontier: RedisFrontier, overflow: OverflowStore) -> None:
        await rebalance_fully(overflow)
        stock = await overflow.get_counts()
        assert stock.waiting + stock.away == 1000
        assert 0.8 * ROOM <= stock.waiting <= ROOM
        scores = [entry.priority.score for entry in await frontier.get_best_entries(ROOM)]
        # The worst links are estimated from a sample: nearly all of the best ones are still in the queue.
        assert sum(score >= 0.7 for score in scores) == 300
        assert min(scores) > 0.4
        assert (await frontier.get_entry(URLS[0])).state == "waiting"

    asyncio.run(run_crawl(redis_server.address, use))


def test_all_links_in_the_overflow_return_in_time(redis_server: RedisServer) -> None:
    async def use(frontier: RedisFrontier, overflow: OverflowStore) -> None:
        done: list[str] = []
        while (ready := await frontier.seconds_until_ready()) is not None:
            assert ready == 0
            for lease in await frontier.lease(50):
                assert (lease.link.anchor, lease.priority.payload) == (
                    f"anchor {lease.priority.score * 1000:.0f}",
                    {"level": 1},
                )
                assert await frontier.complete(lease, "fetched")
                done.append(lease.link.url)
            await overflow.rebalance()
        assert sorted(done) == sorted(URLS)
        assert await overflow.get_counts() == OverflowCounts(0, 0, ROOM)

    asyncio.run(run_crawl(redis_server.address, use))


def test_links_below_the_minimum_score_stay_in_the_overflow(redis_server: RedisServer) -> None:
    async def use(frontier: RedisFrontier, overflow: OverflowStore) -> None:
        limits, done = LeaseLimits(min_score=0.8), 0
        await rebalance_fully(overflow)
        while await frontier.seconds_until_ready(limits) is not None:
            for lease in await frontier.lease(50, limits):
                await frontier.complete(lease, "fetched")
                done += 1
        assert done == 200
        assert await frontier.seconds_until_ready() == 0.0

    asyncio.run(run_crawl(redis_server.address, use))


def test_a_better_offer_restores_a_link_and_its_stale_copy_is_ignored(redis_server: RedisServer) -> None:
    async def use(frontier: RedisFrontier, overflow: OverflowStore) -> None:
        await rebalance_fully(overflow)
        first, second = [url for url in URLS if not await frontier.get_priorities([url])][:2]
        before = await overflow.get_counts()
        assert await frontier.add([Offer(Link(first), Priority(0.0001)), Offer(Link(second), Priority(2.0))]) == 0
        assert await overflow.get_counts() == before._replace(waiting=before.waiting + 1, away=before.away - 1)
        (lease,) = await frontier.lease(1)
        assert lease.link.url == second
        await frontier.complete(lease, "fetched")
        await frontier.mark_done([first], "fetched")
        await frontier.connection.execute("HSET", f"{frontier.key_prefix}:c", "room", 0)
        await rebalance_fully(overflow)
        assert await overflow.get_counts() == OverflowCounts(998, 0, 0)
        assert [(await frontier.get_entry(url)).state for url in (first, second)] == ["done", "done"]

    asyncio.run(run_crawl(redis_server.address, use))
