"""A collection: its files against each other. Reading only, also while a crawl writes."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from topicrawl.collection.store import SHAPE
from topicrawl.database import Database, errors_of, is_held
from topicrawl.doctor.archive import archive
from topicrawl.doctor.databases import AREA, count, opened
from topicrawl.doctor.finding import Finding, Limits
from topicrawl.doctor.frontier import frontier
from topicrawl.doctor.index import index
from topicrawl.doctor.memory import facts, memory, stored_settings
from topicrawl.errors import CollectionError, TopicrawlError
from topicrawl.records import Failure
from topicrawl.settings import Settings

_BACKUP = "bring it back from a backup; the pages are in warc/ all the same, and `topicrawl lab run` reads them there"
_AHEAD = 60.0  # seconds that clocks may differ by
#: What must not be there → what to say of it.
_RULES = {
    "SELECT count(*) FROM pages LEFT JOIN visits USING (step) WHERE visits.step IS NULL": "pages have no visit",
    "SELECT count(*) FROM visits WHERE NOT json_valid(parts) OR NOT json_valid(carry)": "visits have torn JSON",
    "SELECT count(*) FROM links WHERE length(targets) % 8 OR length(scores) * 2 <> length(targets)":
        "pages have torn lists of links",
    "SELECT count(*) FROM pages WHERE length(marks) % 8": "pages have torn marks",
    "SELECT count(*) FROM facts WHERE NOT json_valid(value)": "facts have torn JSON",
}  # fmt: skip


def settings_of(directory: Path) -> Settings:
    """The settings that a collection was last written with; the usual ones where they cannot be told."""
    path = directory / "topicrawl.sqlite"
    try:
        database = Database(path, SHAPE, readonly=True, still=not Path(f"{path}-wal").exists())
    except CollectionError:
        return Settings()
    try:
        return stored_settings(facts(database))
    except (TopicrawlError, TypeError):
        return Settings()
    finally:
        database.close()


def collection(directory: Path, limits: Limits) -> Iterator[Finding]:
    """Everything about the crawl in a directory."""
    path = directory / "topicrawl.sqlite"
    if not path.exists():
        says = "is gone" if (directory / "warc").is_dir() else "is not there: there is no crawl here"
        yield AREA.problem("topicrawl.sqlite", says, _BACKUP if (directory / "warc").is_dir() else "name another one")
        return
    busy = is_held(directory / "lock")
    yield from _locks(directory, busy=busy)
    store = yield from opened(path, SHAPE, limits, _BACKUP)
    if store is None:
        return
    try:
        known = facts(store)
        yield from _rows(store, known)
        yield from archive(directory, store, limits, busy=busy)
        address = (known.get("settings") or {}).get("frontier")
        if address:
            yield AREA.note("frontier", f"is in {address}", "ask it: topicrawl cluster status")
        else:
            yield from frontier(directory, store, limits, busy=busy)
        yield from memory(directory, store, known)
        yield from index(directory, store, limits)
    except CollectionError as error:
        # The rest would meet the same.
        limits_met = limits.over()
        yield AREA.note("collection", limits.longer) if limits_met else AREA.problem("collection", str(error), _BACKUP)
    finally:
        store.close()


def _locks(directory: Path, *, busy: bool) -> Iterator[Finding]:
    """Locks are the kernel's and go with their process; the files that stay mean nothing."""
    if busy:
        owner = (directory / "lock").read_text("ascii", "replace").strip() or "unknown"
        yield AREA.note("lock", f"process {owner} is crawling into it: what it writes now is not looked at")
    else:
        yield AREA.ok("lock", "nobody is crawling into it")
    draft = directory / "topic.new"
    if draft.exists() and not busy:
        finding = AREA.note("topic.new", "a draft that a kill left behind", "remove it, or --repair")
        yield finding._replace(repair=draft.unlink)


def _rows(store: Database, known: Mapping[str, Any]) -> Iterator[Finding]:
    wrong = [f"{number} {says}" for sql, says in _RULES.items() if (number := count(store, sql))]
    with errors_of(store.path):
        names = [name for (name,) in store.execute("SELECT DISTINCT failure FROM visits WHERE failure IS NOT NULL")]
    wrong += [f"the failure {name!r} is not known" for name in names if name not in set(Failure)]
    if wrong:
        yield AREA.problem("store", "; ".join(wrong), _BACKUP)
    else:
        visits, pages = (count(store, f"SELECT count(*) FROM {table}") for table in ("visits", "pages"))
        yield AREA.ok("store", f"consistent: {visits} visits, {pages} pages")
    unmarked = count(store, "SELECT count(*) FROM pages WHERE marks IS NULL AND digest <> ''")
    if unmarked and (known.get("settings") or {}).get("distinct"):
        says = f"{unmarked} pages have no marks: pages that repeat them are kept too"
        yield AREA.note("marks", says, "nothing: they were kept without --distinct, or by an older version")
    latest = count(store, "SELECT max(at) FROM visits")
    if latest > time.time() + _AHEAD:
        told = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(latest))
        yield AREA.warning(
            "clock", f"the last page is of {told}: the clock was set back", "set the clock (timedatectl)"
        )
