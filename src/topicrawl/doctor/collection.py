"""Checks of a collection: its files are compared with each other. Read-only, so a crawl may be running."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from topicrawl.collection.store import SCHEMA
from topicrawl.database import Database, is_locked, translate_errors
from topicrawl.doctor.archive import check_archive
from topicrawl.doctor.databases import AREA, open_database, query_count
from topicrawl.doctor.finding import CheckLimits, Finding
from topicrawl.doctor.frontier import check_frontier
from topicrawl.doctor.index import check_index
from topicrawl.doctor.saved_state import check_saved_state, load_facts
from topicrawl.errors import CollectionError, TopicrawlError
from topicrawl.models import Failure
from topicrawl.settings import Settings, parse_stored_settings

_RESTORE_ADVICE = "restore it from a backup; warc/ still contains the pages, and `topicrawl lab run` can read them"
_CLOCK_TOLERANCE = 60.0  # tolerance for differences of clocks, in seconds
#: Message → query that counts the invalid rows.
_INTEGRITY_QUERIES = {
    "pages have no visit": "SELECT count(*) FROM pages LEFT JOIN visits USING (step) WHERE visits.step IS NULL",
    "visits have invalid JSON": "SELECT count(*) FROM visits"
    " WHERE NOT json_valid(score_parts) OR NOT json_valid(payload)",
    "pages have damaged link lists": "SELECT count(*) FROM links"
    " WHERE length(targets) % 8 OR length(scores) * 2 <> length(targets)",
    "pages have damaged duplicate keys": "SELECT count(*) FROM pages WHERE length(duplicate_keys) % 8",
    "facts have invalid JSON": "SELECT count(*) FROM facts WHERE NOT json_valid(value)",
}


def load_settings(directory: Path) -> Settings:
    """Return the settings of the last run of a collection, or the defaults if they cannot be read."""
    path = directory / "topicrawl.sqlite"
    try:
        database = Database(path, SCHEMA, readonly=True, immutable=not Path(f"{path}-wal").exists())
    except CollectionError:
        return Settings()
    try:
        return parse_stored_settings(load_facts(database).get("settings") or {})
    except (TopicrawlError, TypeError):
        return Settings()
    finally:
        database.close()


def check_collection(directory: Path, limits: CheckLimits) -> Iterator[Finding]:
    """Check all files of the crawl in a directory."""
    path = directory / "topicrawl.sqlite"
    if not path.exists():
        if (directory / "warc").is_dir():
            yield AREA.problem("topicrawl.sqlite", "is missing", _RESTORE_ADVICE)
        else:
            yield AREA.problem("topicrawl.sqlite", "does not exist: this is not a crawl", "give another directory")
        return
    busy = is_locked(directory / "lock")
    yield from _check_locks(directory, busy=busy)
    store = yield from open_database(path, SCHEMA, limits, _RESTORE_ADVICE)
    if store is None:
        return
    try:
        known = load_facts(store)
        yield from _check_rows(store, known)
        yield from check_archive(directory, store, limits, busy=busy)
        address = (known.get("settings") or {}).get("frontier")
        if address:
            yield AREA.note("frontier", f"is in {address}", "run topicrawl cluster status")
        else:
            yield from check_frontier(directory, store, limits, busy=busy)
        yield from check_saved_state(directory, store, known)
        yield from check_index(directory, store, limits)
    except CollectionError as error:
        # The remaining checks would fail with the same error.
        is_timeout = limits.is_exhausted()
        yield (
            AREA.note("collection", limits.timeout_message)
            if is_timeout
            else AREA.problem("collection", str(error), _RESTORE_ADVICE)
        )
    finally:
        store.close()


def _check_locks(directory: Path, *, busy: bool) -> Iterator[Finding]:
    """Check the lock and leftover files. The kernel releases a lock with its process, so a lock file may be stale."""
    if busy:
        owner = (directory / "lock").read_text("ascii", "replace").strip() or "unknown"
        yield AREA.note("lock", f"process {owner} is crawling into the directory: its latest pages are not checked")
    else:
        yield AREA.ok("lock", "no process is crawling into the directory")
    for draft in (directory / ".topic.toml.part", directory / "topic.new"):  # earlier versions wrote topic.new
        if draft.exists() and not busy:
            finding = AREA.note(draft.name, "a draft left by a run that was killed", "remove it, or use --repair")
            yield finding._replace(repair=draft.unlink)


def _check_rows(store: Database, known: Mapping[str, Any]) -> Iterator[Finding]:
    """Check the rows of the store."""
    faults = [f"{number} {says}" for says, sql in _INTEGRITY_QUERIES.items() if (number := query_count(store, sql))]
    with translate_errors(store.path):
        names = [name for (name,) in store.execute("SELECT DISTINCT failure FROM visits WHERE failure IS NOT NULL")]
    faults += [f"unknown failure {name!r}" for name in names if name not in set(Failure)]
    if faults:
        yield AREA.problem("store", "; ".join(faults), _RESTORE_ADVICE)
    else:
        visits, pages = (query_count(store, f"SELECT count(*) FROM {table}") for table in ("visits", "pages"))
        yield AREA.ok("store", f"consistent: {visits} visits, {pages} pages")
    without_keys = query_count(store, "SELECT count(*) FROM pages WHERE duplicate_keys IS NULL AND digest <> ''")
    if without_keys and (known.get("settings") or {}).get("distinct"):
        says = f"{without_keys} pages have no duplicate keys: the crawl does not detect duplicates of them"
        yield AREA.note("duplicates", says, "nothing: they were stored without --distinct, or by an older version")
    latest = query_count(store, "SELECT max(at) FROM visits")
    if latest > time.time() + _CLOCK_TOLERANCE:
        date = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(latest))
        says = f"the last page is from {date}, in the future: the clock was set back"
        yield AREA.warning("clock", says, "set the clock (timedatectl)")
