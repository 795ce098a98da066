"""What may be asked of a frontier's file, also while a crawl writes it: takes no lock and changes nothing."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TypeAlias

from topicrawl.database import errors_of
from topicrawl.frontier.contract import Counts, Entry
from topicrawl.frontier.known import Known
from topicrawl.frontier.sqlite_file import File
from topicrawl.records import Carry, Link, Place
from topicrawl.urls import fingerprint, host

Row: TypeAlias = tuple[int, int, int, float, int, float | None, int, str, str | None, str, str | None, str | None]

_COLUMNS = """
    l.seq, l.host, CASE WHEN o.seq IS NULL THEN l.state ELSE 1 END, l.score, coalesce(o.attempts, l.attempts),
    l.first, l.depth, l.url,
    CASE typeof(l.source) WHEN 'integer' THEN (SELECT url FROM links WHERE seq = l.source) ELSE l.source END,
    l.anchor, l.place, l.reason
"""
_FIND = f"""
    SELECT {_COLUMNS} FROM known k JOIN links l ON l.seq = k.seq LEFT JOIN leased o ON o.seq = l.seq WHERE k.key = ?
"""
_ROW = f"SELECT {_COLUMNS} FROM links l LEFT JOIN leased o ON o.seq = l.seq WHERE l.seq = ?"
# Order the narrow index first, then read the few wide rows.
_BEST = f"""
    SELECT {_COLUMNS} FROM (
        SELECT seq FROM links INDEXED BY open_links WHERE state = 0 AND seq NOT IN (SELECT seq FROM leased)
        ORDER BY score DESC, seq LIMIT ?
    ) b JOIN links l ON l.seq = b.seq LEFT JOIN leased o ON o.seq = l.seq ORDER BY l.score DESC, l.seq
"""
_WAITING = f"""
    SELECT {_COLUMNS} FROM links l LEFT JOIN leased o ON o.seq = l.seq
    WHERE l.state = 0 AND o.seq IS NULL AND l.seq > ? AND l.seq <= ? ORDER BY l.seq LIMIT ?
"""
_PLACES = """
    SELECT k.key, l.score, l.place FROM json_each(?) j JOIN known k ON k.key = j.value
    JOIN links l ON l.seq = k.seq WHERE l.state = 0 AND l.seq NOT IN (SELECT seq FROM leased)
"""
_COUNTS = """
    SELECT (SELECT count(*) FROM links INDEXED BY open_links WHERE state = 0), (SELECT count(*) FROM leased),
    (SELECT coalesce(max(seq), 0) FROM links), dropped, (SELECT coalesce(max(number) + 1, 0) FROM hosts) FROM crawl
"""
_encoded = json.JSONEncoder(separators=(",", ":")).encode


class SqliteLook:
    """A frontier's file as a bystander sees it."""

    def __init__(self, file: File) -> None:
        self._file = file

    async def places(self, urls: Sequence[str]) -> dict[str, Place]:
        """The places of those URLs that wait."""
        keys = {key(url): url for url in urls if self._may_wait(url)}
        with errors_of(self._file.path):
            rows = self._file.execute(_PLACES, (json_list(keys),)).fetchall()
        return {keys[key]: place(score, text) for key, score, text in rows}

    async def find(self, url: str) -> Entry | None:
        """What is known of a URL."""
        with errors_of(self._file.path):
            row = self._file.execute(_FIND, (key(url),)).fetchone()
        return None if row is None else known(row).as_entry()

    async def best(self, n: int) -> list[Entry]:
        """The best waiting links, whether or not their hosts are ready."""
        with errors_of(self._file.path):
            rows = self._file.execute(_BEST, (max(0, n),)).fetchall()
        return [known(row).as_entry() for row in rows]

    async def last(self) -> int:
        """The number of the link that was found last."""
        with errors_of(self._file.path):
            (number,) = self._file.execute("SELECT coalesce(max(seq), 0) FROM links").fetchone()
        return int(number)

    async def waiting(self, n: int, *, after: int = 0, until: int) -> list[tuple[int, Entry]]:
        """Waiting links with their numbers, in the order they were found."""
        with errors_of(self._file.path):
            rows = self._file.execute(_WAITING, (after, until, n)).fetchall()
        return [(row[0], known(row).as_entry()) for row in rows]

    async def counts(self) -> Counts:
        """How many links are in each state."""
        with errors_of(self._file.path):
            return read_counts(self._file)

    async def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    def _may_wait(self, url: str) -> bool:
        """Is it worth a look into the file? Whoever writes it may know better."""
        return True


def look(path: Path | str) -> SqliteLook:
    """Look at the frontier in a file, whoever may be writing it."""
    return SqliteLook(File(Path(path), readonly=True))


def key(url: str) -> int:
    """The key of a URL: pages of one host have keys close to each other, so that few pages of the file are touched.

    16 bits are the host's, 48 the URL's own; even a host with a million URLs expects no clash (1 : 500).

    >>> key("https://example.org/") >> 48, key("https://example.org/bird") >> 48
    (16197, 16197)
    """
    return (_bucket(host(url)) - 0x8000 << 48) | (fingerprint(url) & 0xFFFF_FFFF_FFFF)


@lru_cache(10_000)
def _bucket(host: str) -> int:
    return fingerprint(host) & 0xFFFF


def read_counts(file: File) -> Counts:
    """How many links are in each state; counts along the index of waiting links."""
    open_, leased, total, dropped, hosts = file.execute(_COUNTS).fetchone()
    return Counts(open_ - leased, leased, total - open_ - dropped, dropped, hosts)


def read_row(file: File, seq: int) -> Known:
    """One link, with all that is kept of it."""
    return known(file.execute(_ROW, (seq,)).fetchone())


def known(row: Row) -> Known:
    """A link from its row."""
    seq, number, state, score, attempts, first, depth, url, source, anchor, text, reason = row
    found = Known(seq, number, Link(url, source or "", anchor, depth=depth), place(score, text))
    found.state, found.attempts, found.reason = state, attempts, reason or ""
    if first is not None:
        found.first_score = first
    return found


def place(score: float, text: str | None) -> Place:
    """A place from its score and what is stored of the rest.

    >>> place(0.5, '[{"level":2},[["anchor",0.25]]]')
    Place(score=0.5, carry={'level': 2}, parts=(('anchor', 0.25),))
    """
    if text is None:
        return Place(score)
    carry: Carry
    carry, parts = json.loads(text)
    return Place(score, carry, tuple((name, part) for name, part in parts))


def stored(place: Place) -> str | None:
    """What is stored of a place beside its score; None when there is nothing else.

    >>> stored(Place(0.5)) is None, stored(Place(0.5, {"level": 2}, (("anchor", 0.25),)))
    (True, '[{"level":2},[["anchor",0.25]]]')
    """
    return None if place.carry is None and not place.parts else _encoded([place.carry, place.parts])


def json_list(numbers: Iterable[int]) -> str:
    """Numbers for `json_each`: one statement for any number of them.

    >>> json_list([1, 2])
    '[1,2]'
    """
    return _encoded(list(numbers))
