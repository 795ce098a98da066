"""Update a search index from its collection, in batches; the crawl may be running.

The writer adds the relevant pages that the index lacks, replaces those whose content, relevance, verdict or tags have
changed, and removes those that the collection no longer has, or that a verdict has made irrelevant. The fact
`all_pages` of the index selects all pages instead. After a kill at any moment the next run continues (see
`index_file.py`).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import tantivy

from topicrawl.collection import annotations as annotation_log
from topicrawl.collection.archive import RecordLocation, WarcArchive
from topicrawl.collection.directory import load_crawl_topic
from topicrawl.collection.page_relevance import IS_RELEVANT
from topicrawl.collection.store import CollectionStore, replace_surrogates
from topicrawl.database import FileLock
from topicrawl.errors import CollectionError, DamagedError
from topicrawl.models import Failure
from topicrawl.parse.text_only import extract_text
from topicrawl.search.analysis import ANALYZER_NAMES, WordStemmer, get_analyzer_name
from topicrawl.search.index_file import (
    ENGINE_DIRECTORY,
    INSERT_PAGE,
    LIVE,
    LOST,
    MAX_TEXT_CHARS,
    PENDING,
    IndexedPage,
    contains_all_pages,
    get_inode,
    open_writable_index,
    translate_engine_errors,
)
from topicrawl.search.text_vectors import PageVectorizer
from topicrawl.text.tokenizer import tokenise
from topicrawl.urls import fingerprint, get_host

log = logging.getLogger("topicrawl")

BATCH_SIZE = 1024  # pages of one commit
_WRITER_BYTES = 50_000_000  # memory of the engine for new pages
_COMPARISON_INTERVAL = 60.0  # seconds between two full comparisons while the collection changes
_SELECT_PAGES = (
    "SELECT pages.step, pages.id, at, segment, start, length, relevance, language, type, digest, pages.url, title"
    " FROM pages JOIN visits ON visits.step = pages.step WHERE failure IS NULL AND segment IS NOT NULL"
)


class CollectionRow(NamedTuple):
    """Stored page that is to be indexed: a row of the query `_SELECT_PAGES`, with its position in the archive."""

    step: int
    id: int
    at: float
    segment: int
    start: int
    length: int
    relevance: float | None
    language: str
    type: str
    digest: str
    url: str
    title: str


class PageLabels(NamedTuple):
    """The verdict and the tags of a page."""

    verdict: str = ""
    tags: tuple[str, ...] = ()


class IndexWriter:
    """Writer of one index. Raises `CollectionError` if another process is writing it.

    `index_directory` is the directory of the index, if it is not in the directory of the collection.
    """

    def __init__(
        self, directory: Path, index_directory: Path | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.directory = directory
        self._index_directory = index_directory = index_directory or directory
        self._clock = clock
        self._threshold = load_crawl_topic(directory).threshold
        self._store = CollectionStore(directory / "topicrawl.sqlite", readonly=True)
        try:
            self._lock = FileLock(index_directory / "search.lock", index_directory / "search.sqlite")
        except CollectionError:
            self._store.close()
            raise
        try:
            self._database, self._engine = open_writable_index(index_directory)
        except BaseException:
            self._lock.release()
            self._store.close()
            raise
        self._inode = get_inode(index_directory)
        self._writer: tantivy.IndexWriter | None = None
        self._archive = WarcArchive(directory)
        self._stemmer, self._vectorizer = WordStemmer(), PageVectorizer()
        self._store_version = (-1, False)  # data version of the store and selection at the last complete update
        self._compared_at = float("-inf")
        self._compared_state: tuple[int, ...] = ()  # counts of revisits, annotations and tags at the last comparison

    def update(self, *, max_pages: int | None = None, on_progress: Callable[[int], None] | None = None) -> int:
        """Add or replace at most `max_pages` pages, remove others, and return how many were added or replaced.

        Calls `on_progress` with the number of added pages after each batch. A kill loses at most the batch in progress.
        """
        version = self._store.query_value(int, "PRAGMA data_version"), contains_all_pages(self._database)
        if version == self._store_version:
            return 0
        missing = self._find_missing()
        selected, added = missing[:max_pages], 0
        for at in range(0, len(selected), BATCH_SIZE):
            self._add_pages(selected[at : at + BATCH_SIZE])
            added = min(len(selected), at + BATCH_SIZE)
            if on_progress is not None:
                on_progress(added)
        if added == len(missing):
            self._store_version = version
        elif missing[added] < self._get_last_step():
            # The pages that are left are not after the last indexed one, so compare all pages again.
            self._compared_at = float("-inf")
        return added

    @property
    def is_current(self) -> bool:
        """Whether the open file is still the index of the collection."""
        return self._inode == get_inode(self._index_directory)

    def close(self) -> None:
        """Finish the merges of the engine, close the databases and release the lock."""
        if self._writer is not None and self.is_current:
            self._writer.wait_merging_threads()
        self._writer = None
        self._archive.close()
        self._database.close()
        self._store.close()
        self._lock.release()

    def _find_missing(self) -> list[int]:
        """Return the steps of the pages to add: those after the last indexed step.

        From time to time, and after revisits, annotations, tags or another selection, all pages are compared instead.
        """
        revisits = self._store.query_value(int, "SELECT count(*) FROM revisits")
        annotation = self._store.query_value(int, "SELECT coalesce(max(number), 0) FROM annotations")
        tags = hash(tuple(sorted(self._load_tags().items())))
        now, state = self._clock(), (revisits, annotation, tags, contains_all_pages(self._database))
        if state != self._compared_state or now - self._compared_at >= _COMPARISON_INTERVAL:
            self._compared_at, self._compared_state = now, state
            return self._compare_all()
        sql, minimum = self._select_pages()
        sql = f"SELECT step FROM ({sql}) WHERE step > ? ORDER BY step"
        last = self._get_last_step()
        return [step for (step,) in self._store.iterate_typed_rows(tuple[int], sql, (*minimum, last))]

    def _get_last_step(self) -> int:
        """Return the last indexed step; 0 if the index is empty."""
        ((last,),) = self._database.execute("SELECT coalesce(max(step), 0) FROM pages")
        return int(last)

    def _compare_all(self) -> list[int]:
        """Compare all pages with the collection, remove those it lacks, and return the steps of the others to add."""
        indexed = dict(self._database.execute("SELECT id, version FROM pages"))
        labels = self._load_labels()
        missing: list[int] = []
        sql, minimum = self._select_pages()
        for row in self._store.iterate_typed_rows(CollectionRow, f"{sql} ORDER BY pages.step", minimum):
            if indexed.pop(row.id, None) != _compute_version(row, labels.get(row.id, PageLabels())):
                missing.append(row.step)
        if indexed:
            self._write_batch([], list(indexed))
        return missing

    def _select_pages(self) -> tuple[str, tuple[float, ...]]:
        """Return the query of the pages to index, and its parameters."""
        if contains_all_pages(self._database):
            return _SELECT_PAGES, ()
        return f"{_SELECT_PAGES} AND {IS_RELEVANT}", (self._threshold,)

    def _load_labels(self) -> Mapping[int, PageLabels]:
        """Return the verdicts and tags of pages by page id."""
        labels = {page: PageLabels(tags=tags) for page, tags in self._load_tags().items()}
        for page, annotation in annotation_log.list_current_annotations(self._store).items():
            labels[page] = labels.get(page, PageLabels())._replace(verdict=str(annotation.label))
        return labels

    def _load_tags(self) -> Mapping[int, tuple[str, ...]]:
        """Return the tags of pages by page id; none if the collection is of a version without tags."""
        if not self._store.query_rows("SELECT 1 FROM sqlite_master WHERE name = 'page_tags'"):
            return {}
        tags: dict[int, tuple[str, ...]] = {}
        for page, tag in self._store.iterate_typed_rows(
            tuple[int, str], "SELECT page, tag FROM page_tags ORDER BY tag"
        ):
            tags[page] = (*tags.get(page, ()), tag)
        return tags

    def _add_pages(self, steps: Sequence[int]) -> None:
        """Add or replace the pages of a batch. Unreadable pages are logged and added as lost, without text."""
        labels, selected = self._load_labels(), set(steps)
        sql = f"SELECT * FROM ({_SELECT_PAGES}) WHERE step BETWEEN ? AND ? ORDER BY step"
        rows = self._store.iterate_typed_rows(CollectionRow, sql, (steps[0], steps[-1]))
        self._write_batch([(row, labels.get(row.id, PageLabels())) for row in rows if row.step in selected], [])

    def _write_batch(self, added: Iterable[tuple[CollectionRow, PageLabels]], removed: Sequence[int]) -> None:
        """Write a batch to both parts of the index."""
        pages: list[IndexedPage] = []
        vectors: list[tuple[int, bytes]] = []
        indexed = self._open_searcher()
        documents: list[tantivy.Document] = []
        for row, labels in added:
            stored = find_indexed_text(indexed, self._engine.schema, row)
            text, error = (stored, "") if stored is not None else self._read_text(row)
            if error:
                log.warning("cannot index page: %s: %s", row.url, error)
            document, words, stems = build_document(row, labels, text, self._stemmer)
            if vector := self._vectorizer.compute_vector(words, stems, row.language):
                vectors.append((row.id, vector))
            pages.append(
                IndexedPage(
                    row.id,
                    LOST if error else LIVE,
                    row.step,
                    _compute_version(row, labels),
                    len(words),
                    row.language,
                    fingerprint(row.digest or row.url),
                )
            )
            if not error:
                documents.append(document)
        known = self._find_indexed([page.id for page in pages])
        with self._database.transaction():
            self._database.executemany(f"UPDATE pages SET state = {PENDING} WHERE id = ?", [(id,) for id in removed])
            self._database.executemany(INSERT_PAGE, [page._replace(state=PENDING) for page in pages])
        self._commit_documents(documents, [*known, *removed])
        with self._database.transaction():
            for table, key in (("pages", "id"), ("page_vectors", "page")):
                self._database.executemany(f"DELETE FROM {table} WHERE {key} = ?", [(id,) for id in removed])
            self._database.executemany(INSERT_PAGE, pages)
            self._database.executemany("INSERT OR REPLACE INTO page_vectors VALUES (?,?)", vectors)

    def _open_searcher(self) -> tantivy.Searcher:
        """Return a searcher for the last commit of the engine."""
        with translate_engine_errors(self._index_directory / ENGINE_DIRECTORY):
            self._engine.reload()
            return self._engine.searcher()

    def _find_indexed(self, ids: Sequence[int]) -> list[int]:
        """Return those of the page ids that the index contains."""
        rows = (self._database.execute("SELECT id FROM pages WHERE id = ?", (id,)).fetchone() for id in ids)
        return [int(row[0]) for row in rows if row is not None]

    def _commit_documents(self, documents: Sequence[tantivy.Document], removed: Sequence[int]) -> None:
        """Remove and add documents in one commit of the engine. Raise `CollectionError` if it cannot be written."""
        try:
            if self._writer is None:
                self._writer = self._engine.writer(_WRITER_BYTES, 1)
            for page in removed:
                self._writer.delete_documents_by_term("id", page)
            for document in documents:
                self._writer.add_document(document)
            self._writer.commit()
        except (ValueError, OSError) as error:
            self._writer = None
            path = self._index_directory / ENGINE_DIRECTORY
            raise CollectionError(f"{path} cannot be written: {' '.join(str(error).split())}") from error

    def _read_text(self, row: CollectionRow) -> tuple[str, str]:
        """Return the text of a page and an error message; one of them is empty."""
        try:
            text = extract_text(self._archive.read_response(RecordLocation(row.segment, row.start, row.length)))
        except DamagedError as error:
            return "", str(error)
        return ("", str(text)) if isinstance(text, Failure) else (replace_surrogates(text[:MAX_TEXT_CHARS]), "")


def find_indexed_text(searcher: tantivy.Searcher, schema: tantivy.Schema, row: CollectionRow) -> str | None:
    """Return the text of a page whose document in the engine has the same text, or None.

    A page whose verdict, tags or relevance have changed is not read from the archive and parsed again.
    """
    if not row.digest:
        return None
    hits = searcher.search(tantivy.Query.term_query(schema, "id", row.id), limit=1, count=False).hits
    document = searcher.doc(hits[0][1]) if hits else None
    if document is None or get_stored_text(document, "digest") != row.digest:
        return None
    return get_stored_text(document, "body")


def get_stored_text(document: tantivy.Document, name: str) -> str:
    """Return a stored text of a document, or ""."""
    value = document.get_first(name)
    return bytes(value).decode("utf-8", "replace") if value is not None else ""


def build_document(
    row: CollectionRow, labels: PageLabels, text: str, stemmer: WordStemmer
) -> tuple[tantivy.Document, list[str], list[str]]:
    """Return the document of a page for the search engine, and the words of the page with their stems."""
    name, host = get_analyzer_name(row.language), get_host(row.url)
    title, url = replace_surrogates(row.title), replace_surrogates(row.url)
    fields = [tokenise(part) for part in (title, text, url)]
    stems = [stemmer.stem_words(field, row.language) for field in fields]
    words = list(chain.from_iterable(fields))
    document = tantivy.Document()
    for field in stems:
        document.add_text(f"text_{name}", " ".join(field))
    document.add_text(f"title_{name}", " ".join(stems[0]))
    document.add_text("url", " ".join(fields[2]))
    numbers = (row.id, row.step, fingerprint(row.digest or row.url), len(words), ANALYZER_NAMES.index(name))
    for field_name, number in zip(("id", "step", "text_key", "words", "analyzer"), numbers, strict=True):
        document.add_integer(field_name, number)
    document.add_float("relevance", row.relevance or 0.0)
    document.add_float("at", row.at)
    month = datetime.fromtimestamp(max(0.0, min(row.at, 2e11)), UTC).strftime("%Y-%m")
    facets = (("host", host), ("language", row.language), ("type", row.type), ("verdict", labels.verdict or "none"))
    for field_name, value in (*facets, ("month", month), *(("tag", tag) for tag in labels.tags)):
        document.add_text(field_name, replace_surrogates(value))
    for domain in _list_domains(host):
        document.add_text("domain", replace_surrogates(domain))
    for field_name, value in (("digest", row.digest), ("page_url", url), ("title", title), ("body", text)):
        document.add_bytes(field_name, value.encode())
    return document, words, list(chain.from_iterable(stems))


def _list_domains(host: str) -> list[str]:
    """Return a host, with and without its port, and its parent domains.

    >>> _list_domains("www.who.int:81")
    ['www.who.int:81', 'www.who.int', 'who.int', 'int']
    """
    labels = host.partition(":")[0].split(".")
    return list(dict.fromkeys((host, *(".".join(labels[at:]) for at in range(len(labels))))))


def _compute_version(row: CollectionRow, labels: PageLabels) -> int:
    """Return a number that changes with the content and the metadata of a page."""
    return fingerprint(repr((row.step, row.at, row.segment, row.start, row.relevance, *labels)))
