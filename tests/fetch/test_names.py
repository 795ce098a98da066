"""Names are looked up off the event loop, and dead ones are not asked for over and over."""

from __future__ import annotations

import asyncio
import socket
import threading

import pytest

from topicrawl.fetch.names import Names, system_lookup


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_known_name_is_answered_without_asking_the_system() -> None:
    async def run() -> list[str]:
        return await Names({"a.test": "127.0.0.9"}, lookup=lambda name: pytest.fail(name)).addresses("a.test")

    assert asyncio.run(run()) == ["127.0.0.9"]


def test_a_name_that_fails_is_asked_again_only_after_a_while() -> None:
    asked: list[str] = []
    clock = Clock()

    def lookup(name: str) -> list[str]:
        asked.append(name)
        raise socket.gaierror(socket.EAI_NONAME, "no such name")

    async def run() -> None:
        names = Names({}, failure_seconds=30.0, clock=clock, lookup=lookup)
        for now in (0.0, 1.0, 29.0, 31.0, 32.0):
            clock.now = now
            with pytest.raises(OSError, match="no such name"):
                await names.addresses("dead.test")

    asyncio.run(run())
    assert asked == ["dead.test", "dead.test"]


def test_lookups_run_beside_each_other_and_the_loop_goes_on() -> None:
    together = threading.Barrier(8, timeout=5)

    def lookup(name: str) -> list[str]:
        together.wait()  # passes only when eight lookups are under way
        return ["192.0.2.1"]

    async def run() -> None:
        names = Names({}, lookup=lookup)
        await asyncio.gather(*(names.addresses(f"{number}.test") for number in range(8)))

    asyncio.run(run())


def test_a_lookup_that_outlives_its_crawl_is_left_behind() -> None:
    release = threading.Event()
    finished = threading.Event()

    def lookup(name: str) -> list[str]:
        release.wait(5)
        finished.set()
        return []

    async def run() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(Names({}, lookup=lookup).addresses("slow.test"), 0.01)

    asyncio.run(run())
    release.set()
    assert finished.wait(5)


@pytest.mark.parametrize("name", ["a" * 70 + ".test", "a..b", "\udce9.test"])
def test_an_impossible_name_is_a_lookup_failure_like_any_other(name: str) -> None:
    with pytest.raises(OSError, match="name"):
        system_lookup(name)
