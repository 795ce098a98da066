"""Tests of the rate limit per host: no two requests start within the delay."""

from __future__ import annotations

import asyncio
import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topicrawl.fetch.rate_limit import MAX_CRAWL_DELAY, HostRateLimiter


class Clock:
    """Fake clock that advances only by sleeping; every second sleep ends early."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.slept = 0

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept += 1
        self.now += seconds * 0.75 if self.slept % 2 else seconds


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["a", "b"]),
        st.one_of(st.none(), st.floats(0, 60)),  # requested delay
        st.floats(0, 20),  # seconds from acquiring the slot to sending
        st.booleans(),  # whether the request is sent
    ),
    max_size=30,
)


@given(STEPS)
def test_starts_are_at_least_the_longer_of_both_delays_apart(
    steps: list[tuple[str, float | None, float, bool]],
) -> None:
    clock = Clock()
    pace = HostRateLimiter(2.0, clock=clock, sleep=clock.sleep)
    starts: dict[str, list[tuple[float, float]]] = {"a": [], "b": []}

    async def run() -> None:
        for host, delay, connecting, leaves in steps:
            async with pace.acquire_slot(host, delay) as turn:
                clock.now += connecting
                if leaves:
                    turn.after_send()
                    starts[host].append((clock.now, max(2.0, delay or 0.0)))
                    clock.now += connecting
            if not leaves:
                starts[host].append((clock.now, max(2.0, delay or 0.0)))

    asyncio.run(run())
    for times in starts.values():
        for (earlier, delay), (later, next_delay) in pairwise(times):
            assert later - earlier >= max(delay, next_delay) - 1e-6


def test_concurrent_requests_keep_the_delay_and_hosts_are_independent() -> None:
    pace = HostRateLimiter(0.03)
    starts: list[tuple[str, float]] = []

    async def send(host: str, connecting: float) -> None:
        async with pace.acquire_slot(host) as turn:
            await asyncio.sleep(connecting)
            starts.append((host, time.monotonic()))
            turn.after_send()
            await asyncio.sleep(0.2)  # the next request does not wait for this slow response

    async def run() -> float:
        started = time.monotonic()
        # The first task connects slowly. If the delay began with the slot, the next request would be too early.
        await asyncio.gather(
            *(send("a", 0.02 if not number else 0.0) for number in range(5)),
            *(send("b", 0.0) for _ in range(5)),
        )
        return time.monotonic() - started

    assert asyncio.run(run()) < 0.6
    for host in "ab":
        times = [at for name, at in starts if name == host]
        assert len(times) == 5
        assert min(later - earlier for earlier, later in pairwise(times)) >= 0.03


def test_a_cancelled_slot_is_released() -> None:
    async def run() -> None:
        pace = HostRateLimiter(0.0)
        for _ in range(3):
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.005), pace.acquire_slot("a"):
                    await asyncio.sleep(1)
        async with asyncio.timeout(1), pace.acquire_slot("a") as turn:
            turn.after_send()

    asyncio.run(run())


def test_waiting_for_a_slot_can_be_cancelled() -> None:
    async def run() -> None:
        pace = HostRateLimiter(0.05)
        async with pace.acquire_slot("a"):
            pass
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01), pace.acquire_slot("a"):
                pytest.fail("too early")
        async with asyncio.timeout(1), pace.acquire_slot("a"):
            pass

    asyncio.run(run())


def test_hosts_are_dropped_after_their_delay() -> None:
    clock = Clock()
    pace = HostRateLimiter(1.0, clock=clock, sleep=clock.sleep)

    async def run() -> None:
        for number in range(20_000):
            clock.now += MAX_CRAWL_DELAY / 500
            async with pace.acquire_slot(f"host{number}"):
                pass

    asyncio.run(run())
    assert len(pace) < 2100
