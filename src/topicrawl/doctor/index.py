"""The search index of a collection: whole, and how far behind. It can always be made again."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from topicrawl.database import Database, is_held
from topicrawl.doctor.databases import AREA, count, opened
from topicrawl.doctor.finding import Finding, Limits, State
from topicrawl.search.index_file import FILE, LOST, REPLACED, SHAPE, remove

_AGAIN = "remove search.sqlite (or --repair): it is made again when it is searched"
_HERE = "SELECT count(*) FROM pages JOIN visits USING (step) WHERE failure IS NULL AND segment IS NOT NULL"


def index(directory: Path, store: Database, limits: Limits) -> Iterator[Finding]:
    """What a search would find missing."""
    if not (directory / FILE).exists():
        yield AREA.note("index", "not made yet", "nothing: the first `topicrawl search` makes it")
        return
    for finding in _looked_at(directory, store, limits):
        # Whoever is writing it repairs it by himself.
        mine = finding.state == State.PROBLEM and not is_held(directory / "search.lock")
        yield finding._replace(repair=partial(remove, directory)) if mine else finding


def _looked_at(directory: Path, store: Database, limits: Limits) -> Iterator[Finding]:
    database = yield from opened(directory / FILE, SHAPE, limits, _AGAIN)
    if database is None:
        return
    try:
        pages = count(database, "SELECT count(*) FROM pages")
        words = count(database, "SELECT coalesce(max(last), 0) FROM segments")
        if pages != words:
            yield AREA.problem("index", f"has {pages} pages, but the words of {words}", _AGAIN)
            return
        known = count(database, f"SELECT count(*) FROM pages WHERE state <> {REPLACED}")
        lost = count(database, f"SELECT count(*) FROM pages WHERE state = {LOST}")
    finally:
        database.close()
    if lost:
        fix = "look at what doctor says of the records; then remove search.sqlite"
        yield AREA.warning("index", f"{lost} pages could not be read when they were to be indexed", fix)
    if behind := max(0, count(store, _HERE) - known):
        yield AREA.note(
            "index", f"{behind} pages behind", "nothing: `topicrawl search` and `serve` bring it up to date"
        )
    else:
        yield AREA.ok("index", f"up to date, {known} pages")
