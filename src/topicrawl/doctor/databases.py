"""A database of a collection: ours, of a version we know, and whole; looked at without a trace."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

from topicrawl.database import Database, Shape, errors_of
from topicrawl.doctor.finding import Area, Finding, Limits
from topicrawl.errors import CollectionError, DamagedError

AREA = Area("collection")


def opened(path: Path, shape: Shape, limits: Limits, fix: str) -> Generator[Finding, None, Database | None]:
    """The database, with what there is to say about it; None when it cannot be read. `fix`: if it is damaged."""
    try:
        # Where nobody has it open, not even SQLite's own files are left beside it.
        database = Database(path, shape, readonly=True, still=not Path(f"{path}-wal").exists())
    except DamagedError as error:
        yield AREA.problem(path.name, str(error), fix)
        return None
    except CollectionError as error:
        yield AREA.problem(path.name, str(error), "upgrade Topicrawl" if "newer" in str(error) else fix)
        return None
    database.bounded(limits.over)
    limits.progress(f"checking {path.name}")
    try:
        with errors_of(path):
            ((version,),) = database.execute("PRAGMA user_version")
            wrong = [str(text) for (text,) in database.execute("PRAGMA quick_check(3)") if text != "ok"]
    except CollectionError as error:
        if limits.over():
            yield AREA.note(path.name, limits.longer)
            return database
        database.close()
        yield AREA.problem(path.name, str(error), fix)
        return None
    if wrong:
        yield AREA.problem(path.name, f"is damaged: {wrong[0].splitlines()[-1]}", fix)
    elif version < shape.version:
        says = f"whole; format {version}, this Topicrawl writes {shape.version}"
        yield AREA.note(path.name, says, "nothing: the next crawl brings it up to date")
    else:
        yield AREA.ok(path.name, f"whole, format {version}, {path.stat().st_size / 1e6:.1f} MB")
    return database


def count(database: Database, sql: str) -> int:
    """The one number that a question is answered with."""
    with errors_of(database.path):
        ((number,),) = database.execute(sql)
    return int(number or 0)
