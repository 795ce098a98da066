"""SQLite frontier: kills, a second process, full disks, invalid files, changed clocks and rules."""

from __future__ import annotations

import asyncio
import random
import sqlite3
import subprocess
import sys
import time
from math import inf
from pathlib import Path
from typing import Any, cast

import pytest
from tests.frontier.conftest import Clock, InFile, Kind, Oracle
from tests.helpers import frontier_process
from tests.helpers.frontier_process import RULES, fill, play
from tests.helpers.markers import LONG

from topicrawl.errors import CollectionError, SpaceError
from topicrawl.frontier.base import Frontier, FrontierRules, Lease, Offer
from topicrawl.frontier.sqlite.frontier import SqliteFrontier
from topicrawl.frontier.sqlite.reader import open_reader
from topicrawl.models import Link, Priority, Refusal

CHILD = str(Path(frontier_process.__file__))


class StepsDone(Exception):
    """The oracle has executed the requested number of steps."""


def run_oracle(oracle: type[Oracle], clock: Clock, seed: int, steps: int) -> Oracle:
    """Return the oracle after `steps` operations and a crash."""
    clock.time = 1000.0
    model = oracle(RULES, clock)

    class AsyncOracle:
        """Oracle with asynchronous methods."""

        def __getattr__(self, name: str) -> Any:
            async def method(*arguments: Any) -> Any:
                return getattr(model, name)(*arguments)

            return method

    left = [steps]

    def done() -> None:
        left[0] -= 1
        if left[0] <= 0:
            raise StepsDone

    with pytest.raises(StepsDone):
        asyncio.run(play(cast(Frontier, AsyncOracle()), random.Random(seed), clock, done))
    model.crash()
    return model


