"""Sessions from a browser history: Firefox (`places.sqlite`), Chromium, Chrome, Edge and Brave (`History`).

A running browser locks its file and keeps the latest visits in a write-ahead log. The database and the log are copied
and the copy is read, so that the browser is neither blocked nor changed. Frames, downloads and internal pages of the
browser are skipped.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

from topicrawl.errors import UsageError
from topicrawl.sessions.chaining import SessionVisit, build_sessions
from topicrawl.urls import canonicalize_url

SQLITE_HEADER = b"SQLite format 3\0"
_MICROSECONDS = 1e6  # both browsers store microseconds; Firefox since 1970, Chromium since 1601

# https://firefox-source-docs.mozilla.org: nsINavHistoryService, TRANSITION_*
_FIREFOX_NOT_PAGES = (4, 7, 8)  # embedded object, download, frame
_FIREFOX_REDIRECTS = (5, 6)
# Chromium, ui/base/page_transition_types.h
_CHROMIUM_NOT_PAGES = (3, 4)  # automatic and manual subframe
_CHROMIUM_KIND, _CHROMIUM_REDIRECT = 0xFF, 0xC0000000

#: Key, key of the previous visit, microseconds, URL, transition type.
HistoryRow = tuple[int, int | None, float, str, int]


def read_browser_history(path: Path) -> list[tuple[str, ...]]:
    """Return the sessions of a browser history, in the order of their first visits."""
    try:
        with TemporaryDirectory() as folder:
            copy = Path(folder) / "history"
            shutil.copyfile(path, copy)
            log = path.with_name(path.name + "-wal")
            if log.is_file():
                shutil.copyfile(log, copy.with_name("history-wal"))
            with closing(sqlite3.connect(copy)) as database:
                database.text_factory = lambda raw: raw.decode("utf-8", "replace")
                return build_sessions(_read_visits(database, path))
    except sqlite3.OperationalError as error:
        raise UsageError(f"{path}: unsupported format of a Firefox or Chromium history: {error}") from error
    except sqlite3.DatabaseError as error:
        raise UsageError(f"{path}: the database is damaged: {error}; close the browser and try again") from error


def _read_visits(database: sqlite3.Connection, path: Path) -> Iterator[SessionVisit]:
    """Return the visits of a history database of any supported browser."""
    tables = {name for (name,) in database.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    if {"moz_places", "moz_historyvisits"} <= tables:
        return _read_firefox(database)
    if {"urls", "visits"} <= tables:
        return _read_chromium(database)
    names = ", ".join(sorted(tables)[:5]) or "none"
    raise UsageError(
        f"{path}: not the history of a supported browser: Firefox has the tables moz_places and moz_historyvisits, "
        f"Chromium has urls and visits; this database has {names}"
    )


def _read_firefox(database: sqlite3.Connection) -> Iterator[SessionVisit]:
    rows = database.execute(
        "SELECT v.id, v.from_visit, v.visit_date, p.url, v.visit_type"
        " FROM moz_historyvisits v JOIN moz_places p ON p.id = v.place_id"
    )
    return _filter_pages(rows, _FIREFOX_NOT_PAGES, _FIREFOX_REDIRECTS)


def _read_chromium(database: sqlite3.Connection) -> Iterator[SessionVisit]:
    columns = {row[1] for row in database.execute("PRAGMA table_info(visits)")}
    # A link opened in a new tab has no from_visit. Newer versions store the visit of the other tab in opener_visit.
    opener = "v.opener_visit" if "opener_visit" in columns else "0"
    rows = database.execute(
        f"SELECT v.id, CASE WHEN v.from_visit THEN v.from_visit ELSE {opener} END, v.visit_time, u.url, v.transition"
        " FROM visits v JOIN urls u ON u.id = v.url"
    )
    # The low byte is the transition type; the flags above it mark redirects.
    visits: Iterator[HistoryRow] = (
        (key, parent, at, url, -1 if kind & _CHROMIUM_REDIRECT else kind & _CHROMIUM_KIND)
        for key, parent, at, url, kind in rows
        if kind & _CHROMIUM_KIND not in _CHROMIUM_NOT_PAGES
    )
    return _filter_pages(visits, (), (-1,))


def _filter_pages(
    rows: Iterator[HistoryRow], excluded: tuple[int, ...], redirects: tuple[int, ...]
) -> Iterator[SessionVisit]:
    """Convert rows to visits; skip the excluded transition types and URLs that are not http or https."""
    for key, parent, at, url, kind in rows:
        address = canonicalize_url(url) if kind not in excluded else None
        if address is not None:
            yield SessionVisit(key, parent or None, at / _MICROSECONDS, address, is_redirect=kind in redirects)
