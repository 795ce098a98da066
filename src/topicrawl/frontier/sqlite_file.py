"""The SQLite file behind a frontier: its lock, its schema, its transactions, and its errors in our words.

links   one row a URL, in the order they were found; `source` is the row of the page it stood on (its text when that
        page has no row), `place` is NULL or JSON [carry, parts], `first` is NULL while the score is the first one
known   key of a URL → its row
leased  rows of links that are out; in `links` they still wait, so that a lease writes one page and not four
hosts   what politeness must remember
crawl   one row: dropped links, how often the file was opened, whether it was closed, when it was last opened after
        a crash, how far the clock was set back, what it showed last, and whether the hosts' pages are counted
"""

from __future__ import annotations

import errno
import fcntl
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from topicrawl.errors import CollectionError, DamagedError, SpaceError, TopicrawlError

VERSION = 1
APPLICATION = 0x546F7069  # "Topi": tells our files from other programs'

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
    f"PRAGMA user_version = {VERSION}",
    f"PRAGMA application_id = {APPLICATION}",
)

_CACHE_KIB = 65536
_CHECKPOINT_PAGES = 4000  # 16 MB: few enough to be quick, many enough that commits seldom pay for it

# What a full disk, a quota or a limit on file sizes looks like from here.
_NO_SPACE = frozenset({sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_SHMSIZE})
_NO_SPACE_OS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


class Lock:
    """One process at a time; the kernel lets go of it when the process dies, however that happens."""

    def __init__(self, path: Path) -> None:
        try:
            self._file = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise CollectionError(f"{path} cannot be opened: {error.strerror}") from error
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            owner = os.read(self._file, 20).decode("ascii", "replace").strip() or "unknown"
            os.close(self._file)
            raise CollectionError(f"{path} is in use by process {owner}") from error
        try:
            os.ftruncate(self._file, 0)
            os.write(self._file, b"%d" % os.getpid())
        except OSError as error:
            os.close(self._file)
            raise _ours(error, path) from error

    def release(self) -> None:
        """Let the next one in. The file stays: whoever removed it could take it from under a third."""
        os.close(self._file)


class File:
    """A connection to a frontier's file; without `readonly` the only one that writes."""

    def __init__(self, path: Path, *, readonly: bool = False) -> None:
        self.path = path
        self._lock = None if readonly else Lock(path)
        try:
            with errors_of(path), _closed_on_error(_connected(path, readonly=readonly)) as connection:
                _check(connection, path, readonly=readonly)
                if not readonly:
                    _prepare(connection)
        except BaseException:
            self._unlock()
            raise
        self._connection = connection
        self.execute = connection.execute
        self.executemany = connection.executemany

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All or nothing: after an error the file is as it was."""
        try:
            self.execute("BEGIN IMMEDIATE")
            yield
            self.execute("COMMIT")
        except BaseException as error:
            if self._connection.in_transaction:
                self.execute("ROLLBACK")
            with errors_of(self.path):
                raise error

    @contextmanager
    def durable(self) -> Iterator[None]:
        """A transaction that a power cut right after it does not undo."""
        self.execute("PRAGMA synchronous = FULL")
        with self.transaction():
            yield
        self.execute("PRAGMA synchronous = NORMAL")

    def close(self) -> None:
        """Close the connection, then let the next one in."""
        try:
            with errors_of(self.path):
                self._connection.close()
        finally:
            self._unlock()

    def _unlock(self) -> None:
        if self._lock is not None:
            self._lock.release()
            self._lock = None


@contextmanager
def errors_of(path: Path) -> Iterator[None]:
    """Errors of the file and the disk become ours; mistakes of the program stay what they are."""
    try:
        yield
    except (sqlite3.DatabaseError, OSError) as error:
        if isinstance(error, sqlite3.ProgrammingError | sqlite3.IntegrityError):
            raise
        raise _ours(error, path) from error


def _ours(error: sqlite3.DatabaseError | OSError, path: Path) -> TopicrawlError:
    code = getattr(error, "sqlite_errorcode", 0)
    if code in _NO_SPACE or (isinstance(error, OSError) and error.errno in _NO_SPACE_OS):
        return SpaceError(f"no space left to write {path}")
    if code == sqlite3.SQLITE_NOTADB:
        return CollectionError(f"{path} is not a frontier of Topicrawl")
    if code & 0xFF == sqlite3.SQLITE_CORRUPT:
        return DamagedError(f"{path} is damaged: {error}")
    return CollectionError(f"{path} cannot be used: {error}")


def _connected(path: Path, *, readonly: bool) -> sqlite3.Connection:
    if readonly and not path.exists():
        raise CollectionError(f"{path} does not exist")
    address = f"{path.absolute().as_uri()}?mode={'ro' if readonly else 'rwc'}"
    return sqlite3.connect(address, uri=True, isolation_level=None, timeout=10.0)


@contextmanager
def _closed_on_error(connection: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    try:
        yield connection
    except BaseException:
        connection.close()
        raise


def _check(connection: sqlite3.Connection, path: Path, *, readonly: bool) -> None:
    """Refuse what is not ours or newer than we are."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    if application != APPLICATION and (tables or version or readonly):
        raise CollectionError(f"{path} is not a frontier of Topicrawl")
    if version > VERSION:
        raise CollectionError(f"{path} was written by a newer Topicrawl (format {version}; this one reads {VERSION})")


def _prepare(connection: sqlite3.Connection) -> None:
    """Settings for one writer beside readers, and the tables if the file is new."""
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
    connection.execute(f"PRAGMA wal_autocheckpoint = {_CHECKPOINT_PAGES}")
    if not connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]:
        connection.execute("BEGIN IMMEDIATE")
        for statement in _SCHEMA:
            connection.execute(statement)
        connection.execute("COMMIT")
