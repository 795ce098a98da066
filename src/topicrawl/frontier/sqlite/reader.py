"""Read-only access to a frontier file, without a lock, also while a crawl writes to it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import TypeAlias

from topicrawl.database import Database, translate_errors
from topicrawl.frontier.base import FrontierCounts, FrontierEntry
from topicrawl.frontier.entry import DONE, LinkRecord
from topicrawl.frontier.sqlite.file import FrontierDatabase
from topicrawl.models import JsonValue, Link, Priority
from topicrawl.urls import fingerprint, get_host

FrontierLinkRow: TypeAlias = tuple[
    int, int, int, float, int, float | None, int, str, str | None, str, str | None, str | None
]

_COLUMNS = """
    l.seq, l.host, CASE WHEN o.seq IS NULL THEN l.state ELSE 1 END, l.score, coalesce(o.attempts, l.attempts),
    l.first, l.depth, l.url,
    CASE typeof(l.source) WHEN 'integer' THEN (SELECT url FROM links WHERE seq = l.source) ELSE l.source END,
    l.anchor, l.priority, l.reason
"""
_SELECT_BY_KEY = f"""
    SELECT {_COLUMNS} FROM link_keys k JOIN links l ON l.seq = k.seq LEFT JOIN leased o ON o.seq = l.seq WHERE k.key = ?
"""
_SELECT_BY_SEQUENCE = f"SELECT {_COLUMNS} FROM links l LEFT JOIN leased o ON o.seq = l.seq WHERE l.seq = ?"
# The hosts whose best links may be among the best `n`: a score is looked up in the index for each host. Sorting all
# waiting links takes 130 ms for 500,000 links on 400 hosts, and this 2 ms. `main.` skips the view of a file in an older
# format, for which SQLite does not accept INDEXED BY.
_SELECT_BEST_HOSTS = """
    WITH best AS MATERIALIZED (
        SELECT number, (SELECT score FROM main.links INDEXED BY open_links
            WHERE host = number AND state = 0 ORDER BY score DESC LIMIT 1) AS score FROM hosts
    )
    SELECT number FROM best WHERE score >= coalesce(
        (SELECT score FROM best WHERE score IS NOT NULL ORDER BY score DESC LIMIT 1 OFFSET ?), -1e300)
"""
_SELECT_BEST_OF_HOST = """
    SELECT -score, seq FROM main.links INDEXED BY open_links
    WHERE host = ? AND state = 0 AND seq NOT IN (SELECT seq FROM leased) ORDER BY score DESC, seq LIMIT ?
"""
_SELECT_WAITING = f"""
    SELECT {_COLUMNS} FROM links l LEFT JOIN leased o ON o.seq = l.seq
    WHERE l.state = 0 AND o.seq IS NULL AND l.seq > ? AND l.seq <= ? ORDER BY l.seq LIMIT ?
"""
_SELECT_DONE = f"""
    SELECT {_COLUMNS} FROM links l LEFT JOIN leased o ON o.seq = l.seq
    WHERE l.state = {DONE} AND l.seq > ? ORDER BY l.seq LIMIT ?
"""
_SELECT_ALL = (
    f"SELECT {_COLUMNS} FROM links l LEFT JOIN leased o ON o.seq = l.seq WHERE l.seq > ? ORDER BY l.seq LIMIT ?"
)
_SELECT_PRIORITIES = """
    SELECT k.key, l.score, l.priority FROM json_each(?) j JOIN link_keys k ON k.key = j.value
    JOIN links l ON l.seq = k.seq WHERE l.state = 0 AND l.seq NOT IN (SELECT seq FROM leased)
"""
_SELECT_COUNTS = """
    SELECT (SELECT count(*) FROM main.links INDEXED BY open_links WHERE state = 0), (SELECT count(*) FROM leased),
    (SELECT coalesce(max(seq), 0) FROM links), dropped, (SELECT coalesce(max(number) + 1, 0) FROM hosts) FROM crawl
"""
_COUNT_BELOW = """
    SELECT count(*) FROM main.links INDEXED BY open_links
    WHERE state = 0 AND score < ? AND seq NOT IN (SELECT seq FROM leased)
