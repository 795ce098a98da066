"""No two starts on a host inside its delay, whoever asks."""

from __future__ import annotations

import asyncio
import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topicrawl.fetch.pace import LONGEST_DELAY, Pace


class Clock:
    """Time that passes only by sleeping, and by sleeping a little too short."""

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
        st.one_of(st.none(), st.floats(0, 60)),  # the delay asked for
        st.floats(0, 20),  # from the turn to the moment the request leaves
        st.booleans(),  # does it leave at all?
    ),
    max_size=30,
)


@given(STEPS)
def test_starts_are_at_least_the_longer_of_both_delays_apart(
    steps: list[tuple[str, float | None, float, bool]],
) -> None:
    clock = Clock()
    pace = Pace(2.0, clock=clock, sleep=clock.sleep)
    starts: dict[str, list[tuple[float, float]]] = {"a": [], "b": []}

    async def run() -> None:
        for host, delay, connecting, leaves in steps:
            async with pace.turn(host, delay) as turn:
                clock.now += connecting
                if leaves:
                    turn.started()
                    starts[host].append((clock.now, max(2.0, delay or 0.0)))
                    clock.now += connecting
            if not leaves:
                starts[host].append((clock.now, max(2.0, delay or 0.0)))

    asyncio.run(run())
    for times in starts.values():
        for (earlier, delay), (later, next_delay) in pairwise(times):
            assert later - earlier >= max(delay, next_delay) - 1e-6


def test_many_who_ask_at_once_start_one_delay_apart_and_hosts_do_not_hold_up_each_other() -> None:
    pace = Pace(0.03)
    starts: list[tuple[str, float]] = []

    async def one(host: str, connecting: float) -> None:
        async with pace.turn(host) as turn:
            await asyncio.sleep(connecting)
            starts.append((host, time.monotonic()))
            turn.started()
            await asyncio.sleep(0.2)  # the answer takes its time; the next start does not wait for it

    async def run() -> float:
        begun = time.monotonic()
        # The first one connects slowly: were its turn over when it was granted, the next would come too soon.
        await asyncio.gather(
            *(one("a", 0.02 if not number else 0.0) for number in range(5)),
            *(one("b", 0.0) for _ in range(5)),
        )
        return time.monotonic() - begun

    assert asyncio.run(run()) < 0.6
    for host in "ab":
        times = [at for name, at in starts if name == host]
        assert len(times) == 5
        assert min(later - earlier for earlier, later in pairwise(times)) >= 0.03


def test_a_turn_that_is_cancelled_is_given_back() -> None:
    async def run() -> None:
        pace = Pace(0.0)
        for _ in range(3):
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.005), pace.turn("a"):
                    await asyncio.sleep(1)
        async with asyncio.timeout(1), pace.turn("a") as turn:
            turn.started()

    asyncio.run(run())


def test_waiting_for_a_turn_can_be_cancelled_without_losing_it() -> None:
    async def run() -> None:
        pace = Pace(0.05)
        async with pace.turn("a"):
            pass
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01), pace.turn("a"):
                pytest.fail("too early")
        async with asyncio.timeout(1), pace.turn("a"):
            pass

    asyncio.run(run())


def test_hosts_whose_time_has_passed_are_forgotten() -> None:
    clock = Clock()
    pace = Pace(1.0, clock=clock, sleep=clock.sleep)

    async def run() -> None:
        for number in range(20_000):
            clock.now += LONGEST_DELAY / 500
            async with pace.turn(f"host{number}"):
                pass

    asyncio.run(run())
    assert len(pace) < 2100
