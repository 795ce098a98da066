"""SQLite files as we use them: one writer beside any number of readers, all or nothing, errors in our words."""

from __future__ import annotations

import errno
import fcntl
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from topicrawl.errors import CollectionError, DamagedError, SpaceError, TopicrawlError

_CACHE_KIB = 65536
_CHECKPOINT_PAGES = 4000  # 16 MB: few enough to be quick, many enough that commits seldom pay for it

# What a full disk, a quota or a limit on file sizes looks like from here.
_NO_SPACE = frozenset({sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_SHMSIZE})
_NO_SPACE_OS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


@dataclass(frozen=True, slots=True)
class Shape:
    """What a file of ours looks like."""

    name: str  # for people: "a frontier"
    application: int  # tells our files from other programs'
    version: int
    schema: tuple[str, ...]  # statements that make it


class Lock:
    """One process at a time; the kernel lets go of it when the process dies, however that happens."""

    def __init__(self, path: Path, what: Path) -> None:
        with errors_of(what):
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            owner = os.read(self._file, 20).decode("ascii", "replace").strip() or "unknown"
            os.close(self._file)
            raise CollectionError(f"{what} is in use by process {owner}") from error
        try:
            with errors_of(what):
                os.ftruncate(self._file, 0)
                os.write(self._file, b"%d" % os.getpid())
        except TopicrawlError:
            os.close(self._file)
            raise

    def release(self) -> None:
        """Let the next one in. The file stays: whoever removed it could take it from under a third."""
        os.close(self._file)


def is_held(path: Path) -> bool:
    """Whether some process holds a lock; nothing is written."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(file)
    return False


class Database:
    """A connection to a file of ours; a file that is new or empty is made."""

    def __init__(self, path: Path, shape: Shape, *, readonly: bool = False) -> None:
        self.path = path
        if readonly and not path.exists():
            raise CollectionError(f"{path} does not exist: there is no crawl here")
        address = f"{path.absolute().as_uri()}?mode={'ro' if readonly else 'rwc'}"
        with errors_of(path):
            connection = sqlite3.connect(address, uri=True, isolation_level=None, timeout=10.0)
            try:
                _check(connection, path, shape, readonly=readonly)
                if not readonly:
                    _prepare(connection, shape)
            except BaseException:
                connection.close()
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
        with errors_of(self.path):
            self._connection.close()


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
        return SpaceError(f"{path}: no space left; make some and start again with the same command")
    if code == sqlite3.SQLITE_NOTADB:
        return CollectionError(f"{path} belongs to another program: it is no database")
    if code & 0xFF == sqlite3.SQLITE_CORRUPT:
        return DamagedError(f"{path} is damaged: {error}")
    reason = error.strerror if isinstance(error, OSError) else error
    return CollectionError(f"{path} cannot be used: {reason}")


def _check(connection: sqlite3.Connection, path: Path, shape: Shape, *, readonly: bool) -> None:
    """Refuse what is not ours or newer than we are."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    if application != shape.application and (tables or version or readonly):
        raise CollectionError(f"{path} belongs to another program: it is not {shape.name} of Topicrawl")
    if version > shape.version:
        raise CollectionError(
            f"{path} was written by a newer Topicrawl (format {version}; this one reads {shape.version}): upgrade"
        )


def _prepare(connection: sqlite3.Connection, shape: Shape) -> None:
    """Settings for one writer beside readers, and the tables if the file is new."""
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
    connection.execute(f"PRAGMA wal_autocheckpoint = {_CHECKPOINT_PAGES}")
    if not connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]:
        # The marks go in with the tables: a file is ours and whole, or it is empty.
        connection.execute("BEGIN IMMEDIATE")
        for statement in shape.schema:
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {shape.version}")
        connection.execute(f"PRAGMA application_id = {shape.application}")
        connection.execute("COMMIT")