"""
_DONE_BATCH = 1000  # done links that are read at once
_encode_json = json.JSONEncoder(separators=(",", ":")).encode


class SqliteFrontierReader:
    """Reader of a frontier file."""

    def __init__(self, database: FrontierDatabase) -> None:
        self._database = database

    async def get_priorities(self, urls: Sequence[str]) -> dict[str, Priority]:
        """Return the priorities of those URLs that are waiting."""
        keys = {url_key(url): url for url in urls if self._may_wait(url)}
        with translate_errors(self._database.path):
            rows = self._database.execute(_SELECT_PRIORITIES, (to_json_list(keys),)).fetchall()
        return {keys[key]: decode_priority(score, text) for key, score, text in rows}

    async def get_entry(self, url: str) -> FrontierEntry | None:
        """Return the entry of a URL, or None if the URL is unknown."""
        with translate_errors(self._database.path):
            row = self._database.execute(_SELECT_BY_KEY, (url_key(url),)).fetchone()
        return None if row is None else parse_row(row).as_entry()

    async def get_best_entries(self, n: int) -> list[FrontierEntry]:
        """Return the `n` best waiting links, whether or not their hosts are ready."""
        n = max(0, n)
        with translate_errors(self._database.path):
            ((leased,),) = self._database.execute("SELECT count(*) FROM leased")
            hosts = self._database.execute(_SELECT_BEST_HOSTS, (n + leased,)).fetchall()
            best = sorted(chain.from_iterable(self._database.execute(_SELECT_BEST_OF_HOST, (*row, n)) for row in hosts))
            rows = [self._database.execute(_SELECT_BY_SEQUENCE, (sequence,)).fetchone() for _, sequence in best[:n]]
        return [parse_row(row).as_entry() for row in rows]

    async def get_last_sequence(self) -> int:
        """Return the sequence number of the most recently found link."""
        with translate_errors(self._database.path):
            (number,) = self._database.execute("SELECT coalesce(max(seq), 0) FROM links").fetchone()
        return int(number)

    async def get_waiting(self, n: int, *, after: int = 0, until: int) -> list[tuple[int, FrontierEntry]]:
        """Return up to `n` waiting links with `after` < sequence number <= `until`, in the order of discovery."""
        with translate_errors(self._database.path):
            rows = self._database.execute(_SELECT_WAITING, (after, until, n)).fetchall()
        return [(row[0], parse_row(row).as_entry()) for row in rows]

    def get_all(self, n: int, *, after: int = 0) -> list[tuple[int, FrontierEntry]]:
        """Return up to `n` links in any state with `after` < sequence number, in the order of discovery."""
        with translate_errors(self._database.path):
            rows = self._database.execute(_SELECT_ALL, (after, n)).fetchall()
        return [(row[0], parse_row(row).as_entry()) for row in rows]

    async def get_counts(self) -> FrontierCounts:
        """Count the links in each state."""
        with translate_errors(self._database.path):
            return read_counts(self._database)

    async def count_waiting_below(self, score: float) -> int:
        """Count the waiting links that score less. The query scans the index of waiting links."""
        with translate_errors(self._database.path):
            (count,) = self._database.execute(_COUNT_BELOW, (score,)).fetchone()
        return int(count)

    async def close(self) -> None:
        """Close the file."""
        self._database.close()

    def _may_wait(self, url: str) -> bool:
        """Return whether the URL may be waiting. The writing subclass can rule it out without a query."""
        return True


def open_reader(path: Path | str) -> SqliteFrontierReader:
    """Open the frontier in a file for reading. Raise `CollectionError` if the file is missing or is no frontier."""
    return SqliteFrontierReader(FrontierDatabase(Path(path), readonly=True))


def url_key(url: str) -> int:
    """Return the 64-bit key of a URL. URLs of one host have adjacent keys, so that a lookup reads few database pages.

    16 bits come from the host and 48 bits from the URL. A host with a million URLs has a collision with probability
    1 : 500.

    >>> url_key("https://example.org/") >> 48, url_key("https://example.org/bird") >> 48
    (16197, 16197)
    """
    return (_host_bucket(get_host(url)) - 0x8000 << 48) | (fingerprint(url) & 0xFFFF_FFFF_FFFF)


@lru_cache(10_000)
def _host_bucket(host: str) -> int:
    """Return the 16-bit key prefix of a host."""
    return fingerprint(host) & 0xFFFF


def read_counts(database: FrontierDatabase) -> FrontierCounts:
    """Count the links in each state. The query scans the index of waiting links."""
    open_, leased, total, dropped, hosts = database.execute(_SELECT_COUNTS).fetchone()
    return FrontierCounts(open_ - leased, leased, total - open_ - dropped, dropped, hosts)


def read_record(database: FrontierDatabase, seq: int) -> LinkRecord:
    """Read one link by its row number, with all stored fields. The row must exist."""
    return parse_row(database.execute(_SELECT_BY_SEQUENCE, (seq,)).fetchone())


def iterate_done_links(database: Database) -> Iterator[list[FrontierEntry]]:
    """Yield the done links of a frontier file in the order of discovery, in batches. Scans all links."""
    last = 0
    while True:
        with translate_errors(database.path):
            rows = database.execute(_SELECT_DONE, (last, _DONE_BATCH)).fetchall()
        if not rows:
            return
        last = rows[-1][0]
        yield [parse_row(row).as_entry() for row in rows]


def parse_row(row: FrontierLinkRow) -> LinkRecord:
    """Build a record from its row."""
    seq, number, state, score, attempts, first, depth, url, source, anchor, text, reason = row
    record = LinkRecord(seq, number, Link(url, source or "", anchor, depth=depth), decode_priority(score, text))
    record.state, record.attempts, record.reason = state, attempts, reason or ""
    if first is not None:
        record.first_score = first
    return record


def decode_priority(score: float, text: str | None) -> Priority:
    """Build a priority from its score and the stored JSON of the other fields.

    >>> decode_priority(0.5, '[{"level":2},[["anchor",0.25]]]')
    Priority(score=0.5, payload={'level': 2}, parts=(('anchor', 0.25),))
    """
    if text is None:
        return Priority(score)
    payload: JsonValue
    payload, parts = json.loads(text)
    return Priority(score, payload, tuple((name, part) for name, part in parts))


def encode_priority(priority: Priority) -> str | None:
    """Return the JSON of the fields of a priority other than the score, or None if there are none.

    >>> encode_priority(Priority(0.5)) is None, encode_priority(Priority(0.5, {"level": 2}, (("anchor", 0.25),)))
    (True, '[{"level":2},[["anchor",0.25]]]')
    """
    return None if priority.payload is None and not priority.parts else _encode_json([priority.payload, priority.parts])


def to_json_list(numbers: Iterable[int]) -> str:
    """Encode numbers for `json_each`, which takes any number of them in one statement.

    >>> to_json_list([1, 2])
    '[1,2]'
    """
    return _encode_json(list(numbers))
