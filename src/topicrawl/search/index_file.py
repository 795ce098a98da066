"""The file of an index, and how a page becomes rows of it.

DIR/search.sqlite    made from the collection, so it may be removed at any time: it is made again
DIR/search.lock      held by the process that brings it up to date

Pages have numbers from 1 on without gaps, and what was once written about a number stays: a page that has changed gets
a new one. So whoever has read the words of the first thousand pages never has to read them again.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import zstandard

from topicrawl.collection.store import writable
from topicrawl.database import Database, Shape, errors_of
from topicrawl.errors import CollectionError, DamagedError
from topicrawl.text.lexicon import ALGORITHMS, Lexicon, lexicon

FILE = "search.sqlite"
#: State of a page: its words can be found; it was replaced; its record in the archive is lost.
LIVE, REPLACED, LOST = 1, 0, -1
LONGEST_TEXT = 500_000  # characters of a page that are indexed

SHAPE = Shape(
    name="an index",
    application=0x70C8,
    schema=(
        "CREATE TABLE facts (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID",
        "CREATE TABLE pages (number INTEGER PRIMARY KEY, state INTEGER NOT NULL, step INTEGER NOT NULL,"
        " id INTEGER NOT NULL, at REAL NOT NULL, segment INTEGER NOT NULL, start INTEGER NOT NULL,"
        " relevance REAL NOT NULL, words INTEGER NOT NULL, language TEXT NOT NULL, host TEXT NOT NULL,"
        " verdict TEXT NOT NULL, digest TEXT NOT NULL, url TEXT NOT NULL, title TEXT NOT NULL)",
        "CREATE INDEX pages_by_id ON pages (id)",
        "CREATE TABLE texts (number INTEGER PRIMARY KEY, text BLOB NOT NULL)",
        # Stems as numbers, and what `segments.py` makes of them.
        "CREATE TABLE terms (term TEXT PRIMARY KEY, id INTEGER NOT NULL) WITHOUT ROWID",
        "CREATE TABLE segments (key INTEGER PRIMARY KEY, first INTEGER NOT NULL, last INTEGER NOT NULL)",
        "CREATE TABLE blocks (key INTEGER PRIMARY KEY, terms BLOB NOT NULL, pages BLOB NOT NULL)",
        "CREATE TABLE places (key INTEGER PRIMARY KEY, places BLOB NOT NULL)",
    ),
)
ADD = f"INSERT INTO pages VALUES ({','.join('?' * 15)})"


class Row(NamedTuple):
    """A page of the collection, as the index knows it."""

    number: int
    state: int
    step: int
    id: int
    at: float
    segment: int
    start: int
    relevance: float
    words: int  # of title, text and address together
    language: str
    host: str
    verdict: str
    digest: str
    url: str
    title: str


def opened(directory: Path, *, readonly: bool) -> Database:
    """The file of a collection's index. A damaged one is made anew by whoever may write."""
    path = directory / FILE
    if readonly:
        return Database(path, SHAPE, readonly=True)
    try:
        return _whole(path)
    except DamagedError:
        pass
    except CollectionError as error:
        # A kill in the first moment, or the file of an index as a newer version makes it: ours to replace.
        if "belongs to another program" not in str(error):
            raise
    remove(directory)
    return Database(path, SHAPE)


def inode(directory: Path) -> int:
    """Which file it is: another one after it was made again; 0 when there is none."""
    try:
        return (directory / FILE).stat().st_ino
    except FileNotFoundError:
        return 0


def remove(directory: Path) -> None:
    """Take a damaged index away; whoever has it open notices, and it is made again."""
    with errors_of(directory / FILE):
        for name in (FILE, f"{FILE}-wal", f"{FILE}-shm"):
            (directory / name).unlink(missing_ok=True)


def _whole(path: Path) -> Database:
    """The database, after a look at its ends: what is cut off or overwritten shows there."""
    database = Database(path, SHAPE)
    try:
        with database.transaction():
            database.execute("SELECT * FROM pages ORDER BY number DESC LIMIT 1").fetchone()
            database.execute("SELECT * FROM terms LIMIT 1").fetchone()
            ((numbers,),) = database.execute("SELECT count(*) FROM pages")
            ((last,),) = database.execute("SELECT coalesce(max(last), 0) FROM segments")
        if numbers != last:
            raise DamagedError(f"{path} is damaged: {numbers} pages, but words of {last}")
    except BaseException:
        database.close()
        raise
    return database


def tongue(language: str) -> Lexicon:
    return lexicon(language if language in ALGORITHMS else "")


def packed(text: str, packer: zstandard.ZstdCompressor) -> bytes:
    return packer.compress(writable(text).encode())


def unpacked(blob: bytes, unpacker: zstandard.ZstdDecompressor) -> str:
    return unpacker.decompress(blob, max_output_size=4 * LONGEST_TEXT).decode()
