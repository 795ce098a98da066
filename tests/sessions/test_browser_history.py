"""Browser histories: databases with the schemas and time units of Firefox and Chromium."""

from __future__ import annotations

import hashlib
import sqlite3
from pathlib import Path

import pytest

from topicrawl.errors import UsageError
from topicrawl.sessions import read_sessions

# Schema of Firefox 128, without some columns of the bookmarks table.
FIREFOX = """
CREATE TABLE moz_places (id INTEGER PRIMARY KEY, url LONGVARCHAR, title LONGVARCHAR, rev_host LONGVARCHAR,
 visit_count INTEGER DEFAULT 0, hidden INTEGER DEFAULT 0 NOT NULL, typed INTEGER DEFAULT 0 NOT NULL,
 frecency INTEGER DEFAULT -1 NOT NULL, last_visit_date INTEGER, guid TEXT, foreign_count INTEGER DEFAULT 0 NOT NULL,
 url_hash INTEGER DEFAULT 0 NOT NULL, description TEXT, preview_image_url TEXT, site_name TEXT, origin_id INTEGER,
 recalc_frecency INTEGER NOT NULL DEFAULT 0, alt_frecency INTEGER, recalc_alt_frecency INTEGER NOT NULL DEFAULT 0);
CREATE TABLE moz_historyvisits (id INTEGER PRIMARY KEY, from_visit INTEGER, place_id INTEGER, visit_date INTEGER,
 visit_type INTEGER, session INTEGER, source INTEGER DEFAULT 0 NOT NULL, triggeringPlaceId INTEGER);
CREATE TABLE moz_bookmarks (id INTEGER PRIMARY KEY, type INTEGER, fk INTEGER DEFAULT NULL);
"""
# Schema of Chromium 126.
CHROMIUM = """
CREATE TABLE meta(key LONGVARCHAR NOT NULL UNIQUE PRIMARY KEY, value LONGVARCHAR);
CREATE TABLE urls(id INTEGER PRIMARY KEY AUTOINCREMENT,url LONGVARCHAR,title LONGVARCHAR,
 visit_count INTEGER DEFAULT 0 NOT NULL,typed_count INTEGER DEFAULT 0 NOT NULL,last_visit_time INTEGER NOT NULL,
 hidden INTEGER DEFAULT 0 NOT NULL);
CREATE TABLE visits(id INTEGER PRIMARY KEY AUTOINCREMENT,url INTEGER NOT NULL,visit_time INTEGER NOT NULL,
 from_visit INTEGER,external_referrer_url TEXT,transition INTEGER DEFAULT 0 NOT NULL,segment_id INTEGER,
 visit_duration INTEGER DEFAULT 0 NOT NULL,incremented_omnibox_typed_score BOOLEAN DEFAULT FALSE NOT NULL,
 opener_visit INTEGER,originator_cache_guid TEXT,originator_visit_id INTEGER,originator_from_visit INTEGER,
 originator_opener_visit INTEGER,is_known_to_sync BOOLEAN DEFAULT FALSE NOT NULL,
 consider_for_ntp_most_visited BOOLEAN DEFAULT FALSE NOT NULL,visited_link_id INTEGER DEFAULT 0 NOT NULL,
 app_id TEXT);
"""
START = 1_700_000_000  # seconds since 1970
TO_1601 = 11_644_473_600
LINK, TYPED, EMBED, REDIRECT, DOWNLOAD, FRAMED, RELOAD = 1, 2, 4, 5, 7, 8, 9
CHAIN = 0x30000000
SERVER_REDIRECT = 0xA0000000 - (1 << 32)  # Chromium stores a signed integer


def firefox(path: Path, visits: list[tuple[int, int, str, int, int]]) -> Path:
    """Write a Firefox history. A visit is (id, from, url, seconds after the start, type)."""
    database = sqlite3.connect(path)
    database.executescript(FIREFOX)
    for key, parent, url, at, kind in visits:
        database.execute("INSERT INTO moz_places (id, url, guid) VALUES (?, ?, ?)", (key, url, f"g{key}"))
        row = (key, parent, key, (START + at) * 1_000_000, kind)
        database.execute(
            "INSERT INTO moz_historyvisits (id, from_visit, place_id, visit_date, visit_type) VALUES (?, ?, ?, ?, ?)",
            row,
        )
    database.commit()
    database.close()
    return path


def chromium(path: Path, visits: list[tuple[int, int, str, int, int, int]]) -> Path:
    """Write a Chromium history. A visit is (id, from, url, seconds after the start, transition, opener)."""
    database = sqlite3.connect(path)
    database.executescript(CHROMIUM)
    for key, parent, url, at, kind, opener in visits:
        when = (START + at + TO_1601) * 1_000_000
        database.execute("INSERT INTO urls (id, url, last_visit_time) VALUES (?, ?, ?)", (key, url, when))
        database.execute(
            "INSERT INTO visits (id, url, visit_time, from_visit, transition, opener_visit) VALUES (?, ?, ?, ?, ?, ?)",
            (key, key, when, parent, kind, opener),
        )
    database.commit()
    database.close()
    return path


