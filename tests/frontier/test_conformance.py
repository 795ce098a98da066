"""Every frontier does what the oracle does: the same leases in the same order, the same states, the same times."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import replace
from math import inf
from typing import Any

import pytest
from tests.longer import LONGER, WANTED

from topicrawl.frontier.contract import End, Frontier, Lease, Offer, Rules
from topicrawl.records import Link, Place

OPERATIONS = 2500 if WANTED else 500
TABLE = {
    "polite": Rules(delay=1.0, lease_seconds=30.0),
    "replay": Rules(delay=0.0, parallel=0, lease_seconds=1000.0),
    "parallel": Rules(delay=0.25, parallel=3, lease_seconds=8.0, attempts=2),
    "parallel without delay": Rules(delay=0.0, parallel=2, lease_seconds=16.0, attempts=1),
    "host budget": Rules(delay=0.5, parallel=2, host_pages=4, lease_seconds=20.0),
    "host budget in replay": Rules(delay=0.0, parallel=0, host_pages=6, lease_seconds=60.0),
    "small": Rules(delay=1.0, parallel=1, capacity=20, lease_seconds=20.0),
    "all at once": Rules(delay=0.5, parallel=2, host_pages=5, capacity=30, lease_seconds=10.0, attempts=2),
}  # fmt: skip


class Trial:
    """Does the same random things to a frontier and to the oracle, and compares."""

    def __init__(self, kind: Any, oracle: Any, clock: Any, rules: Rules, seed: int) -> None:
        self.kind, self.clock, self.rules, self.random = kind, clock, rules, random.Random(seed)
        self.subject: Frontier = kind.open(rules, clock)
        self.oracle = oracle(rules, clock, shared=kind.shared)
        self.leases: list[tuple[Lease, Lease]] = []  # of the subject and of the oracle; also stale ones
        # Politeness is judged by the time that really passed, whatever the clock shows.
        self.elapsed, self.starts, self.delays = 0.0, dict[str, float](), dict[str, float]()
        self.hosts = [f"h{n}.org" for n in range(7)]
        self.urls = [f"http://{self.random.choice(self.hosts)}/{n}" for n in range(110)]

    async def run(self, operations: int) -> None:
        steps: list[tuple[int, Callable[[], Awaitable[None]]]] = [
            (20, self.add), (30, self.lease), (16, self.complete), (8, self.complete_all),
            (8, self.give_back), (2, self.extend),
            (3, self.settle), (3, self.reopen), (5, self.rescore), (2, self.set_delay), (3, self.block),
            (30, self.pass_time), (2, self.places), (1, self.end),
        ]  # fmt: skip
        chosen = self.random.choices([step for _, step in steps], [weight for weight, _ in steps], k=operations)
        for number, step in enumerate(chosen):
            await step()
            assert await self.subject.counts() == self.oracle.counts(), (number, step.__name__)
            if number % 5 == 0:
                assert await self.subject.next_ready() == self.oracle.next_ready(), (number, step.__name__)
            if number % 50 == 0:
                await self.compare_all()
        await self.compare_all()
        await self.subject.close()

    async def compare_all(self) -> None:
        assert await self.subject.best(200) == self.oracle.best(200)
        for url in self.urls:
            assert await self.subject.find(url) == self.oracle.find(url)

    # What is drawn by lot. Times and scores are exact in binary, so that sums do not depend on their order.

    def place(self) -> Place:
        score = self.random.randrange(-4, 16) / 8
        carry = self.random.choice([None, None, 3, {"level": 2, "trail": [0.1, "ü"]}])
        return Place(score, carry, self.random.choice([(), (("anchor", 0.1), ("page", score))]))

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

    def pair(self) -> tuple[Lease, Lease] | None:
        """A lease, seldom one that is over."""
        if not self.leases:
            return None
        pair = self.random.choice(self.leases)
        if self.random.random() < 0.9:
            self.leases.remove(pair)
        return pair

    # What is done

    async def add(self) -> None:
        offers = self.offers(8)
        assert await self.subject.add(offers) == self.oracle.add(offers)

    async def lease(self) -> None:
        count, focus = self.random.choice([0, 1, 1, 2, 5]), self.random.choice([0.0, 0.0, 0.5, 0.9])
        few = self.random.choice([0, 0, 1, 3, 9])
        mine = await self.subject.lease(count, focus=focus, few=few)
        theirs = self.oracle.lease(count, focus=focus, few=few)
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
            self.spare(pair[0], unused and mine)
            assert mine == self.oracle.complete(pair[1], "fetched", offers, wait=wait, unused=unused)

    async def complete_all(self) -> None:
        found = [pair for pair in (self.pair(), self.pair(), self.pair()) if pair]
        pairs = list({pair[0].token: pair for pair in found}.values())
        ends = [(self.offers(6), self.random.choice([0.0, 0.5, 20.0]), self.random.random() < 0.2) for _ in pairs]
        mine = await self.subject.complete_all(
            [End(pair[0], "fetched", *end) for pair, end in zip(pairs, ends, strict=True)]
        )
        assert mine == [
            self.oracle.complete(pair[1], "fetched", offers, wait=wait, unused=unused)
            for pair, (offers, wait, unused) in zip(pairs, ends, strict=True)
        ]
        for pair, (_, _, unused), done in zip(pairs, ends, mine, strict=True):
            self.spare(pair[0], unused and done)

    async def give_back(self) -> None:
        if pair := self.pair():
            wait, count = self.random.choice([0.0, 2.0, 40.0]), self.random.random() < 0.6
            unused = self.random.random() < 0.2
            mine = await self.subject.give_back(pair[0], wait=wait, count=count, unused=unused)
            self.spare(pair[0], unused and mine)
            assert mine == self.oracle.give_back(pair[1], wait=wait, count=count, unused=unused)

    def spare(self, lease: Lease, unused: bool) -> None:
        """Nothing was asked of the host, so it may be asked at once."""
        if unused:
            self.starts.pop(lease.host, None)

    async def extend(self) -> None:
        if self.leases:
            pair = self.random.choice(self.leases)
            assert await self.subject.extend(pair[0]) == self.oracle.extend(pair[1])

    async def settle(self) -> None:
        urls = self.random.choices(self.urls, k=self.random.randrange(3))
        await self.subject.settle(urls, "fetched")
        self.oracle.settle(urls, "fetched")

    async def reopen(self) -> None:
        offers = self.offers(6)
        await self.subject.reopen(offers)
        self.oracle.reopen(offers)

    async def rescore(self) -> None:
        scores = {url: self.place().score for url in self.random.choices(self.urls, k=6)}
        assert await self.subject.rescore(scores) == self.oracle.rescore(scores)

    async def set_delay(self) -> None:
        host, delay = self.random.choice(self.hosts), self.random.choice([0.0, 0.5, 3.0])
        self.delays[host] = delay
        await self.subject.set_delay(host, delay)
        self.oracle.set_delay(host, delay)

    async def block(self) -> None:
        host = self.random.choice(self.hosts)
        until = self.random.choice([0.0, self.clock.time + 4, self.clock.time + 30, inf])
        await self.subject.block(host, until)
        self.oracle.block(host, until)

    async def pass_time(self, *, running: bool = True) -> None:
        seconds = self.random.choice([0.0, 0.125, 0.25, 0.5, 1.0, 1.0, 2.0, 5.0, 40.0])
        self.elapsed += seconds
        self.clock.time += seconds
        if self.random.random() < 0.02:
            if running:  # how far a clock is set back depends on when it was looked at last
                assert await self.subject.next_ready() == self.oracle.next_ready()
            self.clock.time -= self.random.choice([0.5, 10.0, 5000.0])

    async def places(self) -> None:
        assert await self.subject.places(self.urls[:40]) == self.oracle.places(self.urls[:40])

    async def end(self) -> None:
        """The process ends, time passes or is set back, and another process goes on."""
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
def test_every_operation_does_what_the_oracle_does(kind: Any, oracle: Any, clock: Any, name: str) -> None:
    seed = list(TABLE).index(name)
    trial = Trial(kind, oracle, clock, TABLE[name], seed)
    operations = int(OPERATIONS * kind.share)
    asyncio.run(trial.run(operations))
    assert trial.oracle.tokens > operations / 30


@pytest.mark.parametrize("score", [inf, -inf, float("nan")])
def test_scores_without_an_order_are_refused_and_change_nothing(kind: Any, clock: Any, score: float) -> None:
    async def run() -> None:
        frontier = kind.open(Rules(), clock)
        good, bad = Offer(Link("http://a.org/1"), Place(0.5)), Offer(Link("http://a.org/2"), Place(score))
        await frontier.add([good])
        (lease,) = await frontier.lease(1)
        for call in (
            frontier.add([Offer(Link("http://a.org/3"), Place(0.1)), bad]),
            frontier.complete(lease, "fetched", [bad]),
            frontier.reopen([bad]),
            frontier.rescore({"http://a.org/1": 0.3, "http://a.org/2": score}),
        ):
            with pytest.raises(ValueError, match="finite"):
                await call
        assert await frontier.find("http://a.org/3") is None
        assert (await frontier.counts()).leased == 1
        await frontier.close()

    asyncio.run(run())


def test_equal_scores_leave_in_the_order_they_were_found(kind: Any, clock: Any) -> None:
    async def run() -> list[str]:
        frontier = kind.open(Rules(delay=0.0, parallel=0), clock)
        urls = [f"http://h{n % 3}.org/{n}" for n in (5, 3, 8, 1, 9, 2)]
        await frontier.add([Offer(Link(url), Place(0.2)) for url in urls])
        # Rising to the same score again does not change the order.
        await frontier.add([Offer(Link(url), Place(0.7)) for url in reversed(urls)])
        leased = [lease.link.url for lease in await frontier.lease(10)]
        await frontier.close()
        assert leased == urls
        return leased

    asyncio.run(run())


def test_offers_of_one_batch_are_taken_one_after_the_other(kind: Any, clock: Any) -> None:
    async def run() -> None:
        frontier = kind.open(Rules(), clock)
        link = Link("http://a.org/")
        await frontier.add([Offer(link, Place(0.5))])
        await frontier.add([Offer(link, Place(0.1), replace=True), Offer(link, Place(0.3))])
        assert await frontier.places([link.url]) == {link.url: Place(0.3)}
        await frontier.add([Offer(link, Place(0.3, 7), replace=True), Offer(link, Place(0.2))])
        assert await frontier.places([link.url]) == {link.url: Place(0.3, 7)}
        await frontier.close()

    asyncio.run(run())


def test_a_host_that_gave_all_it_may_takes_links_again_when_a_page_of_it_was_lost(kind: Any, clock: Any) -> None:
    async def run() -> None:
        frontier = kind.open(Rules(delay=0.0, host_pages=1), clock)
        first, second = (Offer(Link(f"http://a.org/{n}"), Place(0.5)) for n in (1, 2))
        await frontier.add([first])
        (lease,) = await frontier.lease(1)
        await frontier.complete(lease, "fetched")
        assert await frontier.add([second]) == 0
        await frontier.reopen([first])
        assert await frontier.add([second]) == 1
        assert [lease.link.url for lease in await frontier.lease(5)] == ["http://a.org/1"]
        await frontier.close()

    asyncio.run(run())


def test_a_frontier_with_nothing_to_ask_says_so(kind: Any, clock: Any) -> None:
    async def run() -> None:
        frontier = kind.open(Rules(lease_seconds=60.0), clock)
        assert await frontier.next_ready() is None
        await frontier.add([Offer(Link("http://a.org/"), Place(0.5))])
        (lease,) = await frontier.lease(1)
        assert await frontier.next_ready() == 60.0  # when the lease would go back
        await frontier.block("a.org", inf)
        assert await frontier.next_ready() is None
        assert await frontier.complete(lease, "fetched")
        assert not await frontier.complete(lease, "fetched")
        await frontier.close()

    asyncio.run(run())
