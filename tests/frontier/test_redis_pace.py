"""Two crawls on one Redis share the politeness: a host that both want is asked no more often, and by turns."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from itertools import pairwise

import pytest
from tests.frontier.conftest import Clock
from tests.redis_server import MISSING, REASON, RedisServer

from topicrawl.frontier.contract import Offer, Rules
from topicrawl.frontier.redis import Redis
from topicrawl.frontier.redis_crawl import first_facts
from topicrawl.frontier.redis_server import connected
from topicrawl.frontier.redis_turns import FRESH
from topicrawl.records import Link, Place

pytestmark = pytest.mark.skipif(MISSING, reason=REASON)


def met(address: str, use: Callable[[Clock, Redis, Redis], Awaitable[None]], *rules: Rules) -> None:
    """Let two crawls that know of each other do something, each under its own rules."""

    async def main() -> None:
        server, clock, crawls = await connected(address), Clock(), []
        await server.ask("DEL", "{topicrawl}:pace", "{topicrawl}:pace:wanted")
        for rule in rules:
            facts = {**first_facts(rule), "pace": "{topicrawl}:pace"}
            base = f"{{topicrawl}}:{facts['epoch']}"
            await server.ask("HSET", f"{base}:c", *(text for pair in facts.items() for text in pair))
            crawls.append(Redis(server, base, facts["epoch"], "w", clock=clock))
        try:
            for number, crawl in enumerate(crawls):
                await crawl.add([Offer(Link(f"http://a.org/{number}/{n}"), Place(0.5)) for n in range(30)])
            await use(clock, *crawls)
        finally:
            await server.close()

    asyncio.run(main())


@pytest.mark.parametrize("took", [0.05, 0.7, 1.6], ids=["quick", "slow", "slower than the delay"])
def test_a_host_that_two_crawls_want_is_asked_at_its_pace_and_by_turns(redis_server: RedisServer, took: float) -> None:
    async def use(clock: Clock, one: Redis, two: Redis) -> None:
        starts: list[tuple[float, str]] = []
        out: list[tuple[float, Redis, object]] = []
        for _ in range(600):
            clock.time += 0.05
            for crawl in (one, two):
                for lease in await crawl.lease(5):
                    starts.append((clock.time, lease.link.url[13]))
                    out.append((clock.time + took, crawl, lease))
            for at, crawl, lease in [it for it in out if it[0] <= clock.time]:
                assert await crawl.complete(lease, "fetched")  # type: ignore[arg-type]
                out.remove((at, crawl, lease))
        gaps = [later - earlier for (earlier, _), (later, _) in pairwise(starts)]
        assert min(gaps) >= max(1.0, took) - 1e-6
        assert len(starts) >= 30 / (max(1.0, took) + 1.0), "the host is not left alone either"
        asked = Counter(which for _, which in starts)
        assert min(asked.values()) >= 0.3 * len(starts), asked

    met(redis_server.address, use, Rules(delay=1.0, lease_seconds=60.0), Rules(delay=1.0, lease_seconds=60.0))


def test_a_crawl_with_short_leases_respects_the_long_lease_and_the_long_wait_of_another(
    redis_server: RedisServer,
) -> None:
    async def use(clock: Clock, one: Redis, two: Redis) -> None:
        (lease,) = await one.lease(1)
        clock.time += 250.0
        assert await two.lease(1) == []
        # The host has asked to be left alone for ten minutes.
        assert await one.complete(lease, "rate_limited", wait=600.0)
        clock.time += 590.0
        assert await two.lease(1) == []
        clock.time += 20.0
        assert len(await two.lease(1)) == 1

    met(redis_server.address, use, Rules(delay=1.0, lease_seconds=300.0), Rules(delay=1.0, lease_seconds=10.0))


def test_where_a_worker_has_died_the_other_crawl_waits_for_the_host_s_delay_too(redis_server: RedisServer) -> None:
    async def use(clock: Clock, one: Redis, two: Redis) -> None:
        await one.lease(1)
        # A request may have left after 8 of 10 seconds.
        clock.time += 10.5
        assert await two.lease(1) == []
        clock.time += 2.6
        assert len(await two.lease(1)) == 1

    met(redis_server.address, use, Rules(delay=5.0, lease_seconds=10.0), Rules(delay=5.0, lease_seconds=10.0))


def test_a_host_of_which_nothing_is_out_can_be_asked_in_turn(redis_server: RedisServer) -> None:
    async def use(clock: Clock, one: Redis, two: Redis) -> None:
        await one.lease(0)
        assert await one.turns.claim("b.org")
        assert one.turns.may_start("b.org")
        assert not two.turns.may_start("b.org")
        # The request may leave at any moment within the time that the claim is good for.
        offered = [Offer(Link("http://b.org/"), Place(0.9))]
        for crawl in (one, two):
            await crawl.add(offered)
            assert {lease.host for lease in await crawl.lease(5)} <= {"a.org"}
        clock.time += FRESH + 0.9
        assert "b.org" not in {lease.host for lease in await two.lease(5)}
        clock.time += 0.2
        assert "b.org" in {lease.host for lease in await two.lease(5)}

    met(redis_server.address, use, Rules(delay=1.0, lease_seconds=60.0), Rules(delay=1.0, lease_seconds=60.0))


def test_the_hosts_of_a_worker_that_was_killed_rest_when_it_comes_back(redis_server: RedisServer) -> None:
    async def use(clock: Clock, one: Redis, two: Redis) -> None:
        assert len(await one.lease(1)) == 1
        clock.time += 7.0
        await one.leave(count=True)
        clock.time += 0.9
        assert await one.lease(1) == await two.lease(1) == []
        clock.time += 0.2
        assert len(await one.lease(1)) == 1

    met(redis_server.address, use, Rules(delay=1.0, lease_seconds=60.0), Rules(delay=1.0, lease_seconds=60.0))


def test_a_crawl_that_has_lost_interest_is_not_waited_for(redis_server: RedisServer) -> None:
    async def use(clock: Clock, one: Redis, two: Redis) -> None:
        (lease,) = await one.lease(1)
        assert await two.lease(1) == []
        clock.time += 30.0
        await one.complete(lease, "fetched")
        clock.time += 1.01
        assert len(await one.lease(1)) == 1

    met(redis_server.address, use, Rules(delay=1.0, lease_seconds=60.0), Rules(delay=1.0, lease_seconds=60.0))
