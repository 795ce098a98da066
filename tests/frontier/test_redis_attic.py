"""A queue in Redis that is too long is made shorter by its worst links, and none of them is lost."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from random import Random

from tests.redis_server import RedisServer

from topicrawl.frontier.contract import Offer, Rules
from topicrawl.frontier.redis import Redis
from topicrawl.frontier.redis_attic import Attic, Stock
from topicrawl.frontier.redis_crawl import first_facts, shared_facts
from topicrawl.frontier.redis_server import connected
from topicrawl.records import Link, Place

ROOM = 400
URLS = [f"http://h{n % 9}.org/{n}" for n in range(1000)]
Use = Callable[[Redis, Attic], Awaitable[None]]


async def used(address: str, use: Use) -> None:
    """Do something with a crawl of a thousand links that has room for fewer."""
    server = await connected(address)
    rules = Rules(delay=0.0, parallel=0, lease_seconds=60.0, capacity=ROOM)
    facts = {**first_facts(rules), **shared_facts(rules, 0)}
    frontier = Redis(server, f"{{topicrawl}}:{facts['epoch']}", facts["epoch"], "w")
    await server.ask("HSET", f"{frontier.base}:c", *(text for pair in facts.items() for text in pair))
    scores = Random(1).sample(range(1000), 1000)
    offers = [
        Offer(Link(url, "http://s.org/", f"anchor {score}"), Place(score / 1000, {"level": 1}))
        for url, score in zip(URLS, scores, strict=True)
    ]
    await frontier.add(offers)
    try:
        await use(frontier, Attic(frontier))
    finally:
        await frontier.close()


async def tidied(attic: Attic) -> None:
    while await attic.tidy():
        pass


def test_the_worst_are_put_away_until_there_is_room(redis_server: RedisServer) -> None:
    async def use(frontier: Redis, attic: Attic) -> None:
        await tidied(attic)
        stock = await attic.stock()
        assert stock.waiting + stock.away == 1000
        assert 0.8 * ROOM <= stock.waiting <= ROOM
        scores = [entry.place.score for entry in await frontier.best(ROOM)]
        # The worst are told by a sample: nearly all of the best are still there.
        assert sum(score >= 0.7 for score in scores) == 300
        assert min(scores) > 0.4
        assert (await frontier.find(URLS[0])).state == "waiting"

    asyncio.run(used(redis_server.address, use))


def test_all_that_was_put_away_comes_back_in_time(redis_server: RedisServer) -> None:
    async def use(frontier: Redis, attic: Attic) -> None:
        done: list[str] = []
        while (ready := await frontier.next_ready()) is not None:
            assert ready == 0
            for lease in await frontier.lease(50):
                assert (lease.link.anchor, lease.place.carry) == (
                    f"anchor {lease.place.score * 1000:.0f}",
                    {"level": 1},
                )
                assert await frontier.complete(lease, "fetched")
                done.append(lease.link.url)
            await attic.tidy()
        assert sorted(done) == sorted(URLS)
        assert await attic.stock() == Stock(0, 0, ROOM)

    asyncio.run(used(redis_server.address, use))


def test_a_better_link_brings_one_back_and_its_copy_does_no_harm(redis_server: RedisServer) -> None:
    async def use(frontier: Redis, attic: Attic) -> None:
        await tidied(attic)
        first, second = [url for url in URLS if not await frontier.places([url])][:2]
        before = await attic.stock()
        assert await frontier.add([Offer(Link(first), Place(0.0001)), Offer(Link(second), Place(2.0))]) == 0
        assert await attic.stock() == before._replace(waiting=before.waiting + 1, away=before.away - 1)
        (lease,) = await frontier.lease(1)
        assert lease.link.url == second
        await frontier.complete(lease, "fetched")
        await frontier.settle([first], "fetched")
        await frontier.server.ask("HSET", f"{frontier.base}:c", "room", 0)
        await tidied(attic)
        assert await attic.stock() == Stock(998, 0, 0)
        assert [(await frontier.find(url)).state for url in (first, second)] == ["done", "done"]

    asyncio.run(used(redis_server.address, use))
