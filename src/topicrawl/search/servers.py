"""The search protocol, which local and remote servers implement, and the server for the collections on this machine.

Each collection has its own thread, so that a slow collection does not delay the others. One more thread updates all
indexes.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol, TypeVar

from msgspec import Struct

from topicrawl.errors import CollectionError, DamagedError, TopicrawlError, UsageError
from topicrawl.search.bm25 import CorpusStats
from topicrawl.search.feedback import FeedbackStore
from topicrawl.search.index import NO_HITS, CollectionHits, SearchIndex
from topicrawl.search.index_file import has_index, is_writable, remove_index
from topicrawl.search.indexers import SLICE_SIZE, Indexer, InProcessIndexer, SubprocessIndexer
from topicrawl.search.models import Feedback, Query
from topicrawl.search.overlap import SKETCH_SIZE
from topicrawl.search.query import parse_query

log = logging.getLogger("topicrawl")
T = TypeVar("T")
_MIN_PAUSE, _MAX_PAUSE = 1.0, 15.0  # seconds between two updates of the indexes
# Ratio of the pause to the duration of the last update, so that a running crawl does not keep the process busy
_PAUSE_RATIO = 3.0


class CollectionSummary(Struct, frozen=True):
    """Summary of a collection for one query, used to select the collections to search."""

    name: str
    world: CorpusStats
    feedback: tuple[Feedback, ...] = ()  # on similar queries
    trouble: str = ""  # error message if the collection cannot be searched


class SearchServer(Protocol):
    """A search server with any number of collections. Its methods raise `TopicrawlError` if it does not answer."""

    @property
    def address(self) -> str:
        """Address of a remote server, or "" for this machine."""

    async def get_summaries(self, query: Query) -> Sequence[CollectionSummary]:
        """Return a summary of each collection for the query."""

    async def search(self, query: Query, names: Sequence[str], stats: CorpusStats) -> dict[str, CollectionHits]:
        """Search the named collections, with the given corpus statistics, and return their hits by name."""

    async def get_vector(self, url: str) -> dict[str, float]:
        """Return the term vector of a page; empty if no collection contains the page."""

    async def get_sketches(self) -> dict[str, tuple[int, Sequence[int]]]:
        """Return the page count and the sketch of each collection (see `overlap.py`)."""

    async def add_feedback(self, feedback: Feedback) -> None:
        """Store relevance feedback, which later queries use."""

    async def remove_feedback(self, feedback_id: str) -> None:
        """Undo relevance feedback; unknown feedback is ignored."""


class CollectionSearcher:
    """The index of one collection and the thread that queries it.

    For a collection without an index in a read-only directory, the index is in a temporary directory that `close`
    removes.
    """

    def __init__(self, directory: Path, name: str) -> None:
        self.directory, self.name = directory, name
        self._temporary: TemporaryDirectory[str] | None = None
        if not is_writable(directory) and not has_index(directory):
            self._temporary = TemporaryDirectory(prefix="topicrawl-search-", ignore_cleanup_errors=True)
        #: Directory of the index.
        self.index_directory = directory if self._temporary is None else Path(self._temporary.name)
        self.feedback_store = FeedbackStore(directory)
        self._thread = ThreadPoolExecutor(1, f"search {name}")
        self._index: SearchIndex | None = None

    async def run_on_index(self, function: Callable[[SearchIndex], T]) -> T:
        """Call a function with the index on the thread of the collection and return its result.

        The index is opened at the first call, and again after it was rebuilt. A damaged index is removed and raises
        `CollectionError`.
        """
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._call_with_index, function)

    def _call_with_index(self, function: Callable[[SearchIndex], T]) -> T:
        if self._index is not None and not self._index.is_current:
            self._close_index()
        if self._index is None:
            self._index = SearchIndex(self.directory, self.index_directory)
            self._index.name = self.name
        try:
            return function(self._index)
        except DamagedError as error:
            self._close_index()
            remove_index(self.index_directory)
            raise CollectionError(f"{error}; the index is being rebuilt: repeat the query later") from error

    def _close_index(self) -> None:
        if self._index is not None:
            self._index.close()
            self._index = None

    def close(self) -> None:
        """Close the index and end the thread."""
        self._thread.submit(self._close_index).result()
        self._thread.shutdown()
        if self._temporary is not None:
            self._temporary.cleanup()


class LocalServer:
    """The collections on this machine. The caller must `close` it.

    A long-running server runs `keep_updated` as a task. With `use_subprocess`, a separate process updates the indexes,
    so that updates do not slow down queries.
    """

    address = ""

    def __init__(self, directories: Sequence[Path], *, use_subprocess: bool = False) -> None:
        self.searchers: dict[str, CollectionSearcher] = {}
        for directory in directories:
            if not (directory / "topicrawl.sqlite").exists():
                raise CollectionError(f"{directory} does not contain a crawl")
            name = stem = directory.resolve().name
            number = 1
            while name in self.searchers:
                number += 1
                name = f"{stem}-{number}"
            self.searchers[name] = CollectionSearcher(directory, name)
        self._index_thread = ThreadPoolExecutor(1, "indexing")
        self._indexer: Indexer = SubprocessIndexer() if use_subprocess else InProcessIndexer()
        self._closed = False

    def remove_collection(self, name: str) -> None:
        """Close the index of a collection that is renamed or removed, and forget the collection."""
        searcher = self.searchers.pop(name, None)
        if searcher is not None:
            # The indexer opens the indexes of the other collections again.
            self._index_thread.submit(self._indexer.close).result()
            searcher.close()

    async def get_summaries(self, query: Query) -> list[CollectionSummary]:
        """Return a summary of each collection for the query."""
        return await asyncio.gather(*(self._get_summary(shelf, query) for shelf in self.searchers.values()))

    async def _get_summary(self, shelf: CollectionSearcher, query: Query) -> CollectionSummary:
        feedback = tuple(shelf.feedback_store.find_similar(query.text)) if query.learned else ()
        parts = parse_query(query)
        try:
            return CollectionSummary(
                shelf.name, await shelf.run_on_index(lambda index: index.get_statistics(parts)), feedback
            )
        except CollectionError as error:
            return CollectionSummary(shelf.name, CorpusStats(), feedback, str(error))

    async def search_single(self, query: Query) -> tuple[CollectionSummary, CollectionHits] | None:
        """Return the summary and the hits of the only collection in one step.

        Returns None if there are several collections, or if feedback on similar queries changes the query.
        """
        if len(self.searchers) != 1:
            return None
        (shelf,) = self.searchers.values()
        if query.learned and shelf.feedback_store.find_similar(query.text):
            return None
        try:
            stats, hits = await shelf.run_on_index(lambda index: index.search_single(query))
        except CollectionError as error:
            return CollectionSummary(shelf.name, CorpusStats(), trouble=str(error)), NO_HITS
        return CollectionSummary(shelf.name, stats), hits

    async def search(self, query: Query, names: Sequence[str], stats: CorpusStats) -> dict[str, CollectionHits]:
        """Search the named collections; log and leave out those that fail. Raise `UsageError` for an unknown name."""
        unknown = [name for name in names if name not in self.searchers]
        if unknown:
            raise UsageError(f"this server has no collection {unknown[0]!r}")
        searches = (self.searchers[name].run_on_index(lambda index: index.search(query, stats)) for name in names)
        outcomes = await asyncio.gather(*searches, return_exceptions=True)
        hits: dict[str, CollectionHits] = {}
        for name, outcome in zip(names, outcomes, strict=True):
            if isinstance(outcome, CollectionError):
                log.warning("cannot search collection: %s", outcome)
            elif isinstance(outcome, BaseException):
                raise outcome
            else:
                hits[name] = outcome
        return hits

    async def get_vector(self, url: str) -> dict[str, float]:
        """Return the term vector of a page from the first collection that contains it; empty if none does."""
        for shelf in self.searchers.values():
            if vector := await shelf.run_on_index(lambda index: index.get_vector(url)):
                return vector
        return {}

    async def get_sketches(self) -> dict[str, tuple[int, Sequence[int]]]:
        """Return the page count and the sketch of each collection."""
        requests = [
            shelf.run_on_index(lambda index: index.compute_sketch(SKETCH_SIZE)) for shelf in self.searchers.values()
        ]
        return dict(zip(self.searchers, await asyncio.gather(*requests), strict=True))

    async def add_feedback(self, feedback: Feedback) -> None:
        """Store the feedback in every collection."""
        for shelf in self.searchers.values():
            await asyncio.to_thread(shelf.feedback_store.add, feedback)

    async def remove_feedback(self, feedback_id: str) -> None:
        """Undo the feedback in every collection that has it."""
        for shelf in self.searchers.values():
            await asyncio.to_thread(shelf.feedback_store.remove, feedback_id)

    async def update_indexes(self, on_progress: Callable[[str, int], None] | None = None) -> int:
        """Update all indexes and return the number of added pages.

        Skips collections that another process is indexing. Calls `on_progress` with the name of a collection and the
        number of pages added so far. An error of one collection is raised after the others are updated.
        """
        added = 0
        errors: list[TopicrawlError] = []
        pending = list(self.searchers)
        while pending and not self._closed:
            for name in pending.copy():
                searcher = self.searchers.get(name)
                if searcher is None:
                    pending.remove(name)  # the collection was renamed or removed meanwhile
                    continue
                add = partial(self._indexer.index_slice, searcher.directory, searcher.index_directory)
                new = 0
                try:
                    new = await asyncio.get_running_loop().run_in_executor(self._index_thread, add)
                except TopicrawlError as error:
                    errors.append(error)  # raised after the other collections are updated
                added += new
                if on_progress is not None and new:
                    on_progress(name, added)
                if new < SLICE_SIZE:
                    pending.remove(name)  # pages added meanwhile are left to the next update
        for failure in errors:
            raise failure
        return added

    async def keep_updated(self, refresh: Callable[[], object] | None = None) -> None:
        """Update all indexes repeatedly until cancelled; log the errors of single collections.

        Calls `refresh` in a thread before each update; it may add collections.
        """
        while not self._closed:
            started = time.monotonic()
            try:
                if refresh is not None:
                    await asyncio.to_thread(refresh)
                await self.update_indexes()
            except TopicrawlError as error:
                log.warning("cannot update search index: %s", error)
            await asyncio.sleep(min(max(_MIN_PAUSE, _PAUSE_RATIO * (time.monotonic() - started)), _MAX_PAUSE))

    async def close(self) -> None:
        """Stop indexing and close all collections."""
        self._closed = True
        self._indexer.stop()
        await asyncio.get_running_loop().run_in_executor(self._index_thread, self._indexer.close)
        self._index_thread.shutdown()
        for shelf in self.searchers.values():
            await asyncio.to_thread(shelf.close)
