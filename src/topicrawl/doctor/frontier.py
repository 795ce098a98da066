"""The frontier of a collection: consistent in itself, and with what the store says was fetched."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from topicrawl.collection.store import REMEMBERED
from topicrawl.database import Database, errors_of
from topicrawl.doctor.databases import AREA, count, opened
from topicrawl.doctor.finding import Finding, Limits
from topicrawl.frontier.known import WAITING
from topicrawl.frontier.sqlite_file import SHAPE
from topicrawl.frontier.sqlite_look import key
from topicrawl.urls import container

_BACKUP = "bring it back from a backup; without it the crawl cannot go on, but its pages can be searched and exported"
_RECENT = 1024  # visits of a killed run that may be stored and not complete
#: What must not be there → what to say of it.
_RULES = {
    "SELECT count(*) FROM known k LEFT JOIN links l ON l.seq = k.seq WHERE l.seq IS NULL": "names lead to no link",
    "SELECT count(*) FROM leased o LEFT JOIN links l ON l.seq = o.seq WHERE l.seq IS NULL": "leases are of no link",
    "SELECT count(*) FROM links l LEFT JOIN hosts h ON h.number = l.host WHERE l.state = 0 AND h.number IS NULL":
        "waiting links have no host",
    "SELECT count(*) FROM links WHERE state = 0 AND (score IS NULL OR abs(score) > 1e300)":
        "waiting links have no finite score",
    "SELECT count(*) FROM links WHERE state NOT BETWEEN 0 AND 3": "links are in no known state",
}  # fmt: skip


def frontier(directory: Path, store: Database, limits: Limits, *, busy: bool) -> Iterator[Finding]:
    """Whether the crawl could go on."""
    path = directory / "frontier.sqlite"
    if not path.exists():
        if count(store, "SELECT count(*) FROM visits"):
            yield AREA.problem("frontier", "is gone, and with it what was still to be fetched", _BACKUP)
        return
    database = yield from opened(path, SHAPE, limits, _BACKUP)
    if database is None:
        return
    try:
        limits.progress("comparing the frontier with what was fetched")
        yield from _consistent(database)
        yield from _against(database, store, limits)
        if (leased := count(database, "SELECT count(*) FROM leased")) and not busy:
            says = f"{leased} links were being fetched when the crawl was killed"
            yield AREA.note("frontier", says, "nothing: they wait again when it goes on")
    finally:
        database.close()


def _consistent(database: Database) -> Iterator[Finding]:
    wrong = [f"{number} {says}" for sql, says in _RULES.items() if (number := count(database, sql))]
    if wrong:
        yield AREA.problem("frontier", "; ".join(wrong), _BACKUP)
        return
    waiting = count(database, "SELECT count(*) FROM links WHERE state = 0")
    total = count(database, "SELECT count(*) FROM links")
    yield AREA.ok("frontier", f"consistent: {waiting} links wait, {total} are known")


def _against(database: Database, store: Database, limits: Limits) -> Iterator[Finding]:
    """Pages that were fetched must be known, and must not wait again."""
    pages = count(store, "SELECT count(*) FROM visits WHERE failure IS NULL")
    every = max(1, pages // limits.sample) if limits.sample else 1
    sql = f"SELECT requested, step FROM visits WHERE failure IS NULL AND {REMEMBERED} AND step % {every} = 0"
    with errors_of(store.path):
        rows = store.execute(sql).fetchall()
    last = count(store, "SELECT max(step) FROM visits")
    unknown = again = 0
    state = "SELECT l.state FROM known k JOIN links l ON l.seq = k.seq WHERE k.key = ?"
    for url, step in rows:
        if container(url):
            continue  # a file of an archive was never a link
        with errors_of(database.path):
            row = database.execute(state, (key(url),)).fetchone()
        unknown += row is None
        again += row is not None and row[0] == WAITING and step <= last - _RECENT
    if unknown:
        says = f"{unknown} of {len(rows)} fetched pages are not known to it: they may be fetched again"
        yield AREA.warning("frontier", says, "put the frontier.sqlite back that belongs to this collection")
    if again:
        says = f"{again} of {len(rows)} fetched pages wait in it"
        yield AREA.warning("frontier", says, "nothing: they are fetched once more when the crawl goes on")
