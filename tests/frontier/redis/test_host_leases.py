"""Two crawls on one Redis share politeness: a host that both crawl gets no more requests, and they alternate."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from itertools import pairwise

import pytest
from tests.frontier.conftest import Clock
from tests.helpers.redis_server import MISSING, REASON, RedisServer

from topicrawl.frontier.base import FrontierRules, Offer
from topicrawl.frontier.redis.frontier import RedisFrontier
from topicrawl.frontier.redis.host_leases import CONFIRMATION_SECONDS
from topicrawl.frontier.redis.server import connect_redis
from topicrawl.frontier.redis.shared_crawl import build_initial_facts
from topicrawl.models import Link, Priority

pytestmark = pytest.mark.skipif(MISSING, reason=REASON)


def run_two_crawls(
    address: str, use: Callable[[Clock, RedisFrontier, RedisFrontier], Awaitable[None]], *rules: FrontierRules
) -> None:
    """Call `use` with two crawls on one server, each with its own rules."""

    async def main() -> None:
        server, clock, crawls = await connect_redis(address), Clock(), []
        await server.execute("DEL", "{topicrawl}:pace", "{topicrawl}:pace:wanted")
        for rule in rules:
            facts = {**build_initial_facts(rule), "pace": "{topicrawl}:pace"}
            base = f"{{topicrawl}}:{facts['epoch']}"
            await server.execute("HSET", f"{base}:c", *(text for pair in facts.items() for text in pair))
            crawls.append(RedisFrontier(server, base, facts["epoch"], "w", clock=clock))
        try:
            for number, crawl in enumerate(crawls):
                await crawl.add([Offer(Link(f"http://a.org/{number}/{n}"), Priority(0.5)) for n in range(30)])
            await use(clock, *crawls)
        finally:
            await server.close()

    asyncio.run(main())


@pytest.mark.parametrize("took", [0.05, 0.7, 1.6], ids=["quick", "slow", "slower than the delay"])
def test_two_crawls_respect_the_delay_of_a_host_and_alternate(redis_server: RedisServer, took: float) -> None:
    async def use(clock: Clock, one: RedisFrontier, two: RedisFrontier) -> None:
        starts: list[tuple[float, str]] = []
        out: list[tuple[float, RedisFrontier, object]] = []
        for _ in range(600):
            clock.time += 0.05
            for crawl in (one, two):
                for lease in await crawl.lease(5):
                    starts.append((clock.time, lease.link.url[13]))
                    out.append((clock.time + took, crawl, lease))
            for at, crawl, lease in [entry for entry in out if entry[0] <= clock.time]:
                assert await crawl.complete(lease, "fetched")  # type: ignore[arg-type]
                out.remove((at, crawl, lease))
        gaps = [later - earlier for (earlier, _), (later, _) in pairwise(starts)]
        assert min(gaps) >= max(1.0, took) - 1e-6
        assert len(starts) >= 30 / (max(1.0, took) + 1.0), "the host is used"
        counts = Counter(crawl_number for _, crawl_number in starts)
        assert min(counts.values()) >= 0.3 * len(starts), counts

    run_two_crawls(
        redis_server.address,
        use,
        FrontierRules(delay=1.0, lease_seconds=60.0),
        FrontierRules(delay=1.0, lease_seconds=60.0),
    )


def test_a_crawl_with_short_leases_respects_the_long_lease_and_the_long_wait_of_another(
    redis_server: RedisServer,
) -> None:
    async def use(clock: Clock, one: RedisFrontier, two: RedisFrontier) -> None:
        (lease,) = await one.lease(1)
        clock.time += 250.0
        assert await two.lease(1) == []
        # The host has requested a wait of ten minutes.
        assert await one.complete(lease, "rate_limited", wait=600.0)
        clock.time += 590.0
        assert await two.lease(1) == []
        clock.time += 20.0
        assert len(await two.lease(1)) == 1

    run_two_crawls(
        redis_server.address,
        use,
        FrontierRules(delay=1.0, lease_seconds=300.0),
        FrontierRules(delay=1.0, lease_seconds=10.0),
    )


def test_after_the_death_of_a_worker_the_other_crawl_waits_for_the_delay_of_the_host(redis_server: RedisServer) -> None:
    async def use(clock: Clock, one: RedisFrontier, two: RedisFrontier) -> None:
        await one.lease(1)
        # A request may have started after 8 of 10 seconds.
        clock.time += 10.5
        assert await two.lease(1) == []
        clock.time += 2.6
        assert len(await two.lease(1)) == 1

    run_two_crawls(
        redis_server.address,
        use,
        FrontierRules(delay=5.0, lease_seconds=10.0),
        FrontierRules(delay=5.0, lease_seconds=10.0),
    )


def test_a_host_without_a_lease_can_be_claimed_for_one_request(redis_server: RedisServer) -> None:
    async def use(clock: Clock, one: RedisFrontier, two: RedisFrontier) -> None:
        await one.lease(0)
        assert await one.host_leases.claim("b.org")
        assert one.host_leases.may_start("b.org")
        assert not two.host_leases.may_start("b.org")
        # The request may start at any moment while the claim is valid.
        offers = [Offer(Link("http://b.org/"), Priority(0.9))]
        for crawl in (one, two):
            await crawl.add(offers)
            assert {lease.host for lease in await crawl.lease(5)} <= {"a.org"}
        clock.time += CONFIRMATION_SECONDS + 0.9
        assert "b.org" not in {lease.host for lease in await two.lease(5)}
        clock.time += 0.2
        assert "b.org" in {lease.host for lease in await two.lease(5)}

    run_two_crawls(
        redis_server.address,
        use,
        FrontierRules(delay=1.0, lease_seconds=60.0),
        FrontierRules(delay=1.0, lease_seconds=60.0),
    )


def test_the_hosts_of_a_killed_worker_are_delayed_after_its_restart(redis_server: RedisServer) -> None:
    async def use(clock: Clock, one: RedisFrontier, two: RedisFrontier) -> None:
        assert len(await one.lease(1)) == 1
        clock.time += 7.0
        await one.release_all(count_attempts=True)
        clock.time += 0.9
        assert await one.lease(1) == await two.lease(1) == []
        clock.time += 0.2
        assert len(await one.lease(1)) == 1

    run_two_crawls(
        redis_server.address,
        use,
        FrontierRules(delay=1.0, lease_seconds=60.0),
        FrontierRules(delay=1.0, lease_seconds=60.0),
    )


def test_a_crawl_that_no_longer_requests_a_host_does_not_delay_the_other(redis_server: RedisServer) -> None:
    async def use(clock: Clock, one: RedisFrontier, two: RedisFrontier) -> None:
        (lease,) = await one.lease(1)
        assert await two.lease(1) == []
        clock.time += 30.0
        await one.complete(lease, "fetched")
        clock.time += 1.01
        assert len(await one.lease(1)) == 1

    run_two_crawls(
        redis_server.address,
        use,
        FrontierRules(delay=1.0, lease_seconds=60.0),
        FrontierRules(delay=1.0, lease_seconds=60.0),
    )
