"""The collection's table of contents: one SQLite file with visits, pages, links, failures and hosts.

Every visit is one transaction, so a kill leaves either all of it or nothing. A URL's id is its 64-bit fingerprint,
which spares a look-up for each of the hundred links of a page.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias

from topicrawl.collection.archive import Spot
from topicrawl.collection.facts import gathered, rows_of, spread
from topicrawl.collection.links import Packed
from topicrawl.database import Database, Shape, errors_of
from topicrawl.errors import DamagedError
from topicrawl.records import Carry, Link, Place, Response, Visit
from topicrawl.urls import fingerprint

SHAPE = Shape(
    name="a collection",
    application=0x70C1,
    schema=(
        "CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
        "CREATE TABLE visits (step INTEGER PRIMARY KEY, id INTEGER NOT NULL UNIQUE, requested TEXT NOT NULL,"
        " url TEXT NOT NULL, source TEXT NOT NULL, anchor TEXT NOT NULL, depth INTEGER NOT NULL, score REAL NOT NULL,"
        " parts TEXT NOT NULL, carry TEXT NOT NULL, relevance REAL, failure TEXT, detail TEXT NOT NULL,"
        " status INTEGER NOT NULL, at REAL NOT NULL, seconds REAL NOT NULL,"
        " segment INTEGER, start INTEGER, length INTEGER)",
        "CREATE TABLE pages (id INTEGER PRIMARY KEY, step INTEGER NOT NULL, url TEXT NOT NULL, title TEXT NOT NULL,"
        " language TEXT NOT NULL, words INTEGER NOT NULL, bytes INTEGER NOT NULL, type TEXT NOT NULL,"
        " canonical TEXT NOT NULL, digest TEXT NOT NULL)",
        # All links of a page in one row (see `links.py`): a row each took as long as scoring them.
        "CREATE TABLE links (source INTEGER PRIMARY KEY, targets BLOB NOT NULL, scores BLOB NOT NULL,"
        " refusals TEXT NOT NULL, anchors TEXT NOT NULL)",
        "CREATE TABLE failures (url TEXT NOT NULL, failure TEXT NOT NULL, detail TEXT NOT NULL,"
        " status INTEGER NOT NULL, attempt INTEGER NOT NULL, at REAL NOT NULL)",
        "CREATE TABLE hosts (origin TEXT PRIMARY KEY, delay REAL, sitemaps TEXT NOT NULL) WITHOUT ROWID",
    ),
    upgrades=(
        (
            "ALTER TABLE visits ADD COLUMN twin TEXT NOT NULL DEFAULT ''",
            "ALTER TABLE pages ADD COLUMN marks BLOB",
        ),
        (
            "CREATE TABLE revisits (page INTEGER NOT NULL, at REAL NOT NULL, outcome TEXT NOT NULL,"
            " status INTEGER NOT NULL, PRIMARY KEY (page, at)) WITHOUT ROWID",
            "CREATE TABLE versions (page INTEGER NOT NULL, at REAL NOT NULL, relevance REAL, title TEXT NOT NULL,"
            " digest TEXT NOT NULL, segment INTEGER, start INTEGER, length INTEGER,"
            " PRIMARY KEY (page, at)) WITHOUT ROWID",
        ),
        (
            "CREATE TABLE verdicts (number INTEGER PRIMARY KEY, act INTEGER NOT NULL, page INTEGER NOT NULL,"
            " url TEXT NOT NULL, verdict TEXT NOT NULL, how TEXT NOT NULL, at REAL NOT NULL)",
            "CREATE INDEX verdicts_of_page ON verdicts (page)",
            "CREATE TABLE orders (number INTEGER PRIMARY KEY, kind TEXT NOT NULL, target TEXT NOT NULL,"
            " amount REAL NOT NULL, at REAL NOT NULL)",
        ),
    ),
)


#: What the detail of a visit says that may be made again.
FORGOTTEN = "forgotten"
REMEMBERED = f"detail <> '{FORGOTTEN}'"
#: SQL with its values.
Statement: TypeAlias = tuple[str, Sequence[object]]


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
    twin: str  # the address of the page that it repeats, "" when it repeats none

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


class Kept(NamedTuple):
    """A visit to be stored: where its page stands in the archive, and its links."""

    visit: Visit
    response: Response
    spot: Spot | None
    links: Packed | None
    marks: bytes | None = None  # by which pages that repeat this one are found


class Store:
    """The SQLite file of a collection. Read-only handles may be open beside the one that writes."""

    def __init__(self, path: Path, *, readonly: bool = False) -> None:
        self.path = path
        self.db = Database(path, SHAPE, readonly=readonly)

    def add(self, rows: Sequence[Kept], *, before: Sequence[Statement] = ()) -> None:
        """Store visits with all that hangs on them. A visit to the same link replaces the earlier one.

        What is to be done `before` is done with it, or not at all.
        """
        with self.db.transaction():
            for sql, values in before:
                self.db.execute(sql, values)
            for row in rows:
                self._add(*row)

    def _add(
        self, visit: Visit, response: Response, spot: Spot | None, links: Packed | None, marks: bytes | None
    ) -> None:
        link, place = visit.link, visit.place
        row = Stored(
            visit.step, fingerprint(link.url), link.url, visit.url, link.source, writable(link.anchor), link.depth,
            place.score, json.dumps(place.parts), json.dumps(place.carry), visit.relevance,
            visit.failure, writable(visit.detail), visit.status, visit.at, response.seconds,
            spot.segment if spot else None, spot.offset if spot else None, spot.length if spot else None,
            visit.twin,
        )  # fmt: skip
        self.db.execute(_ADD_VISIT, row)
        if visit.failure is not None:
            failed = (link.url, visit.failure, row.detail, visit.status, 0, visit.at)
            self.db.execute(_ADD_FAILURE, failed)
        elif visit.page is not None:
            page = visit.page
            values = (
                fingerprint(visit.url), visit.step, visit.url, writable(page.title), page.language,
                len(page.words), len(response.body), writable(response.content_type), page.canonical, page.digest,
                marks,
            )  # fmt: skip
            self.db.execute("INSERT OR REPLACE INTO pages VALUES (?,?,?,?,?,?,?,?,?,?,?)", values)
        if links is not None:
            self.db.execute("INSERT OR REPLACE INTO links VALUES (?,?,?,?,?)", (fingerprint(visit.url), *links))

    def add_attempt(self, url: str, response: Response, attempt: int) -> None:
        """Store an attempt that failed and will be made again."""
        detail = writable(response.detail)
        with self.db.transaction():
            row = (url, response.failure, detail, response.status, attempt, response.at)
            self.db.execute(_ADD_FAILURE, row)

    def add_host(self, origin: str, delay: float | None, sitemaps: Sequence[str]) -> None:
        with self.db.transaction():
            row = (origin, delay, json.dumps(list(sitemaps)))
            self.db.execute("INSERT OR REPLACE INTO hosts VALUES (?,?,?)", row)

    def forget(self, rows: Sequence[Stored]) -> None:
        """Drop visits whose pages were lost, so that they can be made again."""
        with self.db.transaction():
            for row in rows:
                self.db.execute("DELETE FROM pages WHERE id=? AND step=?", (fingerprint(row.url), row.step))
                self.db.execute("DELETE FROM visits WHERE step=?", (row.step,))

    def fact(self, name: str) -> Carry:
        try:
            return gathered(name, self._text_of)
        except (TypeError, ValueError, RecursionError) as error:
            fix = f"`topicrawl doctor {self.path.parent}` says more"
            raise DamagedError(f"{self.path} is damaged: what it says of {name!r} cannot be read; {fix}") from error

    def _text_of(self, fact: str) -> str | None:
        with errors_of(self.path):
            row = self.db.execute("SELECT value FROM facts WHERE name=?", (fact,)).fetchone()
        return row[0] if row else None

    def set_facts(self, facts: Mapping[str, Carry]) -> None:
        with self.db.transaction():
            for name, value in facts.items():
                self.db.execute("DELETE FROM facts WHERE name > ? AND name < ?", rows_of(name))
                self.db.executemany("INSERT OR REPLACE INTO facts VALUES (?,?)", spread(name, value))

    def each(self, sql: str, values: Sequence[object] = ()) -> Iterator[tuple[object, ...]]:
        """The rows of an answer that is too large to hold; reading only."""
        with errors_of(self.path):
            yield from self.db.execute(sql, values)

    def rows(self, sql: str, values: Sequence[object] = ()) -> list[tuple[object, ...]]:
        """The answer to a question; reading only."""
        return list(self.each(sql, values))

    def visits(self, where: str = "1", values: Sequence[object] = ()) -> Iterator[Stored]:
        """Stored visits in the order in which they were made."""
        with errors_of(self.path):
            for row in self.db.execute(f"SELECT * FROM visits WHERE {where} ORDER BY step", values):
                yield Stored(*row)

    def visit_of(self, url: str) -> Stored | None:
        """The visit that asked for a URL, or else the one that ended there."""
        found = next(self.visits("id=?", (fingerprint(url),)), None)
        if found is None:
            found = next(self.visits("step=(SELECT step FROM pages WHERE id=?)", (fingerprint(url),)), None)
        return found

    def close(self) -> None:
        self.db.close()


_ADD_FAILURE = "INSERT INTO failures VALUES (?,?,?,?,?,?)"  # attempt 0: it was the last one
_ADD_VISIT = f"INSERT OR REPLACE INTO visits VALUES ({','.join('?' * len(Stored._fields))})"


def writable(text: str) -> str:
    """Text that UTF-8 can hold: a page may have half a character where it should have none.

    >>> writable("caf\\u00e9"), writable("\\ud800")
    ('café', '?')
    """
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
