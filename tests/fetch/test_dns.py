"""Tests of the DNS resolver: overrides, cached failures, and lookups outside the event loop."""

from __future__ import annotations

import asyncio
import socket
import threading

import pytest

from topicrawl.fetch.dns import HostResolver, resolve_with_system


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_an_override_is_returned_without_a_system_lookup() -> None:
    async def run() -> list[str]:
        return await HostResolver({"a.test": "127.0.0.9"}, lookup=lambda name: pytest.fail(name)).resolve("a.test")

    assert asyncio.run(run()) == ["127.0.0.9"]


def test_a_failed_lookup_is_repeated_only_after_a_delay() -> None:
    asked: list[str] = []
    clock = Clock()

    def lookup(name: str) -> list[str]:
        asked.append(name)
        raise socket.gaierror(socket.EAI_NONAME, "no such name")

    async def run() -> None:
        names = HostResolver({}, failure_seconds=30.0, clock=clock, lookup=lookup)
        for now in (0.0, 1.0, 29.0, 31.0, 32.0):
            clock.now = now
            with pytest.raises(OSError, match="no such name"):
                await names.resolve("dead.test")

    asyncio.run(run())
    assert asked == ["dead.test", "dead.test"]


def test_lookups_run_concurrently_without_blocking_the_event_loop() -> None:
    together = threading.Barrier(8, timeout=5)

    def lookup(name: str) -> list[str]:
        together.wait()  # passes only when eight lookups are running
        return ["192.0.2.1"]

    async def run() -> None:
        names = HostResolver({}, lookup=lookup)
        await asyncio.gather(*(names.resolve(f"{number}.test") for number in range(8)))

    asyncio.run(run())


def test_a_lookup_may_outlive_its_crawl() -> None:
    release = threading.Event()
    finished = threading.Event()

    def lookup(name: str) -> list[str]:
        release.wait(5)
        finished.set()
        return []

    async def run() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(HostResolver({}, lookup=lookup).resolve("slow.test"), 0.01)

    asyncio.run(run())
    release.set()
    assert finished.wait(5)


@pytest.mark.parametrize("name", ["a" * 70 + ".test", "a..b", "\udce9.test"])
def test_an_invalid_name_is_a_lookup_failure(name: str) -> None:
    with pytest.raises(OSError, match="name"):
        resolve_with_system(name)
