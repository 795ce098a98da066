"""Checks of the search index of a collection. The index can always be rebuilt."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from topicrawl.collection.directory import load_crawl_topic
from topicrawl.collection.page_relevance import IS_RELEVANT
from topicrawl.database import Database, is_locked
from topicrawl.doctor.databases import AREA, open_database, query_count
from topicrawl.doctor.finding import CheckLimits, Finding, FindingState
from topicrawl.errors import CollectionError, TopicError
from topicrawl.search.index_file import (
    INDEX_FILE,
    LIVE,
    LOST,
    PENDING,
    SCHEMA,
    contains_all_pages,
    is_earlier_index,
    remove_index,
    verify_engine,
)

_REBUILD_ADVICE = "use --repair, or remove search.sqlite and the folder search: the next search rebuilds it"
_INDEXABLE_PAGES = "SELECT count(*) FROM pages JOIN visits USING (step) WHERE failure IS NULL AND segment IS NOT NULL"
_RELEVANT_PAGES = f"{_INDEXABLE_PAGES} AND {IS_RELEVANT}"


def check_index(directory: Path, store: Database, limits: CheckLimits) -> Iterator[Finding]:
    """Check the search index; offer to remove it if it is damaged."""
    if not (directory / INDEX_FILE).exists():
        yield AREA.note("index", "does not exist yet", "nothing: the first `topicrawl search` creates it")
        return
    if is_earlier_index(directory):
        fix = "nothing: `topicrawl search` and `serve` replace it"
        yield AREA.note("index", "was written by an earlier version", fix)
        return
    for finding in _check_index_file(directory, store, limits):
        # A process that is writing the index repairs it itself.
        can_repair = finding.state == FindingState.PROBLEM and not is_locked(directory / "search.lock")
        yield finding._replace(repair=partial(remove_index, directory)) if can_repair else finding


def _check_index_file(directory: Path, store: Database, limits: CheckLimits) -> Iterator[Finding]:
    """Check that the index is intact and up to date."""
    database = yield from open_database(directory / INDEX_FILE, SCHEMA, limits, _REBUILD_ADVICE)
    if database is None:
        return
    try:
        live = query_count(database, f"SELECT count(*) FROM pages WHERE state = {LIVE}")
        # A process that is writing the index has committed a part of a batch.
        is_busy = query_count(database, f"SELECT count(*) FROM pages WHERE state = {PENDING}") > 0
        if not is_busy and (fault := verify_engine(directory, live)):
            yield AREA.problem("index", fault, _REBUILD_ADVICE)
            return
        indexed = query_count(database, f"SELECT count(*) FROM pages WHERE state <> {PENDING}")
        lost = query_count(database, f"SELECT count(*) FROM pages WHERE state = {LOST}")
        all_pages = contains_all_pages(database)
    finally:
        database.close()
    if lost:
        fix = "check the finding about the records, then use --repair"
        yield AREA.warning("index", f"{lost} pages could not be read for indexing", fix)
    if behind := max(0, _count_expected(directory, store, all_pages=all_pages) - indexed):
        yield AREA.note("index", f"{behind} pages behind", "nothing: `topicrawl search` and `serve` update it")
    else:
        yield AREA.ok("index", f"up to date, {indexed} pages")


def _count_expected(directory: Path, store: Database, *, all_pages: bool) -> int:
    """Return the number of pages that the index should have. Another check reports a topic that cannot be read."""
    if all_pages:
        return query_count(store, _INDEXABLE_PAGES)
    try:
        threshold = load_crawl_topic(directory).threshold
    except (CollectionError, TopicError):
        return 0
    return query_count(store, _RELEVANT_PAGES, (threshold,))