def test_firefox_visits_form_sessions_by_their_referring_visit(tmp_path: Path) -> None:
    path = firefox(
        tmp_path / "places.sqlite",
        [
            (1, 0, "https://search.example/?q=owl", 0, TYPED),
            (2, 1, "https://owl.example/#top", 20, LINK),
            (3, 2, "https://ads.example/frame", 21, FRAMED),
            (4, 2, "https://owl.example/owl.zip", 30, DOWNLOAD),
            (5, 1, "https://old.example/", 60, LINK),  # after a click on Back
            (6, 5, "https://new.example/", 60, REDIRECT),
            (7, 6, "https://new.example/", 70, RELOAD),
            (8, 7, "https://barn.example/", 80, LINK),
            (9, 0, "about:preferences", 90, TYPED),
            (10, 8, "https://late.example/", 80 + 31 * 60, LINK),  # after the session timeout
        ],
    )
    search, owl = "https://search.example/?q=owl", "https://owl.example/"
    assert read_sessions(path) == [
        (search, owl, search, "https://new.example/", "https://barn.example/"),
        ("https://late.example/",),
    ]


def test_chromium_visits_form_sessions_by_their_referring_visit(tmp_path: Path) -> None:
    path = chromium(
        tmp_path / "History",
        [
            (1, 0, "https://search.example/", 0, 1 | CHAIN, 0),
            (2, 1, "https://owl.example/", 20, 0 | CHAIN, 0),
            (3, 2, "https://ads.example/", 21, 3 | CHAIN, 0),
            (4, 0, "https://moved.example/", 40, 0 | CHAIN, 1),  # opened in a new tab
            (5, 4, "https://barn.example/", 41, SERVER_REDIRECT, 0),
            (6, 0, "chrome://settings/", 50, 1 | CHAIN, 0),
            (7, 0, "https://other.example/", 60, 1 | CHAIN, 0),
        ],
    )
    search = "https://search.example/"
    assert read_sessions(path) == [
        (search, "https://owl.example/", search, "https://barn.example/"),
        ("https://other.example/",),
    ]


def test_older_chromium_has_no_opener_column(tmp_path: Path) -> None:
    path = chromium(tmp_path / "History", [(1, 0, "http://a/", 0, 0, 0), (2, 1, "http://b/", 5, 0, 0)])
    database = sqlite3.connect(path)
    database.execute("ALTER TABLE visits DROP COLUMN opener_visit")
    database.close()
    assert read_sessions(path) == [("http://a/", "http://b/")]


def test_the_history_of_a_running_browser_is_read_with_its_log_and_not_changed(tmp_path: Path) -> None:
    path = firefox(tmp_path / "places.sqlite", [(1, 0, "http://a/", 0, TYPED)])
    running = sqlite3.connect(path, isolation_level=None)
    running.execute("PRAGMA journal_mode = WAL")
    running.execute("PRAGMA wal_autocheckpoint = 0")
    running.execute("PRAGMA locking_mode = EXCLUSIVE")
    running.execute("INSERT INTO moz_places (id, url) VALUES (2, 'http://b/')")
    running.execute("INSERT INTO moz_historyvisits VALUES (2, 1, 2, ?, 1, 0, 0, NULL)", ((START + 9) * 1_000_000,))
    before = {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in tmp_path.iterdir()}
    assert read_sessions(path) == [("http://a/", "http://b/")]
    assert {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in tmp_path.iterdir()} == before
    running.close()


def database_of(path: Path, script: str) -> Path:
    database = sqlite3.connect(path)
    database.executescript(script)
    database.close()
    return path


def test_the_database_of_another_program_is_rejected(tmp_path: Path) -> None:
    path = database_of(tmp_path / "History.db", "CREATE TABLE history_items (id); CREATE TABLE history_visits (id);")
    with pytest.raises(UsageError, match=r"not the history of a supported browser.*has history_items, history_visits"):
        read_sessions(path)


@pytest.mark.parametrize("script", [FIREFOX, CHROMIUM], ids=["firefox", "chromium"])
def test_an_empty_history_is_an_error(tmp_path: Path, script: str) -> None:
    with pytest.raises(UsageError, match="contains no browsing sessions"):
        read_sessions(database_of(tmp_path / "empty", script))


def test_an_unsupported_schema_is_reported(tmp_path: Path) -> None:
    path = database_of(tmp_path / "h", "CREATE TABLE urls (id, url); CREATE TABLE visits (id, url);")
    with pytest.raises(UsageError, match="unsupported format of a Firefox or Chromium history: no such column"):
        read_sessions(path)


def test_a_damaged_database_is_reported(tmp_path: Path) -> None:
    path = firefox(tmp_path / "places.sqlite", [(1, 0, "http://a/", 0, TYPED)])
    path.write_bytes(path.read_bytes()[:100] + b"\xaa" * 5000)
    with pytest.raises(UsageError, match="damaged"):
        read_sessions(path)
