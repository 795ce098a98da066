"""Data of a collection that takes long to compute, kept between requests and updated when the collection changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock, RLock
from time import monotonic
from typing import Any, TypeVar

from topicrawl.collection import annotations as annotation_log
from topicrawl.collection import commands
from topicrawl.collection.annotations import Annotation
from topicrawl.collection.commands import CommandKind
from topicrawl.collection.review_index import ReviewIndex
from topicrawl.collection.store import CollectionStore
from topicrawl.engine.user_feedback import UserFeedback
from topicrawl.models import Link
from topicrawl.topic import Topic

Value = TypeVar("Value")
_MAX_AGE = 2.0  # seconds that a computed value may be older than a collection that changes all the time
_MAX_VALUES = 40  # values of a collection; the filters of the table of pages are among their names
_SELECT_STATE = (
    "SELECT (SELECT coalesce(max(step), 0) FROM visits), (SELECT coalesce(max(number), 0) FROM annotations),"
    " (SELECT count(*) FROM revisits)"
)
# Links and titles of annotated pages, with the number of the annotation.
_SELECT_ANNOTATED = """
    SELECT a.number, v.requested, v.source, v.anchor, v.depth, p.title FROM annotations a
    JOIN pages p ON p.id = a.page JOIN visits v ON v.step = p.step WHERE a.number > ? ORDER BY a.number
"""


class FeedbackIndex:
    """User feedback of a collection in the form that a crawl uses, updated with each new annotation."""

    def __init__(self, topic: Topic) -> None:
        self.feedback = UserFeedback(topic.lexicon, topic.tokens)
        self._counted: dict[int, tuple[Link, str, bool]] = {}  # page id → link, title and label that are counted
        self._last = 0

    def update(self, store: CollectionStore) -> UserFeedback:
        """Add the annotations since the last call, and return the feedback."""
        rows = annotation_log.list_annotations_since(store, self._last)
        if rows:
            links = {
                number: (Link(url, source, anchor, depth=depth), title)
                for number, url, source, anchor, depth, title in store.iterate_typed_rows(
                    tuple[int, str, str, str, int, str], _SELECT_ANNOTATED, (self._last,)
                )
            }
            for row in {row.page: row for row in rows}.values():
                self._replace_annotation(row, links.get(row.number))
            self._last = rows[-1].number
        self.feedback.boosts = commands.get_current_amounts(store, CommandKind.BOOST)
        self.feedback.words = commands.get_current_amounts(store, CommandKind.WORD)
        return self.feedback

    def _replace_annotation(self, row: Annotation, page: tuple[Link, str] | None) -> None:
        counted = self._counted.pop(row.page, None)
        if counted is not None:
            self.feedback.add_annotation(counted[0], relevant=counted[2], title=counted[1], count=-1)
        if page is not None and row.is_relevant is not None:
            self._counted[row.page] = (*page, row.is_relevant)
            self.feedback.add_annotation(page[0], relevant=row.is_relevant, title=page[1])


class CollectionCache:
    """Derived data of one collection. The lock serialises the requests that use it."""

    def __init__(self) -> None:
        self.lock = RLock()
        self._review: ReviewIndex | None = None
        self._feedback: FeedbackIndex | None = None
        self._topic_words: frozenset[str] = frozenset()
        self._values: dict[str, tuple[tuple[int, ...], float, Any]] = {}

    @contextmanager
    def use_review(self, store: CollectionStore, topic: Topic) -> Iterator[ReviewIndex]:
        """Yield the review groups in their current state; no other thread uses them meanwhile."""
        with self.lock:
            if self._review is None or self._review.threshold != topic.threshold:
                self._review = ReviewIndex(topic.threshold)
            self._review.update(store)
            yield self._review

    def get_feedback(self, store: CollectionStore, topic: Topic) -> UserFeedback:
        """Return the user feedback in its current state."""
        with self.lock:
            if self._feedback is None or self._topic_words != topic.tokens:
                self._feedback, self._topic_words = FeedbackIndex(topic), topic.tokens
            return self._feedback.update(store)

    def compute(
        self, name: str, store: CollectionStore, function: Callable[[], Value], *, max_age: float = _MAX_AGE
    ) -> Value:
        """Return the value of a function of the pages and annotations, from the cache if these have not changed.

        While a crawl adds pages, the value may be `max_age` seconds old, but never older than the last annotation. Of
        too many values, the least recently used one is dropped.
        """
        state = store.query_typed_rows(tuple[int, int, int], _SELECT_STATE)[0]
        with self.lock:
            cached = self._values.get(name)
            if cached is not None:
                is_recent = cached[0][1] == state[1] and monotonic() - cached[1] < max_age
                if cached[0] == state or is_recent:
                    value: Value = cached[2]
                    self._values[name] = self._values.pop(name)
                    return value
            value = function()
            self._values.pop(name, None)
            self._values[name] = (state, monotonic(), value)
            if len(self._values) > _MAX_VALUES:
                del self._values[next(iter(self._values))]
            return value


class CollectionCaches:
    """The caches of all collections of a server, by directory."""

    def __init__(self) -> None:
        self._caches: dict[Path, CollectionCache] = {}
        self._lock = Lock()

    def get(self, directory: Path) -> CollectionCache:
        """Return the cache of the collection in a directory."""
        with self._lock:
            return self._caches.setdefault(directory, CollectionCache())

    def drop(self, directory: Path) -> None:
        """Forget a collection that was removed or renamed."""
        with self._lock:
            self._caches.pop(directory, None)
