"""The collection's table of contents: one SQLite file with visits, pages, links, failures and hosts.

Every visit is one transaction, so a kill leaves either all of it or nothing. A URL's id is its 64-bit fingerprint,
which spares a look-up for each of the hundred links of a page.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, TypeAlias

from topicrawl.collection.archive import Spot
from topicrawl.errors import CollectionError, DamagedError, SpaceError
from topicrawl.records import Carry, Link, Place, Response, Visit
from topicrawl.urls import fingerprint

VERSION = 1
_MARK = 0x70C1  # application id: tells our files from other programs'

_SCHEMA = """
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE visits (
    step INTEGER PRIMARY KEY, id INTEGER NOT NULL UNIQUE, requested TEXT NOT NULL, url TEXT NOT NULL,
    source TEXT NOT NULL, anchor TEXT NOT NULL, depth INTEGER NOT NULL,
    score REAL NOT NULL, parts TEXT NOT NULL, carry TEXT NOT NULL, relevance REAL,
    failure TEXT, detail TEXT NOT NULL, status INTEGER NOT NULL, at REAL NOT NULL, seconds REAL NOT NULL,
    segment INTEGER, start INTEGER, length INTEGER);
CREATE TABLE pages (
    id INTEGER PRIMARY KEY, step INTEGER NOT NULL, url TEXT NOT NULL, title TEXT NOT NULL, language TEXT NOT NULL,
    words INTEGER NOT NULL, bytes INTEGER NOT NULL, type TEXT NOT NULL, canonical TEXT NOT NULL, digest TEXT NOT NULL);
CREATE TABLE links (
    source INTEGER NOT NULL, position INTEGER NOT NULL, target INTEGER NOT NULL, score REAL, refusal TEXT,
    anchor TEXT NOT NULL, PRIMARY KEY (source, position)) WITHOUT ROWID;
CREATE TABLE failures (
    url TEXT NOT NULL, failure TEXT NOT NULL, detail TEXT NOT NULL, status INTEGER NOT NULL, attempt INTEGER NOT NULL,
    at REAL NOT NULL);
