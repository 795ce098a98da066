"""Lease filter: demoted links wait for all others, and leased links are checked again before their fetch."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from tests.helpers.visits import bind_strategy

from topicrawl import parse
from topicrawl.engine.context import CrawlContext
from topicrawl.engine.lease_filter import LeaseFilter
from topicrawl.engine.link_filter import LinkFilter
from topicrawl.engine.sinks import NullSink
from topicrawl.frontier.base import NO_LIMITS, FrontierRules, Lease, LeaseLimits, Offer
from topicrawl.frontier.domain_monitor import DomainMonitor
from topicrawl.frontier.memory import MemoryFrontier
from topicrawl.frontier.trap_detector import TrapDetector
from topicrawl.models import Link, Priority, Response
from topicrawl.relevance.vsm import Vsm
from topicrawl.topic import Topic

GOOD, TRAP = "http://good.example/1", "http://trap.example/calendar/1"


AsyncTest = Callable[[CrawlContext, LeaseFilter, "Clock"], Coroutine[Any, Any, None]]


async def fetch(link: Link) -> Response:
    raise AssertionError(link.url)


class Clock:
    """Clock that a test sets."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


def build_context(clock: Clock, monitor: DomainMonitor | None = None) -> CrawlContext:
    """Build a context in which the calendar of trap.example is exhausted."""
    detector, topic = TrapDetector(), Topic.of("dengue fever")
    for number in range(10):
        detector.add_page(f"http://trap.example/calendar/{number + 10}", ["no", "events"])
    return CrawlContext(
        frontier=MemoryFrontier(FrontierRules(delay=5.0), clock),
        fetch=fetch,
        parse=parse.parse_response,
        relevance=Vsm(topic),
        strategy=bind_strategy("best_first", topic),
        sink=NullSink(),
        clock=clock,
        link_filter=LinkFilter(trap_detector=detector, domain_monitor=monitor),
    )


def run(test: AsyncTest, monitor: DomainMonitor | None = None) -> None:
    clock = Clock()
    asyncio.run(test(build_context(clock, monitor), LeaseFilter(), clock))


def test_demoted_links_wait_while_the_hosts_of_other_links_are_delayed() -> None:
    async def test(context: CrawlContext, leases: LeaseFilter, clock: Clock) -> None:
        frontier = context.frontier
        await frontier.add([Offer(Link(GOOD), Priority(0.5)), Offer(Link(f"{GOOD}2"), Priority(0.5))])
        await frontier.add([Offer(Link(TRAP), Priority(-1.5))])
        (first,) = await leases.lease_links(context, 8, limits=NO_LIMITS)
        assert first.link.url == GOOD
        # The good link is being fetched, then its host is in its delay: the demoted link waits.
        assert await leases.lease_links(context, 8, limits=NO_LIMITS) == []
        await frontier.complete(first, "fetched")
        clock.now += 1.0
        assert await leases.lease_links(context, 8, limits=NO_LIMITS) == []
        assert await leases.seconds_until_ready(context, NO_LIMITS) == 4.0
        clock.now += 4.0
        (second,) = await leases.lease_links(context, 8, limits=NO_LIMITS)
        assert second.link.url == f"{GOOD}2"
        await frontier.complete(second, "fetched")
        (third,) = await leases.lease_links(context, 8, limits=NO_LIMITS)
        assert third.link.url == TRAP

    run(test)


def test_poor_links_wait_as_before() -> None:
    async def test(context: CrawlContext, leases: LeaseFilter, clock: Clock) -> None:
        poor = Offer(Link("http://poor.example/"), Priority(0.1))
        await context.frontier.add([Offer(Link(GOOD), Priority(0.5)), poor, Offer(Link(TRAP), Priority(-1.5))])
        limits = LeaseLimits(focus=0.4)
        (first,) = await leases.lease_links(context, 8, limits=limits)
        assert first.link.url == GOOD
        assert await leases.lease_links(context, 8, limits=limits) == []
        (second,) = await leases.lease_links(context, 8, limits=LeaseLimits(focus=0.4, max_poor=2))
        assert second.link.url == poor.link.url
        assert second.is_poor

    run(test)


def test_demoted_links_do_not_wait_for_a_host_that_is_down() -> None:
    async def test(context: CrawlContext, leases: LeaseFilter, clock: Clock) -> None:
        await context.frontier.add([Offer(Link(GOOD), Priority(0.5)), Offer(Link(TRAP), Priority(-1.5))])
        await context.frontier.block("good.example", clock.now + 3600)
        (lease,) = await leases.lease_links(context, 8, limits=NO_LIMITS)
        assert lease.link.url == TRAP

    run(test)


def test_a_link_is_demoted_if_its_trap_was_recognised_later() -> None:
    async def test(context: CrawlContext, leases: LeaseFilter, clock: Clock) -> None:
        await context.frontier.add([Offer(Link(TRAP, GOOD), Priority(0.75))])
        (lease,) = await leases.lease_links(context, 8, limits=NO_LIMITS)
        assert not await leases.accept_lease(context, lease, running=[])
        assert (await context.frontier.get_priorities([TRAP]))[TRAP].score == -1.25
        (lease,) = await leases.lease_links(context, 8, limits=NO_LIMITS)
        assert await leases.accept_lease(context, lease, running=[])

    run(test)


def test_new_hosts_of_a_domain_take_turns() -> None:
    async def test(context: CrawlContext, leases: LeaseFilter, clock: Clock) -> None:
        await context.frontier.add([Offer(Link(f"http://w{n}.farm.example/"), Priority(0.5)) for n in range(8)])
        leased = await leases.lease_links(context, 8, limits=NO_LIMITS)
        running: list[Lease] = []
        for lease in leased:
            if await leases.accept_lease(context, lease, running=running):
                running.append(lease)
        assert len(running) == 4
        # The others come back one after the other.
        assert await leases.lease_links(context, 8, limits=NO_LIMITS) == []
        clock.now += 0.5
        assert len(await leases.lease_links(context, 8, limits=NO_LIMITS)) == 2

    run(test, DomainMonitor())
