"""Steer a running crawl: apply the annotations and commands that other processes write to its collection.

A background task checks twice a second whether the database has changed, which takes a microsecond. Annotations train
the relevance model, and the scores of all waiting links are updated. The fact `heeded` contains the numbers of the last
annotation and the last command that are included in the scores of the frontier.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from math import inf
from time import time
from types import TracebackType
from typing import Protocol, Self, cast

from msgspec import Struct, convert, structs

from topicrawl.collection import annotations as annotation_log
from topicrawl.collection import commands, queries
from topicrawl.collection.annotations import Annotation, AnnotationLabel
from topicrawl.collection.commands import CommandKind, CrawlCommand
from topicrawl.collection.directory import Collection
from topicrawl.collection.page_loader import reload_page
from topicrawl.collection.store import StoredVisit
from topicrawl.engine.crawl import Crawl, build_seed_links
from topicrawl.engine.periodic_task import PeriodicTask
from topicrawl.engine.user_feedback import UserFeedback
from topicrawl.errors import TopicError
from topicrawl.frontier.sqlite.reader import SqliteFrontierReader, open_reader
from topicrawl.models import JsonValue, Page
from topicrawl.relevance.base import Relevance, SupportsForget
from topicrawl.settings import parse_seed_urls
from topicrawl.strategies.base import Strategy
from topicrawl.topic import Topic

log = logging.getLogger("topicrawl")

_POLL_SECONDS = 0.5  # seconds between two checks for changes
_RESCORE_BATCH = 500  # links that are rescored before the event loop runs other tasks
_MIN_SCORE_CHANGE = 1e-9  # smaller score changes are ignored
_MAX_UPDATE_SHARE = 0.05  # share of the time that the updates requested by this process may take
REVIEWER_WEIGHT = 0.5  # weight of a verdict of the reviewer, compared with a user's, for judges that support weights


class AppliedFeedback(Struct, frozen=True):
    """Numbers of the last annotation and the last command that a crawl has applied: the fact `heeded`."""

    verdict: int = 0
    order: int = 0


class SupportsWeight(Protocol):
    """Relevance model whose method `learn` has a parameter `weight`."""

    def learn(self, page: Page, relevant: bool, *, weight: float) -> None:
        """Learn from an annotation with a weight; a user's annotation has the weight 1."""


