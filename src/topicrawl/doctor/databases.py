"""Open a database of a collection read-only, check its format version and its integrity, and set facts as a repair."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from pathlib import Path

from topicrawl.collection.store import CollectionStore
from topicrawl.database import Database, DatabaseSchema, FileLock, translate_errors
from topicrawl.doctor.finding import CheckArea, CheckLimits, Finding
from topicrawl.errors import CollectionError, NewerFormatError
from topicrawl.models import JsonValue

AREA = CheckArea("collection")


def open_database(
    path: Path, shape: DatabaseSchema, limits: CheckLimits, fix: str
) -> Generator[Finding, None, Database | None]:
    """Yield findings about a database and return it, or None if it cannot be read. `fix`: advice if it is damaged."""
    try:
        # `immutable`: if no process has the database open, SQLite creates no -wal and -shm files next to it.
        database = Database(path, shape, readonly=True, immutable=not Path(f"{path}-wal").exists())
    except CollectionError as error:
        yield AREA.problem(path.name, str(error), "upgrade Topicrawl" if isinstance(error, NewerFormatError) else fix)
        return None
    database.set_interrupt_check(limits.is_exhausted)
    limits.progress(f"checking {path.name}")
    try:
        with translate_errors(path):
            ((version,),) = database.execute("PRAGMA user_version")
            faults = [str(text) for (text,) in database.execute("PRAGMA quick_check(3)") if text != "ok"]
    except CollectionError as error:
        if limits.is_exhausted():
            yield AREA.note(path.name, limits.timeout_message)
            return database
        database.close()
        yield AREA.problem(path.name, str(error), fix)
        return None
    if faults:
        yield AREA.problem(path.name, f"is damaged: {faults[0].splitlines()[-1]}", fix)
    elif version < shape.version:
        says = f"intact; format {version}, this version of Topicrawl writes {shape.version}"
        yield AREA.note(path.name, says, "nothing: the next crawl upgrades it")
    else:
        yield AREA.ok(path.name, f"intact, format {version}, {path.stat().st_size / 1e6:.1f} MB")
    return database


def query_count(database: Database, sql: str, values: Sequence[object] = ()) -> int:
    """Run a query that returns one number; NULL counts as 0."""
    with translate_errors(database.path):
        ((number,),) = database.execute(sql, values)
    return int(number or 0)


def set_fact(directory: Path, name: str, value: JsonValue) -> None:
    """Set a fact of the collection in a directory, as a repair. Raise `InUseError` if a process crawls into it."""
    lock = FileLock(directory / "lock", directory)
    try:
        store = CollectionStore(directory / "topicrawl.sqlite")
        store.set_facts({name: value})
        store.close()
    finally:
        lock.release()
