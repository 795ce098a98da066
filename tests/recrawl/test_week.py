"""Conditions of a week-long crawl: a changed clock, long server outages, and a new program version."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

import pytest
from tests.helpers.live_site import live_site, make_chain_site

from topicrawl import Settings, Topic, open_crawl, parse
from topicrawl.builder.stored_settings import load_topic_and_settings
from topicrawl.collection import store
from topicrawl.database import Database, DatabaseSchema
from topicrawl.engine.context import CrawlContext
from topicrawl.engine.crawl import Crawl, build_seed_links
from topicrawl.engine.limits import CrawlLimits, StopReason
from topicrawl.engine.sinks import MemorySink
from topicrawl.frontier.base import Frontier, FrontierRules
from topicrawl.frontier.memory import MemoryFrontier
from topicrawl.frontier.sqlite import file
from topicrawl.frontier.sqlite.frontier import SqliteFrontier
from topicrawl.models import Link, Response
from topicrawl.relevance.vsm import Vsm
from topicrawl.strategies import create_strategy
from topicrawl.strategies.base import StrategyContext

HOUR = 3600.0
TOPIC = Topic.of("dengue fever")
LIVE = Settings(delay=0.0, allow_net=("127.0.0.0/8",), min_free=0, patience=0.5, attempts=1)


# The clock


@dataclass
class Clock:
    """Wall clock with an offset that the operator sets."""

    shift: float = 0.0

    def __call__(self) -> float:
        return time.time() + self.shift


def frontiers(tmp_path: Path, clock: Clock) -> dict[str, Callable[[], Frontier]]:
    rules = FrontierRules(delay=0.01)
    return {
        "memory": lambda: MemoryFrontier(rules, clock),
        "sqlite": lambda: SqliteFrontier(tmp_path / "f.sqlite", rules, clock),
    }


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
@pytest.mark.parametrize("jumps", [(-HOUR,), (HOUR,), (-HOUR, 2 * HOUR, -24 * HOUR)], ids=["back", "forth", "both"])
def test_a_changed_clock_loses_no_page_and_delays_no_host(tmp_path: Path, kind: str, jumps: tuple[float, ...]) -> None:
    clock, left, requested = Clock(), list(jumps), []

    async def fetch(link: Link) -> Response:
        requested.append(link.url)
        at = clock()
        await asyncio.sleep(0)
        if left and len(requested) >= 3 * (1 + len(jumps) - len(left)):
            # Change the clock while the response is in transit.
            clock.shift += left.pop(0)
        number = int(link.url.rpartition("/")[2])
        links = "".join(f"<a href=http://{n % 3}.example/{n}>x</a>" for n in (number + 1, number + 2) if n < 12)
        return Response(link.url, link.url, 200, {"content-type": "text/html"}, f"<p>page {links}".encode(), at)

    async def go() -> StopReason | None:
        frontier, strategy, sink = frontiers(tmp_path, clock)[kind](), create_strategy("breadth_first"), MemorySink()
        strategy.bind(StrategyContext(TOPIC, Vsm(TOPIC), Random(0)))
        parts = CrawlContext(
            frontier=frontier,
            fetch=fetch,
            parse=parse.parse_response,
            relevance=Vsm(TOPIC),
            strategy=strategy,
            sink=sink,
            clock=clock,
            get_crawl_delay=lambda name: 0.01,
        )
        crawl = Crawl(parts, CrawlLimits(concurrency=4, patience=HOUR / 2))
        await crawl.add_seeds(build_seed_links(["http://0.example/0"]))
        # The timeout fails the test if a host has to wait for an hour.
        async with asyncio.timeout(60):
            async for _ in crawl.visits():
                pass
        await frontier.close()
        return crawl.stop_reason

    assert asyncio.run(go()) == StopReason.EMPTY
    assert not left
    assert set(requested) == {f"http://{n % 3}.example/{n}" for n in range(12)}
    # When the clock is set forward, running leases expire and their links are fetched again.
    assert len(requested) - len(set(requested)) <= 4 * sum(jump > 0 for jump in jumps)


# Servers


def run_crawl(directory: Path, address: str, settings: Settings = LIVE) -> StopReason | None:
    async def go() -> StopReason | None:
        async with open_crawl(directory, TOPIC, [f"{address}/0"], settings) as crawl:
            async for _ in crawl.visits():
                pass
        return crawl.stop_reason

    return asyncio.run(go())


def rows(directory: Path, sql: str, name: str = "topicrawl.sqlite") -> list[tuple[object, ...]]:
    database = sqlite3.connect(directory / name)
    found = database.execute(sql).fetchall()
    database.close()
    return found


def test_pages_of_a_server_with_a_long_outage_are_fetched_when_it_is_back(
    tmp_path: Path,
) -> None:
    directory, pages, gone = tmp_path / "crawl", make_chain_site(8), {"/4"}

    def answer(path: str) -> tuple[int, Mapping[str, str], bytes]:
        if path in gone:
            gone.update(f"/{number}" for number in range(8))
        return (503, {}, b"") if path in gone else pages(path)

    with live_site(answer) as (address, requested):
        assert run_crawl(directory, address) == StopReason.EMPTY
        assert rows(directory, "SELECT requested, failure FROM visits WHERE failure != 'robots'") == [
            (f"{address}/4", "server_error")
        ]
        # A resume during the outage requests the pages again and loses none.
        requested.clear()
        assert run_crawl(directory, address) == StopReason.EMPTY
        assert requested == ["/robots.txt", "/4"]
        gone.clear()
        assert run_crawl(directory, address) == StopReason.EMPTY
    assert [url for (url,) in rows(directory, "SELECT url FROM pages ORDER BY step")] == [
        f"{address}/{number}" for number in range(8)
    ]
    assert rows(directory, "SELECT DISTINCT failure FROM visits") == [(None,), ("robots",), ("not_found",)]


def test_a_crawl_stops_as_unreachable_only_when_all_hosts_are_delayed(tmp_path: Path) -> None:
    with live_site(lambda path: (503, {"Retry-After": "86400"}, b"")) as (address, requested):
        patient = replace(LIVE, attempts=3)
        assert run_crawl(tmp_path / "crawl", address, patient) == StopReason.UNREACHABLE
        assert requested == ["/robots.txt"], "the crawler respects Retry-After"
    assert rows(tmp_path / "crawl", "SELECT count(*) FROM visits") == [(0,)]
    assert rows(tmp_path / "crawl", "SELECT count(*) FROM links WHERE state = 0", "frontier.sqlite") == [(1,)]


# A new version

RENAMED_TABLES = {"known": "link_keys"}  # first version → current version


def downgrade(path: Path, shape: DatabaseSchema) -> None:
    """Convert a database to the schema of the first program version."""
    old = path.with_name("old.sqlite")
    Database(old, replace(shape, upgrades=())).close()
    database = sqlite3.connect(old)
    database.execute("ATTACH ? AS new", (str(path),))
    tables = [name for (name,) in database.execute("SELECT name FROM main.sqlite_schema WHERE type = 'table'")]
    for table in tables:
        columns = [row[1] for row in database.execute(f"PRAGMA main.table_info({table})")]
        # Upgrades rename columns and append new ones; they do not change the order.
        new_table = RENAMED_TABLES.get(table, table)
        new_columns = [row[1] for row in database.execute(f"PRAGMA new.table_info({new_table})")][: len(columns)]
        database.execute(f"DELETE FROM main.{table}")
        database.execute(
            f"INSERT INTO main.{table} ({', '.join(columns)}) SELECT {', '.join(new_columns)} FROM new.{new_table}"
        )
    database.commit()
    database.close()
    for suffix in ("", "-wal", "-shm"):
        Path(f"{path}{suffix}").unlink(missing_ok=True)
        if Path(f"{old}{suffix}").exists():
            Path(f"{old}{suffix}").rename(f"{path}{suffix}")


def test_a_crawl_of_the_first_version_is_resumed_by_the_current_one(tmp_path: Path) -> None:
    directory = tmp_path / "crawl"
    with live_site(make_chain_site(7)) as (address, requested):
        assert run_crawl(directory, address, replace(LIVE, pages=3)) == StopReason.PAGES
        downgrade(directory / "topicrawl.sqlite", store.SCHEMA)
        downgrade(directory / "frontier.sqlite", file.FRONTIER_SCHEMA)
        with sqlite3.connect(directory / "topicrawl.sqlite") as database:
            # Remove a fact and a setting that are new, and add a setting that no longer exists.
            database.execute("DELETE FROM facts WHERE name = 'learned'")
            (text,) = database.execute("SELECT value FROM facts WHERE name = 'settings'").fetchone()
            stored = {**json.loads(text), "gone": 1}
            del stored["distinct"]
            database.execute("UPDATE facts SET value = ? WHERE name = 'settings'", (json.dumps(stored),))
        database.close()
        assert rows(directory, "PRAGMA user_version") == [(1,)]
        _, settings = load_topic_and_settings(directory, {"pages": 0})
        assert settings.distinct
        assert run_crawl(directory, address, settings) == StopReason.EMPTY
    assert [path for path in requested if path[1:].isdecimal()] == [f"/{number}" for number in range(8)]
    assert rows(directory, "PRAGMA user_version") == [(store.SCHEMA.version,)]
    assert [url for (url,) in rows(directory, "SELECT url FROM pages ORDER BY step")] == [
        f"{address}/{number}" for number in range(7)
    ]
    assert rows(directory, "PRAGMA integrity_check") == [("ok",)]
