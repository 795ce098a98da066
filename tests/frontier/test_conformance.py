"""All frontiers behave like the oracle: the same leases in the same order, the same states, the same times."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from math import inf

import pytest
from msgspec.structs import replace
from tests.frontier.conftest import Clock, Kind, Oracle
from tests.helpers.markers import LONGER, RUN_LONG_TESTS

from topicrawl.frontier.base import Completion, Frontier, FrontierRules, Lease, LeaseLimits, Offer
from topicrawl.models import Link, Priority

OPERATIONS = 2500 if RUN_LONG_TESTS else 500
TABLE = {
    "polite": FrontierRules(delay=1.0, lease_seconds=30.0),
    "replay": FrontierRules(delay=0.0, parallel=0, lease_seconds=1000.0),
    "parallel": FrontierRules(delay=0.25, parallel=3, lease_seconds=8.0, attempts=2),
    "parallel without delay": FrontierRules(delay=0.0, parallel=2, lease_seconds=16.0, attempts=1),
    "host budget": FrontierRules(delay=0.5, parallel=2, host_pages=4, lease_seconds=20.0),
    "host budget in replay": FrontierRules(delay=0.0, parallel=0, host_pages=6, lease_seconds=60.0),
    "small": FrontierRules(delay=1.0, parallel=1, capacity=20, lease_seconds=20.0),
    "all at once": FrontierRules(delay=0.5, parallel=2, host_pages=5, capacity=30, lease_seconds=10.0, attempts=2),
}


class Trial:
    """Apply the same random operations to a frontier and to the oracle, and compare the results."""

    def __init__(self, kind: Kind, oracle: type[Oracle], clock: Clock, rules: FrontierRules, seed: int) -> None:
        self.kind, self.clock, self.rules, self.random = kind, clock, rules, random.Random(seed)
        self.subject: Frontier = kind.open(rules, clock)
        self.oracle = oracle(rules, clock, shared=kind.shared)
        self.leases: list[tuple[Lease, Lease]] = []  # leases of the subject and of the oracle, also stale ones
        # Politeness is checked against elapsed time, which does not depend on the clock.
        self.elapsed, self.starts, self.delays = 0.0, dict[str, float](), dict[str, float]()
        self.hosts = [f"h{n}.org" for n in range(7)]
        self.urls = [f"http://{self.random.choice(self.hosts)}/{n}" for n in range(110)]

    async def run(self, operations: int) -> None:
        steps: list[tuple[int, Callable[[], Awaitable[None]]]] = [
            (20, self.add),
            (30, self.lease),
            (16, self.complete),
            (8, self.complete_all),
            (8, self.give_back),
            (2, self.extend),
            (3, self.settle),
            (3, self.reopen),
            (5, self.rescore),
            (2, self.set_delay),
            (3, self.block),
            (30, self.pass_time),
            (2, self.places),
            (1, self.end),
        ]
        chosen = self.random.choices([step for _, step in steps], [weight for weight, _ in steps], k=operations)
        for number, step in enumerate(chosen):
            await step()
            assert await self.subject.get_counts() == self.oracle.get_counts(), (number, step.__name__)
            if number % 5 == 0:
                limits = self.limits()
                mine = await self.subject.seconds_until_ready(limits)
                assert mine == self.oracle.seconds_until_ready(limits), (number, step.__name__, limits)
            if number % 50 == 0:
                await self.compare_all()
        await self.compare_all()
        await self.subject.close()

    async def compare_all(self) -> None:
        assert await self.subject.get_best_entries(200) == self.oracle.get_best_entries(200)
        entries = {url: self.oracle.get_entry(url) for url in self.urls}
        for url, entry in entries.items():
            assert await self.subject.get_entry(url) == entry
        done = {entry.link.url: entry.reason async for batch in self.subject.iterate_done() for entry in batch}
        assert done == {url: entry.reason for url, entry in entries.items() if entry and entry.state == "done"}

    # Random values. Times and scores are exact in binary, so that sums do not depend on their order.

    def place(self) -> Priority:
        score = self.random.randrange(-4, 16) / 8
        carry = self.random.choice([None, None, 3, {"level": 2, "trail": [0.1, "ü"]}])
        return Priority(score, carry, self.random.choice([(), (("anchor", 0.1), ("page", score))]))

    def offers(self, most: int) -> list[Offer]:
        draw = self.random
        count = draw.randrange(most)
        sources = ["", "http://elsewhere.org/", *(pair[0].link.url for pair in self.leases[-3:])]
        return [
            Offer(
                Link(url, draw.choice(sources), draw.choice(["", "here", "größer"]), depth=draw.randrange(5)),
                self.place(),
                replace=draw.random() < 0.15,
            )
            for url in draw.choices(self.urls, k=count)
        ]

    def limits(self) -> LeaseLimits:
        draw = self.random
        return LeaseLimits(
            min_score=draw.choice([-inf, -inf, -0.25, 0.5]),
            focus=draw.choice([0.0, 0.0, 0.25, 0.5, 1.0]),
            max_poor=draw.choice([0, 0, 1, 3]),
            min_leased=draw.choice([0, 0, 0, 2, 5]),
        )

    def pair(self) -> tuple[Lease, Lease] | None:
        """Return a lease, sometimes a stale one."""
        if not self.leases:
            return None
        pair = self.random.choice(self.leases)
        if self.random.random() < 0.9:
            self.leases.remove(pair)
        return pair

    # Operations

    async def add(self) -> None:
        offers = self.offers(8)
        assert await self.subject.add(offers) == self.oracle.add(offers)

    async def lease(self) -> None:
        count, limits = self.random.choice([0, 1, 1, 2, 5]), self.limits()
        mine = await self.subject.lease(count, limits)
        theirs = self.oracle.lease(count, limits)
        assert [replace(lease, token=0) for lease in mine] == [replace(lease, token=0) for lease in theirs]
        self.leases += zip(mine, theirs, strict=True)
        for lease in mine:
            waited = self.elapsed - self.starts.get(lease.host, -inf)
            assert waited >= max(self.rules.delay, self.delays.get(lease.host, 0.0)), "too early"
            self.starts[lease.host] = self.elapsed

    async def complete(self) -> None:
        if pair := self.pair():
            offers, wait = self.offers(8), self.random.choice([0.0, 0.0, 0.5, 20.0])
            unused = self.random.random() < 0.2
            mine = await self.subject.complete(pair[0], "fetched", offers, wait=wait, unused=unused)
            self.refund_delay(pair[0], unused and mine)
            assert mine == self.oracle.complete(pair[1], "fetched", offers, wait=wait, unused=unused)

    async def complete_all(self) -> None:
        chosen = [pair for pair in (self.pair(), self.pair(), self.pair()) if pair]
        pairs = list({pair[0].token: pair for pair in chosen}.values())
        if not pairs:
            return  # an empty call reads the clock of the subject, but not that of the oracle
        ends = [(self.offers(6), self.random.choice([0.0, 0.5, 20.0]), self.random.random() < 0.2) for _ in pairs]
        mine = await self.subject.complete_all(
            [Completion(pair[0], "fetched", *end) for pair, end in zip(pairs, ends, strict=True)]
        )
        assert mine == [
            self.oracle.complete(pair[1], "fetched", offers, wait=wait, unused=unused)
            for pair, (offers, wait, unused) in zip(pairs, ends, strict=True)
        ]
        for pair, (_, _, unused), done in zip(pairs, ends, mine, strict=True):
            self.refund_delay(pair[0], unused and done)

    async def give_back(self) -> None:
        if pair := self.pair():
            wait, count = self.random.choice([0.0, 2.0, 40.0]), self.random.random() < 0.6
            unused = self.random.random() < 0.2
            mine = await self.subject.release(pair[0], wait=wait, count_attempt=count, unused=unused)
            self.refund_delay(pair[0], unused and mine)
            assert mine == self.oracle.release(pair[1], wait=wait, count_attempt=count, unused=unused)

    def refund_delay(self, lease: Lease, unused: bool) -> None:
        """Note that no request was sent, so the host is ready immediately."""
        if unused:
            self.starts.pop(lease.host, None)

    async def extend(self) -> None:
        if self.leases:
            pair = self.random.choice(self.leases)
            assert await self.subject.extend(pair[0]) == self.oracle.extend(pair[1])

    async def settle(self) -> None:
        urls = self.random.choices(self.urls, k=self.random.randrange(3))
        await self.subject.mark_done(urls, "fetched")
        self.oracle.mark_done(urls, "fetched")

    async def reopen(self) -> None:
        offers = self.offers(6)
        await self.subject.reopen(offers)
        self.oracle.reopen(offers)

    async def rescore(self) -> None:
        scores = {url: self.place().score for url in self.random.choices(self.urls, k=6)}
        assert await self.subject.rescore(scores) == self.oracle.rescore(scores)

    async def set_delay(self) -> None:
        host, delay = self.random.choice(self.hosts), self.random.choice([0.0, 0.5, 3.0, 3.0, 70.0])
        self.delays[host] = delay
        await self.subject.set_host_delay(host, delay)
        self.oracle.set_host_delay(host, delay)

    async def block(self) -> None:
        host = self.random.choice(self.hosts)
        until = self.random.choice([0.0, self.clock.time + 4, self.clock.time + 30, self.clock.time + 90, inf])
        await self.subject.block(host, until)
        self.oracle.block(host, until)

    async def pass_time(self, *, running: bool = True) -> None:
        seconds = self.random.choice([0.0, 0.125, 0.25, 0.5, 1.0, 1.0, 2.0, 5.0, 40.0])
        self.elapsed += seconds
        self.clock.time += seconds
        if self.random.random() < 0.02:
            if running:  # the offset depends on the last reading of the clock
                assert await self.subject.seconds_until_ready() == self.oracle.seconds_until_ready()
            self.clock.time -= self.random.choice([0.5, 10.0, 5000.0])

    async def places(self) -> None:
        assert await self.subject.get_priorities(self.urls[:40]) == self.oracle.get_priorities(self.urls[:40])

    async def end(self) -> None:
        """End the process, let time pass or set the clock back, and open the frontier in another process."""
        if not self.kind.endings:
            return
        if self.random.choice(self.kind.endings) == "crash":
            await self.kind.crash(self.subject)
            self.oracle.crash()
        else:
            await self.subject.close()
            self.oracle.close()
        if self.random.random() < 0.7:
            await self.pass_time(running=False)
        self.subject = self.kind.open(self.rules, self.clock)
        self.oracle.open()
        await self.compare_all()


@LONGER
@pytest.mark.parametrize("name", TABLE)
def test_every_operation_matches_the_oracle(kind: Kind, oracle: type[Oracle], clock: Clock, name: str) -> None:
    seed = list(TABLE).index(name)
    trial = Trial(kind, oracle, clock, TABLE[name], seed)
    operations = int(OPERATIONS * kind.share)
    asyncio.run(trial.run(operations))
    assert trial.oracle.tokens > operations / 30


@pytest.mark.parametrize("score", [inf, -inf, float("nan")])
def test_scores_that_are_not_finite_raise_value_error_and_change_nothing(
    kind: Kind, clock: Clock, score: float
) -> None:
    async def run() -> None:
        frontier = kind.open(FrontierRules(), clock)
        good, bad = Offer(Link("http://a.org/1"), Priority(0.5)), Offer(Link("http://a.org/2"), Priority(score))
        await frontier.add([good])
        (lease,) = await frontier.lease(1)
        for call in (
            frontier.add([Offer(Link("http://a.org/3"), Priority(0.1)), bad]),
            frontier.complete(lease, "fetched", [bad]),
            frontier.reopen([bad]),
            frontier.rescore({"http://a.org/1": 0.3, "http://a.org/2": score}),
        ):
            with pytest.raises(ValueError, match="finite"):
                await call
        assert await frontier.get_entry("http://a.org/3") is None
        assert (await frontier.get_counts()).leased == 1
        await frontier.close()

    asyncio.run(run())


def test_equal_scores_are_leased_in_the_order_of_discovery(kind: Kind, clock: Clock) -> None:
    async def run() -> list[str]:
        frontier = kind.open(FrontierRules(delay=0.0, parallel=0), clock)
        urls = [f"http://h{n % 3}.org/{n}" for n in (5, 3, 8, 1, 9, 2)]
        await frontier.add([Offer(Link(url), Priority(0.2)) for url in urls])
        # Rising to the same score again does not change the order.
        await frontier.add([Offer(Link(url), Priority(0.7)) for url in reversed(urls)])
        leased = [lease.link.url for lease in await frontier.lease(10)]
        await frontier.close()
        assert leased == urls
        return leased

    asyncio.run(run())


def test_offers_of_one_batch_are_applied_in_order(kind: Kind, clock: Clock) -> None:
    async def run() -> None:
        frontier = kind.open(FrontierRules(), clock)
        link = Link("http://a.org/")
        await frontier.add([Offer(link, Priority(0.5))])
        await frontier.add([Offer(link, Priority(0.1), replace=True), Offer(link, Priority(0.3))])
        assert await frontier.get_priorities([link.url]) == {link.url: Priority(0.3)}
        await frontier.add([Offer(link, Priority(0.3, 7), replace=True), Offer(link, Priority(0.2))])
        assert await frontier.get_priorities([link.url]) == {link.url: Priority(0.3, 7)}
        await frontier.close()

    asyncio.run(run())


def test_only_closed_links_are_found_closed(kind: Kind, clock: Clock) -> None:
    async def run() -> None:
        frontier = kind.open(FrontierRules(delay=0.0, parallel=0), clock)
        urls = [f"http://a.org/{number}" for number in range(4)]
        await frontier.add([Offer(Link(url), Priority(0.5)) for url in urls[:3]])
        done, leased = await frontier.lease(2)
        await frontier.complete(done, "fetched", [Offer(Link(url), Priority(0.9)) for url in urls])
        # A frontier on a server finds none, because it would have to ask the server.
        assert frontier.find_closed(urls) in ({done.link.url}, set())
        await frontier.mark_done([urls[3]], "moved")
        assert frontier.find_closed(urls) in ({done.link.url, urls[3]}, set())
        await frontier.reopen([Offer(done.link, Priority(0.5))])
        assert done.link.url not in frontier.find_closed(urls)
        assert leased.link.url not in frontier.find_closed(urls)
        await frontier.close()

    asyncio.run(run())


def test_reopening_a_page_frees_the_host_budget(kind: Kind, clock: Clock) -> None:
    async def run() -> None:
        frontier = kind.open(FrontierRules(delay=0.0, host_pages=1), clock)
        first, second = (Offer(Link(f"http://a.org/{n}"), Priority(0.5)) for n in (1, 2))
        await frontier.add([first])
        (lease,) = await frontier.lease(1)
        await frontier.complete(lease, "fetched")
        assert await frontier.add([second]) == 0
        await frontier.reopen([first])
        assert await frontier.add([second]) == 1
        assert [lease.link.url for lease in await frontier.lease(5)] == ["http://a.org/1"]
        await frontier.close()

    asyncio.run(run())


def test_a_frontier_without_links_is_never_ready(kind: Kind, clock: Clock) -> None:
    async def run() -> None:
        frontier = kind.open(FrontierRules(lease_seconds=60.0), clock)
        assert await frontier.seconds_until_ready() is None
        await frontier.add([Offer(Link("http://a.org/"), Priority(0.5))])
        (lease,) = await frontier.lease(1)
        assert await frontier.seconds_until_ready() == 60.0  # when the lease expires
        await frontier.block("a.org", inf)
        assert await frontier.seconds_until_ready() is None
        assert await frontier.complete(lease, "fetched")
        assert not await frontier.complete(lease, "fetched")
        await frontier.close()

    asyncio.run(run())


def test_poor_links_wait_for_a_host_in_its_delay_but_not_for_slow_or_failing_ones(kind: Kind, clock: Clock) -> None:
    async def run() -> None:
        frontier = kind.open(FrontierRules(delay=2.0, lease_seconds=100.0), clock)
        pages = {"http://good.org/1": 1.0, "http://good.org/2": 0.875, "http://poor.org/": 0.125}
        await frontier.add([Offer(Link(url), Priority(score)) for url, score in pages.items()])
        limits = LeaseLimits(focus=0.25)
        (lease,) = await frontier.lease(5, limits)
        assert (lease.link.url, lease.is_poor) == ("http://good.org/1", False)
        for seconds, expected in ((1.0, False), (9.0, False), (0.5, True)):
            clock.time += seconds
            assert (await frontier.seconds_until_ready(limits) == 0.0) is expected, seconds
        # The host has failed and waits for longer than its delay.
        await frontier.release(lease, wait=30.0)
        assert await frontier.seconds_until_ready(limits) == 0.0
        clock.time += 28.0
        assert await frontier.seconds_until_ready(limits) == 2.0
        (poor,) = await frontier.lease(5, LeaseLimits(focus=0.25, max_poor=1))
        assert (poor.link.url, poor.is_poor) == ("http://poor.org/", True)
        await frontier.release(poor, unused=True, count_attempt=False)
        assert await frontier.lease(5, limits) == []
        (poor,) = await frontier.lease(5, LeaseLimits(focus=0.25, min_leased=1))
        assert await frontier.lease(5, LeaseLimits(focus=0.25, min_leased=1)) == []
        clock.time += 2.0
        (lease,) = await frontier.lease(5, limits)
        assert lease.link.url == "http://good.org/1"
        await frontier.close()

    asyncio.run(run())


def test_links_below_the_minimum_score_are_not_leased(kind: Kind, clock: Clock) -> None:
    async def run() -> None:
        frontier = kind.open(FrontierRules(delay=2.0), clock)
        pages = {"http://a.org/1": 0.5, "http://a.org/2": 0.375, "http://b.org/": 0.125}
        await frontier.add([Offer(Link(url), Priority(score)) for url, score in pages.items()])
        limits = LeaseLimits(min_score=0.25)
        (lease,) = await frontier.lease(5, limits)
        await frontier.complete(lease, "fetched")
        assert await frontier.seconds_until_ready(limits) == 2.0
        await frontier.rescore({"http://a.org/2": 0.0})
        assert await frontier.seconds_until_ready(limits) is None
        assert await frontier.seconds_until_ready() == 0.0
        await frontier.rescore({"http://b.org/": 0.25})
        assert [lease.link.url for lease in await frontier.lease(5, limits)] == ["http://b.org/"]
        await frontier.close()

    asyncio.run(run())
