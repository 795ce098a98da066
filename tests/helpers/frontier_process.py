"""Process that changes an SQLite frontier, for tests with kills and with full disks.

python frontier_process.py play FILE SEED     random operations until the process is killed; a dot after each one
python frontier_process.py fill FILE          add links under a limit on file sizes, then continue without the limit
"""

from __future__ import annotations

import asyncio
import os
import random
import resource
import sys
from collections.abc import Callable
from typing import Protocol

from topicrawl.errors import SpaceError
from topicrawl.frontier.base import Frontier, FrontierRules, Lease, Offer
from topicrawl.frontier.sqlite.frontier import SqliteFrontier
from topicrawl.models import Link, Priority

RULES = FrontierRules(delay=1.0, parallel=2, lease_seconds=6.0, attempts=2)


class MutableClock(Protocol):
    """Clock whose time the caller sets."""

    time: float

    def __call__(self) -> float: ...


class ManualClock:
    """Clock of the child process."""

    time = 1000.0

    def __call__(self) -> float:
        return self.time


async def play(frontier: Frontier, draw: random.Random, clock: MutableClock, done: Callable[[], None]) -> None:
    """Change a frontier endlessly. The operations only depend on the random generator."""
    leases: list[Lease] = []
    while True:
        clock.time += 0.25
        urls = [f"http://h{draw.randrange(9)}.org/{draw.randrange(40)}" for _ in range(8)]
        offers = [Offer(Link(url), Priority(draw.randrange(16) / 16)) for url in urls]
        choice = draw.random()
        if choice < 0.15:
            await frontier.add(offers)
        elif choice < 0.4 or not leases:
            leases += await frontier.lease(2)
        elif choice < 0.8:
            await frontier.complete(leases.pop(0), "fetched", offers)
        elif choice < 0.9:
            await frontier.release(leases.pop(0))
        else:
            await frontier.rescore({url: draw.randrange(16) / 16 for url in urls})
        done()


async def fill(frontier: Frontier) -> int:
    """Add links until the file is full, check that the failed call changed nothing, and return how many were added."""
    for page in range(10_000):
        offers = [Offer(Link(f"http://h{page % 7}.org/{page}/{n}"), Priority(n / 20)) for n in range(20)]
        before = await frontier.get_counts()
        try:
            await frontier.add(offers)
        except SpaceError:
            assert await frontier.get_counts() == before
            assert all([await frontier.get_entry(offer.link.url) is None for offer in offers])
            return page * 20
    raise AssertionError("the file was never full")


async def play_until_killed(path: str, seed: int) -> None:
    """Run `play` on a file and write a dot to stdout after each operation."""

    def report() -> None:
        os.write(1, b".")

    clock = ManualClock()
    await play(SqliteFrontier(path, RULES, clock), random.Random(seed), clock, report)


async def fill_limited_file(path: str) -> None:
    """Fill a file under a limit on file sizes, then check that the frontier works without the limit."""
    frontier = SqliteFrontier(path, FrontierRules(delay=0.0, parallel=0), lambda: 0.0)
    resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, resource.RLIM_INFINITY))
    await fill(frontier)
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert await frontier.add([Offer(Link("http://new.org/"), Priority(2.0))]) == 1
    (lease,) = await frontier.lease(1)
    assert lease.link.url == "http://new.org/"
    assert await frontier.complete(lease, "fetched")
    await frontier.close()


if __name__ == "__main__":
    if sys.argv[1] == "play":
        asyncio.run(play_until_killed(sys.argv[2], int(sys.argv[3])))
    else:
        asyncio.run(fill_limited_file(sys.argv[2]))
