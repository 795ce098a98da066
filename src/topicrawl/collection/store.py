"""SQLite database of a collection: visits, pages, links, failures, hosts and facts.

Every visit is stored in one transaction, so a kill leaves all of it or nothing. The id of a URL is its 64-bit
fingerprint, which saves a lookup for each of the hundred links of a page.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias, TypeVar

from msgspec import ValidationError, convert
from msgspec import json as msgspec_json

from topicrawl.collection.archive import RecordLocation
from topicrawl.collection.fact_rows import join_fact, overflow_row_range, split_fact
from topicrawl.collection.link_rows import PackedLinks
from topicrawl.database import CREATION_TIMEOUT, Database, DatabaseSchema, translate_errors
from topicrawl.errors import DamagedError
from topicrawl.models import JsonValue, Link, Priority, Response, Visit
from topicrawl.urls import fingerprint, get_host

Row = TypeVar("Row")
_ROWS_PER_BATCH = 1000  # rows that are converted at once
#: SQL expression: host of the canonical URL in the column `url`, with its port, as `urls.get_host` returns it.
HOST_OF_URL = "substr(url, instr(url, '://') + 3, instr(substr(url, instr(url, '://') + 3), '/') - 1)"

SCHEMA = DatabaseSchema(
    name="a collection",
    application_id=0x70C1,
    initial_statements=(
        "CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
        "CREATE TABLE visits (step INTEGER PRIMARY KEY, id INTEGER NOT NULL UNIQUE, requested TEXT NOT NULL,"
        " url TEXT NOT NULL, source TEXT NOT NULL, anchor TEXT NOT NULL, depth INTEGER NOT NULL, score REAL NOT NULL,"
        " parts TEXT NOT NULL, carry TEXT NOT NULL, relevance REAL, failure TEXT, detail TEXT NOT NULL,"
        " status INTEGER NOT NULL, at REAL NOT NULL, seconds REAL NOT NULL,"
        " segment INTEGER, start INTEGER, length INTEGER)",
        "CREATE TABLE pages (id INTEGER PRIMARY KEY, step INTEGER NOT NULL, url TEXT NOT NULL, title TEXT NOT NULL,"
        " language TEXT NOT NULL, words INTEGER NOT NULL, bytes INTEGER NOT NULL, type TEXT NOT NULL,"
        " canonical TEXT NOT NULL, digest TEXT NOT NULL)",
        # All links of a page are in one row (see `link_rows.py`): one row per link took as long as scoring the links.
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
        (
            "ALTER TABLE visits RENAME COLUMN parts TO score_parts",
            "ALTER TABLE visits RENAME COLUMN carry TO payload",
            "ALTER TABLE visits RENAME COLUMN twin TO duplicate_of",
            "ALTER TABLE pages RENAME COLUMN marks TO duplicate_keys",
            "ALTER TABLE verdicts RENAME TO annotations",
            "ALTER TABLE annotations RENAME COLUMN act TO action",
            "ALTER TABLE annotations RENAME COLUMN verdict TO label",
            "ALTER TABLE annotations RENAME COLUMN how TO origin",
            "DROP INDEX verdicts_of_page",
            "CREATE INDEX annotations_by_page ON annotations (page)",
            "ALTER TABLE orders RENAME TO commands",
        ),
        (
            "CREATE TABLE reviewer_calls (number INTEGER PRIMARY KEY, page INTEGER NOT NULL, url TEXT NOT NULL,"
            " model TEXT NOT NULL, outcome TEXT NOT NULL, confidence REAL, reason TEXT NOT NULL,"
            " tokens_in INTEGER NOT NULL, tokens_out INTEGER NOT NULL, cost REAL NOT NULL, seconds REAL NOT NULL,"
            " at REAL NOT NULL)",
            "CREATE INDEX reviewer_calls_by_page ON reviewer_calls (page)",
        ),
        (
            "ALTER TABLE pages ADD COLUMN judgement TEXT NOT NULL DEFAULT ''",
            "CREATE TABLE group_decisions (action INTEGER PRIMARY KEY, name TEXT NOT NULL, label TEXT NOT NULL,"
            " sample TEXT NOT NULL)",
        ),
        (
            "ALTER TABLE annotations ADD COLUMN annotator TEXT NOT NULL DEFAULT ''",
            "CREATE INDEX annotations_by_action ON annotations (action)",
            "CREATE TABLE page_tags (page INTEGER NOT NULL, tag TEXT NOT NULL, PRIMARY KEY (page, tag)) WITHOUT ROWID",
            "CREATE TABLE page_notes (number INTEGER PRIMARY KEY, page INTEGER NOT NULL, note TEXT NOT NULL,"
            " annotator TEXT NOT NULL, at REAL NOT NULL)",
            "CREATE INDEX page_notes_by_page ON page_notes (page)",
            f"CREATE INDEX pages_by_host ON pages ({HOST_OF_URL})",
            "CREATE INDEX visits_by_relevance ON visits (relevance) WHERE failure IS NULL",
            "CREATE INDEX visits_by_failure ON visits (failure) WHERE failure IS NOT NULL",
        ),
        # Queries for pages in the order of their steps read the tables in order: 30 ms for 50,000 pages instead of 100.
        ("CREATE INDEX pages_by_step ON pages (step)",),
        (
            "CREATE TABLE link_lists (id INTEGER PRIMARY KEY, host TEXT NOT NULL, relation TEXT NOT NULL,"
            " links INTEGER)",
            "CREATE INDEX link_lists_by_host ON link_lists (host)",
        ),
    ),
)


#: Value of the column `detail` for a visit that may be repeated.
FORGOTTEN_DETAIL = "forgotten"
NOT_FORGOTTEN = f"detail <> '{FORGOTTEN_DETAIL}'"
#: SQL statement with its parameter values.
SqlStatement: TypeAlias = tuple[str, Sequence[object]]


class StoredVisit(NamedTuple):
    """A row of the table `visits`, in the order of its columns."""

    step: int
    id: int
    requested: str
    url: str
    source: str
    anchor: str
    depth: int
    score: float
    score_parts: str
    payload: str
    relevance: float | None
    failure: str | None
    detail: str
    status: int
    at: float
    seconds: float
    segment: int | None
    start: int | None
    length: int | None
    duplicate_of: str  # URL of the stored page that this page repeats, or ""

    @property
    def location(self) -> RecordLocation | None:
        """Location of the response in the archive, or None."""
        if self.segment is None or self.start is None or self.length is None:
            return None
        return RecordLocation(self.segment, self.start, self.length)

    @property
    def link(self) -> Link:
        """The link that was fetched, without its context."""
        return Link(self.requested, self.source, self.anchor, depth=self.depth)

    @property
    def priority(self) -> Priority:
        """Priority of the link when it was fetched."""
        parts = tuple((str(name), float(value)) for name, value in json.loads(self.score_parts))
        return Priority(self.score, json.loads(self.payload), parts)


class VisitRecord(NamedTuple):
    """A visit to be stored, with the archive location of its page and its packed links."""

    visit: Visit
    response: Response
    location: RecordLocation | None
    links: PackedLinks | None
    duplicate_keys: bytes | None = None  # packed duplicate keys


class CollectionStore:
    """SQLite database of a collection, with one writer and any number of read-only connections."""

    def __init__(self, path: Path, *, readonly: bool = False, creation_timeout: float = CREATION_TIMEOUT) -> None:
        self.path = path
        self.db = Database(path, SCHEMA, readonly=readonly, creation_timeout=creation_timeout)

    def add_visits(self, rows: Sequence[VisitRecord], *, statements_before: Sequence[SqlStatement] = ()) -> None:
        """Store visits with their pages, links and failures. A visit of the same link replaces the earlier one.

        `statements_before` are executed first, in the same transaction. A full disk raises `SpaceError` and changes
        nothing.
        """
        with self.db.transaction():
            for sql, values in statements_before:
                self.db.execute(sql, values)
            for row in rows:
                self._insert_visit(*row)

    def _insert_visit(
        self,
        visit: Visit,
        response: Response,
        location: RecordLocation | None,
        links: PackedLinks | None,
        duplicate_keys: bytes | None,
    ) -> None:
        link, place = visit.link, visit.priority
        row = StoredVisit(
            visit.step,
            fingerprint(link.url),
            link.url,
            visit.url,
            link.source,
            replace_surrogates(link.anchor),
            link.depth,
            place.score,
            json.dumps(place.parts),
            json.dumps(place.payload),
            visit.relevance,
            visit.failure,
            replace_surrogates(visit.detail),
            visit.status,
            visit.at,
            response.seconds,
            location.segment if location else None,
            location.offset if location else None,
            location.length if location else None,
            visit.duplicate_of,
        )
        self.db.execute(_INSERT_VISIT, row)
        if visit.failure is not None:
            # A killed run may have stored a page with this visit.
            self.db.execute(_DELETE_PAGE, (fingerprint(visit.url), visit.step))
            failed = (link.url, visit.failure, row.detail, visit.status, 0, visit.at)
            self.db.execute(_INSERT_FAILURE, failed)
        elif visit.page is not None:
            page = visit.page
            values = (
                fingerprint(visit.url),
                visit.step,
                visit.url,
                replace_surrogates(page.title),
                page.language,
                len(page.words),
                len(response.body),
                replace_surrogates(response.content_type),
                page.canonical,
                page.digest,
                duplicate_keys,
                msgspec_json.encode(visit.judgement).decode() if visit.judgement is not None else "",
            )
            self.db.execute("INSERT OR REPLACE INTO pages VALUES (?,?,?,?,?,?,?,?,?,?,?,?)", values)
        if links is not None:
            self.db.execute("INSERT OR REPLACE INTO links VALUES (?,?,?,?,?)", (fingerprint(visit.url), *links))

    def has_page(self, url: str, step: int) -> bool:
        """Return whether the page of a URL is stored with the visit of this step."""
        return bool(self.query_rows("SELECT 1 FROM pages WHERE id = ? AND step = ?", (fingerprint(url), step)))

    def add_attempt(self, url: str, response: Response, attempt: int) -> None:
        """Add a failed attempt that the crawler will repeat to the table `failures`."""
        detail = replace_surrogates(response.detail)
        with self.db.transaction():
            row = (url, response.failure, detail, response.status, attempt, response.at)
            self.db.execute(_INSERT_FAILURE, row)

    def add_host(self, origin: str, delay: float | None, sitemaps: Sequence[str]) -> None:
        """Store the crawl delay and the sitemaps of an origin. Earlier values are replaced."""
        with self.db.transaction():
            row = (origin, delay, json.dumps(list(sitemaps)))
            self.db.execute("INSERT OR REPLACE INTO hosts VALUES (?,?,?)", row)

    def add_link_lists(self, named: Mapping[str, str], read: Mapping[str, int]) -> None:
        """Store sitemaps that pages name, with their relations, and the numbers of links in lists that were read.

        The relation of a list that no page names is empty.
        """
        with self.db.transaction():
            for url, relation in named.items():
                row = (fingerprint(url), get_host(url), relation)
                self.db.execute("INSERT OR IGNORE INTO link_lists VALUES (?,?,?,NULL)", row)
            for url, links in read.items():
                self.db.execute(
                    "INSERT INTO link_lists VALUES (?,?,'',?) ON CONFLICT (id) DO UPDATE SET links=excluded.links",
                    (fingerprint(url), get_host(url), links),
                )

    def find_list_relation(self, url: str) -> str:
        """Return the relation by which a page names a URL as a sitemap; empty if none does."""
        with translate_errors(self.path):
            row = self.db.execute("SELECT relation FROM link_lists WHERE id=?", (fingerprint(url),)).fetchone()
        return row[0] if row else ""

    def count_link_lists(self, host: str) -> tuple[int, int]:
        """Return the number of sitemaps and feeds of a host that were read, and the number of their links."""
        query = "SELECT count(links), coalesce(sum(links), 0) FROM link_lists WHERE host=?"
        with translate_errors(self.path):
            files, links = self.db.execute(query, (host,)).fetchone()
        return files, links

    def delete_visits(self, rows: Sequence[StoredVisit]) -> None:
        """Delete visits whose pages were lost, and the rows of these pages, so that the visits can be repeated."""
        with self.db.transaction():
            for row in rows:
                self.db.execute(_DELETE_PAGE, (fingerprint(row.url), row.step))
                self.db.execute("DELETE FROM visits WHERE step=?", (row.step,))

    def get_fact(self, name: str) -> JsonValue:
        """Return the value of a fact, or None if it is not stored. Raise `DamagedError` if it cannot be decoded."""
        try:
            return join_fact(name, self._read_fact_text)
        except (TypeError, ValueError, RecursionError) as error:
            fix = f"run `topicrawl doctor {self.path.parent}`"
            raise DamagedError(f"{self.path} is damaged: the fact {name!r} cannot be read; {fix}") from error

    def get_list_fact(self, name: str) -> list[JsonValue]:
        """Return the value of a fact that is a list; empty if it is not stored."""
        value = self.get_fact(name)
        return value if isinstance(value, list) else []

    def _read_fact_text(self, fact: str) -> str | None:
        with translate_errors(self.path):
            row = self.db.execute("SELECT value FROM facts WHERE name=?", (fact,)).fetchone()
        return row[0] if row else None

    def set_facts(self, facts: Mapping[str, JsonValue]) -> None:
        """Set facts in one transaction. They replace earlier values; other facts stay.

        The facts survive a power failure, and so do all visits that were stored before.
        """
        with self.db.durable_transaction():
            for name, value in facts.items():
                self.db.execute("DELETE FROM facts WHERE name > ? AND name < ?", overflow_row_range(name))
                self.db.executemany("INSERT OR REPLACE INTO facts VALUES (?,?)", split_fact(name, value))

    def iterate_rows(self, sql: str, values: Sequence[object] = ()) -> Iterator[tuple[object, ...]]:
        """Execute a read-only query and yield its rows one by one."""
        with translate_errors(self.path):
            yield from self.db.execute(sql, values)

    def query_rows(self, sql: str, values: Sequence[object] = ()) -> list[tuple[object, ...]]:
        """Execute a read-only query and return all rows."""
        return list(self.iterate_rows(sql, values))

    def iterate_typed_rows(self, row_type: type[Row], sql: str, values: Sequence[object] = ()) -> Iterator[Row]:
        """Execute a read-only query and yield its rows as tuples of a type, such as `tuple[int, str]`.

        A value of another type raises `DamagedError`.
        """
        with translate_errors(self.path):
            cursor = self.db.execute(sql, values)
            while rows := cursor.fetchmany(_ROWS_PER_BATCH):
                yield from self._convert_values(rows, list[row_type])  # type: ignore[valid-type]

    def query_typed_rows(self, row_type: type[Row], sql: str, values: Sequence[object] = ()) -> list[Row]:
        """Execute a read-only query and return all rows as tuples of a type."""
        return list(self.iterate_typed_rows(row_type, sql, values))

    def query_value(self, value_type: type[Row], sql: str, values: Sequence[object] = ()) -> Row:
        """Execute a read-only query with one row of one column, and return its value.

        A value of another type raises `DamagedError`. A result of another shape raises ValueError.
        """
        ((value,),) = self.query_rows(sql, values)
        return self._convert_values(value, value_type)

    def _convert_values(self, values: object, kind: type[Row]) -> Row:
        try:
            return convert(values, kind)
        except ValidationError as error:
            raise DamagedError(f"{self.path} is damaged: a query returned an unexpected value ({error})") from error

    def iterate_visits(self, where: str = "1", values: Sequence[object] = ()) -> Iterator[StoredVisit]:
        """Yield the stored visits that match an SQL condition on the table `visits`, in the order of their steps."""
        with translate_errors(self.path):
            for row in self.db.execute(f"SELECT * FROM visits WHERE {where} ORDER BY step", values):
                yield StoredVisit(*row)

    def find_visit(self, url: str) -> StoredVisit | None:
        """Return the visit that requested a URL, or else the visit whose final URL it is, or None."""
        visit = next(self.iterate_visits("id=?", (fingerprint(url),)), None)
        if visit is None:
            visit = next(self.iterate_visits("step=(SELECT step FROM pages WHERE id=?)", (fingerprint(url),)), None)
        return visit

    def close(self) -> None:
        """Close the database."""
        self.db.close()


_INSERT_FAILURE = "INSERT INTO failures VALUES (?,?,?,?,?,?)"  # attempt 0 is a final failure
_DELETE_PAGE = "DELETE FROM pages WHERE id = ? AND step = ?"
_INSERT_VISIT = f"INSERT OR REPLACE INTO visits VALUES ({','.join('?' * len(StoredVisit._fields))})"


def replace_surrogates(text: str) -> str:
    """Replace lone surrogates, which UTF-8 cannot encode, by question marks.

    >>> replace_surrogates("caf\\u00e9"), replace_surrogates("\\ud800")
    ('café', '?')
    """
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
