"""Persistent cache of values computed from a recorded web. Users may delete its directory at any time.

The cache only saves time. A damaged, outdated or foreign cache file is deleted and rebuilt. If the directory is not
writable, nothing is cached, and `note` contains the reason. Several processes can use the same cache file.
"""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from typing import Any

import xxhash

from topicrawl.parse.page_serialization import UNPACK_ERRORS, pack_value, unpack_value

#: Maximum size of one cache file.
MAX_FILE_BYTES = 2 << 30
#: Maximum size of all cache files together. Above it, the least recently used files are removed.
MAX_TOTAL_BYTES = 4 << 30
_PAGE_SIZE = 8192  # bytes per database page; most parsed pages need one or two
_BATCH_SIZE = 256  # entries per write transaction
_LOCK_TIMEOUT = 2.0  # seconds to wait for the write lock of another process


def default_cache_dir() -> Path | None:
    """Return the default cache directory of the user, or None if there is no home directory."""
    xdg_cache = os.environ.get("XDG_CACHE_HOME", "")
    if xdg_cache and Path(xdg_cache).is_absolute():
        return Path(xdg_cache) / "topicrawl"
    try:
        return Path.home() / ".cache" / "topicrawl"
    except RuntimeError:
        return None


class LabCache:
    """Key-value cache in one SQLite file.

    `key` is a fingerprint of the inputs of all values. A cache with another key is empty. `note` is empty, or contains
    in one line the reason why nothing is cached.
    """

    def __init__(self, folder: Path | None, name: str, key: str) -> None:
        self.note = "" if folder is not None else "no cache: the user has no home directory"
        self._pending: dict[int, bytes] = {}  # entries not written yet
        self._file = folder / f"{name}-{key}.sqlite" if folder is not None else None
        self._database: sqlite3.Connection | None = None
        if self._file is not None:
            self._open_database(self._file)
        if self._database is not None and self._file is not None:
            _remove_stale_files(self._file, name)

    @property
    def is_open(self) -> bool:
        """Whether the cache file is open."""
        return self._database is not None

    def get(self, kind: str, name: str) -> Any:
        """Return the value with this kind and name, or None if it is missing or damaged, or if nothing is cached."""
        if self._database is None:
            return None
        row = _entry_id(kind, name)
        data = self._pending.get(row)
        try:
            if data is None:
                record = self._database.execute("SELECT data FROM entries WHERE id = ?", (row,)).fetchone()
                data = record[0] if record is not None else None
            return unpack_value(data) if data is not None else None
        except UNPACK_ERRORS:
            return None  # the caller computes a damaged entry again and overwrites it
        except sqlite3.Error as error:
            self._disable(error)
            return None

    def put(self, kind: str, name: str, value: object) -> None:
        """Store a plain value other than None. It is written with the next `flush`."""
        if self._database is not None:
            self._pending[_entry_id(kind, name)] = pack_value(value)
            if len(self._pending) >= _BATCH_SIZE:
                self.flush()

    def flush(self) -> None:
        """Write the pending entries. If another process holds the lock, they stay pending until the next flush.

        Any other error, such as a full disk, turns the cache off (`note`).
        """
        if self._database is None or not self._pending:
            return
        try:
            with self._database:
                self._database.execute("BEGIN IMMEDIATE")
                self._database.executemany("INSERT OR REPLACE INTO entries VALUES (?, ?)", self._pending.items())
            self._pending.clear()
        except sqlite3.Error as error:
            if len(self._pending) > 8 * _BATCH_SIZE or not _is_busy(error):
                self._disable(error)

    def close(self) -> None:
        """Write the pending entries and close the file."""
        self.flush()
        if self._database is not None:
            self._database.close()
            self._database = None

    def _open_database(self, path: Path) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._database = _connect_database(path)
            path.touch()
        except OSError as error:
            self.note = f"no cache in {path.parent}: {error.strerror}"
        except sqlite3.Error as error:
            if _is_busy(error) or not path.exists():
                self.note = f"no cache in {path.parent}: {error}"
                return
            # The file is damaged or not a cache, so that it is replaced.
            try:
                _remove_database(path)
                self._database = _connect_database(path)
            except (OSError, sqlite3.Error) as second_error:
                self.note = f"no cache in {path.parent}: {second_error}"

    def _disable(self, error: sqlite3.Error) -> None:
        """Continue without a cache. A damaged file is deleted; a full one stays."""
        self.note = f"the cache {self._file} is disabled: {error}"
        self._pending.clear()
        if self._database is not None:
            self._database.close()
            self._database = None
        if self._file is not None and not isinstance(error, sqlite3.OperationalError):
            _remove_database(self._file)


def _connect_database(path: Path) -> sqlite3.Connection:
    database = sqlite3.connect(path, timeout=_LOCK_TIMEOUT, isolation_level=None)
    try:
        database.execute(f"PRAGMA page_size = {_PAGE_SIZE}")
        database.execute("PRAGMA journal_mode = WAL")
        # A power failure may damage the file, but rebuilding a cache is cheaper than syncing every write.
        database.execute("PRAGMA synchronous = OFF")
        database.execute(f"PRAGMA max_page_count = {MAX_FILE_BYTES // _PAGE_SIZE}")
        database.execute(f"PRAGMA mmap_size = {MAX_FILE_BYTES}")
        database.execute("CREATE TABLE IF NOT EXISTS entries (id INTEGER PRIMARY KEY, data BLOB NOT NULL)")
        database.execute("SELECT data FROM entries LIMIT 1").fetchone()
    except sqlite3.Error:
        database.close()
        raise
    return database


def _remove_stale_files(path: Path, name: str) -> None:
    """Remove files with the same name and another key, and the oldest files if all files together are too large."""
    others = [file for file in path.parent.glob("*.sqlite") if file != path]
    for file in [file for file in others if file.name.startswith(f"{name}-")]:
        others.remove(file)
        _remove_database(file)
    try:
        sizes = {file: file.stat() for file in others}
        total = path.stat().st_size + sum(status.st_size for status in sizes.values())
        for file in sorted(others, key=lambda file: sizes[file].st_mtime):
            if total <= MAX_TOTAL_BYTES:
                break
            total -= sizes[file].st_size
            _remove_database(file)
    except OSError:
        return  # another process is removing files at the same time


def _remove_database(path: Path) -> None:
    for suffix in ("", "-wal", "-shm"):
        Path(f"{path}{suffix}").unlink(missing_ok=True)


def _entry_id(kind: str, name: str) -> int:
    """Return the id of an entry: a signed 64-bit integer, as SQLite requires."""
    return xxhash.xxh3_64_intdigest(f"{kind}\0{name}".encode("utf-8", "surrogatepass")) - (1 << 63)


def _is_busy(error: sqlite3.Error) -> bool:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
