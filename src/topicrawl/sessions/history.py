"""The history of a browser as sessions: Firefox (`places.sqlite`) and Chromium, Chrome, Edge, Brave (`History`).

A browser that runs holds its file and keeps the latest visits in a log beside it. Both are copied and the copy is
read, so that the browser is neither kept waiting nor changed. Frames, downloads and the browser's own pages are left
out.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

from topicrawl.errors import UsageError
from topicrawl.sessions.chains import Step, chained
from topicrawl.urls import canonical

SQLITE = b"SQLite format 3\0"
_MICRO = 1e6  # both browsers count microseconds, Firefox from 1970, Chromium from 1601

# https://firefox-source-docs.mozilla.org: nsINavHistoryService, TRANSITION_*
_FIREFOX_NOT_PAGES = (4, 7, 8)  # embedded, downloaded, in a frame
_FIREFOX_REDIRECTS = (5, 6)
# Chromium, ui/base/page_transition_types.h
_CHROMIUM_NOT_PAGES = (3, 4)  # in a frame, by itself or by a click
_CHROMIUM_KIND, _CHROMIUM_REDIRECT = 0xFF, 0xC0000000

Row = tuple[int, int | None, float, str, int]


def history_walks(path: Path) -> list[tuple[str, ...]]:
    """The sessions of a browser's history, in the order of their first visits."""
    try:
        with TemporaryDirectory() as folder:
            copy = Path(folder) / "history"
            shutil.copyfile(path, copy)
            log = path.with_name(path.name + "-wal")
            if log.is_file():
                shutil.copyfile(log, copy.with_name("history-wal"))
            with closing(sqlite3.connect(copy)) as database:
                database.text_factory = lambda raw: raw.decode("utf-8", "replace")
                return chained(_steps(database, path))
    except sqlite3.OperationalError as error:
        raise UsageError(f"{path}: not a history as Firefox or Chromium write it today: {error}") from error
    except sqlite3.DatabaseError as error:
        raise UsageError(f"{path}: the database is damaged: {error}; close the browser and try again") from error


def _steps(database: sqlite3.Connection, path: Path) -> Iterator[Step]:
    tables = {name for (name,) in database.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    if {"moz_places", "moz_historyvisits"} <= tables:
        return _firefox(database)
    if {"urls", "visits"} <= tables:
        return _chromium(database)
    shown = ", ".join(sorted(tables)[:5]) or "none"
    raise UsageError(
        f"{path}: a database, but not the history of a known browser: Firefox has the tables moz_places and "
        f"moz_historyvisits, Chromium has urls and visits; here are {shown}"
    )


def _firefox(database: sqlite3.Connection) -> Iterator[Step]:
    rows = database.execute(
        "SELECT v.id, v.from_visit, v.visit_date, p.url, v.visit_type"
        " FROM moz_historyvisits v JOIN moz_places p ON p.id = v.place_id"
    )
    return _pages(rows, _FIREFOX_NOT_PAGES, _FIREFOX_REDIRECTS)


def _chromium(database: sqlite3.Connection) -> Iterator[Step]:
    columns = {row[1] for row in database.execute("PRAGMA table_info(visits)")}
    # A link that was opened in a new tab has no from_visit; newer versions name the tab it came from.
    opener = "v.opener_visit" if "opener_visit" in columns else "0"
    rows = database.execute(
        f"SELECT v.id, CASE WHEN v.from_visit THEN v.from_visit ELSE {opener} END, v.visit_time, u.url, v.transition"
        " FROM visits v JOIN urls u ON u.id = v.url"
    )
    # The kind is the low byte; among the flags above it are those of redirects.
    told: Iterator[Row] = (
        (key, parent, at, url, -1 if kind & _CHROMIUM_REDIRECT else kind & _CHROMIUM_KIND)
        for key, parent, at, url, kind in rows
        if kind & _CHROMIUM_KIND not in _CHROMIUM_NOT_PAGES
    )
    return _pages(told, (), (-1,))


def _pages(rows: Iterator[Row], left_out: tuple[int, ...], redirects: tuple[int, ...]) -> Iterator[Step]:
    for key, parent, at, url, kind in rows:
        address = canonical(url) if kind not in left_out else None
        if address is not None:
            yield Step(key, parent or None, at / _MICRO, address, redirected=kind in redirects)