CREATE TABLE hosts (origin TEXT PRIMARY KEY, delay REAL, sitemaps TEXT NOT NULL) WITHOUT ROWID;
"""


#: A stored link of a page: source, position, target, score when offered, refusal, anchor; in the table's order.
Row: TypeAlias = tuple[int, int, int, float | None, str | None, str]


class Stored(NamedTuple):
    """A visit as it is stored, in the order of the table."""

    step: int
    id: int
    requested: str
    url: str
    source: str
    anchor: str
    depth: int
    score: float
    parts: str
    carry: str
    relevance: float | None
    failure: str | None
    detail: str
    status: int
    at: float
    seconds: float
    segment: int | None
    start: int | None
    length: int | None

    @property
    def spot(self) -> Spot | None:
        if self.segment is None or self.start is None or self.length is None:
            return None
        return Spot(self.segment, self.start, self.length)

    @property
    def link(self) -> Link:
        return Link(self.requested, self.source, self.anchor, depth=self.depth)

    @property
    def place(self) -> Place:
        parts = tuple((str(name), float(value)) for name, value in json.loads(self.parts))
        return Place(self.score, json.loads(self.carry), parts)


class Store:
    """The SQLite file of a collection. Read-only handles may be open beside the one that writes."""

    def __init__(self, path: Path, *, readonly: bool = False) -> None:
        self.path = path
        new = not path.exists()
        if readonly and new:
            raise CollectionError(f"{path}: there is no crawl here")
        mode = "ro" if readonly else "rwc"
        try:
            self.db = sqlite3.connect(f"{path.absolute().as_uri()}?mode={mode}", uri=True, isolation_level=None)
            if new:
                self._create()
            self._check()
        except sqlite3.DatabaseError as error:
            raise CollectionError(f"{path}: cannot be opened: {error}") from error

    def _create(self) -> None:
        self.db.execute("PRAGMA journal_mode=WAL")
        script = f"BEGIN; PRAGMA application_id={_MARK}; PRAGMA user_version={VERSION}; {_SCHEMA} COMMIT;"
        self.db.executescript(script)

    def _check(self) -> None:
        (mark,) = self.db.execute("PRAGMA application_id").fetchone()
        (version,) = self.db.execute("PRAGMA user_version").fetchone()
        if mark != _MARK:
            raise CollectionError(f"{self.path}: this file belongs to another program")
        if version > VERSION:
            raise CollectionError(
                f"{self.path}: written by a newer Topicrawl (format {version}, this one knows {VERSION}): upgrade"
            )
        self.db.execute("PRAGMA synchronous=NORMAL")

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """All or nothing; a full disk is a SpaceError."""
        try:
            self.db.execute("BEGIN IMMEDIATE")
            yield self.db
            self.db.execute("COMMIT")
        except sqlite3.OperationalError as error:
            self._roll_back()
            if "full" in str(error) or "disk I/O" in str(error):
                raise SpaceError(f"{self.path}: no space left on the disk; free some and start again") from error
            raise DamagedError(f"{self.path}: {error}") from error
        except BaseException:
            self._roll_back()
            raise

    def _roll_back(self) -> None:
        if self.db.in_transaction:
            self.db.execute("ROLLBACK")

    def add(self, visit: Visit, response: Response, spot: Spot | None, links: Sequence[Row]) -> None:
        """Store a visit with all that hangs on it. A visit to the same link replaces the earlier one."""
        link, place = visit.link, visit.place
        row = Stored(
            visit.step, fingerprint(link.url), link.url, visit.url, link.source, link.anchor, link.depth,
            place.score, json.dumps(place.parts), json.dumps(place.carry), visit.relevance,
            visit.failure, visit.detail, visit.status, visit.at, response.seconds,
            spot.segment if spot else None, spot.offset if spot else None, spot.length if spot else None,
        )  # fmt: skip
        page = fingerprint(visit.url)
        with self.transaction() as db:
            db.execute(f"INSERT OR REPLACE INTO visits VALUES ({','.join('?' * len(row))})", row)
            if visit.failure is not None:
                failed = (link.url, visit.failure, visit.detail, visit.status, 0, visit.at)
                db.execute("INSERT INTO failures VALUES (?,?,?,?,?,?)", failed)
            elif visit.page is not None:
                content = visit.page
                db.execute(
                    "INSERT OR REPLACE INTO pages VALUES (?,?,?,?,?,?,?,?,?,?)",
                    (page, visit.step, visit.url, content.title, content.language, len(content.words),
                     len(response.body), response.content_type, content.canonical, content.digest),
                )  # fmt: skip
            if links:
                db.executemany("INSERT OR REPLACE INTO links VALUES (?,?,?,?,?,?)", links)

    def add_failure(self, url: str, response: Response, attempt: int) -> None:
        row = (url, response.failure, response.detail, response.status, attempt, response.at)
        with self.transaction() as db:
            db.execute("INSERT INTO failures VALUES (?,?,?,?,?,?)", row)

    def add_host(self, origin: str, delay: float | None, sitemaps: Sequence[str]) -> None:
        with self.transaction() as db:
            row = (origin, delay, json.dumps(list(sitemaps)))
            db.execute("INSERT OR REPLACE INTO hosts VALUES (?,?,?)", row)

    def forget(self, steps: Sequence[int]) -> None:
        """Drop visits whose pages were lost, so that they can be made again."""
        with self.transaction() as db:
            for step in steps:
                db.execute("DELETE FROM pages WHERE step=?", (step,))
                db.execute("DELETE FROM visits WHERE step=?", (step,))

    def fact(self, name: str) -> Carry:
        row = self.db.execute("SELECT value FROM facts WHERE name=?", (name,)).fetchone()
        value: Carry = json.loads(row[0]) if row else None
        return value

    def set_facts(self, facts: Mapping[str, Carry]) -> None:
        with self.transaction() as db:
            rows = [(name, json.dumps(value)) for name, value in facts.items()]
            db.executemany("INSERT OR REPLACE INTO facts VALUES (?,?)", rows)

    def visits(self, where: str = "1", values: Sequence[object] = ()) -> Iterator[Stored]:
        """Stored visits in the order in which they were made."""
        rows = self.db.execute(f"SELECT * FROM visits WHERE {where} ORDER BY step", values)
        return (Stored(*row) for row in rows)

    def visit_of(self, url: str) -> Stored | None:
        """The visit that asked for a URL, or else the one that ended there."""
        found = next(self.visits("id=?", (fingerprint(url),)), None)
        if found is None:
            found = next(self.visits("step=(SELECT step FROM pages WHERE id=?)", (fingerprint(url),)), None)
        return found

    def last_spot(self) -> Spot | None:
        """The end of what the archive must hold."""
        sql = "SELECT segment, start, length FROM visits WHERE segment IS NOT NULL ORDER BY segment DESC, start DESC"
        row = self.db.execute(f"{sql} LIMIT 1").fetchone()
        return Spot(*row) if row else None

    def counts(self) -> tuple[int, int]:
        """The last step, and the number of pages kept."""
        ((step, pages),) = self.db.execute(
            "SELECT coalesce(max(step), 0), count(*) FILTER (WHERE failure IS NULL) FROM visits"
        )
        return int(step), int(pages)

    def close(self) -> None:
        self.db.close()
