"""What a crawl meets when it runs for a week: a clock that is set, servers that are gone for long, a new version."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random

import pytest
from tests.cli.live import chain, live_site

from topicrawl import Settings, Topic, open_crawl, parse
from topicrawl.budget import Budget, Stop
from topicrawl.collection import store
from topicrawl.crawl import Crawl, seed_links
from topicrawl.database import Database, Shape
from topicrawl.frontier import sqlite_file
from topicrawl.frontier.contract import Frontier, Rules
from topicrawl.frontier.memory import Memory
from topicrawl.frontier.sqlite import Sqlite
from topicrawl.parts import Found, Parts
from topicrawl.plan import resumed
from topicrawl.records import Link, Response, Visit
from topicrawl.relevance.vsm import Vsm
from topicrawl.strategies import make
from topicrawl.strategies.strategy import Setting

HOUR = 3600.0
TOPIC = Topic.of("dengue fever")
LIVE = Settings(delay=0.0, allow_net=("127.0.0.0/8",), min_free=0, patience=0.5, attempts=1)


# The clock


@dataclass
class Clock:
    """Shows the time as the operator has set it."""

    shift: float = 0.0

    def __call__(self) -> float:
        return time.time() + self.shift


@dataclass
class Notes:
    visits: list[Visit] = field(default_factory=list)

    def step_of(self, link: Link) -> int | None:
        return None

    def keep(self, found: list[Found]) -> None:
        self.visits += [each.visit for each in found]

    def settled(self) -> None:
        pass

    def retry(self, link: Link, response: Response, attempt: int) -> None:
        raise AssertionError("nothing fails here")


def frontiers(tmp_path: Path, clock: Clock) -> dict[str, Callable[[], Frontier]]:
    rules = Rules(delay=0.01)
    return {"memory": lambda: Memory(rules, clock), "sqlite": lambda: Sqlite(tmp_path / "f.sqlite", rules, clock)}


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
@pytest.mark.parametrize("jumps", [(-HOUR,), (HOUR,), (-HOUR, 2 * HOUR, -24 * HOUR)], ids=["back", "forth", "both"])
def test_a_clock_that_is_set_loses_no_page_and_keeps_no_host_waiting(
    tmp_path: Path, kind: str, jumps: tuple[float, ...]
) -> None:
    clock, left, asked = Clock(), list(jumps), []

    async def fetch(link: Link) -> Response:
        asked.append(link.url)
        at = clock()
        await asyncio.sleep(0)
        if left and len(asked) >= 3 * (1 + len(jumps) - len(left)):
            # While the answer is on its way.
            clock.shift += left.pop(0)
        number = int(link.url.rpartition("/")[2])
        links = "".join(f"<a href=http://{n % 3}.example/{n}>x</a>" for n in (number + 1, number + 2) if n < 12)
        return Response(link.url, link.url, 200, {"content-type": "text/html"}, f"<p>page {links}".encode(), at)

    async def go() -> Stop | None:
        frontier, strategy, notes = frontiers(tmp_path, clock)[kind](), make("breadth_first"), Notes()
        strategy.begin(Setting(TOPIC, Vsm(TOPIC), Random(0)))
        parts = Parts(
            frontier=frontier, fetch=fetch, parse=parse.read, relevance=Vsm(TOPIC), strategy=strategy,
            keep=notes, clock=clock, delay_of=lambda name: 0.01,
        )  # fmt: skip
        crawl = Crawl(parts, Budget(concurrency=4, patience=HOUR / 2))
        await crawl.seed(seed_links(["http://0.example/0"]))
        # An hour's wait for a host would not end in time.
        async with asyncio.timeout(60):
            async for _ in crawl.visits():
                pass
        await frontier.close()
        return crawl.stopped

    assert asyncio.run(go()) == Stop.EMPTY
    assert not left
    assert set(asked) == {f"http://{n % 3}.example/{n}" for n in range(12)}
    # After an hour that never was, a lease looks as if its holder had died.
    assert len(asked) - len(set(asked)) <= 4 * sum(jump > 0 for jump in jumps)


# Servers


def crawled(directory: Path, address: str, settings: Settings = LIVE) -> Stop | None:
    async def go() -> Stop | None:
        async with open_crawl(directory, TOPIC, [f"{address}/0"], settings) as crawl:
            async for _ in crawl.visits():
                pass
        return crawl.stopped

    return asyncio.run(go())


def rows(directory: Path, sql: str, name: str = "topicrawl.sqlite") -> list[tuple[object, ...]]:
    database = sqlite3.connect(directory / name)
    found = database.execute(sql).fetchall()
    database.close()
    return found


def test_servers_that_were_gone_longer_than_the_retries_lasted_give_their_pages_when_they_are_back(
    tmp_path: Path,
) -> None:
    directory, pages, gone = tmp_path / "crawl", chain(8), {"/4"}

    def answer(path: str) -> tuple[int, Mapping[str, str], bytes]:
        if path in gone:
            gone.update(f"/{number}" for number in range(8))
        return (503, {}, b"") if path in gone else pages(path)

    with live_site(answer) as (address, asked):
        assert crawled(directory, address) == Stop.EMPTY
        assert rows(directory, "SELECT requested, failure FROM visits WHERE failure != 'robots'") == [
            (f"{address}/4", "server_error")
        ]
        # Started again while they are still gone: they are asked, and nothing is lost.
        asked.clear()
        assert crawled(directory, address) == Stop.EMPTY
        assert asked == ["/robots.txt", "/4"]
        gone.clear()
        assert crawled(directory, address) == Stop.EMPTY
    assert [url for (url,) in rows(directory, "SELECT url FROM pages ORDER BY step")] == [
        f"{address}/{number}" for number in range(8)
    ]
    assert rows(directory, "SELECT DISTINCT failure FROM visits") == [(None,), ("robots",), ("not_found",)]


def test_a_long_crawl_waits_for_its_hosts_and_gives_up_only_when_nothing_else_is_left(tmp_path: Path) -> None:
    with live_site(lambda path: (503, {"Retry-After": "86400"}, b"")) as (address, asked):
        patient = replace(LIVE, attempts=3)
        assert crawled(tmp_path / "crawl", address, patient) == Stop.UNREACHABLE
        assert asked == ["/robots.txt"], "who asks for a day of peace gets it"
    assert rows(tmp_path / "crawl", "SELECT count(*) FROM visits") == [(0,)]
    assert rows(tmp_path / "crawl", "SELECT count(*) FROM links WHERE state = 0", "frontier.sqlite") == [(1,)]


# A new version


def made_old(path: Path, shape: Shape) -> None:
    """Turn a file into what the first version of the program wrote."""
    old = path.with_name("old.sqlite")
    Database(old, replace(shape, upgrades=())).close()
    database = sqlite3.connect(old)
    database.execute("ATTACH ? AS new", (str(path),))
    tables = [name for (name,) in database.execute("SELECT name FROM main.sqlite_schema WHERE type = 'table'")]
    for table in tables:
        columns = ", ".join(row[1] for row in database.execute(f"PRAGMA main.table_info({table})"))
        database.execute(f"DELETE FROM main.{table}")
        database.execute(f"INSERT INTO main.{table} ({columns}) SELECT {columns} FROM new.{table}")
    database.commit()
    database.close()
    for suffix in ("", "-wal", "-shm"):
        Path(f"{path}{suffix}").unlink(missing_ok=True)
        if Path(f"{old}{suffix}").exists():
            Path(f"{old}{suffix}").rename(f"{path}{suffix}")


def test_a_crawl_of_the_first_version_goes_on_with_the_new_one(tmp_path: Path) -> None:
    directory = tmp_path / "crawl"
    with live_site(chain(7)) as (address, asked):
        assert crawled(directory, address, replace(LIVE, pages=3)) == Stop.PAGES
        made_old(directory / "topicrawl.sqlite", store.SHAPE)
        made_old(directory / "frontier.sqlite", sqlite_file.SHAPE)
        with sqlite3.connect(directory / "topicrawl.sqlite") as database:
            # What the first version did not know of, and what only it knew.
            database.execute("DELETE FROM facts WHERE name = 'learned'")
            (text,) = database.execute("SELECT value FROM facts WHERE name = 'settings'").fetchone()
            told = {**json.loads(text), "gone": 1}
            del told["distinct"]
            database.execute("UPDATE facts SET value = ? WHERE name = 'settings'", (json.dumps(told),))
        database.close()
        assert rows(directory, "PRAGMA user_version") == [(1,)]
        _, settings = resumed(directory, {"pages": 0})
        assert settings.distinct
        assert crawled(directory, address, settings) == Stop.EMPTY
    assert [path for path in asked if path[1:].isdecimal()] == [f"/{number}" for number in range(8)]
    assert rows(directory, "PRAGMA user_version") == [(store.SHAPE.version,)]
    assert [url for (url,) in rows(directory, "SELECT url FROM pages ORDER BY step")] == [
        f"{address}/{number}" for number in range(7)
    ]
    assert rows(directory, "PRAGMA integrity_check") == [("ok",)]
