"""What only a file must stand: kills, a second process, full disks, other files, changed clocks and rules."""

from __future__ import annotations

import asyncio
import inspect
import random
import sqlite3
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from math import inf
from pathlib import Path
from typing import Any

import pytest

from topicrawl.errors import CollectionError, SpaceError
from topicrawl.frontier.contract import Lease, Offer, Rules
from topicrawl.frontier.sqlite import Sqlite
from topicrawl.frontier.sqlite_look import look
from topicrawl.records import Link, Place, Refusal

RULES = Rules(delay=1.0, parallel=2, lease_seconds=6.0, attempts=2)


async def play(frontier: Any, draw: random.Random, clock: Any, done: Callable[[], None]) -> None:
    """Endless changes that depend on nothing but the seed."""
    leases: list[Any] = []
    while True:
        clock.time += 0.25
        urls = [f"http://h{draw.randrange(9)}.org/{draw.randrange(40)}" for _ in range(8)]
        offers = [Offer(Link(url), Place(draw.randrange(16) / 16)) for url in urls]
        what = draw.random()
        if what < 0.15:
            await frontier.add(offers)
        elif what < 0.4 or not leases:
            leases += await frontier.lease(2)
        elif what < 0.8:
            await frontier.complete(leases.pop(0), "fetched", offers)
        elif what < 0.9:
            await frontier.give_back(leases.pop(0))
        else:
            await frontier.rescore({url: draw.randrange(16) / 16 for url in urls})
        done()


CHILD = f"""
import asyncio, os, random, sys
from pathlib import Path
from topicrawl.frontier.contract import Offer, Rules
from topicrawl.frontier.sqlite import Sqlite
from topicrawl.records import Link, Place
from typing import Any
from collections.abc import Callable

{inspect.getsource(play)}

class Clock:
    time = 1000.0
    def __call__(self):
        return self.time

async def main():
    clock = Clock()
    frontier = Sqlite(sys.argv[1], {RULES!r}, clock)
    await play(frontier, random.Random(int(sys.argv[2])), clock, lambda: os.write(1, b"."))

asyncio.run(main())
"""


class Played(Exception):
    """The oracle has done its share."""


def played(oracle: Any, clock: Any, seed: int, steps: int) -> Any:
    """The oracle after so many steps and a crash."""
    clock.time = 1000.0
    known = oracle(RULES, clock)

    class Waited:
        """The oracle's methods, to be awaited."""

        def __getattr__(self, name: str) -> Any:
            async def method(*arguments: Any) -> Any:
                return getattr(known, name)(*arguments)

            return method

    left = [steps]

    def done() -> None:
        left[0] -= 1
        if left[0] <= 0:
            raise Played

    with pytest.raises(Played):
        asyncio.run(play(Waited(), random.Random(seed), clock, done))
    known.crash()
    return known


