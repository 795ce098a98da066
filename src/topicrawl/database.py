"""SQLite databases in WAL mode with one writer, many readers, schema upgrades and Topicrawl's own exceptions.

Also the lock files and the durable writing of small files.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from topicrawl.errors import (
    CollectionError,
    DamagedError,
    ForeignFileError,
    IncompleteFileError,
    InUseError,
    NewerFormatError,
    SpaceError,
    TopicrawlError,
)

_CACHE_KIB = 16384  # per file; constant, because a long crawl outgrows any cache
_CHECKPOINT_PAGES = 4000  # 16 MB: small enough for fast checkpoints, large enough that few commits trigger one
#: Seconds that a reader waits for the process that is creating the file.
CREATION_TIMEOUT = 2.0
_CREATION_POLL = 0.02
_PROGRESS_INSTRUCTIONS = 100_000  # SQLite virtual machine instructions between two interrupt checks, a few milliseconds

# Error codes of a full disk, an exceeded quota or a file size limit.
_NO_SPACE = frozenset({sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_SHMSIZE})
_NO_SPACE_OS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


# Statements that an upgrade may contain: a reader can emulate their effect on an older file.
_CREATE_TABLE = re.compile(r"CREATE TABLE (?=\w+ ?\()")
_ADD_COLUMN = re.compile(r"ALTER TABLE (\w+) ADD COLUMN (\w+) [A-Z]+(?: NOT NULL)?(?: DEFAULT (\S+))?")
_RENAME_COLUMN = re.compile(r"ALTER TABLE (\w+) RENAME COLUMN (\w+) TO (\w+)")
_RENAME_TABLE = re.compile(r"ALTER TABLE (\w+) RENAME TO (\w+)")
_CHANGE_INDEX = re.compile(r"(?:CREATE|DROP) INDEX ")
_ALTERED_TABLE = re.compile(r"ALTER TABLE (\w+) ")
_SELECT_TABLES = "SELECT name FROM main.sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
_UPGRADE_STATEMENTS = (_CREATE_TABLE, _ADD_COLUMN, _RENAME_COLUMN, _RENAME_TABLE, _CHANGE_INDEX)


@dataclass(frozen=True, slots=True)
class DatabaseSchema:
    """Schema of a database file with all upgrades since version 1.

    `upgrades` is append-only: one tuple of statements for each version after the first. New files are created with the
    same statements that upgrade old ones, so both have the same schema.
    """

    name: str  # used in error messages: "a frontier"
    application_id: int  # SQLite application_id, which identifies Topicrawl files
    initial_statements: tuple[str, ...]  # statements that create version 1
    upgrades: tuple[tuple[str, ...], ...] = ()  # only statements that match _UPGRADE_STATEMENTS

    def __post_init__(self) -> None:
        for statement in self.get_upgrade_statements(1):
            if not any(pattern.match(statement) for pattern in _UPGRADE_STATEMENTS):
                raise ValueError(f"a reader of an older file cannot emulate this upgrade: {statement}")

    @property
    def version(self) -> int:
        """Current version: 1 plus the number of upgrades."""
        return 1 + len(self.upgrades)

    def get_upgrade_statements(self, version: int) -> list[str]:
        """Return the statements that upgrade a file from `version` to the current version."""
        return [statement for step in self.upgrades[version - 1 :] for statement in step]


class FileLock:
    """Exclusive lock file for one process. The kernel releases the lock when the process ends for any reason."""

    def __init__(self, path: Path, locked_path: Path) -> None:
        with translate_errors(locked_path):
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            owner = os.read(self._file, 20).decode("ascii", "replace").strip() or "unknown"
            os.close(self._file)
            raise InUseError(f"{locked_path} is in use by process {owner}") from error
        try:
            with translate_errors(locked_path):
                os.ftruncate(self._file, 0)
                os.write(self._file, b"%d" % os.getpid())
        except TopicrawlError:
            os.close(self._file)
            raise

    def release(self) -> None:
        """Release the lock. The file stays, because removing it could break a lock that another process just took."""
        os.close(self._file)


def is_locked(path: Path) -> bool:
    """Return whether a process holds the lock file, without writing anything."""
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


def write_text_file(path: Path, text: str) -> None:
    """Write a small file atomically and durably: after a crash or a power failure it has the old or the new content.

    The text is written to a draft next to the file, which is synced and renamed. A device or a pipe is written
    directly. Raise OSError if the file cannot be written.
    """
    path = path.resolve()  # a symbolic link stays, and its target is replaced
    if path.exists() and not path.is_file():
        path.write_text(text, "utf-8")
        return
    draft = path.with_name(f".{path.name}.part")
    try:
        draft.write_text(text, "utf-8")
        replace_file(draft, path)
    finally:
        draft.unlink(missing_ok=True)


def replace_file(draft: Path, path: Path) -> None:
    """Sync a file or folder, rename it to `path`, and sync the folder that contains it."""
    sync_path(draft)
    draft.replace(path)
    sync_path(path.parent)


def sync_path(path: Path) -> None:
    """Sync a file, or the entries of a folder, to disk."""
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(file)
    finally:
        os.close(file)


class Database:
    """SQLite connection that creates a new or empty file and upgrades an older one.

    A read-only connection never changes the file. It presents an older file with the current schema: new tables are
    empty, new columns have their defaults, and renamed tables and columns have their current names. The WAL files that
    SQLite creates next to the database are removed on close. With `immutable`, for a file that no process has open,
    SQLite does not create them at all; a file in a read-only directory is treated as immutable. `creation_timeout` is
    the number of seconds that it waits for a process that is creating the file.
    """

    def __init__(
        self,
        path: Path,
        schema: DatabaseSchema,
        *,
        readonly: bool = False,
        immutable: bool = False,
        creation_timeout: float = CREATION_TIMEOUT,
    ) -> None:
        self.path = path
        with translate_errors(path):
            if readonly and not path.exists():
                raise CollectionError(f"{path} does not exist: there is no crawl here")
        alone = readonly and not Path(f"{path}-wal").exists()
        immutable = immutable or (alone and not os.access(path.parent, os.W_OK))
        self._removes_wal = alone and not immutable
        address = f"{path.absolute().as_uri()}?mode={'ro' if readonly else 'rwc'}{'&immutable=1' if immutable else ''}"
        with translate_errors(path):
            connection = sqlite3.connect(address, uri=True, isolation_level=None, timeout=10.0)
            try:
                _check_format(connection, path, schema, creation_timeout=creation_timeout if readonly else None)
                version = _read_version(connection)
                (_emulate_upgrades if readonly else _configure_writer)(connection, schema)
            except BaseException:
                connection.close()
                raise
        self._connection = connection
        self._schema, self._emulated_version = schema, version
        # Only a reader of an older file needs the slower method.
        self.execute = self._execute_emulated if readonly and version < schema.version else connection.execute
        self.executemany = connection.executemany

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Run the block in one write transaction, and roll back on any error."""
        try:
            self.execute("BEGIN IMMEDIATE")
            yield
            self.execute("COMMIT")
        except BaseException as error:
            if self._connection.in_transaction:
                self.execute("ROLLBACK")
            with translate_errors(self.path):
                raise error

    @contextmanager
    def durable_transaction(self) -> Iterator[None]:
        """Run the block in a transaction that is synced to disk, so that it survives a power failure.

        All earlier transactions are synced with it.
        """
        self.execute("PRAGMA synchronous = FULL")
        try:
            with self.transaction():
                yield
        finally:
            self.execute("PRAGMA synchronous = NORMAL")

    def sync_to_disk(self) -> None:
        """Sync all committed transactions, so that they survive a power failure."""
        with translate_errors(self.path):
            self.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()

    def _execute_emulated(self, sql: str, values: Sequence[object] = ()) -> sqlite3.Cursor:
        """Execute a query. If another process has upgraded the file in the meantime, repeat it in the new schema."""
        try:
            return self._connection.execute(sql, values)
        except sqlite3.OperationalError:
            version = _read_version(self._connection)
            if version == self._emulated_version:
                raise
            _emulate_upgrades(self._connection, self._schema)
            self._emulated_version = version
            return self._connection.execute(sql, values)

    def set_interrupt_check(self, should_interrupt: Callable[[], bool]) -> None:
        """Abort long queries when `should_interrupt` returns true; they raise `sqlite3.OperationalError`."""
        self._connection.set_progress_handler(lambda: int(should_interrupt()), _PROGRESS_INSTRUCTIONS)

    def close(self) -> None:
        """Close the connection and remove the WAL files that a read-only connection created."""
        with translate_errors(self.path):
            self._connection.close()
        if self._removes_wal:
            _remove_wal_files(self.path)


