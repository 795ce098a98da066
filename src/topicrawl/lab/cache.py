"""What was computed once about a recorded web, kept between runs in a folder that anybody may delete.

A cache can only save time. One that is torn, stale or of another make is thrown away and made again; where nothing can
be written there is none, and `note` says so. Several processes may use one at a time.
"""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from typing import Any

import xxhash

from topicrawl.lab.packing import Unreadable, packed, unpacked

#: A cache stops growing here, and the folder gives up what was not used for longest.
MOST_BYTES = 2 << 30
MOST_TOGETHER = 4 << 30
_PAGE = 8192  # bytes: most parsed pages need one or two of them
_TOGETHER = 256  # entries that are written at once
_PATIENCE = 2.0  # seconds to wait for another process that is writing


def usual_folder() -> Path | None:
    """Where caches belong on this machine; None where nobody says."""
    named = os.environ.get("XDG_CACHE_HOME", "")
    if named and Path(named).is_absolute():
        return Path(named) / "topicrawl"
    try:
        return Path.home() / ".cache" / "topicrawl"
    except RuntimeError:
        return None


class Cache:
    """Values by name, in one file. `key` says what they depend on: under another key nothing is found.

    `note` is empty, or says in one line why nothing is kept.
    """

    def __init__(self, folder: Path | None, name: str, key: str) -> None:
        self.note = "" if folder is not None else "no cache: this machine has no home directory"
        self._rows: dict[int, bytes] = {}  # not written yet
        self._file = folder / f"{name}-{key}.sqlite" if folder is not None else None
        self._database: sqlite3.Connection | None = None
        if self._file is not None:
            self._open(self._file)
        if self._database is not None and self._file is not None:
            _tidied(self._file, name)

    @property
    def open(self) -> bool:
        return self._database is not None

    def value(self, kind: str, name: str) -> Any:
        """What was kept, or None."""
        if self._database is None:
            return None
        row = _row(kind, name)
        data = self._rows.get(row)
        try:
            if data is None:
                found = self._database.execute("SELECT data FROM entries WHERE id = ?", (row,)).fetchone()
                data = found[0] if found is not None else None
            return unpacked(data) if data is not None else None
        except Unreadable:
            return None  # a single entry that is damaged is computed and written again
        except sqlite3.Error as error:
            self._give_up(error)
            return None

    def keep(self, kind: str, name: str, value: object) -> None:
        """Keep a plain value that is not None."""
        if self._database is not None:
            self._rows[_row(kind, name)] = packed(value)
            if len(self._rows) >= _TOGETHER:
                self.flush()

    def flush(self) -> None:
        """Write what is waiting; if another process is writing for long, it waits for the next time."""
        if self._database is None or not self._rows:
            return
        try:
            with self._database:
                self._database.execute("BEGIN IMMEDIATE")
                self._database.executemany("INSERT OR REPLACE INTO entries VALUES (?, ?)", self._rows.items())
            self._rows.clear()
        except sqlite3.Error as error:
            if len(self._rows) > 8 * _TOGETHER or not _is_busy(error):
                self._give_up(error)

    def close(self) -> None:
        self.flush()
        if self._database is not None:
            self._database.close()
            self._database = None

    def _open(self, path: Path) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._database = _opened(path)
            path.touch()
        except OSError as error:
            self.note = f"no cache in {path.parent}: {error.strerror}"
        except sqlite3.Error as error:
            if _is_busy(error) or not path.exists():
                self.note = f"no cache in {path.parent}: {error}"
                return
            # Torn, or no cache at all: what is in it cannot be trusted.
            try:
                _remove(path)
                self._database = _opened(path)
            except (OSError, sqlite3.Error) as again:
                self.note = f"no cache in {path.parent}: {again}"

    def _give_up(self, error: sqlite3.Error) -> None:
        """Go on without: what is damaged goes, what is only full stays."""
        self.note = f"the cache {self._file} is not used any more: {error}"
        self._rows.clear()
        if self._database is not None:
            self._database.close()
            self._database = None
        if self._file is not None and not isinstance(error, sqlite3.OperationalError):
            _remove(self._file)


def _opened(path: Path) -> sqlite3.Connection:
    database = sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None)
    try:
        database.execute(f"PRAGMA page_size = {_PAGE}")
        database.execute("PRAGMA journal_mode = WAL")
        # After a power failure a cache may be torn; it is only a cache, and waiting for the disk would cost more.
        database.execute("PRAGMA synchronous = OFF")
        database.execute(f"PRAGMA max_page_count = {MOST_BYTES // _PAGE}")
        database.execute(f"PRAGMA mmap_size = {MOST_BYTES}")
        database.execute("CREATE TABLE IF NOT EXISTS entries (id INTEGER PRIMARY KEY, data BLOB NOT NULL)")
        database.execute("SELECT data FROM entries LIMIT 1").fetchone()
    except sqlite3.Error:
        database.close()
        raise
    return database


def _tidied(path: Path, name: str) -> None:
    """Remove what another version left under the same name, and the oldest when all together is too much."""
    others = [file for file in path.parent.glob("*.sqlite") if file != path]
    for file in [file for file in others if file.name.startswith(f"{name}-")]:
        others.remove(file)
        _remove(file)
    try:
        sizes = {file: file.stat() for file in others}
        total = path.stat().st_size + sum(status.st_size for status in sizes.values())
        for file in sorted(others, key=lambda file: sizes[file].st_mtime):
            if total <= MOST_TOGETHER:
                break
            total -= sizes[file].st_size
            _remove(file)
    except OSError:
        return  # another process is tidying up


def _remove(path: Path) -> None:
    for suffix in ("", "-wal", "-shm"):
        Path(f"{path}{suffix}").unlink(missing_ok=True)


def _row(kind: str, name: str) -> int:
    """The number of an entry: 64 bits, as SQLite counts them."""
    return xxhash.xxh3_64_intdigest(f"{kind}\0{name}".encode("utf-8", "surrogatepass")) - (1 << 63)


def _is_busy(error: sqlite3.Error) -> bool:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