@pytest.mark.parametrize("seed", range(5))
def test_a_kill_at_any_instant_loses_nothing(tmp_path: Path, oracle: Any, clock: Any, seed: int) -> None:
    path = tmp_path / "frontier.db"
    command = [sys.executable, "-c", CHILD, str(path), str(seed)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdout.read(1) == b"."
        time.sleep(random.Random(seed).random() / 8)
        child.kill()
        steps = 1 + len(child.stdout.read())
    # The last step may have happened without a word about it.
    candidates = [played(oracle, clock, seed, steps), played(oracle, clock, seed, steps + 1)]
    frontier = Sqlite(path, RULES, clock)

    async def after() -> tuple[dict[str, Any], Any, list[Lease]]:
        urls = [f"http://h{host}.org/{page}" for host in range(9) for page in range(40)]
        found = {url: await frontier.find(url) for url in urls}
        return found, await frontier.counts(), await frontier.lease(10)

    found, counts, leased = asyncio.run(after())
    assert leased == []  # requests may have begun just before the kill
    states = [({url: known.find(url) for url in found}, known.counts()) for known in candidates]
    assert (found, counts) in states
    clock.time += RULES.delay
    assert asyncio.run(frontier.lease(1))
    asyncio.run(frontier.close())


def test_a_second_process_is_told_who_has_the_file(tmp_path: Path, clock: Any) -> None:
    path = tmp_path / "frontier.db"
    command = [sys.executable, "-c", CHILD, str(path), "1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.read(1)
        with pytest.raises(CollectionError, match=f"in use by process {child.pid}"):
            Sqlite(path, RULES, clock)
        child.kill()
        child.wait()
    clock.time = 2000.0
    asyncio.run(Sqlite(path, RULES, clock).close())  # the kernel has opened the lock


def run_child(code: str, path: Path) -> None:
    """Run in a process of its own, for limits that cannot be lifted again."""
    script = "import asyncio, resource, sys\n" + inspect.getsource(filled) + textwrap.dedent(code)
    subprocess.run([sys.executable, "-c", CHILD_IMPORTS + script, str(path)], check=True, timeout=60)


CHILD_IMPORTS = """
from typing import Any
from topicrawl.errors import SpaceError
from topicrawl.frontier.contract import Offer, Rules
from topicrawl.frontier.sqlite import Sqlite
from topicrawl.records import Link, Place
"""


async def filled(frontier: Any) -> int:
    """Add until nothing more fits; then nothing is half there. Returns how many were added."""
    for page in range(10_000):
        offers = [Offer(Link(f"http://h{page % 7}.org/{page}/{n}"), Place(n / 20)) for n in range(20)]
        before = await frontier.counts()
        try:
            await frontier.add(offers)
        except SpaceError:
            assert await frontier.counts() == before
            assert all([await frontier.find(offer.link.url) is None for offer in offers])
            return page * 20
    raise AssertionError("it never became full")


def test_a_full_disk_is_named_and_nothing_is_half_written(tmp_path: Path, clock: Any) -> None:
    async def run() -> None:
        frontier = Sqlite(tmp_path / "frontier.db", Rules(delay=0.0, parallel=0), clock)
        frontier._file.execute("PRAGMA max_page_count = 60")
        count = await filled(frontier)
        leases = await frontier.lease(3)
        frontier._file.execute("PRAGMA max_page_count = 100000")
        assert await frontier.add([Offer(Link("http://new.org/"), Place(0.5))]) == 1
        assert await frontier.complete(leases[0], "fetched")
        await frontier.close()
        with sqlite3.connect(tmp_path / "frontier.db") as file:
            assert file.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            assert file.execute("SELECT count(*) FROM links").fetchone() == (count + 1,)

    asyncio.run(run())


def test_a_limit_on_file_sizes_is_survived(tmp_path: Path) -> None:
    run_child(
        """
        async def main():
            frontier = Sqlite(sys.argv[1], Rules(delay=0.0, parallel=0), lambda: 0.0)
            resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, resource.RLIM_INFINITY))
            await filled(frontier)
            resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
            assert await frontier.add([Offer(Link("http://new.org/"), Place(2.0))]) == 1
            (lease,) = await frontier.lease(1)
            assert lease.link.url == "http://new.org/"
            assert await frontier.complete(lease, "fetched")
            await frontier.close()

        asyncio.run(main())
        """,
        tmp_path / "frontier.db",
    )


def test_a_failed_lease_leaves_its_host_ready(tmp_path: Path, clock: Any) -> None:
    async def run() -> None:
        frontier = Sqlite(tmp_path / "frontier.db", Rules(), clock)
        await frontier.add([Offer(Link("http://a.org/"), Place(0.5))])
        execute = frontier._file.execute
        frontier._file.execute = refusing_commits(execute)
        with pytest.raises(SpaceError):
            await frontier.lease(1)
        frontier._file.execute = execute
        assert (await frontier.counts()).leased == 0
        assert [lease.attempts for lease in await frontier.lease(1)] == [1]
        await frontier.close()

    asyncio.run(run())


def refusing_commits(execute: Any) -> Any:
    def refuse(sql: str, *arguments: Any) -> Any:
        if sql == "COMMIT":
            raise OSError(28, "No space left on device")
        return execute(sql, *arguments)

    return refuse


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"this is a letter, not a database" * 40, "another program"),
        ("PRAGMA user_version = 7; CREATE TABLE birds (name)", "is not a frontier"),
        ("PRAGMA application_id = 1416589417; PRAGMA user_version = 99; CREATE TABLE links (a)", "newer Topicrawl"),
    ],
)
def test_files_that_are_not_ours_are_refused(tmp_path: Path, clock: Any, content: bytes | str, message: str) -> None:
    path = tmp_path / "frontier.db"
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        with sqlite3.connect(path) as file:
            file.executescript(content)
        file.close()
    before = path.read_bytes()
    for open_ in (lambda: Sqlite(path, RULES, clock), lambda: look(path)):
        with pytest.raises(CollectionError, match=message):
            open_()
    assert path.read_bytes() == before


