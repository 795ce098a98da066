"""Language-model reviewer: judges the pages near the threshold during a crawl, and trains the judge with its verdicts.

In Kluev 2000, a human expert reviews the pages of which the system is not certain; the paper names a machine expert as
future work. Here, a language model with a chat completions API is this expert. A background task sends one request at
a time, newest uncertain page first, each page at most once. The verdicts are annotations with the origin `reviewer`.
Steering applies them like those of a user. The reviewer never annotates a page that a user has annotated, and a later
annotation by a user replaces its verdict.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from secrets import token_hex
from time import monotonic, time
from types import TracebackType
from typing import NamedTuple, Self

from msgspec.structs import replace

from topicrawl.collection.annotations import has_annotations, list_current_annotations
from topicrawl.collection.directory import Collection
from topicrawl.collection.reviewer_log import NO_VERDICT, CallResult, ReviewerLog
from topicrawl.engine.periodic_task import PeriodicTask
from topicrawl.engine.review_prompt import (
    ExamplePage,
    PageExcerpt,
    build_excerpt,
    build_messages,
    parse_verdict,
)
from topicrawl.engine.scheduling import OutlinkDecision
from topicrawl.engine.sinks import VisitObserver
from topicrawl.errors import DamagedError
from topicrawl.fetch.backoff import backoff_seconds
from topicrawl.fetch.chat_client import ChatClient, ChatFailure, ChatReply
from topicrawl.models import Failure, Page, ParseFunction, Visit
from topicrawl.parse.main_text import extract_main_text
from topicrawl.relevance.base import Relevance
from topicrawl.topic import Topic
from topicrawl.urls import fingerprint

log = logging.getLogger("topicrawl")

#: The odds of an uncertain page differ from those of the threshold by at most this factor: .3 to .7 for a threshold
#: of .5, and about half to twice a small threshold.
ODDS_FACTOR = 7 / 3
MAX_FAILURES = 5  # consecutive calls without a verdict after which the reviewer stops
_MAX_ATTEMPTS = 2  # calls about one page, if the endpoint is not available
_MAX_CANDIDATES = 1000  # uncertain pages that wait for a call; older ones are dropped
_MAX_EXAMPLES = 4  # examples per label and source (topic, annotations) in a prompt
_MAX_BACKOFF = 60.0  # seconds; a longer Retry-After is obeyed


class UncertaintyWindow(NamedTuple):
    """Range of the relevance in which the judge is unsure.

    >>> [round(bound, 2) for bound in UncertaintyWindow.around(0.5)]
    [0.3, 0.7]
    >>> [round(bound, 2) for bound in UncertaintyWindow.around(0.16)]
    [0.08, 0.31]
    """

    low: float
    high: float

    @classmethod
    def around(cls, threshold: float) -> UncertaintyWindow:
        """Return the window around a threshold. For a threshold of 0 or 1 it is empty: no page is uncertain."""
        if not 0 < threshold < 1:
            return cls(inf, -inf)
        odds = threshold / (1 - threshold)
        low, high = odds / ODDS_FACTOR, odds * ODDS_FACTOR
        return cls(low / (1 + low), high / (1 + high))

    def contains(self, relevance: float) -> bool:
        """Return whether a page with this relevance is uncertain."""
        return self.low <= relevance <= self.high


@dataclass
class Reviewer(VisitObserver):
    """Background task that reviews uncertain pages. `async with` starts and stops it."""

    chat: ChatClient
    reviewer_log: ReviewerLog
    collection: Collection
    topic: Topic
    relevance: Relevance
    parse: ParseFunction
    added_words: Mapping[str, float]  # words that the user has added to the topic during the crawl
    on_annotation: Callable[[], None]  # called when a page has been annotated
    retry_seconds: float = 2.0  # wait after the first failure; it doubles with each further failure
    clock: Callable[[], float] = time
    _candidates: deque[str] = field(default_factory=lambda: deque(maxlen=_MAX_CANDIDATES))  # URLs, newest last
    _attempts: Counter[str] = field(default_factory=Counter)  # URL → calls that the endpoint did not answer
    _failures: int = 0  # consecutive calls without a verdict
    _is_stopped: bool = False

    def __post_init__(self) -> None:
        self._window = UncertaintyWindow.around(self.topic.threshold)
        self._task = PeriodicTask(self._review_candidates, inf, name="reviewer")

    async def __aenter__(self) -> Self:
        self.reviewer_log.set_trouble("")
        if self.reviewer_log.calls_left:
            self._candidates.extend(self._find_stored_candidates())
        await self.chat.__aenter__()
        await self._task.__aenter__()
        self._task.wake()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await self._task.__aexit__(kind, error, trace)
        finally:
            await self.chat.__aexit__(kind, error, trace)

    def observe_visit(self, visit: Visit, outlinks: Sequence[OutlinkDecision]) -> None:
        """Add an uncertain page to the candidates."""
        if self._is_stopped or visit.failure is not None or visit.relevance is None:
            return
        if self._window.contains(visit.relevance):
            self._candidates.append(visit.url)
            self._task.wake()

    def _find_stored_candidates(self) -> list[str]:
        """Return the URLs of the uncertain pages of earlier runs, newest last."""
        sql = "SELECT url FROM visits WHERE failure IS NULL AND relevance BETWEEN ? AND ? ORDER BY step DESC LIMIT ?"
        rows = self.collection.store.query_typed_rows(tuple[str], sql, (*self._window, _MAX_CANDIDATES))
        return [url for (url,) in reversed(rows)]

    async def _review_candidates(self) -> None:
        """Review the candidates, newest first, until none is left or the reviewer stops."""
        while self._candidates and not self._is_stopped:
            if not self.reviewer_log.calls_left:
                log.info("the reviewer has used its %d calls", self.reviewer_log.limit)
                self._stop()
                return
            url = self._candidates.pop()
            excerpt = self._load_excerpt(url)
            if excerpt is not None:
                await self._review_page(excerpt)
            await asyncio.sleep(0)

    def _load_excerpt(self, url: str) -> PageExcerpt | None:
        """Return the excerpt of a page; None if it must not be reviewed, is no longer uncertain or is unreadable."""
        store = self.collection.store
        if has_annotations(store, url) or self.reviewer_log.is_reviewed(url):
            return None
        row = store.find_visit(url)
        if row is None or row.location is None or row.url != url:
            return None
        try:
            stored = self.collection.archive.read_response(row.location)
        except DamagedError as error:
            log.warning("cannot read %s from the archive: %s", url, error)
            return None
        response = replace(stored, url=row.requested, final_url=row.url)
        page = self.parse(response, row.link)
        # The judge has learned since the page was fetched, so it may be sure now.
        if not isinstance(page, Page) or not self._window.contains(self.relevance.score(page)):
            return None
        text = extract_main_text(response)
        text = page.text if isinstance(text, Failure) else text
        return build_excerpt(url, page.title, text, self._get_words(), self.topic)

    def _get_words(self) -> dict[str, float]:
        """Return the words of the topic in all languages, with those that the user has added."""
        return {**self.topic.all_words, **self.added_words}

    async def _review_page(self, page: PageExcerpt) -> None:
        """Send one request about a page, and record the result."""
        messages = build_messages(
            self.topic, page, list(self._iterate_examples()), words=self._get_words(), boundary=token_hex(8)
        )
        number, started = self.reviewer_log.begin_call(page.url, self.chat.model, at=self.clock()), monotonic()
        reply = await self.chat.complete(messages)
        result = _build_result(reply, monotonic() - started)
        is_annotated = self.reviewer_log.finish_call(number, page.url, result, at=self.clock())
        if result.confidence is not None:
            self._failures = 0
            log.info("the reviewer finds %s %s (%.2f): %s", page.url, result.outcome, result.confidence, result.reason)
            if is_annotated:
                self.on_annotation()
        else:
            await self._handle_failure(page.url, reply, result.reason)

    async def _handle_failure(self, url: str, reply: ChatReply, reason: str) -> None:
        """Stop after a refusal or too many failures; otherwise wait, and queue the page again if that may help."""
        self._failures += 1
        if reply.failure == ChatFailure.REFUSED:
            advice = "check --reviewer, --reviewer-model and TOPICRAWL_REVIEWER_KEY"
            self._stop(f"the reviewer endpoint refuses requests ({reason}): {advice}")
        elif self._failures >= MAX_FAILURES:
            self._stop(f"{self._failures} calls to the reviewer in a row gave no verdict; the last one: {reason}")
        elif reply.failure == ChatFailure.UNAVAILABLE:
            self._attempts[url] += 1
            if self._attempts[url] < _MAX_ATTEMPTS and len(self._candidates) < _MAX_CANDIDATES:
                self._candidates.appendleft(url)
            await asyncio.sleep(
                backoff_seconds(self._failures, reply.response, base=self.retry_seconds, cap=_MAX_BACKOFF)
            )

    def _stop(self, trouble: str = "") -> None:
        """Send no further requests in this run. Log and store the trouble, if any."""
        self._is_stopped = True
        self._candidates.clear()
        if trouble:
            log.warning("%s; the crawl continues without the reviewer", trouble)
            self.reviewer_log.set_trouble(trouble)

    def _iterate_examples(self) -> Iterator[ExamplePage]:
        """Yield the example pages of the topic, and the last pages that users have annotated."""
        for relevant, urls in ((True, self.topic.relevant), (False, self.topic.irrelevant)):
            yield from (ExamplePage(url, "", relevant) for url in urls[:_MAX_EXAMPLES])
        counts: Counter[bool] = Counter()
        for annotation in reversed(list_current_annotations(self.collection.store).values()):
            relevant_label = annotation.is_relevant
            if relevant_label is None or annotation.is_by_reviewer or counts[relevant_label] >= _MAX_EXAMPLES:
                continue
            counts[relevant_label] += 1
            sql = "SELECT title FROM pages WHERE id=?"
            rows = self.collection.store.query_typed_rows(tuple[str], sql, (fingerprint(annotation.url),))
            yield ExamplePage(annotation.url, rows[0][0] if rows else "", relevant_label)


def _build_result(reply: ChatReply, seconds: float) -> CallResult:
    """Return the result of a call: the verdict in the reply, or the reason why there is none."""
    if reply.failure is not None:
        return CallResult(reply.failure, None, reply.detail, seconds=seconds)
    verdict = parse_verdict(reply.text)
    tokens = (reply.tokens_in, reply.tokens_out)
    if verdict is None:
        return CallResult(NO_VERDICT, None, "the reply contains no valid verdict", *tokens, seconds)
    return CallResult(verdict.label, verdict.confidence, verdict.reason, *tokens, seconds)
