"""What may be asked of a frontier's file, also while a crawl writes it: takes no lock and changes nothing."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TypeAlias

from topicrawl.frontier.contract import Counts, Entry
from topicrawl.frontier.known import Known
from topicrawl.frontier.sqlite_file import File, errors_of
from topicrawl.records import Carry, Link, Place
from topicrawl.urls import fingerprint

Row: TypeAlias = tuple[int, int, int, float, int, float | None, int, str, str | None, str, str | None, str | None]

_COLUMNS = """
    l.seq, l.host, l.state, l.score, l.attempts, l.first, l.depth, l.url,
    CASE typeof(l.source) WHEN 'integer' THEN (SELECT url FROM links WHERE seq = l.source) ELSE l.source END,
    l.anchor, l.place, l.reason
"""
_FIND = f"SELECT {_COLUMNS} FROM known k JOIN links l ON l.seq = k.seq WHERE k.fp = ?"
_ROW = f"SELECT {_COLUMNS} FROM links l WHERE l.seq = ?"
# Order the narrow index first, then read the few wide rows.
_BEST = f"""
    SELECT {_COLUMNS} FROM (
        SELECT seq FROM links INDEXED BY open_links WHERE state < 2 AND state = 0
        ORDER BY score DESC, seq LIMIT ?
    ) b JOIN links l ON l.seq = b.seq ORDER BY l.score DESC, l.seq
"""
_PLACES = """
    SELECT k.fp, l.score, l.place FROM json_each(?) j JOIN known k ON k.fp = j.value
    JOIN links l ON l.seq = k.seq WHERE l.state = 0
"""
_COUNTS = "SELECT waiting, leased, done, dropped, (SELECT coalesce(max(number) + 1, 0) FROM hosts) FROM crawl"
_encoded = json.JSONEncoder(separators=(",", ":")).encode


class SqliteLook:
    """A frontier's file as a bystander sees it."""

    def __init__(self, file: File) -> None:
        self._file = file

    async def places(self, urls: Sequence[str]) -> dict[str, Place]:
        """The places of those URLs that wait."""
        prints = {fp: url for url in urls if self._may_wait(fp := fingerprint(url))}
        with errors_of(self._file.path):
            rows = self._file.execute(_PLACES, (json_list(prints),)).fetchall()
        return {prints[fp]: place(score, text) for fp, score, text in rows}

    async def find(self, url: str) -> Entry | None:
        """What is known of a URL."""
        with errors_of(self._file.path):
            row = self._file.execute(_FIND, (fingerprint(url),)).fetchone()
        return None if row is None else known(row).as_entry()

    async def best(self, n: int) -> list[Entry]:
        """The best waiting links, whether or not their hosts are ready."""
        with errors_of(self._file.path):
            rows = self._file.execute(_BEST, (max(0, n),)).fetchall()
        return [known(row).as_entry() for row in rows]

    async def counts(self) -> Counts:
        """How many links are in each state."""
        with errors_of(self._file.path):
            return Counts(*self._file.execute(_COUNTS).fetchone())

    async def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    def _may_wait(self, fp: int) -> bool:
        """Is it worth a look into the file? Whoever writes it may know better."""
        return True


def look(path: Path | str) -> SqliteLook:
    """Look at the frontier in a file, whoever may be writing it."""
    return SqliteLook(File(Path(path), readonly=True))


def read_row(file: File, seq: int) -> Known:
    """One link, with all that is kept of it."""
    return known(file.execute(_ROW, (seq,)).fetchone())


def known(row: Row) -> Known:
    """A link from its row."""
    seq, host, state, score, attempts, first, depth, url, source, anchor, text, reason = row
    found = Known(seq, host, Link(url, source or "", anchor, depth=depth), place(score, text))
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
