"""SQLite files as we use them: one writer beside any number of readers, all or nothing, errors in our words."""

from __future__ import annotations

import errno
import fcntl
import os
import re
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from topicrawl.errors import CollectionError, DamagedError, SpaceError, TopicrawlError

_CACHE_KIB = 16384  # of each file; a long crawl outgrows any cache, and must not grow with it
_CHECKPOINT_PAGES = 4000  # 16 MB: few enough to be quick, many enough that commits seldom pay for it
_BETWEEN_LOOKS = 100_000  # steps of SQLite's machine, some milliseconds

# What a full disk, a quota or a limit on file sizes looks like from here.
_NO_SPACE = frozenset({sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_SHMSIZE})
_NO_SPACE_OS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


# What an upgrade may do: then a reader can imagine it done.
_TABLE = re.compile(r"CREATE TABLE (?=\w+ ?\()")
_COLUMN = re.compile(r"ALTER TABLE (\w+) ADD COLUMN (\w+) [A-Z]+(?: NOT NULL)?(?: DEFAULT (\S+))?")
_INDEX = re.compile(r"CREATE INDEX ")


@dataclass(frozen=True, slots=True)
class Shape:
    """What a file of ours looks like, and how it came to look like that.

    `upgrades` is only ever added to: one tuple of statements for each version after the first. A new file is made
    by the same statements as an old one is brought up to date by, so both end up the same.
    """

    name: str  # for people: "a frontier"
    application: int  # tells our files from other programs'
    schema: tuple[str, ...]  # statements that make version 1
    upgrades: tuple[tuple[str, ...], ...] = ()  # CREATE TABLE, CREATE INDEX, ALTER TABLE … ADD COLUMN

    def __post_init__(self) -> None:
        for statement in self.missing(1):
            if not (_TABLE.match(statement) or _COLUMN.fullmatch(statement) or _INDEX.match(statement)):
                raise ValueError(f"a reader of an older file could not do without: {statement}")

    @property
    def version(self) -> int:
        return 1 + len(self.upgrades)

    def missing(self, version: int) -> list[str]:
        """The statements that bring a file of an older version up to date."""
        return [statement for step in self.upgrades[version - 1 :] for statement in step]


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
    """A connection to a file of ours; a file that is new or empty is made, and an older one is brought up to date.

    A reader changes nothing: it sees an older file as if it were up to date, with nothing in what is new. SQLite's own
    files, which it needs beside the database meanwhile, go away with it. A reader of a `still` file, which nobody has
    open, does not even make those; a file on a medium that cannot be written is still.
    """

    def __init__(self, path: Path, shape: Shape, *, readonly: bool = False, still: bool = False) -> None:
        self.path = path
        with errors_of(path):
            if readonly and not path.exists():
                raise CollectionError(f"{path} does not exist: there is no crawl here")
        alone = readonly and not Path(f"{path}-wal").exists()
        still = still or (alone and not os.access(path.parent, os.W_OK))
        self._leaves = alone and not still
        address = f"{path.absolute().as_uri()}?mode={'ro' if readonly else 'rwc'}{'&immutable=1' if still else ''}"
        with errors_of(path):
            connection = sqlite3.connect(address, uri=True, isolation_level=None, timeout=10.0)
            try:
                _check(connection, path, shape, readonly=readonly)
                (_imagine if readonly else _prepare)(connection, shape)
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

    def bounded(self, over: Callable[[], bool]) -> None:
        """Break long questions off when `over` says so: whoever asked gets an error of the file."""
        self._connection.set_progress_handler(lambda: int(over()), _BETWEEN_LOOKS)

    def close(self) -> None:
        with errors_of(self.path):
            self._connection.close()
        if self._leaves:
            _tidied(self.path)


def _tidied(path: Path) -> None:
    """Let SQLite remove the empty files that a reader had to make; it does not if anybody else has the file open.

    Readers may not remove them, only the last connection that could write.
    """
    try:
        connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", uri=True, timeout=0.0)
    except sqlite3.OperationalError:
        return  # gone, or not ours to write
    with closing(connection), suppress(sqlite3.OperationalError):  # somebody is at it: so it is used
        connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()


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
    version = _version(connection)
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
        _change(connection, (*shape.schema, *shape.missing(1)), shape)
    elif missing := shape.missing(_version(connection)):
        _change(connection, missing, shape)


def _change(connection: sqlite3.Connection, statements: Sequence[str], shape: Shape) -> None:
    connection.execute("BEGIN IMMEDIATE")
    for statement in statements:
        connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {shape.version}")
    connection.execute(f"PRAGMA application_id = {shape.application}")
    connection.execute("COMMIT")


def _imagine(connection: sqlite3.Connection, shape: Shape) -> None:
    """Let a reader find the tables and columns that an older file lacks: empty, and in its own memory."""
    here = {row[0] for row in connection.execute("SELECT name FROM sqlite_schema")}
    columns: dict[str, list[str]] = {}
    for statement in shape.missing(_version(connection)):
        added = _COLUMN.fullmatch(statement)
        if added and added[1] in here:
            columns.setdefault(added[1], []).append(f"{added[3] or 'NULL'} AS {added[2]}")
        elif not _INDEX.match(statement):
            connection.execute(statement.replace("CREATE TABLE", "CREATE TEMP TABLE", 1))
    for table, more in columns.items():
        # By name: the writer may bring the file up to date while it is read.
        names = [row[1] for row in connection.execute(f"PRAGMA main.table_info({table})")]
        chosen = ", ".join([*names, *more])
        connection.execute(f"CREATE TEMP VIEW {table} AS SELECT {chosen} FROM main.{table}")


def _version(connection: sqlite3.Connection) -> int:
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    return version
