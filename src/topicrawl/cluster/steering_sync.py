"""Steering of a shared crawl: annotations and commands given to one worker reach all workers and all waiting links.

    :said      stream   annotations and commands, for the lifetime of the crawl; workers that join later read them all
    :guided    hash     id of the last message that was applied to the waiting links, and how many links it moved

A message takes effect one second after it was written, by the clock of the server, so that all workers apply it at the
same moment. The score of a link found before that moment contains the old feedback, the score of a link found later
contains the new one. One worker then rescores the links found before. If it dies, another worker does.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field
from math import inf
from typing import Any, NamedTuple

from msgspec import convert

from topicrawl.cluster.model_sync import compress_json, decompress_json, parse_stream_id
from topicrawl.collection import annotations as annotation_log
from topicrawl.collection import commands
from topicrawl.collection.annotations import Annotation
from topicrawl.collection.commands import CommandKind
from topicrawl.collection.page_loader import reload_page
from topicrawl.engine.periodic_task import PeriodicTask
from topicrawl.engine.steering import AppliedFeedback, Steering
from topicrawl.engine.user_feedback import UserFeedback
from topicrawl.frontier.redis.frontier import RedisFrontierReader
from topicrawl.frontier.redis.shared_crawl import PAUSED, RUNNING, SharedCrawl
from topicrawl.frontier.redis.waiting_links import get_last_number, iter_waiting
from topicrawl.models import JsonValue, Link, Page

log = logging.getLogger("topicrawl")

_EFFECT_DELAY = 1.0  # seconds between a message and its effect: every worker has read it by then
_LOCK_SECONDS = 30  # lifetime of the rescoring lock in seconds, which the worker renews
_MIN_SCORE_CHANGE = 1e-9  # smaller changes of a score are ignored
_MAX_PAGE_WORDS = 1000  # words of an annotated page in a message; relevance models use fewer

#: Annotation or command, as JSON values.
SteeringMessage = dict[str, Any]


class PublishedFeedback(AppliedFeedback, frozen=True):
    """Numbers of the last annotation and the last command that a worker has published: the fact `told`."""

    said: str = ""  # id of a message that may not have been sent


class _SteeringChange(NamedTuple):
    """Messages that took effect at one moment."""

    message_id: str  # id of the last message
    last_link: int  # sequence number of the last link whose score does not contain the change yet
    messages: Sequence[SteeringMessage]


@dataclass
class FeedbackState:
    """User feedback, and the annotations that it contains."""

    feedback: UserFeedback
    annotations: dict[int, SteeringMessage] = field(default_factory=dict)  # page → its current annotation

    def copy(self) -> FeedbackState:
        """Return an independent copy."""
        return FeedbackState(self.feedback.take_snapshot(), copy(self.annotations))

    def apply_message(self, message: SteeringMessage) -> SteeringMessage | None:
        """Apply an annotation, a boost or a word to the feedback; ignore other commands.

        Return the annotation of the same page that it replaces, or None.
        """
        target, amount = message.get("target", ""), message.get("amount", 0.0)
        if message["kind"] == CommandKind.BOOST:
            self.feedback.boosts[target] = amount
        elif message["kind"] == CommandKind.WORD:
            self.feedback.words[target] = amount
            if not amount:
                del self.feedback.words[target]
        elif message["kind"] == "verdict":
            previous = self.annotations.pop(message["page"], None)
            if previous is not None:
                self._count_annotation(previous, -1)
            if message["relevant"] is not None:
                self.annotations[message["page"]] = message
                self._count_annotation(message, 1)
            return previous
        return None

    def _count_annotation(self, message: SteeringMessage, count: int) -> None:
        """Add an annotation to the feedback (`count` = 1) or remove it (`count` = -1)."""
        url, source, anchor = message["link"]
        link = Link(url, source, anchor)
        self.feedback.add_annotation(link, relevant=message["relevant"], title=message["title"], count=count)


@dataclass(kw_only=True)
class SharedSteering(Steering):
    """Steering of a shared crawl: publish the messages given to this worker, and apply those of all workers."""

    shared: SharedCrawl
    worker: str
    _last_message_id: str = "0-0"
    _pending_message_id: str = ""  # id of the last local message that is not applied to the waiting links yet
    _clock_offset: float = 0.0  # seconds by which the clock of the server is ahead
    _scheduled_messages: list[tuple[str, SteeringMessage]] = field(
        default_factory=list
    )  # messages by id that are not in effect yet
    _pending_changes: list[_SteeringChange] = field(
        default_factory=list
    )  # in effect, but not applied to the waiting links yet

    def __post_init__(self) -> None:
        super().__post_init__()
        # Rescoring millions of links takes a while: a separate task, so that new messages are still read.
        self._rescoring = PeriodicTask(self._rescore_pending_changes, self.interval, name="rescoring")
        self._tasks.insert(0, self._rescoring)  # the tasks are stopped in reverse order
        self._current_feedback = FeedbackState(self.user_feedback)
        self._applied_feedback = FeedbackState(
            self.user_feedback.take_snapshot()
        )  # feedback in the scores of the waiting links

    @property
    def _reader(self) -> RedisFrontierReader:
        return RedisFrontierReader(self.shared.connection, self.shared.key_prefix)

    def _get_poll_interval(self) -> float:
        """Return the seconds until the next check for messages, or until the next message takes effect."""
        due = min(
            (_effective_time(message_id) - self._clock_offset for message_id, _ in self._scheduled_messages),
            default=inf,
        )
        return max(0.01, min(self.interval, due - self.clock()))

    async def _poll_changes(self) -> None:
        """Publish the local messages, and apply the messages of all workers that are due.

        Do nothing while a visit is being processed.
        """
        # The feedback must not change while a page is being processed.
        if self.crawl.is_at_visit_boundary:
            if self._has_changed():
                await self.apply_updates()
            await self._receive_messages()
            await self._apply_due_messages()

    async def _catch_up(self) -> None:
        """Apply all messages so far, then publish the local messages since this worker stopped."""
        published = convert(self.collection.store.get_fact("told") or {}, PublishedFeedback, strict=False)
        self._last_annotation, self._last_command = published.verdict, published.order
        self._pending_message_id = published.said
        await self._receive_messages()
        # A stop command was meant for the workers that were running then.
        self._scheduled_messages = [
            (message_id, message)
            for message_id, message in self._scheduled_messages
            if message["kind"] != CommandKind.STOP
        ]
        applied = parse_stream_id(await self._get_applied_id())
        past = [
            (message_id, message)
            for message_id, message in self._scheduled_messages
            if parse_stream_id(message_id) <= applied
        ]
        for _, message in past:
            self._applied_feedback.apply_message(message)
            self._apply_message(message)
        self._scheduled_messages = self._scheduled_messages[len(past) :]
        await self._apply_due_messages()
        await self.apply_updates(started=self.clock())

    # Publish local messages

    async def apply_updates(self, *, started: float = -inf) -> None:
        """Publish the annotations and commands given to this worker since the last check.

        Pause, resume, seed and block commands change the shared crawl at once. The others take effect later on all
        workers.
        """
        store, out, before = self.collection.store, [], (self._last_annotation, self._last_command)
        for verdict in annotation_log.list_annotations_since(store, self._last_annotation):
            if (message := self._build_annotation_message(verdict)) is not None:
                out.append(message)
            self._last_annotation = verdict.number
        for order in commands.list_commands(store, after=self._last_command):
            self._last_command = order.number
            if order.kind in (CommandKind.PAUSE, CommandKind.RESUME, CommandKind.STOP) and order.at < started:
                continue
            if order.kind in (CommandKind.PAUSE, CommandKind.RESUME):
                await self.shared.set_state(PAUSED if order.kind == CommandKind.PAUSE else RUNNING)
                store.set_facts({"paused": order.kind == CommandKind.PAUSE})
            elif order.kind in (CommandKind.SEED, CommandKind.BLOCK):
                await self._execute_command(order)  # directly, because all workers share the frontier
            else:
                out.append({"kind": order.kind, "target": order.target, "amount": order.amount})
        for message in out:
            message_id = await self.shared.connection.execute(
                "XADD", f"{self.shared.key_prefix}:said", "*", "said", compress_json(message)
            )
            self._pending_message_id = message_id.decode()
        if self._last_annotation != before[0]:
            self._recount_relevant()
        if (self._last_annotation, self._last_command) != before:
            numbers: dict[str, JsonValue] = {"verdict": self._last_annotation, "order": self._last_command}
            store.set_facts({"told": {**numbers, "said": self._pending_message_id}})
            if not self._pending_message_id:
                # All commands took effect in the frontier directly.
                store.set_facts({"heeded": {**numbers, "links": 0, "at": self.clock(), "seconds": 0.0}})
            self.crawl.wake()

    def _build_annotation_message(self, verdict: Annotation) -> SteeringMessage | None:
        """Build the message of an annotation, with the words of the page because other workers do not have it.

        Return None if this worker has no visit of the page.
        """
        row = self.collection.store.find_visit(verdict.url)
        if row is None:
            return None
        page = (
            reload_page(self.collection.archive, row, self.crawl.context.parse)
            if verdict.is_relevant is not None
            else None
        )
        return {
            "kind": "verdict",
            "page": verdict.page,
            "relevant": verdict.is_relevant,
            "title": self._get_title(row),
            "link": [row.url, row.link.source, row.link.anchor],
            "words": None if page is None else list(page.words[:_MAX_PAGE_WORDS]),
            "language": page.language if page else "",
        }

    # Apply messages

    async def _receive_messages(self) -> None:
        """Read the new messages of all workers into `_scheduled_messages`, and update the clock offset."""
        more = True
        while more:
            requests: list[tuple[str | bytes | float, ...]] = [
                ("TIME",),
                ("XREAD", "COUNT", 200, "STREAMS", f"{self.shared.key_prefix}:said", self._last_message_id),
            ]
            (seconds, micros), streams = await self.shared.connection.execute_all(requests)
            self._clock_offset = int(seconds) + int(micros) / 1e6 - self.clock()
            entries = streams[0][1] if streams else []
            more = len(entries) == 200
            for message_id, fields in entries:
                self._last_message_id = message_id.decode()
                message: Any = decompress_json(fields[1])
                self._scheduled_messages.append((self._last_message_id, message))

    async def _apply_due_messages(self) -> None:
        """Apply the messages that are due to the feedback of this worker, and queue them for the waiting links."""
        now = self.clock() + self._clock_offset
        due = [
            (message_id, message)
            for message_id, message in self._scheduled_messages
            if _effective_time(message_id) <= now
        ]
        if not due:
            return
        until = await get_last_number(self._reader)
        self._scheduled_messages = self._scheduled_messages[len(due) :]
        for _, message in due:
            self._apply_message(message)
        self._pending_changes.append(_SteeringChange(due[-1][0], until, [message for _, message in due]))
        self._rescoring.wake()
        self.crawl.wake()

    def _apply_message(self, message: SteeringMessage) -> None:
        """Apply a message to the current feedback, the topic and the relevance model. A stop interrupts this worker."""
        if message["kind"] == CommandKind.WORD:
            self._apply_words({message["target"]: message["amount"]})
            return
        previous = self._current_feedback.apply_message(message)
        if message["kind"] == CommandKind.STOP:
            self.crawl.interrupt()
        elif message["kind"] == "verdict":
            url = message["link"][0]
            forget = getattr(self.relevance, "forget", None)  # optional for the relevance model of a plugin
            if previous is not None and forget is not None:
                forget(url)
            if message["relevant"] is not None and message["words"] is not None:
                page = Page(url, message["title"], words=tuple(message["words"]), language=message["language"])
                self.relevance.learn(page, message["relevant"])

    # Rescore waiting links

    async def _get_applied_id(self) -> str:
        """Return the id of the last message that was applied to the waiting links, "0-0" if none was."""
        message_id = await self.shared.connection.execute("HGET", f"{self.shared.key_prefix}:guided", "number")
        return "0-0" if message_id is None else str(message_id.decode())

    async def _rescore_pending_changes(self) -> None:
        """Rescore the waiting links for each pending annotation or command, and record this in Redis.

        Only the worker that holds the lock in Redis does this. For the others, the changes stay pending until the lock
        is free or another worker has applied them.
        """
        lock, server = f"{self.shared.key_prefix}:guided:turn", self.shared.connection
        while (
            self._pending_changes
            and await server.execute("SET", lock, self.worker, "NX", "EX", _LOCK_SECONDS) is not None
        ):
            started, moved = self.clock(), 0
            await self._drop_applied_changes()
            if self._pending_changes:
                change = self._pending_changes[0]
                after = self._applied_feedback.copy()
                for message in change.messages:
                    after.apply_message(message)
                moved = await self._rescore_links(after.feedback, change.last_link, lock)
                facts = {"number": change.message_id, "links": str(moved), "seconds": repr(self.clock() - started)}
                await server.execute(
                    "HSET", f"{self.shared.key_prefix}:guided", *(text for pair in facts.items() for text in pair)
                )
                log.info("applied %d annotations and commands: %d links rescored", len(change.messages), moved)
                await self._drop_applied_changes()
            await server.execute("DEL", lock)
        await self._record_applied()

    async def _drop_applied_changes(self) -> None:
        """Drop the pending annotations and commands that any worker has applied to the waiting links.

        `_applied_feedback` then contains them.
        """
        applied = parse_stream_id(await self._get_applied_id())
        while self._pending_changes and parse_stream_id(self._pending_changes[0].message_id) <= applied:
            for message in self._pending_changes.pop(0).messages:
                self._applied_feedback.apply_message(message)

    async def _rescore_links(self, after: UserFeedback, until: int, lock: str) -> int:
        """Rescore the waiting links found up to the sequence number `until` for the feedback `after`.

        Renew the lock meanwhile, and return how many scores changed.
        """
        moved = 0
        before = self._applied_feedback.feedback
        async for entries in iter_waiting(self._reader, until):
            scores = {
                entry.link.url: score
                for entry in entries
                if abs((score := after.update_score(entry.link, entry.priority.score, before)) - entry.priority.score)
                > _MIN_SCORE_CHANGE
            }
            moved += await self.crawl.context.frontier.rescore(scores) if scores else 0
            await self.shared.connection.execute("EXPIRE", lock, _LOCK_SECONDS)
        return moved

    async def _record_applied(self) -> None:
        """Record in the collection that the local messages are applied to the waiting links, as soon as they are."""
        if not self._pending_message_id:
            return
        names = ("number", "links", "seconds")
        number, links, seconds = await self.shared.connection.execute(
            "HMGET", f"{self.shared.key_prefix}:guided", *names
        )
        if number is None or parse_stream_id(number.decode()) < parse_stream_id(self._pending_message_id):
            return
        self._pending_message_id = ""
        self.collection.store.set_facts(
            {
                "heeded": {
                    "verdict": self._last_annotation,
                    "order": self._last_command,
                    "links": int(links),
                    "at": self.clock(),
                    "seconds": round(float(seconds), 3),
                },
                "told": {"verdict": self._last_annotation, "order": self._last_command, "said": ""},
            }
        )


def _effective_time(message_id: str) -> float:
    """Return the time when a message takes effect, by the clock of the server.

    >>> _effective_time("1700000000500-0")
    1700000001.5
    """
    return parse_stream_id(message_id)[0] / 1000 + _EFFECT_DELAY