def _remove_wal_files(path: Path) -> None:
    """Let SQLite remove the empty WAL files of a reader. It keeps them if another process has the database open.

    SQLite removes these files only when the last connection that can write closes.
    """
    try:
        connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", uri=True, timeout=0.0)
    except sqlite3.OperationalError:
        return  # the file no longer exists, or is not writable
    with closing(connection), suppress(sqlite3.OperationalError):  # locked: another process uses the file
        connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()


@contextmanager
def translate_errors(path: Path) -> Iterator[None]:
    """Convert SQLite and OS errors of a file to `TopicrawlError`. Programming and integrity errors pass through."""
    try:
        yield
    except (sqlite3.DatabaseError, OSError) as error:
        if isinstance(error, sqlite3.ProgrammingError | sqlite3.IntegrityError):
            raise
        raise _convert_error(error, path) from error


def _convert_error(error: sqlite3.DatabaseError | OSError, path: Path) -> TopicrawlError:
    """Return the Topicrawl exception for an SQLite or OS error."""
    code = getattr(error, "sqlite_errorcode", 0)
    if code in _NO_SPACE or (isinstance(error, OSError) and error.errno in _NO_SPACE_OS):
        return SpaceError(f"{path}: no space left on the disk; free some space and run the same command again")
    if code == sqlite3.SQLITE_NOTADB:
        return ForeignFileError(f"{path} belongs to another program: it is not a SQLite database")
    if code & 0xFF == sqlite3.SQLITE_CORRUPT:
        return DamagedError(f"{path} is damaged: {error}")
    reason = error.strerror if isinstance(error, OSError) else error
    return CollectionError(f"{path} cannot be used: {reason}")