def test_a_place_that_does_not_exist_is_named(tmp_path: Path, clock: Any) -> None:
    with pytest.raises(CollectionError, match="nowhere"):
        Sqlite(tmp_path / "nowhere" / "frontier.db", RULES, clock)
    with pytest.raises(CollectionError, match="does not exist"):
        look(tmp_path / "frontier.db")


def test_a_bystander_sees_what_is_written_and_disturbs_nothing(tmp_path: Path, clock: Any) -> None:
    async def run() -> None:
        path = tmp_path / "frontier.db"
        frontier = Sqlite(path, Rules(delay=0.0), clock)
        await frontier.add([Offer(Link(f"http://h{n}.org/"), Place(n / 8, {"level": n})) for n in range(6)])
        bystander = look(path)
        (lease,) = await frontier.lease(1)
        assert await bystander.counts() == await frontier.counts()
        assert await bystander.best(10) == await frontier.best(10)
        found = await bystander.find(lease.link.url)
        assert found is not None
        assert (found.state, found.attempts) == ("leased", 1)
        assert await bystander.places([lease.link.url, "http://h1.org/"]) == {
            "http://h1.org/": Place(0.125, {"level": 1})
        }
        assert await frontier.complete(lease, "fetched")
        await frontier.close()
        assert (await bystander.counts()).done == 1
        await bystander.close()

    asyncio.run(run())


def test_a_lease_of_an_earlier_process_is_refused(tmp_path: Path, clock: Any) -> None:
    async def run() -> None:
        path = tmp_path / "frontier.db"
        first = Sqlite(path, RULES, clock)
        await first.add([Offer(Link("http://a.org/"), Place(0.5))])
        (old,) = await first.lease(1)
        await first.close()
        clock.time += 10
        second = Sqlite(path, RULES, clock)
        (new,) = await second.lease(1)
        assert new.attempts == 1  # closing properly is not the link's fault
        for call in (second.complete(old, "fetched"), second.give_back(old), second.extend(old)):
            assert not await call
        assert await second.complete(new, "fetched")
        await second.close()

    asyncio.run(run())


@pytest.mark.parametrize("back", [0.0, 3600.0, 1e6])
def test_a_clock_set_back_between_two_runs_makes_no_host_wait_longer(tmp_path: Path, clock: Any, back: float) -> None:
    async def run() -> None:
        path = tmp_path / "frontier.db"
        frontier = Sqlite(path, Rules(delay=8.0), clock)
        await frontier.add([Offer(Link("http://a.org/1"), Place(0.5)), Offer(Link("http://a.org/2"), Place(0.4))])
        (lease,) = await frontier.lease(1)
        await frontier.complete(lease, "fetched", wait=30.0)
        await frontier.close()
        clock.time -= back
        frontier = Sqlite(path, Rules(delay=8.0), clock)
        assert await frontier.next_ready() == 30.0
        clock.time += 30.0
        assert len(await frontier.lease(1)) == 1
        await frontier.close()

    asyncio.run(run())


def test_a_budget_that_comes_later_counts_what_was_fetched_before(tmp_path: Path, clock: Any) -> None:
    async def run() -> None:
        path = tmp_path / "frontier.db"
        frontier = Sqlite(path, Rules(delay=0.0, parallel=0), clock)
        await frontier.add([Offer(Link(f"http://a.org/{n}"), Place(0.5)) for n in range(6)])
        await frontier.settle(["http://a.org/5"], "fetched")  # where a redirect ended: not a page of its own
        for lease in await frontier.lease(2):
            await frontier.complete(lease, "fetched")
        await frontier.close()
        frontier = Sqlite(path, Rules(delay=0.0, parallel=0, host_pages=3), clock)
        (lease,) = await frontier.lease(9)
        await frontier.complete(lease, "fetched")
        assert await frontier.lease(9) == []
        entry = await frontier.find("http://a.org/4")
        assert entry is not None
        assert (entry.state, entry.reason) == ("dropped", Refusal.HOST_BUDGET)
        await frontier.close()
        frontier = Sqlite(path, Rules(host_pages=2), clock)
        assert await frontier.next_ready() is None
        await frontier.close()

    asyncio.run(run())


