"""The SQLite file of a search index: schema, opening and removal.

DIR/search.sqlite    built from the collection; it may be deleted at any time and is then rebuilt
DIR/search.lock      locked by the process that updates the index

If the collection is in a read-only directory, an existing index is used as it is. Without one, the files are in a
temporary directory.

Pages are numbered from 1 without gaps, and the postings of a number never change: a page that has changed gets a new
number. Therefore an open reader can cache the postings of the pages that it has read.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

import zstandard

from topicrawl.collection.store import replace_surrogates
from topicrawl.database import Database, DatabaseSchema, translate_errors
from topicrawl.errors import DamagedError, ForeignFileError
from topicrawl.text.lexicon import STEMMING_ALGORITHMS, LanguageLexicon, load_lexicon

INDEX_FILE = "search.sqlite"
#: State of a page: searchable; replaced by a newer version or removed; its record in the archive is unreadable.
LIVE, REPLACED, LOST = 1, 0, -1
MAX_TEXT_CHARS = 500_000  # characters of a page to index

SCHEMA = DatabaseSchema(
    name="an index",
    application_id=0x70C8,
    initial_statements=(
        "CREATE TABLE facts (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID",
        "CREATE TABLE pages (number INTEGER PRIMARY KEY, state INTEGER NOT NULL, step INTEGER NOT NULL,"
        " id INTEGER NOT NULL, at REAL NOT NULL, segment INTEGER NOT NULL, start INTEGER NOT NULL,"
        " relevance REAL NOT NULL, words INTEGER NOT NULL, language TEXT NOT NULL, host TEXT NOT NULL,"
        " verdict TEXT NOT NULL, digest TEXT NOT NULL, url TEXT NOT NULL, title TEXT NOT NULL)",
        "CREATE INDEX pages_by_id ON pages (id)",
        "CREATE TABLE texts (number INTEGER PRIMARY KEY, text BLOB NOT NULL)",
        # Ids of stems, and the postings (see `segments.py`).
        "CREATE TABLE terms (term TEXT PRIMARY KEY, id INTEGER NOT NULL) WITHOUT ROWID",
        "CREATE TABLE segments (key INTEGER PRIMARY KEY, first INTEGER NOT NULL, last INTEGER NOT NULL)",
        "CREATE TABLE blocks (key INTEGER PRIMARY KEY, terms BLOB NOT NULL, pages BLOB NOT NULL)",
        "CREATE TABLE places (key INTEGER PRIMARY KEY, places BLOB NOT NULL)",
    ),
)
INSERT_PAGE = f"INSERT INTO pages VALUES ({','.join('?' * 15)})"


class IndexedPage(NamedTuple):
    """A row of the table `pages`: the metadata of an indexed page."""

    number: int
    state: int
    step: int
    id: int
    at: float
    segment: int
    start: int
    relevance: float
    words: int  # of the title, the text and the URL together
    language: str
    host: str
    verdict: str
    digest: str
    url: str
    title: str


def open_index(directory: Path, *, readonly: bool) -> Database:
    """Open the index of a collection. Unless `readonly`, create it, or replace a damaged one by an empty one."""
    path = directory / INDEX_FILE
    if readonly:
        return Database(path, SCHEMA, readonly=True)
    try:
        return _open_checked(path)
    except (DamagedError, ForeignFileError):
        # A foreign file is left by a process that was killed while it created the index.
        remove_index(directory)
        return Database(path, SCHEMA)


def contains_all_pages(database: Database) -> bool:
    """Return whether an index contains all pages, not only the relevant ones."""
    row = database.execute("SELECT value FROM facts WHERE name = 'all_pages'").fetchone()
    return row is not None and bool(row[0])


def select_all_pages(directory: Path, *, all_pages: bool) -> None:
    """Choose whether the index of a collection contains all pages. The next update adds or removes pages."""
    database = open_index(directory, readonly=False)
    try:
        with database.transaction():
            database.execute("INSERT OR REPLACE INTO facts VALUES ('all_pages', ?)", (int(all_pages),))
    finally:
        database.close()


def is_writable(directory: Path) -> bool:
    """Return whether this process may create files in a directory."""
    return os.access(directory, os.W_OK)


def get_inode(directory: Path) -> int:
    """Return the inode of the index file, which changes when the index is rebuilt; 0 if there is no file."""
    try:
        return (directory / INDEX_FILE).stat().st_ino
    except FileNotFoundError:
        return 0


def remove_index(directory: Path) -> None:
    """Delete the index of a collection; open readers notice that it has gone, and the next update rebuilds it."""
    with translate_errors(directory / INDEX_FILE):
        for name in (INDEX_FILE, f"{INDEX_FILE}-wal", f"{INDEX_FILE}-shm"):
            (directory / name).unlink(missing_ok=True)


def _open_checked(path: Path) -> Database:
    """Open the database and read its first and last rows. Raise `DamagedError` if it is truncated or overwritten."""
    database = Database(path, SCHEMA)
    try:
        with database.transaction():
            database.execute("SELECT * FROM pages ORDER BY number DESC LIMIT 1").fetchone()
            database.execute("SELECT * FROM terms LIMIT 1").fetchone()
            ((pages,),) = database.execute("SELECT count(*) FROM pages")
            ((last,),) = database.execute("SELECT coalesce(max(last), 0) FROM segments")
        if pages != last:
            raise DamagedError(f"{path} is damaged: it has {pages} pages but postings of {last}")
    except BaseException:
        database.close()
        raise
    return database


def get_lexicon(language: str) -> LanguageLexicon:
    """Return the lexicon of a language, or one without stemming if the language has no stemmer."""
    return load_lexicon(language if language in STEMMING_ALGORITHMS else "")


def compress_text(text: str, compressor: zstandard.ZstdCompressor) -> bytes:
    """Compress a text for storage."""
    return compressor.compress(replace_surrogates(text).encode())


def decompress_text(blob: bytes, decompressor: zstandard.ZstdDecompressor) -> str:
    """Decompress a stored text."""
    return decompressor.decompress(blob, max_output_size=4 * MAX_TEXT_CHARS).decode()
