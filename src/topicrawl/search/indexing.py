"""Update a search index from its collection, in small transactions; the crawl may be running.

The writer adds the relevant pages that the index lacks and marks those that the collection no longer has, or that a
verdict has made irrelevant. The fact `all_pages` of the index selects all pages instead. The writer keeps no other
state: after a kill at any moment the next run continues, and a lost or damaged file is rebuilt.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from topicrawl.collection import annotations as annotation_log
from topicrawl.collection.directory import load_crawl_topic
from topicrawl.collection.page_relevance import IS_RELEVANT
from topicrawl.collection.store import CollectionStore
from topicrawl.database import FileLock
from topicrawl.errors import CollectionError
from topicrawl.search.index_file import (
    INSERT_PAGE,
    LIVE,
    LOST,
    REPLACED,
    IndexedPage,
    contains_all_pages,
    get_inode,
    open_index,
)
from topicrawl.search.page_reader import PageReadRequest, ReaderReply
from topicrawl.search.reader_pool import MIN_PAGES_FOR_PROCESSES, PageReaderPool
from topicrawl.search.segments import SegmentWriter, build_segment
from topicrawl.search.term_ids import TermIdAllocator
from topicrawl.urls import get_host

log = logging.getLogger("topicrawl")

BATCH_SIZE = 1024  # pages of one transaction and of one new segment
_PREFETCH_BATCHES = 2  # batches to read ahead
_PAGES_PER_REQUEST = 32  # pages of one request to a page reader
_COMPARISON_INTERVAL = 60.0  # seconds between two full comparisons while the collection changes
_SELECT_PAGES = (
    "SELECT pages.step, pages.id, at, segment, start, length, relevance, language, digest, pages.url, title"
    " FROM pages JOIN visits ON visits.step = pages.step WHERE failure IS NULL AND segment IS NOT NULL"
)

_PendingRead: TypeAlias = tuple[list[IndexedPage], Future[tuple[int, ReaderReply]]]


class CollectionRow(NamedTuple):
    """Stored page that is to be indexed: a row of the query `_SELECT_PAGES`, with its position in the archive."""

    step: int
    page: int
    at: float
    segment: int
    start: int
    length: int
    relevance: float | None
    language: str
    digest: str
    url: str
    title: str


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
            self._database = open_index(index_directory, readonly=False)
        except BaseException:
            self._lock.release()
            self._store.close()
            raise
        self._inode = get_inode(index_directory)
        self._readers: PageReaderPool | None = None
        self._segment_writer = SegmentWriter(self._database)
        self._store_version = (-1, False)  # data version of the store and selection at the last complete update
        self._compared_at = float("-inf")
        self._compared_state = (-1, -1, False)  # revisits, last annotation and selection at the last full comparison

    def update(self, *, max_pages: int | None = None, on_progress: Callable[[int], None] | None = None) -> int:
        """Add at most `max_pages` missing pages, apply new annotations, and return how many pages were added.

        Calls `on_progress` with the number of added pages after each batch. Each batch is one transaction, so a kill
        loses at most the batch in progress.
        """
        version = self._store.query_value(int, "PRAGMA data_version"), contains_all_pages(self._database)
        if version == self._store_version:
            self._prepare_readers(0)
            return 0
        missing = self._find_missing()
        self._prepare_readers(len(missing))
        try:
            added = self._add_batches(missing[:max_pages], on_progress)
        except BaseException:
            # The ids that the failed transaction assigned to new terms are not stored.
            self._close_readers()
            raise
        self._apply_verdicts()
        if added == len(missing):
            self._store_version = version
        elif missing[added] < self._get_last_step():
            # The pages that are left are not after the last indexed one, so compare all pages again.
            self._compared_at = float("-inf")
        return added

    def _prepare_readers(self, pages: int) -> None:
        """Create page readers for `pages` pages: subprocesses if there are many, else one in this process."""
        if self._readers is not None and self._readers.use_processes != (pages >= MIN_PAGES_FOR_PROCESSES):
            self._close_readers()
        if self._readers is None and pages:
            self._readers = PageReaderPool(self.directory, pages, use_processes=pages >= MIN_PAGES_FOR_PROCESSES)
            self._terms = TermIdAllocator(self._database, is_bulk=pages >= MIN_PAGES_FOR_PROCESSES)

    def _close_readers(self) -> None:
        if self._readers is not None:
            self._readers.close()
        self._readers = None

    def _add_batches(self, steps: Sequence[int], on_progress: Callable[[int], None] | None) -> int:
        added = 0
        batches = [steps[at : at + BATCH_SIZE] for at in range(0, len(steps), BATCH_SIZE)]
        # While one batch is written, the next one is read and one more is queued, so that the readers are never idle.
        ahead = deque(map(self._submit_batch, batches[:_PREFETCH_BATCHES]))
        for at, batch in enumerate(batches, _PREFETCH_BATCHES):
            pages = [(rows, reply.result()) for rows, reply in ahead.popleft()]
            ahead.extend(map(self._submit_batch, batches[at : at + 1]))
            self._write_pages(pages)
            added += len(batch)
            if on_progress is not None:
                on_progress(added)
        return added

    @property
    def is_current(self) -> bool:
        """Whether the open file is still the index of the collection."""
        return self._inode == get_inode(self._index_directory)

    def close(self) -> None:
        """Stop the readers, close the databases and release the lock."""
        self._close_readers()
        self._database.close()
        self._store.close()
        self._lock.release()

    def _find_missing(self) -> list[int]:
        """Return the steps of the pages to add: those after the last indexed step.

        From time to time, and after revisits, annotations or another selection, all pages are compared instead.
        """
        revisits = self._store.query_value(int, "SELECT count(*) FROM revisits")
        annotation = self._store.query_value(int, "SELECT coalesce(max(number), 0) FROM annotations")
        now, state = self._clock(), (revisits, annotation, contains_all_pages(self._database))
        if state != self._compared_state or now - self._compared_at >= _COMPARISON_INTERVAL:
            self._compared_at, self._compared_state = now, state
            return self._compare_all()
        last = self._get_last_step()
        sql, minimum = self._select_pages()
        sql = f"SELECT step FROM ({sql}) WHERE step > ? ORDER BY step"
        return [step for (step,) in self._store.iterate_typed_rows(tuple[int], sql, (*minimum, last))]

    def _get_last_step(self) -> int:
        """Return the last indexed step; 0 if the index is empty."""
        ((last,),) = self._database.execute("SELECT coalesce(max(step), 0) FROM pages")
        return int(last)

    def _compare_all(self) -> list[int]:
        """Compare all pages with the collection and return the steps of the missing ones.

        Also updates the relevance of pages and marks those that the collection no longer has.
        """
        sql = "SELECT step, id, at, segment, start, number, relevance FROM pages WHERE state <> ?"
        indexed = {row[:5]: row[5:] for row in self._database.execute(sql, (REPLACED,))}
        missing: list[int] = []
        rescored: list[tuple[object, int]] = []
        sql, minimum = self._select_pages()
        sql = f"SELECT step, id, at, segment, start, relevance FROM ({sql}) ORDER BY step"
        for row in self._store.iterate_typed_rows(tuple[int, int, float, int, int, float | None], sql, minimum):
            entry = indexed.pop(row[:5], None)
            if entry is None:
                missing.append(row[0])
            elif entry[1] != (row[5] or 0.0):
                rescored.append((row[5] or 0.0, entry[0]))
        if indexed or rescored:
            with self._database.transaction():
                removed = [(number,) for number, _ in indexed.values()]
                self._database.executemany(f"UPDATE pages SET state = {REPLACED} WHERE number = ?", removed)
                self._database.executemany("DELETE FROM texts WHERE number = ?", removed)
                self._database.executemany("UPDATE pages SET relevance = ? WHERE number = ?", rescored)
                self._count_change()
        return missing

    def _select_pages(self) -> tuple[str, tuple[float, ...]]:
        """Return the query of the pages to index, and its parameters."""
        if contains_all_pages(self._database):
            return _SELECT_PAGES, ()
        return f"{_SELECT_PAGES} AND {IS_RELEVANT}", (self._threshold,)

    def _submit_batch(self, steps: Sequence[int]) -> list[_PendingRead]:
        """Submit the pages of a batch to the readers, `_PAGES_PER_REQUEST` at a time."""
        assert self._readers is not None
        rows = self._load_rows(steps)
        pending = []
        for at in range(0, len(rows), _PAGES_PER_REQUEST):
            part = rows[at : at + _PAGES_PER_REQUEST]
            pending.append(([row for row, _ in part], self._readers.submit([request for _, request in part])))
        return pending

    def _load_rows(self, steps: Sequence[int]) -> list[tuple[IndexedPage, PageReadRequest]]:
        """Return the metadata of pages, with the requests to read them from the archive."""
        sql, selected = f"SELECT * FROM ({_SELECT_PAGES}) WHERE step BETWEEN ? AND ? ORDER BY step", set(steps)
        has_verdicts = bool(self._store.query_rows("SELECT 1 FROM annotations LIMIT 1"))
        rows = []
        for row in self._store.iterate_typed_rows(CollectionRow, sql, (steps[0], steps[-1])):
            step, page, at, segment, start, length, relevance, language, digest, url, title = row
            if step not in selected:
                continue
            verdict = self._get_verdict(page) if has_verdicts else ""
            texts = (language, get_host(url), verdict, digest, url, title)
            metadata = IndexedPage(0, LIVE, step, page, at, segment, start, relevance or 0.0, 0, *texts)
            rows.append((metadata, PageReadRequest(segment, start, length, language, title, url)))
        return rows

    def _write_pages(self, pages: Sequence[tuple[Sequence[IndexedPage], tuple[int, ReaderReply]]]) -> None:
        """Add the pages of a batch in one transaction. Unreadable pages are logged and added as lost, without text."""
        rows: list[IndexedPage] = []
        texts: list[tuple[int, bytes]] = []
        words: list[NDArray[np.int32]] = []
        sizes: list[tuple[int, int, int]] = []
        with self._database.transaction():
            ((last,),) = self._database.execute("SELECT coalesce(max(number), 0) FROM pages")
            for metadata, (reader, (first, new, contents, terms)) in pages:
                table = self._terms.map_reader_terms(reader, first, new)
                words.append(table[np.frombuffer(terms, np.int32)])
                for row, content in zip(metadata, contents, strict=True):
                    if content.error:
                        log.warning("cannot index page: %s: %s", row.url, content.error)
                    number, state = int(last) + len(rows) + 1, LOST if content.error else LIVE
                    rows.append(row._replace(number=number, state=state, words=sum(content.field_sizes)))
                    texts.append((number, content.text))
                    sizes.append(content.field_sizes)
            self._terms.save_new_terms()
            self._database.executemany(INSERT_PAGE, rows)
            self._database.executemany("INSERT INTO texts VALUES (?,?)", texts)
            self._segment_writer.add_segment(build_segment(int(last) + 1, np.concatenate(words), np.array(sizes)))

    def _get_verdict(self, page: int) -> str:
        """Return the latest annotation of a page, or ""."""
        sql = "SELECT label FROM annotations WHERE page = ? ORDER BY number DESC LIMIT 1"
        return "".join(str(verdict) for (verdict,) in self._store.query_rows(sql, (page,)))

    def _apply_verdicts(self) -> None:
        """Write the annotations added since the last update to the indexed pages."""
        row = self._database.execute("SELECT value FROM facts WHERE name = 'verdict'").fetchone()
        new = annotation_log.list_annotations_since(self._store, row[0] if row else 0)
        if not new:
            return
        with self._database.transaction():
            verdicts = [(annotation.label, annotation.page) for annotation in new]
            self._database.executemany("UPDATE pages SET verdict = ? WHERE id = ?", verdicts)
            self._database.execute("INSERT OR REPLACE INTO facts VALUES ('verdict', ?)", (new[-1].number,))
            self._count_change()

    def _count_change(self) -> None:
        """Increment the change counter, which tells open indexes that existing rows have changed."""
        self._database.execute("INSERT OR IGNORE INTO facts VALUES ('changes', 0)")
        self._database.execute("UPDATE facts SET value = value + 1 WHERE name = 'changes'")
