"""SQLite file of a frontier: lock and schema.

links      one row per URL, in the order of discovery; `source` is the row of the page with the link (its URL if that
           page has no row), `priority` is NULL or JSON [payload, parts], `first` is NULL while the score is the first
           one
link_keys  key of a URL → its row
leased     rows of leased links; in `links` they are still waiting, so that a lease writes one database page, not four
hosts      persistent politeness state
crawl      one row: number of dropped links, number of openings, whether the file was closed, time of the first opening
           after the last crash, total offset of the clock, last reading of the clock, and whether `hosts.pages` is
           counted
"""

from __future__ import annotations

from pathlib import Path

from topicrawl.database import Database, DatabaseSchema, FileLock

_SCHEMA = (
    "CREATE TABLE links (seq INTEGER PRIMARY KEY, host INTEGER NOT NULL, state INTEGER NOT NULL, score REAL NOT NULL,"
    " attempts INTEGER NOT NULL, first REAL, depth INTEGER NOT NULL, url TEXT NOT NULL, source, anchor TEXT NOT NULL,"
    " place TEXT, reason TEXT)",
    # Only waiting links need an order.
    "CREATE INDEX open_links ON links (host, score DESC) WHERE state = 0",
    "CREATE TABLE known (key INTEGER PRIMARY KEY, seq INTEGER NOT NULL)",
    "CREATE TABLE leased (seq INTEGER PRIMARY KEY, attempts INTEGER NOT NULL)",
    "CREATE TABLE hosts (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, delay REAL, last REAL,"
    " hold REAL, wait REAL, blocked REAL, pages INTEGER NOT NULL DEFAULT 0)",
    "CREATE TABLE crawl (dropped INTEGER NOT NULL, openings INTEGER NOT NULL, closed INTEGER NOT NULL,"
    " crashed REAL, offset REAL NOT NULL, outer REAL, counted INTEGER NOT NULL)",
    "INSERT INTO crawl VALUES (0, 0, 1, NULL, 0, NULL, 1)",
)

_UPGRADES = (("ALTER TABLE links RENAME COLUMN place TO priority", "ALTER TABLE known RENAME TO link_keys"),)

FRONTIER_SCHEMA = DatabaseSchema(
    name="a frontier", application_id=0x546F7069, initial_statements=_SCHEMA, upgrades=_UPGRADES
)


class FrontierDatabase(Database):
    """Connection to a frontier file. Without `readonly` it takes the lock and is the only writer.

    Raise `InUseError` if another process has the lock.
    """

    def __init__(self, path: Path, *, readonly: bool = False) -> None:
        self._lock = None if readonly else FileLock(path.with_name(f"{path.name}.lock"), path)
        try:
            super().__init__(path, FRONTIER_SCHEMA, readonly=readonly)
        except BaseException:
            self._release_lock()
            raise

    def close(self) -> None:
        """Close the connection, then release the lock."""
        try:
            super().close()
        finally:
            self._release_lock()

    def _release_lock(self) -> None:
        if self._lock is not None:
            self._lock.release()
            self._lock = None
