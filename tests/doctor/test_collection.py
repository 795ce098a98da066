"""Checks of a collection find each kind of damage, give advice, and change no file."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import sqlite3
from collections.abc import Callable
from hashlib import sha1
from pathlib import Path

import pytest
from tests.helpers.live_site import live_site, make_chain_site

from topicrawl import Settings, Topic, open_crawl
from topicrawl.database import FileLock
from topicrawl.doctor.collection import check_collection, load_settings
from topicrawl.doctor.finding import CheckLimits, Finding, FindingState
from topicrawl.frontier.sqlite.file import FrontierDatabase
from topicrawl.search.index import update_index

PAGES = 12


async def crawled(directory: Path, site: str) -> None:
    settings = Settings(
        pages=PAGES, delay=0.0, concurrency=7, allow_net=("127.0.0.0/8",), distinct=False, documents=False
    )
    async with open_crawl(directory, Topic.of("dengue fever"), [f"{site}/0"], settings) as crawl:
        async for _ in crawl.visits():
            pass


@pytest.fixture(scope="module")
def healthy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("healthy") / "crawl"
    with live_site(make_chain_site(40)) as (site, _):
        asyncio.run(crawled(directory, site))
    update_index(directory)
    for name in ("topicrawl.sqlite", "search.sqlite", "frontier.sqlite"):
        # A reader has left -wal and -shm files; a writer removes them when it closes the database.
        connection = sqlite3.connect(directory / name)
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.close()
    return directory


@pytest.fixture
def crawl(healthy: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(healthy, tmp_path / "crawl"))


def looked(directory: Path, limits: CheckLimits | None = None) -> list[Finding]:
    return list(check_collection(directory, limits or CheckLimits()))


def traces(directory: Path) -> dict[str, tuple[int, str]]:
    files = [path for path in sorted(directory.rglob("*")) if path.is_file()]
    return {path.name: (path.stat().st_mtime_ns, sha1(path.read_bytes()).hexdigest()) for path in files}


def wrong(findings: list[Finding]) -> list[Finding]:
    return [finding for finding in findings if finding.state in (FindingState.WARNING, FindingState.PROBLEM)]


def test_a_healthy_collection_has_no_faults_and_is_not_changed(crawl: Path) -> None:
    before = traces(crawl)
    findings = looked(crawl)
    assert [finding.state for finding in findings if finding.state != FindingState.OK] == [], findings
    names = {finding.name for finding in findings}
    assert {"lock", "store", "archive", "records", "frontier", "topic.toml", "learned", "index"} <= names
    assert f"{PAGES} of {PAGES} pages are readable" in {finding.says for finding in findings}
    assert traces(crawl) == before


def sql(directory: Path, name: str, statement: str, *values: object) -> None:
    connection = sqlite3.connect(directory / name)
    connection.execute(statement, values)
    connection.commit()
    connection.close()


def store(statement: str, *values: object) -> Callable[[Path], None]:
    return lambda directory: sql(directory, "topicrawl.sqlite", statement, *values)


def frontier(statement: str) -> Callable[[Path], None]:
    return lambda directory: sql(directory, "frontier.sqlite", statement)


def written(name: str, data: bytes) -> Callable[[Path], None]:
    return lambda directory: (directory / name).write_bytes(data) and None


def gone(name: str) -> Callable[[Path], None]:
    return lambda directory: (directory / name).unlink()


def overwritten(name: str, at: float, data: bytes) -> Callable[[Path], None]:
    """Overwrite bytes at a position that is given as a share of the file length; 1 appends them."""

    def damage(directory: Path) -> None:
        with (directory / name).open("r+b") as file:
            file.seek(int(at * (directory / name).stat().st_size))
            file.write(data)

    return damage


def cut(directory: Path) -> None:
    path = directory / "warc" / "00001.warc.gz"
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size - 100)


def other_frontier(directory: Path) -> None:
    (directory / "frontier.sqlite").unlink()
    FrontierDatabase(directory / "frontier.sqlite").close()


OK, NOTE, WARNING, PROBLEM = FindingState.OK, FindingState.NOTE, FindingState.WARNING, FindingState.PROBLEM
WARC = "warc/00001.warc.gz"
LOST_PAGES = "INSERT INTO pages SELECT id + 1, -1, step, version, 0, language, text_key FROM pages LIMIT 3"


def flip_byte(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 3] ^= 1
    path.write_bytes(data)


DAMAGES: dict[str, tuple[Callable[[Path], None], FindingState, str, str]] = {
    "a torn tail": (overwritten(WARC, 1, b"\x1f\x8b\x08 torn"), NOTE, "archive", "after the last page"),
    "a cut archive": (cut, PROBLEM, "archive", f"1 of its {PAGES} pages"),
    "a lost archive": (gone(WARC), PROBLEM, "archive", f"is missing, with {PAGES} pages"),
    "a flipped record": (overwritten(WARC, 0.5, b"\xff" * 40), PROBLEM, "records", "are damaged"),
    "a page in another's place": (
        store("UPDATE visits SET (start, length) = (SELECT start, length FROM visits WHERE step = 4) WHERE step = 5"),
        PROBLEM,
        "record",
        "the record contains",
    ),
    "no store": (gone("topicrawl.sqlite"), PROBLEM, "topicrawl.sqlite", "is missing"),
    "a damaged store": (
        overwritten("topicrawl.sqlite", 0.3, b"\x00\xff" * 6000),
        PROBLEM,
        "topicrawl.sqlite",
        "damaged",
    ),
    "no database": (written("topicrawl.sqlite", b"hello " * 99), PROBLEM, "topicrawl.sqlite", "not a SQLite database"),
    "a newer store": (store("PRAGMA user_version = 99"), PROBLEM, "topicrawl.sqlite", "newer Topicrawl"),
    "a lost visit": (store("DELETE FROM visits WHERE step = 3"), PROBLEM, "store", "1 pages have no visit"),
    "a torn place": (store("UPDATE visits SET payload = '{' WHERE step = 3"), PROBLEM, "store", "invalid JSON"),
    "torn links": (store("UPDATE links SET targets = x'00'"), PROBLEM, "store", "damaged link lists"),
    "torn keys": (
        store("UPDATE pages SET duplicate_keys = x'00' WHERE step = 3"),
        PROBLEM,
        "store",
        "damaged duplicate keys",
    ),
    "a strange failure": (store("UPDATE visits SET failure = 'odd' WHERE step = 3"), PROBLEM, "store", "'odd'"),
    "a clock set back": (store("UPDATE visits SET at = at + 1e6"), WARNING, "clock", "was set back"),
    "no frontier": (gone("frontier.sqlite"), PROBLEM, "frontier", "is missing"),
    "no host": (frontier("DELETE FROM hosts"), PROBLEM, "frontier", "have no host"),
    "no score": (frontier("UPDATE links SET score = 9e999"), PROBLEM, "frontier", "no finite score"),
    "no link": (frontier("DELETE FROM links WHERE seq = 2"), PROBLEM, "frontier", "fingerprints have no link"),
    "a killed crawl": (frontier("INSERT INTO leased SELECT max(seq), 1 FROM links"), NOTE, "frontier", "1 links were"),
    "another's frontier": (other_frontier, WARNING, "frontier", "are unknown to it"),
    "another topic": (written("topic.toml", b"[words]\nowls = 1.0\n"), PROBLEM, "topic.toml", "dengue fever, not owls"),
    "no topic": (written("topic.toml", b"[words"), PROBLEM, "topic.toml", "topic.toml"),
    "an unknown strategy": (
        store("UPDATE facts SET value = json_set(value, '$.strategy', 'bst_first') WHERE name = 'settings'"),
        PROBLEM,
        "settings",
        "did you mean 'best_first'",
    ),
    "torn learning": (
        store("UPDATE facts SET value = json_set(value, '$.trap_detector', json('[7]')) WHERE name = 'learned'"),
        PROBLEM,
        "learned",
        "cannot be restored",
    ),
    "learning cut off": (
        store("UPDATE facts SET value = substr(value, 1, 9) WHERE name = 'learned'"),
        PROBLEM,
        "learned",
        "cannot be restored",
    ),
    "learning without a part": (
        store("UPDATE facts SET value = json_set(value, '$.strategy', json('{\"@row\": 7}')) WHERE name = 'learned'"),
        PROBLEM,
        "learned",
        "cannot be restored",
    ),
    "nothing learned": (store("DELETE FROM facts WHERE name = 'learned'"), NOTE, "learned", "no learned state"),
    "a torn line": (
        written("engine-answers.jsonl", b'{"kind": "backlinks"}\n{"ki'),
        NOTE,
        "engine-answers.jsonl",
        "1 damaged lines",
    ),
    "torn seeds": (written("seeds.json", b"{"), PROBLEM, "seeds.json", "not a file of"),
    "a leftover draft": (written("topic.new", b""), NOTE, "topic.new", "draft"),
    "a broken index": (written("search.sqlite", b"broken " * 99), PROBLEM, "search.sqlite", "not a SQLite database"),
    "no index": (gone("search.sqlite"), NOTE, "index", "does not exist yet"),
    "half an index": (
        lambda directory: sql(directory, "search.sqlite", "DELETE FROM pages WHERE step = 3"),
        PROBLEM,
        "index",
        f"has {PAGES - 1} pages, but the search engine has {PAGES}",
    ),
    "an index with a changed byte": (
        lambda directory: flip_byte(next((directory / "search").glob("*.term"))),
        PROBLEM,
        "index",
        "its checksum is wrong",
    ),
    "an index of an earlier version": (
        lambda directory: sql(directory, "search.sqlite", "PRAGMA application_id = 28872"),
        NOTE,
        "index",
        "was written by an earlier version",
    ),
    "an index behind": (
        lambda directory: sql(directory, "search.sqlite", "UPDATE pages SET state = 0 WHERE step < 4"),
        NOTE,
        "index",
        "3 pages behind",
    ),
    "an index that lost pages": (
        lambda directory: sql(directory, "search.sqlite", LOST_PAGES),
        WARNING,
        "index",
        "3 pages could not be read",
    ),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_each_damage_is_reported_in_one_line(crawl: Path, name: str) -> None:
    damage, state, where, text = DAMAGES[name]
    damage(crawl)
    before = traces(crawl)
    findings = looked(crawl)
    matching = [
        finding for finding in findings if finding.name == where and finding.state == state and text in finding.says
    ]
    assert matching, findings
    assert all("\n" not in finding.says + finding.fix for finding in findings)
    assert all(finding.fix for finding in wrong(findings))
    assert traces(crawl) == before
    if state in (OK, NOTE):
        assert wrong(findings) == []


def test_records_behind_the_last_page_that_were_synced_are_no_leftover(crawl: Path) -> None:
    overwritten(WARC, 1, b"a revisit record")(crawl)
    end = [1, (crawl / WARC).stat().st_size]
    sql(crawl, "topicrawl.sqlite", f"UPDATE facts SET value = '{end}' WHERE name = 'archive_end'")
    assert [finding.state for finding in looked(crawl) if finding.name == "archive"] == [OK]


def test_a_repair_deletes_an_unreadable_learned_state(crawl: Path) -> None:
    DAMAGES["torn learning"][0](crawl)
    (finding,) = [it for it in looked(crawl) if it.name == "learned"]
    assert finding.repair is not None
    finding.repair()
    assert wrong(looked(crawl)) == []


def test_a_running_crawl_is_reported_and_its_incomplete_record_is_ignored(crawl: Path) -> None:
    overwritten(WARC, 1, b"being written")(crawl)
    lock = FileLock(crawl / "lock", crawl)
    try:
        findings = looked(crawl)
    finally:
        lock.release()
    assert wrong(findings) == []
    assert [it.name for it in findings if it.state == FindingState.NOTE] == ["lock"]


def test_a_timeout_is_reported_and_is_no_problem(crawl: Path) -> None:
    ticks = iter(range(10**6))
    findings = looked(crawl, CheckLimits(seconds=8, clock=lambda: float(next(ticks))))
    assert wrong(findings) == []
    assert any("not finished within 8 s" in it.says for it in findings)


def test_a_sample_is_spread_evenly_and_contains_the_last_pages(crawl: Path) -> None:
    messages: list[str] = []
    findings = looked(crawl, CheckLimits(sample=3, progress=messages.append))
    (records,) = [finding.says for finding in findings if finding.name == "records"]
    match = re.fullmatch(rf"(\d+) of \1 pages are readable \(an even sample of {PAGES}\)", records)
    assert match, records
    # Every fourth page and the last ones.
    assert PAGES // 4 < int(match[1]) < PAGES
    assert f"reading page 0 of {match[1]}" in messages


def test_the_settings_of_the_last_run_are_loaded(crawl: Path, tmp_path: Path) -> None:
    assert load_settings(crawl).concurrency == 7
    assert load_settings(tmp_path).concurrency == Settings().concurrency
    sql(crawl, "topicrawl.sqlite", "UPDATE facts SET value = ? WHERE name = 'settings'", json.dumps({"pages": -1}))
    assert load_settings(crawl) == Settings()