def _check_format(
    connection: sqlite3.Connection, path: Path, schema: DatabaseSchema, *, creation_timeout: float | None
) -> None:
    """Raise `ForeignFileError` or `NewerFormatError` for a file that this version cannot use.

    A reader waits for the tables of an empty file, because another process may be creating them. If they do not appear
    within `creation_timeout` seconds (None: for a writer), it raises `IncompleteFileError`.
    """
    application, version, tables = _read_format(connection)
    deadline = time.monotonic() + (creation_timeout or 0.0)
    while creation_timeout is not None and not (application or version or tables):
        if time.monotonic() > deadline:
            raise IncompleteFileError(f"{path} is empty: it was not created completely; run the crawl again")
        time.sleep(_CREATION_POLL)
        application, version, tables = _read_format(connection)
    if application != schema.application_id and (tables or version):
        raise ForeignFileError(f"{path} belongs to another program: it is not {schema.name} file of Topicrawl")
    if version > schema.version:
        raise NewerFormatError(
            f"{path} was written by a newer Topicrawl (format {version}; this one reads {schema.version}): upgrade"
        )


def _read_format(connection: sqlite3.Connection) -> tuple[int, int, int]:
    """Return the application_id, the version and the number of schema objects from one snapshot of the file."""
    connection.execute("BEGIN")
    try:
        (tables,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        return application, _read_version(connection), tables
    finally:
        connection.execute("ROLLBACK")


def _configure_writer(connection: sqlite3.Connection, schema: DatabaseSchema) -> None:
    """Configure the writing connection, then create or upgrade the tables."""
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
    connection.execute(f"PRAGMA wal_autocheckpoint = {_CHECKPOINT_PAGES}")
    if not connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]:
        # Version and application_id are written in the same transaction: a file is complete or empty.
        _apply_statements(connection, (*schema.initial_statements, *schema.get_upgrade_statements(1)), schema)
    elif missing := schema.get_upgrade_statements(_read_version(connection)):
        _apply_statements(connection, missing, schema)


