"""Checks of the frontier of a collection: its own consistency, and its agreement with the store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from topicrawl.collection.lost_links import LostLinkFinder
from topicrawl.collection.store import NOT_FORGOTTEN
from topicrawl.database import Database, translate_errors
from topicrawl.doctor.databases import AREA, open_database, query_count
from topicrawl.doctor.finding import CheckLimits, Finding
from topicrawl.frontier.entry import WAITING
from topicrawl.frontier.sqlite.file import FRONTIER_SCHEMA
from topicrawl.frontier.sqlite.reader import iterate_done_links, url_key
from topicrawl.urls import get_archive_url

_RESTORE_ADVICE = (
    "restore it from a backup; without it the crawl cannot be resumed, but its pages can be searched and exported"
)
_MAX_REPORTED = 3  # lost links that are listed by their URL
_MAX_UNFINISHED = 1024  # visits of a killed run that may be stored, but not completed in the frontier
#: Message → query that counts the invalid rows.
_INTEGRITY_QUERIES = {
    "fingerprints have no link": "SELECT count(*) FROM link_keys k LEFT JOIN links l ON l.seq = k.seq"
    " WHERE l.seq IS NULL",
    "leases have no link": "SELECT count(*) FROM leased o LEFT JOIN links l ON l.seq = o.seq WHERE l.seq IS NULL",
    "waiting links have no host": "SELECT count(*) FROM links l LEFT JOIN hosts h ON h.number = l.host"
    " WHERE l.state = 0 AND h.number IS NULL",
    "waiting links have no finite score": "SELECT count(*) FROM links"
    " WHERE state = 0 AND (score IS NULL OR abs(score) > 1e300)",
    "links have an unknown state": "SELECT count(*) FROM links WHERE state NOT BETWEEN 0 AND 3",
}


def check_frontier(directory: Path, store: Database, limits: CheckLimits, *, busy: bool) -> Iterator[Finding]:
    """Check whether the crawl can be resumed from its frontier."""
    path = directory / "frontier.sqlite"
    if not path.exists():
        if query_count(store, "SELECT count(*) FROM visits"):
            yield AREA.problem("frontier", "is missing, with all waiting links", _RESTORE_ADVICE)
        return
    database = yield from open_database(path, FRONTIER_SCHEMA, limits, _RESTORE_ADVICE)
    if database is None:
        return
    try:
        limits.progress("comparing the frontier with the store")
        yield from _check_consistency(database)
        yield from _find_lost_links(database, store, busy=busy)
        yield from _compare_with_store(database, store, limits, busy=busy)
        if (leased := query_count(database, "SELECT count(*) FROM leased")) and not busy:
            says = f"{leased} links were being fetched when the crawl was killed"
            yield AREA.note("frontier", says, "nothing: the crawl fetches them when it resumes")
    finally:
        database.close()


def _check_consistency(database: Database) -> Iterator[Finding]:
    """Check the rows of the frontier."""
    faults = [f"{number} {says}" for says, sql in _INTEGRITY_QUERIES.items() if (number := query_count(database, sql))]
    if faults:
        yield AREA.problem("frontier", "; ".join(faults), _RESTORE_ADVICE)
        return
    waiting = query_count(database, "SELECT count(*) FROM links WHERE state = 0")
    total = query_count(database, "SELECT count(*) FROM links")
    yield AREA.ok("frontier", f"consistent: {waiting} links waiting, {total} known")


def _find_lost_links(database: Database, store: Database, *, busy: bool) -> Iterator[Finding]:
    """Report links that are done in the frontier although the store has no result of them."""
    if busy:
        return  # the crawl completes links between the two reads
    finder = LostLinkFinder(store)
    for entries in iterate_done_links(database):
        finder.add_links(entries)
    if lost := finder.get_lost_links():
        names = _list_urls([entry.link.url for entry in lost])
        says = f"{len(lost)} links are done in it, but the store has no result of them: {names}"
        yield AREA.problem("frontier", says, "resume the crawl: it fetches them again")


def _compare_with_store(database: Database, store: Database, limits: CheckLimits, *, busy: bool) -> Iterator[Finding]:
    """Check that the frontier knows the fetched pages and that they are not waiting again."""
    pages = query_count(store, "SELECT count(*) FROM visits WHERE failure IS NULL")
    every = max(1, pages // limits.sample) if limits.sample else 1
    sql = f"SELECT requested, step FROM visits WHERE failure IS NULL AND {NOT_FORGOTTEN} AND step % {every} = 0"
    with translate_errors(store.path):
        rows = store.execute(sql).fetchall()
    last = query_count(store, "SELECT max(step) FROM visits")
    unknown: list[str] = []
    again: list[str] = []
    unfinished: list[str] = []
    state = "SELECT l.state FROM link_keys k JOIN links l ON l.seq = k.seq WHERE k.key = ?"
    for url, step in rows:
        if get_archive_url(url):
            continue  # the frontier never contains members of an archive
        with translate_errors(database.path):
            row = database.execute(state, (url_key(url),)).fetchone()
        if row is None:
            unknown.append(url)
        elif row[0] == WAITING:
            (again if step <= last - _MAX_UNFINISHED else unfinished).append(url)
    if unknown:
        says = f"{len(unknown)} of {len(rows)} fetched pages are unknown to it: {_list_urls(unknown)}"
        fix = "resume the crawl: it reads their links from the archive; if most pages are unknown, restore a backup"
        yield AREA.warning("frontier", says, fix)
    if again:
        says = f"{len(again)} of {len(rows)} fetched pages are waiting in it: {_list_urls(again)}"
        yield AREA.warning("frontier", says, "nothing: the crawl completes them when it resumes")
    if unfinished and not busy:
        says = f"{len(unfinished)} of the last fetched pages are waiting in it: {_list_urls(unfinished)}"
        yield AREA.note("frontier", says, "nothing: the crawl reads them from the archive when it resumes")


def _list_urls(urls: Sequence[str]) -> str:
    """List the first URLs.

    >>> _list_urls(["http://a/", "http://b/", "http://c/", "http://d/"])
    'http://a/, http://b/, http://c/, …'
    """
    return ", ".join([*urls[:_MAX_REPORTED], *("…" for _ in urls[_MAX_REPORTED : _MAX_REPORTED + 1])])
