"""The SQLite file behind a frontier: its lock and its schema.

links   one row a URL, in the order they were found; `source` is the row of the page it stood on (its text when that
        page has no row), `place` is NULL or JSON [carry, parts], `first` is NULL while the score is the first one
known   key of a URL → its row
leased  rows of links that are out; in `links` they still wait, so that a lease writes one page and not four
hosts   what politeness must remember
crawl   one row: dropped links, how often the file was opened, whether it was closed, when it was last opened after
        a crash, how far the clock was set back, what it showed last, and whether the hosts' pages are counted
"""

from __future__ import annotations

from pathlib import Path

from topicrawl.database import Database, Lock, Shape

_SCHEMA = (
    "CREATE TABLE links (seq INTEGER PRIMARY KEY, host INTEGER NOT NULL, state INTEGER NOT NULL, score REAL NOT NULL,"
    " attempts INTEGER NOT NULL, first REAL, depth INTEGER NOT NULL, url TEXT NOT NULL, source, anchor TEXT NOT NULL,"
    " place TEXT, reason TEXT)",
    # Of waiting links only: what is done needs no order.
    "CREATE INDEX open_links ON links (host, score DESC) WHERE state = 0",
    "CREATE TABLE known (key INTEGER PRIMARY KEY, seq INTEGER NOT NULL)",
    "CREATE TABLE leased (seq INTEGER PRIMARY KEY, attempts INTEGER NOT NULL)",
    "CREATE TABLE hosts (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, delay REAL, last REAL,"
    " hold REAL, wait REAL, blocked REAL, pages INTEGER NOT NULL DEFAULT 0)",
    "CREATE TABLE crawl (dropped INTEGER NOT NULL, openings INTEGER NOT NULL, closed INTEGER NOT NULL,"
    " crashed REAL, offset REAL NOT NULL, outer REAL, counted INTEGER NOT NULL)",
    "INSERT INTO crawl VALUES (0, 0, 1, NULL, 0, NULL, 1)",
)

SHAPE = Shape(name="a frontier", application=0x546F7069, schema=_SCHEMA)


class File(Database):
    """A connection to a frontier's file; without `readonly` the only one that writes."""

    def __init__(self, path: Path, *, readonly: bool = False) -> None:
        self._lock = None if readonly else Lock(path.with_name(f"{path.name}.lock"), path)
        try:
            super().__init__(path, SHAPE, readonly=readonly)
        except BaseException:
            self._unlock()
            raise

    def close(self) -> None:
        """Close the connection, then let the next one in."""
        try:
            super().close()
        finally:
            self._unlock()

    def _unlock(self) -> None:
        if self._lock is not None:
            self._lock.release()
            self._lock = None
