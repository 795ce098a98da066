"""Files of a search index: the list of indexed pages, and the directory of the search engine (tantivy).

DIR/search/          files of the search engine
DIR/search.sqlite    indexed pages, their vectors, and the selection of the pages to index
DIR/search.lock      locked by the process that updates the index

Both parts are built from the collection. They may be deleted at any time and are then rebuilt. If the collection is in
a read-only directory, an existing index is used as it is. Without one, the files are in a temporary directory.

A batch of changes is written in three steps: its pages are marked as `PENDING`, the engine commits the batch, and the
marks are removed. After a kill between two steps, `recover_pending` removes the marked pages from both parts, and the
next update adds them again.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import tantivy

from topicrawl.database import Database, DatabaseSchema, translate_errors
from topicrawl.errors import DamagedError, ForeignFileError
from topicrawl.search.analysis import ANALYZER_NAMES, PLAIN, get_stem_splitter

INDEX_FILE = "search.sqlite"
ENGINE_DIRECTORY = "search"
#: State of a page: searchable; being added or removed; its record in the archive is unreadable.
LIVE, PENDING, LOST = 1, 0, -1
MAX_TEXT_CHARS = 500_000  # characters of a page to index
#: Index of Topicrawl's former search engine, and index without page vectors.
_EARLIER_APPLICATION_IDS = (0x70C8, 0x70C9)

SCHEMA = DatabaseSchema(
    name="an index",
    application_id=0x70CA,
    initial_statements=(
        "CREATE TABLE facts (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID",
        # `version` identifies the content of a page and its metadata; `text_key` its text.
        "CREATE TABLE pages (id INTEGER PRIMARY KEY, state INTEGER NOT NULL, step INTEGER NOT NULL,"
        " version INTEGER NOT NULL, words INTEGER NOT NULL, language TEXT NOT NULL, text_key INTEGER NOT NULL)",
        "CREATE TABLE page_vectors (page INTEGER PRIMARY KEY, vector BLOB NOT NULL)",
        "CREATE INDEX pages_by_step ON pages (step)",
        "CREATE INDEX pages_by_language ON pages (state, language, words)",
    ),
)
INSERT_PAGE = "INSERT OR REPLACE INTO pages VALUES (?,?,?,?,?,?,?)"


class IndexedPage(NamedTuple):
    """A row of the table `pages`."""

    id: int
    state: int
    step: int
    version: int
    words: int
    language: str
    text_key: int


def build_engine_schema() -> tantivy.Schema:
    """Return the fields of a page in the search engine.

    `text_…` contains the stems of the title, the text and the URL of a page, in the field of its language.
    """
    builder = tantivy.SchemaBuilder()
    for name in ("id", "step", "text_key", "words", "analyzer"):
        builder.add_integer_field(name, stored=name == "id", indexed=name == "id", fast=True)
    for name in ("relevance", "at"):
        builder.add_float_field(name, stored=True, indexed=True, fast=True)
    for name in ("host", "language", "type", "verdict", "tag", "month"):
        builder.add_text_field(name, stored=True, fast=True, tokenizer_name="raw", index_option="basic")
    builder.add_text_field("domain", tokenizer_name="raw", index_option="basic")
    for name in ANALYZER_NAMES:
        builder.add_text_field(f"text_{name}", tokenizer_name=name)
        builder.add_text_field(f"title_{name}", tokenizer_name=name)
    builder.add_text_field("url", tokenizer_name=PLAIN)
    for name in ("digest", "page_url", "title", "body"):
        builder.add_bytes_field(name, stored=True)
    return builder.build()


def open_engine(directory: Path, *, create: bool = False) -> tantivy.Index:
    """Open the search engine of an index in `directory`. Raise `DamagedError` if its files cannot be read."""
    path = directory / ENGINE_DIRECTORY
    with translate_engine_errors(path):
        if create:
            path.mkdir(exist_ok=True)
        index = tantivy.Index(build_engine_schema(), str(path)) if create else tantivy.Index.open(str(path))
        for name in ANALYZER_NAMES:
            index.register_tokenizer(name, get_stem_splitter())
        index.config_reader("manual")
        return index


@contextmanager
def translate_engine_errors(path: Path) -> Iterator[None]:
    """Convert the errors of the search engine to `DamagedError`, and those of the operating system."""
    try:
        with translate_errors(path):
            yield
    except ValueError as error:
        raise DamagedError(f"{path} is damaged: {' '.join(str(error).split())}") from error
    except BaseException as error:
        # The engine panics on some damaged files; the exception of a panic has no public name.
        if type(error).__module__ != "pyo3_runtime":
            raise
        raise DamagedError(f"{path} is damaged: {' '.join(str(error).split())}") from error


def count_engine_documents(directory: Path) -> int:
    """Return the number of documents in the engine, including deleted ones that still count in its statistics."""
    path = directory / ENGINE_DIRECTORY / "meta.json"
    try:
        return sum(segment["max_doc"] for segment in json.loads(path.read_bytes())["segments"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DamagedError(f"{path} is damaged: {error}") from error


def open_writable_index(directory: Path) -> tuple[Database, tantivy.Index]:
    """Open both parts of an index to change it. A damaged or earlier index is replaced by a new one."""
    try:
        return _open_parts(directory)
    except (DamagedError, ForeignFileError):
        # A foreign file is an index of an earlier version, or was left by a kill during the creation of the index.
        remove_index(directory)
        return _open_parts(directory)


def _open_parts(directory: Path) -> tuple[Database, tantivy.Index]:
    """Open both parts, and recover from a kill. Raise `DamagedError` if they do not belong together."""
    database = Database(directory / INDEX_FILE, SCHEMA)
    try:
        engine = open_engine(directory, create=True)
        recover_pending(database, engine)
        with translate_engine_errors(directory / ENGINE_DIRECTORY), translate_errors(directory / INDEX_FILE):
            ((pages,),) = database.execute(f"SELECT count(*) FROM pages WHERE state = {LIVE}")
            documents = engine.searcher().num_docs
        if pages != documents:
            raise DamagedError(f"{directory / INDEX_FILE} has {pages} pages, but the engine {documents}")
    except BaseException:
        database.close()
        raise
    return database, engine


def recover_pending(database: Database, engine: tantivy.Index) -> None:
    """Remove the pages of an interrupted batch from both parts of an index; the next update adds them again."""
    with translate_errors(database.path):
        pending = database.execute(f"SELECT id FROM pages WHERE state = {PENDING}").fetchall()
    if not pending:
        return
    with translate_engine_errors(database.path.parent / ENGINE_DIRECTORY):
        writer = engine.writer(15_000_000, 1)
        for (page,) in pending:
            writer.delete_documents_by_term("id", page)
        writer.commit()
        writer.wait_merging_threads()
        engine.reload()
    with database.transaction():
        database.execute(f"DELETE FROM pages WHERE state = {PENDING}")


def verify_engine(directory: Path, pages: int) -> str:
    """Compare the checksum of every file of the engine, and its number of documents. Return a fault, or ""."""
    try:
        meta = json.loads((directory / ENGINE_DIRECTORY / "meta.json").read_bytes())
        deleted = sum(
            (segment["deletes"] or {"num_deleted_docs": 0})["num_deleted_docs"] for segment in meta["segments"]
        )
        documents = count_engine_documents(directory) - deleted
        if documents != pages:
            return f"has {pages} pages, but the search engine has {documents}"
        for segment in meta["segments"]:
            name = segment["segment_id"].replace("-", "")
            for path in sorted((directory / ENGINE_DIRECTORY).glob(f"{name}.*")):
                if not _has_valid_checksum(path.read_bytes()):
                    return f"{ENGINE_DIRECTORY}/{path.name} is damaged: its checksum is wrong"
    except (OSError, ValueError, KeyError, TypeError, DamagedError) as error:
        return f"the files of the search engine cannot be read: {error}"
    return ""


def _has_valid_checksum(data: bytes) -> bool:
    """Return whether the content of a file of the engine matches its footer: JSON, its length and a magic number."""
    length = int.from_bytes(data[-8:-4], "little")
    footer = json.loads(data[-8 - length : -8])
    return bool(footer["crc"] == zlib.crc32(data[: -8 - length]))


def has_index(directory: Path) -> bool:
    """Return whether a directory contains an index of this version."""
    if not (directory / ENGINE_DIRECTORY / "meta.json").exists() or not (directory / INDEX_FILE).exists():
        return False
    return not is_earlier_index(directory)


def is_earlier_index(directory: Path) -> bool:
    """Return whether the index of a collection is of an earlier version; the next update replaces it."""
    path = directory / INDEX_FILE
    if not path.exists():
        return False
    flags = "&immutable=1" if not Path(f"{path}-wal").exists() else ""
    try:
        connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro{flags}", uri=True)
        try:
            ((application_id,),) = connection.execute("PRAGMA application_id")
        finally:
            connection.close()
    except sqlite3.DatabaseError:
        return False  # opening the index reports the error
    return application_id in _EARLIER_APPLICATION_IDS


def contains_all_pages(database: Database) -> bool:
    """Return whether an index contains all pages, not only the relevant ones."""
    row = database.execute("SELECT value FROM facts WHERE name = 'all_pages'").fetchone()
    return row is not None and bool(row[0])


def select_all_pages(directory: Path, *, all_pages: bool) -> None:
    """Choose whether the index of a collection contains all pages. The next update adds or removes pages."""
    if is_earlier_index(directory):
        remove_index(directory)
    database = Database(directory / INDEX_FILE, SCHEMA)
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
        if (directory / ENGINE_DIRECTORY).exists():
            shutil.rmtree(directory / ENGINE_DIRECTORY)


def link_engine_files(source: Path, target: Path) -> None:
    """Make the engine files of a read-only directory available in a writable one, where the engine can lock them."""
    (target / ENGINE_DIRECTORY).mkdir()
    with translate_errors(source):
        for path in (source / ENGINE_DIRECTORY).iterdir():
            copy = target / ENGINE_DIRECTORY / path.name
            if path.suffix == ".lock":
                continue
            if path.name.endswith(".json"):
                shutil.copyfile(path, copy)
            else:
                copy.symlink_to(path.absolute())