@LONG
@pytest.mark.parametrize("seed", range(5))
def test_a_kill_at_any_instant_loses_nothing(tmp_path: Path, oracle: type[Oracle], clock: Clock, seed: int) -> None:
    path = tmp_path / "frontier.db"
    command = [sys.executable, CHILD, "play", str(path), str(seed)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdout.read(1) == b"."
        time.sleep(random.Random(seed).random() / 8)
        child.kill()
        steps = 1 + len(child.stdout.read())
    # The last operation may have been executed without a dot.
    candidates = [run_oracle(oracle, clock, seed, steps), run_oracle(oracle, clock, seed, steps + 1)]
    frontier = SqliteFrontier(path, RULES, clock)

    async def after() -> tuple[dict[str, Any], Any, list[Lease]]:
        urls = [f"http://h{host}.org/{page}" for host in range(9) for page in range(40)]
        found = {url: await frontier.get_entry(url) for url in urls}
        return found, await frontier.get_counts(), await frontier.lease(10)

    found, counts, leased = asyncio.run(after())
    assert leased == []  # requests may have started just before the kill
    states = [({url: model.get_entry(url) for url in found}, model.get_counts()) for model in candidates]
    assert (found, counts) in states
    clock.time += RULES.delay
    # On a fast machine, all links may be done.
    assert bool(asyncio.run(frontier.lease(1))) == bool(counts.waiting)
    asyncio.run(frontier.close())


def test_a_second_process_is_refused_with_the_pid_of_the_owner(tmp_path: Path, clock: Clock) -> None:
    path = tmp_path / "frontier.db"
    command = [sys.executable, CHILD, "play", str(path), "1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.read(1)
        with pytest.raises(CollectionError, match=f"in use by process {child.pid}"):
            SqliteFrontier(path, RULES, clock)
        child.kill()
        child.wait()
    clock.time = 2000.0
    asyncio.run(SqliteFrontier(path, RULES, clock).close())  # the kernel has released the lock


def test_a_full_disk_raises_space_error_and_leaves_no_partial_write(tmp_path: Path, clock: Clock) -> None:
    async def run() -> None:
        frontier = SqliteFrontier(tmp_path / "frontier.db", FrontierRules(delay=0.0, parallel=0), clock)
        frontier._database.execute("PRAGMA max_page_count = 60")
        count = await fill(frontier)
        leases = await frontier.lease(3)
        frontier._database.execute("PRAGMA max_page_count = 100000")
        assert await frontier.add([Offer(Link("http://new.org/"), Priority(0.5))]) == 1
        assert await frontier.complete(leases[0], "fetched")
        await frontier.close()
        with sqlite3.connect(tmp_path / "frontier.db") as file:
            assert file.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            assert file.execute("SELECT count(*) FROM links").fetchone() == (count + 1,)

    asyncio.run(run())


def test_a_limit_on_file_sizes_is_survived(tmp_path: Path) -> None:
    # In a separate process, because the limit applies to the whole process.
    subprocess.run([sys.executable, CHILD, "fill", str(tmp_path / "frontier.db")], check=True, timeout=60)


def test_a_failed_lease_leaves_its_host_ready(tmp_path: Path, clock: Clock) -> None:
    async def run() -> None:
        frontier = SqliteFrontier(tmp_path / "frontier.db", FrontierRules(), clock)
        await frontier.add([Offer(Link("http://a.org/"), Priority(0.5))])
        execute = frontier._database.execute
        frontier._database.execute = refusing_commits(execute)
        with pytest.raises(SpaceError):
            await frontier.lease(1)
        frontier._database.execute = execute
        assert (await frontier.get_counts()).leased == 0
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
def test_files_of_other_programs_are_refused(tmp_path: Path, clock: Clock, content: bytes | str, message: str) -> None:
    path = tmp_path / "frontier.db"
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        with sqlite3.connect(path) as file:
            file.executescript(content)
        file.close()
    before = path.read_bytes()
    for open_ in (lambda: SqliteFrontier(path, RULES, clock), lambda: open_reader(path)):
        with pytest.raises(CollectionError, match=message):
            open_()
    assert path.read_bytes() == before


def test_a_missing_directory_is_named_in_the_error(tmp_path: Path, clock: Clock) -> None:
    with pytest.raises(CollectionError, match="nowhere"):
        SqliteFrontier(tmp_path / "nowhere" / "frontier.db", RULES, clock)
    with pytest.raises(CollectionError, match="does not exist"):
        open_reader(tmp_path / "frontier.db")


def test_a_reader_sees_committed_changes_without_disturbing_the_writer(tmp_path: Path, clock: Clock) -> None:
    async def run() -> None:
        path = tmp_path / "frontier.db"
        frontier = SqliteFrontier(path, FrontierRules(delay=0.0), clock)
        await frontier.add([Offer(Link(f"http://h{n}.org/"), Priority(n / 8, {"level": n})) for n in range(6)])
        reader = open_reader(path)
        (lease,) = await frontier.lease(1)
        assert await reader.get_counts() == await frontier.get_counts()
        assert await reader.get_best_entries(10) == await frontier.get_best_entries(10)
        found = await reader.get_entry(lease.link.url)
        assert found is not None
        assert (found.state, found.attempts) == ("leased", 1)
        assert await reader.get_priorities([lease.link.url, "http://h1.org/"]) == {
            "http://h1.org/": Priority(0.125, {"level": 1})
        }
        assert await frontier.complete(lease, "fetched")
        await frontier.close()
        assert (await reader.get_counts()).done == 1
        await reader.close()

    asyncio.run(run())


def test_a_lease_of_an_earlier_process_is_refused(tmp_path: Path, clock: Clock) -> None:
    async def run() -> None:
        path = tmp_path / "frontier.db"
        first = SqliteFrontier(path, RULES, clock)
        await first.add([Offer(Link("http://a.org/"), Priority(0.5))])
        (old,) = await first.lease(1)
        await first.close()
        clock.time += 10
        second = SqliteFrontier(path, RULES, clock)
        (new,) = await second.lease(1)
        assert new.attempts == 1  # a proper close does not count as an attempt
        for call in (second.complete(old, "fetched"), second.release(old), second.extend(old)):
            assert not await call
        assert await second.complete(new, "fetched")
        await second.close()

    asyncio.run(run())


@pytest.mark.parametrize("back", [0.0, 3600.0, 1e6])
def test_a_clock_set_back_between_two_runs_does_not_extend_waits(tmp_path: Path, clock: Clock, back: float) -> None:
    async def run() -> None:
        path = tmp_path / "frontier.db"
        frontier = SqliteFrontier(path, FrontierRules(delay=8.0), clock)
        await frontier.add([Offer(Link("http://a.org/1"), Priority(0.5)), Offer(Link("http://a.org/2"), Priority(0.4))])
        (lease,) = await frontier.lease(1)
        await frontier.complete(lease, "fetched", wait=30.0)
        await frontier.close()
        clock.time -= back
        frontier = SqliteFrontier(path, FrontierRules(delay=8.0), clock)
        assert await frontier.seconds_until_ready() == 30.0
        clock.time += 30.0
        assert len(await frontier.lease(1)) == 1
        await frontier.close()

    asyncio.run(run())


def test_a_host_budget_set_later_counts_earlier_pages(tmp_path: Path, clock: Clock) -> None:
    async def run() -> None:
        path = tmp_path / "frontier.db"
        frontier = SqliteFrontier(path, FrontierRules(delay=0.0, parallel=0), clock)
        await frontier.add([Offer(Link(f"http://a.org/{n}"), Priority(0.5)) for n in range(6)])
        await frontier.mark_done(["http://a.org/5"], "fetched")  # the target of a redirect does not count as a page
        for lease in await frontier.lease(2):
            await frontier.complete(lease, "fetched")
        await frontier.close()
        frontier = SqliteFrontier(path, FrontierRules(delay=0.0, parallel=0, host_pages=3), clock)
        (lease,) = await frontier.lease(9)
        await frontier.complete(lease, "fetched")
        assert await frontier.lease(9) == []
        entry = await frontier.get_entry("http://a.org/4")
        assert entry is not None
        assert (entry.state, entry.reason) == ("dropped", Refusal.HOST_BUDGET)
        await frontier.close()
        frontier = SqliteFrontier(path, FrontierRules(host_pages=2), clock)
        assert await frontier.seconds_until_ready() is None
        await frontier.close()

    asyncio.run(run())


def test_pages_are_recounted_when_a_host_budget_is_set_after_a_crash(
    tmp_path: Path, kinds: dict[str, type[Kind]], clock: Clock
) -> None:
    async def run() -> None:
        kind = cast(InFile, kinds["file"](tmp_path))
        frontier = kind.open(FrontierRules(delay=0.0, parallel=0), clock)
        await frontier.add([Offer(Link(f"http://a.org/{n}"), Priority(0.5)) for n in range(6)])
        for lease in await frontier.lease(2):
            await frontier.complete(lease, "fetched")
        await kind.crash(frontier)
        frontier = kind.open(FrontierRules(delay=0.0, parallel=0, host_pages=3), clock)
        assert len(await frontier.lease(9)) == 1
        await frontier.close()

    asyncio.run(run())


@pytest.mark.parametrize("back", [0.0, 3600.0])
def test_after_a_crash_an_evicted_host_waits_for_its_delay_only(
    tmp_path: Path, kinds: dict[str, type[Kind]], clock: Clock, back: float
) -> None:
    async def run() -> None:
        kind = cast(InFile, kinds["file"](tmp_path))
        frontier = kind.open(FrontierRules(delay=4.0), clock)
        clock.time += 100.0
        for n in range(20):  # more hosts than may stay in memory
            await frontier.add([Offer(Link(f"http://h{n}.org/"), Priority(0.5))])
            (lease,) = await frontier.lease(1)
            await frontier.complete(lease, "fetched", wait=60.0 if n == 7 else 0.0)
        await kind.crash(frontier)
        clock.time -= back
        frontier = kind.open(FrontierRules(delay=4.0), clock)
        await frontier.add([Offer(Link("http://h3.org/2"), Priority(0.5))])
        assert await frontier.seconds_until_ready() == 4.0
        await frontier.block("h3.org", inf)
        await frontier.add([Offer(Link("http://h7.org/2"), Priority(0.5))])
        assert await frontier.seconds_until_ready() == 60.0
        await frontier.close()

    asyncio.run(run())


def test_source_rows_are_removed_with_their_lease(tmp_path: Path, clock: Clock) -> None:
    async def run() -> None:
        frontier = SqliteFrontier(tmp_path / "frontier.db", FrontierRules(delay=0.0, parallel=0), clock)
        await frontier.add([Offer(Link(f"http://a.org/{n}"), Priority(0.5)) for n in range(4)])
        first, second, *_ = await frontier.lease(4)
        await frontier.complete(first, "fetched", [Offer(Link("http://b.org/", first.link.url), Priority(0.1))])
        await frontier.release(second)
        assert len(frontier._links.source_rows) == 2
        entry = await frontier.get_entry("http://b.org/")
        assert entry is not None
        assert entry.link.source == first.link.url
        await frontier.close()

    asyncio.run(run())


def test_a_lone_surrogate_in_an_anchor_is_replaced(tmp_path: Path, clock: Clock) -> None:
    async def run() -> None:
        frontier = SqliteFrontier(tmp_path / "frontier.db", FrontierRules(), clock)
        await frontier.add([Offer(Link("http://a.org/", anchor="half \ud83d and nul \0"), Priority(0.5, "\ud83d"))])
        (lease,) = await frontier.lease(1)
        assert lease.link.anchor == "half ? and nul \0"
        assert lease.priority.payload == "\ud83d"
        await frontier.close()

    asyncio.run(run())


def test_idle_hosts_are_evicted_from_memory_and_kept_on_disk(tmp_path: Path, clock: Clock) -> None:
    async def run() -> None:
        frontier = SqliteFrontier(tmp_path / "frontier.db", FrontierRules(delay=2.0), clock, max_idle_hosts=10)
        await frontier.block("h7.org", inf)
        for n in range(200):
            await frontier.add([Offer(Link(f"http://h{n}.org/"), Priority(0.5))])
            for lease in await frontier.lease(1):
                await frontier.complete(lease, "fetched")
        assert len(list(frontier._hosts)) < 30
        assert (await frontier.get_counts()).hosts == 200
        await frontier.add(
            [Offer(Link("http://h199.org/2"), Priority(0.5)), Offer(Link("http://h3.org/2"), Priority(0.5))]
        )
        assert await frontier.lease(5) == []  # both hosts are still within their delay
        clock.time += 2.0
        assert len(await frontier.lease(5)) == 2
        await frontier.close()

    asyncio.run(run())