@dataclass
class Steering:
    """Background task that applies annotations and commands. `async with` catches up, starts the task and stops it."""

    collection: Collection
    crawl: Crawl
    user_feedback: UserFeedback
    relevance: Relevance
    interval: float = _POLL_SECONDS
    clock: Callable[[], float] = time
    _last_annotation: int = 0  # number of the last applied annotation
    _last_command: int = 0  # number of the last applied command
    _data_version: int = -1  # last seen PRAGMA data_version
    _applied_annotations: dict[int, Annotation] = field(
        default_factory=dict
    )  # page id → annotation that the model learned from
    _is_update_requested: bool = False
    _next_requested_update: float = 0.0  # time before which requested updates wait

    def __post_init__(self) -> None:
        self._tasks = [PeriodicTask(self._poll_changes, self._get_poll_interval, name="steering")]
        self._running_tasks = AsyncExitStack()

    async def __aenter__(self) -> Self:
        await self._catch_up()
        for task in self._tasks:
            await self._running_tasks.enter_async_context(task)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._running_tasks.__aexit__(kind, error, trace)

    def request_update(self) -> None:
        """Apply the annotations that this process has added, at one of the next checks.

        An update rescores all waiting links. Requests wait so that updates take a small share of the time.
        """
        self._is_update_requested = True

    def _get_poll_interval(self) -> float:
        """Return the seconds until the next check for annotations and commands."""
        return self.interval

    async def _poll_changes(self) -> None:
        """Apply the annotations and commands since the last check, unless a visit is being processed."""
        # Scores must not change between learning from a page and completing it.
        if self.crawl.is_at_visit_boundary and self._has_changed():
            await self.apply_updates()

    def _has_changed(self) -> bool:
        """Return whether another process has written to the collection since the last call, or an update is due."""
        version = self.collection.store.query_value(int, "PRAGMA data_version")
        before, self._data_version = self._data_version, version
        if self._is_update_requested and self.clock() >= self._next_requested_update:
            self._is_update_requested = False
            return True
        return before != self._data_version

    async def _catch_up(self) -> None:
        """Restore the feedback that was applied before the crawl stopped, then apply what was added since.

        A pause or stop of the previous run no longer applies.
        """
        store = self.collection.store
        applied = convert(store.get_fact("heeded") or {}, AppliedFeedback, strict=False)
        if store.get_fact("paused") or store.get_fact("stopping"):
            store.set_facts({"paused": False, "stopping": False})  # these commands applied to the previous run
        self._last_annotation, self._last_command = applied.verdict, applied.order
        for annotation in annotation_log.list_current_annotations(store, until=self._last_annotation).values():
            self._apply_annotation(annotation)
        words: dict[str, float] = {}
        for command in commands.list_commands(store):
            if command.number <= self._last_command and command.kind in (CommandKind.BOOST, CommandKind.WORD):
                (self.user_feedback.boosts if command.kind == CommandKind.BOOST else words)[command.target] = (
                    command.amount
                )
        self._apply_words(words)
        await self.apply_updates(started=self.clock())

    async def apply_updates(self, *, started: float = -inf) -> None:
        """Apply new annotations and commands, rescore the waiting links, and record both in the fact `heeded`.

        Pause, resume and stop commands older than `started` are ignored, because they were meant for an earlier run.
        """
        store, begun = self.collection.store, self.clock()
        new_annotations = annotation_log.list_annotations_since(store, self._last_annotation)
        new_commands = commands.list_commands(store, after=self._last_command)
        if not new_annotations and not new_commands:
            return
        before = self.user_feedback.take_snapshot()
        for annotation in new_annotations:
            self._apply_annotation(annotation)
            self._last_annotation = annotation.number
        if new_annotations:
            self._recount_relevant()
        for command in new_commands:
            if command.kind not in (CommandKind.PAUSE, CommandKind.RESUME, CommandKind.STOP) or command.at >= started:
                await self._execute_command(command)
            self._last_command = command.number
        moved = await self._rescore_waiting_links(before)
        heeded: dict[str, JsonValue] = {"verdict": self._last_annotation, "order": self._last_command, "links": moved}
        store.set_facts({"heeded": {**heeded, "at": self.clock(), "seconds": round(self.clock() - begun, 3)}})
        counts = len(new_annotations), len(new_commands), moved
        log.info("applied %d annotations and %d commands: %d links rescored", *counts)
        self._next_requested_update = self.clock() + (self.clock() - begun) / _MAX_UPDATE_SHARE
        self.crawl.wake()

    # Annotations

    def _apply_annotation(self, annotation: Annotation) -> None:
        """Replace the earlier annotation of the page by this one, in the user feedback and in the relevance model.

        An annotation "unsure" or without a label only removes the earlier one. Pages without a visit are ignored.
        """
        row = self.collection.store.find_visit(annotation.url)
        if row is None:
            return
        before = self._applied_annotations.pop(annotation.page, None)
        title = self._get_title(row)
        # The link that led to the page, with the final URL of the page.
        link = structs.replace(row.link, url=row.url)
        if before is not None and before.is_relevant is not None:
            self.user_feedback.add_annotation(link, relevant=before.is_relevant, title=title, count=-1)
            if isinstance(self.relevance, SupportsForget):
                self.relevance.forget(row.url)
        if annotation.is_relevant is None:
            return
        self._applied_annotations[annotation.page] = annotation
        self.user_feedback.add_annotation(link, relevant=annotation.is_relevant, title=title)
        page = reload_page(self.collection.archive, row, self.crawl.context.parse)
        if page is not None:
            self._train_relevance(page, annotation)

    def _recount_relevant(self) -> None:
        """Count the relevant pages of the crawl again after annotations."""
        threshold = self.crawl.context.strategy.context.topic.threshold
        _, self.crawl.relevant = queries.count_relevant_pages(self.collection.store, threshold)

    def _train_relevance(self, page: Page, annotation: Annotation) -> None:
        """Let the relevance model learn from an annotation, with a lower weight if it is the reviewer's."""
        is_relevant = annotation.label == AnnotationLabel.RELEVANT
        if annotation.is_by_reviewer and "weight" in inspect.signature(self.relevance.learn).parameters:
            cast(SupportsWeight, self.relevance).learn(page, is_relevant, weight=REVIEWER_WEIGHT)
        else:
            self.relevance.learn(page, is_relevant)

    def _get_title(self, row: StoredVisit) -> str:
        titles = self.collection.store.query_rows("SELECT title FROM pages WHERE step=?", (row.step,))
        return str(titles[0][0]) if titles else ""

    # Commands

    async def _execute_command(self, command: CrawlCommand) -> None:
        """Execute one command of any kind. The caller rescores the waiting links."""
        crawl, frontier = self.crawl, self.crawl.context.frontier
        if command.kind == CommandKind.SEED:
            links = build_seed_links(parse_seed_urls([command.target]))
            await crawl.add_seeds([link for link in links if not crawl.context.link_filter.get_refusal(link)])
        elif command.kind == CommandKind.BLOCK:
            await frontier.block(command.target, inf if command.amount else 0.0)
        elif command.kind == CommandKind.BOOST:
            self.user_feedback.boosts[command.target] = command.amount
        elif command.kind == CommandKind.WORD:
            self._apply_words({command.target: command.amount})
        elif command.kind == CommandKind.STOP:
            self.collection.store.set_facts({"stopping": True})
            crawl.interrupt()
        else:
            crawl.paused = command.kind == CommandKind.PAUSE
            self.collection.store.set_facts({"paused": crawl.paused})

    def _apply_words(self, words: dict[str, float]) -> None:
        """Add words to the topic. They count for links at once and for new pages; a weight of 0 removes a word.

        If the topic would become invalid, the relevance model keeps the old words, and a warning is logged.
        """
        self.user_feedback.words.update(words)
        for word in [word for word, weight in words.items() if not weight]:
            del self.user_feedback.words[word]
        if words:
            strategy = self.crawl.context.strategy
            try:
                # The relevance model shares this object, unless it is a user-defined class.
                strategy.context.vsm.replace_topic(_extend_topic(strategy, self.user_feedback.words))
            except TopicError as error:
                log.warning("words were not added: %s", error)

    # Waiting links

    async def _rescore_waiting_links(self, before: UserFeedback) -> int:
        """Rescore all waiting links of a local frontier by the difference of the feedback to the snapshot `before`.

        Return how many scores changed. For a frontier in Redis, do nothing and return 0.
        """
        path = self.collection.directory / "frontier.sqlite"
        if not path.exists():
            return 0  # the waiting links of a Redis frontier are not rescored here; new links get the feedback
        frontier = open_reader(path)
        try:
            return await self._rescore_all(frontier, before)
        finally:
            await frontier.close()

    async def _rescore_all(self, frontier: SqliteFrontierReader, before: UserFeedback) -> int:
        count, after, end = 0, 0, await frontier.get_last_sequence()
        while after < end:
            entries = await frontier.get_waiting(_RESCORE_BATCH, after=after, until=end)
            if not entries:
                break
            after = entries[-1][0]
            scores = {
                entry.link.url: score
                for _, entry in entries
                if abs(
                    (score := self.user_feedback.update_score(entry.link, entry.priority.score, before))
                    - entry.priority.score
                )
                > _MIN_SCORE_CHANGE
            }
            count += await self.crawl.context.frontier.rescore(scores) if scores else 0
            await asyncio.sleep(0)
        return count


def _extend_topic(strategy: Strategy, words: dict[str, float]) -> Topic:
    topic = strategy.context.topic
    return replace(topic, words={**topic.words, **words})


def create_steering(collection: Collection, crawl: Crawl) -> Steering:
    """Create the steering task of a crawl whose link filter has user feedback."""
    guidance = crawl.context.link_filter.user_feedback
    assert guidance is not None
    return Steering(collection, crawl, guidance, crawl.context.relevance)