def _apply_statements(connection: sqlite3.Connection, statements: Sequence[str], schema: DatabaseSchema) -> None:
    connection.execute("BEGIN IMMEDIATE")
    for statement in statements:
        connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {schema.version}")
    connection.execute(f"PRAGMA application_id = {schema.application_id}")
    connection.execute("COMMIT")


def _emulate_upgrades(connection: sqlite3.Connection, schema: DatabaseSchema) -> None:
    """Create temporary tables and views for what an older file lacks, so that readers see the current schema."""
    for kind, name in connection.execute("SELECT type, name FROM temp.sqlite_schema WHERE type <> 'index'").fetchall():
        connection.execute(f"DROP {kind} temp.{name}")  # left from an earlier version of the file
    tables = {name: _EmulatedTable(name) for (name,) in connection.execute(_SELECT_TABLES)}
    for statement in schema.get_upgrade_statements(_read_version(connection)):
        if _CHANGE_INDEX.match(statement):
            continue
        altered = _ALTERED_TABLE.match(statement)
        if altered and altered[1] in tables:
            table = tables.pop(altered[1])
            table.apply(statement)
            tables[table.name] = table
        else:
            sql = statement.replace("CREATE TABLE ", "CREATE TEMP TABLE ", 1)
            connection.execute(sql.replace("ALTER TABLE ", "ALTER TABLE temp.", 1))
    for table in tables.values():
        if table.is_changed:
            names = [row[1] for row in connection.execute(f"PRAGMA main.table_info({table.stored_name})")]
            connection.execute(table.build_view(names))


class _EmulatedTable:
    """A table of an older file, and the view that presents it in the current schema."""

    def __init__(self, stored_name: str) -> None:
        self.stored_name = self.name = stored_name
        self._renamed: dict[str, str] = {}  # stored name of a column → current name
        self._added: dict[str, str] = {}  # current name of a column that the file lacks → its default

    @property
    def is_changed(self) -> bool:
        """Whether the current schema differs from the file."""
        return self.name != self.stored_name or bool(self._renamed or self._added)

    def apply(self, statement: str) -> None:
        """Apply an ALTER TABLE statement."""
        if added := _ADD_COLUMN.fullmatch(statement):
            self._added[added[2]] = added[3] or "NULL"
        elif renamed := _RENAME_COLUMN.fullmatch(statement):
            _, old, new = renamed.groups()
            if old in self._added:
                self._added = {new if name == old else name: default for name, default in self._added.items()}
            else:
                stored = next((name for name, current in self._renamed.items() if current == old), old)
                self._renamed[stored] = new
        elif moved := _RENAME_TABLE.fullmatch(statement):
            self.name = moved[2]

    def build_view(self, stored_columns: Sequence[str]) -> str:
        """Return the statement that creates the view. It names all columns: a writer may add columns to the file."""
        columns = [f"{name} AS {self._renamed.get(name, name)}" for name in stored_columns]
        columns += [f"{default} AS {name}" for name, default in self._added.items()]
        return f"CREATE TEMP VIEW {self.name} AS SELECT {', '.join(columns)} FROM main.{self.stored_name}"


def _read_version(connection: sqlite3.Connection) -> int:
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    return version