def test_pages_are_counted_again_when_a_budget_comes_after_a_crash(tmp_path: Path, kinds: Any, clock: Any) -> None:
    async def run() -> None:
        kind = kinds["file"](tmp_path)
        frontier = kind.open(Rules(delay=0.0, parallel=0), clock)
        await frontier.add([Offer(Link(f"http://a.org/{n}"), Place(0.5)) for n in range(6)])
        for lease in await frontier.lease(2):
            await frontier.complete(lease, "fetched")
        await kind.crash(frontier)
        frontier = kind.open(Rules(delay=0.0, parallel=0, host_pages=3), clock)
        assert len(await frontier.lease(9)) == 1
        await frontier.close()

    asyncio.run(run())


@pytest.mark.parametrize("back", [0.0, 3600.0])
def test_after_a_crash_a_host_out_of_memory_waits_for_its_delay_and_no_longer(
    tmp_path: Path, kinds: Any, clock: Any, back: float
) -> None:
    async def run() -> None:
        kind = kinds["file"](tmp_path)
        frontier = kind.open(Rules(delay=4.0), clock)
        clock.time += 100.0
        for n in range(20):  # more than may be in memory
            await frontier.add([Offer(Link(f"http://h{n}.org/"), Place(0.5))])
            (lease,) = await frontier.lease(1)
            await frontier.complete(lease, "fetched", wait=60.0 if n == 7 else 0.0)
        await kind.crash(frontier)
        clock.time -= back
        frontier = kind.open(Rules(delay=4.0), clock)
        await frontier.add([Offer(Link("http://h3.org/2"), Place(0.5))])
        assert await frontier.next_ready() == 4.0
        await frontier.block("h3.org", inf)
        await frontier.add([Offer(Link("http://h7.org/2"), Place(0.5))])
        assert await frontier.next_ready() == 60.0
        await frontier.close()

    asyncio.run(run())


def test_what_is_remembered_of_pages_on_lease_goes_with_the_lease(tmp_path: Path, clock: Any) -> None:
    async def run() -> None:
        frontier = Sqlite(tmp_path / "frontier.db", Rules(delay=0.0, parallel=0), clock)
        await frontier.add([Offer(Link(f"http://a.org/{n}"), Place(0.5)) for n in range(4)])
        first, second, *_ = await frontier.lease(4)
        await frontier.complete(first, "fetched", [Offer(Link("http://b.org/", first.link.url), Place(0.1))])
        await frontier.give_back(second)
        assert len(frontier._links.sources) == 2
        entry = await frontier.find("http://b.org/")
        assert entry is not None
        assert entry.link.source == first.link.url
        await frontier.close()

    asyncio.run(run())


def test_half_a_character_in_an_anchor_is_replaced(tmp_path: Path, clock: Any) -> None:
    async def run() -> None:
        frontier = Sqlite(tmp_path / "frontier.db", Rules(), clock)
        await frontier.add([Offer(Link("http://a.org/", anchor="half \ud83d and nul \0"), Place(0.5, "\ud83d"))])
        (lease,) = await frontier.lease(1)
        assert lease.link.anchor == "half ? and nul \0"
        assert lease.place.carry == "\ud83d"
        await frontier.close()

    asyncio.run(run())


def test_hosts_with_nothing_to_do_leave_memory_and_are_remembered(tmp_path: Path, clock: Any) -> None:
    async def run() -> None:
        frontier = Sqlite(tmp_path / "frontier.db", Rules(delay=2.0), clock, idle=10)
        await frontier.block("h7.org", inf)
        for n in range(200):
            await frontier.add([Offer(Link(f"http://h{n}.org/"), Place(0.5))])
            for lease in await frontier.lease(1):
                await frontier.complete(lease, "fetched")
        assert len(list(frontier._hosts)) < 30
        assert (await frontier.counts()).hosts == 200
        await frontier.add([Offer(Link("http://h199.org/2"), Place(0.5)), Offer(Link("http://h3.org/2"), Place(0.5))])
        assert await frontier.lease(5) == []  # both were asked within their delay, at the same instant
        clock.time += 2.0
        assert len(await frontier.lease(5)) == 2
        await frontier.close()

    asyncio.run(run())
