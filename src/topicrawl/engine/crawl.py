"""The crawl loop: lease → fetch → parse → judge → score → store → complete.

1. The **topic** and the strategy are ready; the seeds have been added to the frontier.
2. The **frontier** leases the best links whose hosts may be requested now.
3. **Fetch** requests the page as robots.txt and the crawl delay allow. A failure is a named value.
4. **Parse** turns the response into a page: text, words, and links with their context. Documents are converted
   first, and costly pages are parsed, outside the event loop. Each member of an archive is a separate page.
5. **Relevance** computes the relevance of the page to the topic. The result is a **visit**.
6. The **strategy** learns from the visit and gives every link of the page that the link filter permits a priority.
7. The **sink** stores the visit: in a live crawl, in the archive and the database.
8. The frontier marks the link as **complete** and adds the links of the page, in one transaction. Pages that arrive
   together go through steps 7 and 8 together.

After a crash before step 8 the page is fetched again. No link is lost. An exception in steps 4 to 6 is a failure of the
page: it is fetched again until it has no attempts left.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from math import inf

from msgspec.structs import replace

from topicrawl.engine import page_processing
from topicrawl.engine.context import CrawlContext
from topicrawl.engine.focus import FocusPolicy
from topicrawl.engine.lease_filter import LeaseFilter
from topicrawl.engine.limits import CrawlLimits, StopReason
from topicrawl.engine.retries import RetryPolicy
from topicrawl.engine.scheduling import Outlinks, build_offers, list_score_parts, score_outlinks
from topicrawl.engine.sinks import ProcessedVisit
from topicrawl.errors import SpaceError, TopicrawlError
from topicrawl.frontier.base import FETCHED, Completion, Lease, LeaseLimits, Offer
from topicrawl.models import Failure, Link, Page, PageJudgement, ParsedResponse, Priority, Response, Visit
from topicrawl.relevance.base import BuildsJudgements, LearnsFromPages, build_score_judgement

log = logging.getLogger("topicrawl")

_POLL_SECONDS = 0.05  # minimum seconds between two checks for links that can be leased
_RECHECK_SECONDS = 1.0  # maximum seconds between two checks whether poor links may be fetched
_BATCH_SIZE = 16  # maximum number of pages that are stored in one transaction
_LARGE_BODY_BYTES = 50_000  # size of a body from which other tasks run between the steps of a page
_BATCH_SECONDS = 0.1  # a batch ends after this time, so that other tasks of the event loop can run
#: Stop reasons after which the running fetches have a grace period.
_REASONS_WITH_GRACE = (StopReason.TIME, StopReason.INTERRUPTED, StopReason.FINISHED, StopReason.FOUND)


@dataclass(slots=True)
class _Arrival:
    """Result of a fetch: the response, and the members if it is an archive. Costly pages are parsed already."""

    lease: Lease
    main: ParsedResponse
    members: Sequence[tuple[Link, ParsedResponse]]


@dataclass
class Crawl:
    """One crawl. Iterate with `async for visit in crawl.visits()`; afterwards `stop_reason` says why it ended."""

    context: CrawlContext
    limits: CrawlLimits
    step: int = 0  # visits of earlier runs
    pages: int = 0  # pages of earlier runs
    relevant: int = 0  # relevant pages of earlier runs
    relevant_elsewhere: int = 0  # relevant pages of the other workers
    stop_reason: StopReason | None = None
    paused: bool = False  # while True, running fetches finish and no new ones start
    #: Called with every response, in the order of arrival. Observers are added before `visits` is called.
    response_observers: list[Callable[[Response], None]] = field(default_factory=list)
    applied_deltas: int = 0  # number of model deltas applied from other workers
    is_at_visit_boundary: bool = True  # False while the strategy has learned from a visit that is not complete yet
    _leases: dict[int, Lease] = field(default_factory=dict)  # leased links by token, queued or being fetched
    _leased_at: dict[int, float] = field(default_factory=dict)  # lease times by token
    _queue: deque[Lease] = field(default_factory=deque)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)
    _arrivals: deque[_Arrival] = field(default_factory=deque)
    _processing: list[Lease] = field(default_factory=list)  # leases of the pages that are being processed
    _wake: asyncio.Event = field(default_factory=asyncio.Event)
    _interrupt_reason: StopReason | None = None
    _deadline: float = inf
    _grace_ends_at: float = inf  # when the grace period of the running fetches ends
    _fetch_error: BaseException | None = None  # exception of a fetch function; failed fetches do not raise

    def __post_init__(self) -> None:
        self.retry_policy = RetryPolicy(self.context, self.limits)
        relevance = self.context.relevance
        # Checking a protocol takes 15 µs, so it is not repeated for each page.
        self._learner = relevance if isinstance(relevance, LearnsFromPages) else None
        self._judgement_builder = relevance if isinstance(relevance, BuildsJudgements) else None
        # A share of 1 does not limit poor links, so no link needs to be called poor.
        self._focus = self.limits.focus if self.limits.poor_share < 1 and self.context.strategy.is_focused else 0.0
        self._focus_policy = FocusPolicy(self.limits.poor_share)
        self._lease_filter = LeaseFilter()

    @property
    def last_failure(self) -> str:
        """Description of the last failed attempt that the crawler will repeat."""
        return self.retry_policy.last_failure

    def interrupt(self, reason: StopReason = StopReason.INTERRUPTED) -> None:
        """Stop after the running fetches finish. May be called from a signal handler of the event loop."""
        self._interrupt_reason = self._interrupt_reason or reason
        self._wake.set()

    def wake(self) -> None:
        """Wake the crawl loop after a change of the frontier or of `paused`."""
        self._wake.set()

    @property
    def in_flight(self) -> int:
        """Number of running fetches."""
        return len(self._tasks)

    async def add_seeds(self, links: Sequence[Link]) -> int:
        """Add seeds to the frontier, except those it already contains. Return the number of new ones."""
        # The strategy may have lowered the score of a known seed; a new offer would raise it again.
        links = [link for link in links if await self.context.frontier.get_entry(link.url) is None]
        priorities = self.context.strategy.score_seeds(links)
        return await self.context.frontier.add(
            [Offer(link, priority) for link, priority in zip(links, priorities, strict=True)]
        )

    async def visits(self) -> AsyncIterator[Visit]:
        """Run the crawl and yield every completed visit."""
        if self.limits.seconds:
            self._deadline = self.context.clock() + self.limits.seconds
        try:
            while True:
                self._wake.clear()
                while self._arrivals and not self._get_reached_goal():
                    for visit in await self._process_batch():
                        yield visit
                    await asyncio.sleep(0)
                if self._fetch_error is not None:
                    raise self._fetch_error
                await self._start_fetches()
                if not self._tasks and not self._arrivals and not self._is_paused() and await self._is_finished():
                    return
                if self._must_abandon_fetches():
                    return
                if not self._arrivals:
                    await self._wait_for_event()
        except SpaceError:
            self.stop_reason = StopReason.SPACE
            raise
        finally:
            await self.close()

    # Leasing and fetching

    def _get_stop_reason(self) -> StopReason | None:
        """Return the reason why no further fetch may start, counting the running fetches; None if one may."""
        out = self._count_expected_visits()
        if self._interrupt_reason:
            return self._interrupt_reason
        if self._get_reached_goal() is StopReason.RELEVANT:
            return StopReason.RELEVANT
        if self.limits.pages and self.pages + out >= self.limits.pages:
            return StopReason.PAGES
        if self.limits.fetches and self.step + out >= self.limits.fetches:
            return StopReason.FETCHES
        if self.context.clock() >= self._deadline:
            return StopReason.TIME
        if self.context.recall_monitor is not None and self.context.recall_monitor.is_target_reached():
            return StopReason.FOUND
        return None

    def _is_paused(self) -> bool:
        """Return whether the crawl is paused and not interrupted."""
        return self.paused and not self._interrupt_reason

    def _get_reached_goal(self) -> StopReason | None:
        """Return the stop reason if the limit of pages or of relevant pages is reached, without running fetches."""
        if self.limits.pages and self.pages >= self.limits.pages:
            return StopReason.PAGES
        if self.limits.relevant and self.relevant + self.relevant_elsewhere >= self.limits.relevant:
            return StopReason.RELEVANT
        return None

    def _count_expected_visits(self) -> int:
        """Return the number of leased links that count towards the page limit.

        Near the limit, slow fetches are not counted, so that other links can replace them.
        """
        if not self.limits.pages or self.pages + len(self._leases) < self.limits.pages:
            return len(self._leases)
        begun = self.context.clock() - self.limits.slow_fetch_seconds
        return sum(since > begun for since in self._leased_at.values())

    def _must_abandon_fetches(self) -> bool:
        """Return whether the crawl must end without waiting for the running fetches, and set the stop reason."""
        if (goal := self._get_reached_goal()) is not None:
            self.stop_reason = goal
            return True
        full = self._get_stop_reason()
        if full not in _REASONS_WITH_GRACE:
            return False
        self._grace_ends_at = min(self._grace_ends_at, self.context.clock() + self.limits.grace_seconds)
        if self.context.clock() < self._grace_ends_at:
            return False
        self.stop_reason = full
        return True

    def _count_free_slots(self) -> int:
        """Return how many links may be leased now."""
        room = self.limits.concurrency - len(self._tasks) - len(self._queue)
        if self.context.strategy.batch_size > 1:
            # Lease N links at a time, and only after all N previous fetches have finished.
            room = 0 if self._leases else self.context.strategy.batch_size
        for limit, used in ((self.limits.pages, self.pages), (self.limits.fetches, self.step)):
            if limit:
                room = min(room, limit - used - self._count_expected_visits())
        return room

    @property
    def _score_limits(self) -> LeaseLimits:
        """Limits that do not depend on the state of the crawl: the minimum score of a link."""
        return LeaseLimits(self.limits.min_score or -inf)

    def _get_lease_limits(self) -> LeaseLimits:
        """Return which links may be leased now: those that reach the minimum score, and a share of poor ones."""
        if not self._focus or self.context.strategy.batch_size > 1:
            return self._score_limits
        has_relevant = self.relevant + self.relevant_elsewhere > 0
        return self._focus_policy.build_limits(
            self._focus, now=self.context.clock(), has_relevant=has_relevant, min_score=self._score_limits.min_score
        )

    async def _start_fetches(self) -> None:
        """Lease links that may be requested now, and start fetches while slots are free."""
        if self.paused:
            self._focus_policy.record_page(self.context.clock())
        while not self.paused and not self._get_stop_reason() and (room := self._count_free_slots()) > 0:
            leases = await self._lease_filter.lease_links(self.context, room, limits=self._get_lease_limits())
            started = len(self._leases)
            for lease in leases:
                if not self.limits.checks_leases or await self._lease_filter.accept_lease(
                    self.context, lease, running=self._leases.values()
                ):
                    self._leases[lease.token] = lease
                    self._leased_at[lease.token] = self.context.clock()
                    self._focus_policy.count_fetch(is_poor=lease.is_poor)
                    self._queue.append(lease)
            # Refused links have made room for others.
            if len(self._leases) - started == len(leases):
                break
        while self._queue and len(self._tasks) < self.limits.concurrency and not self._interrupt_reason:
            task = asyncio.create_task(self._fetch_link(self._queue.popleft()))
            self._tasks.add(task)
            task.add_done_callback(self._on_fetch_done)

    async def _fetch_link(self, lease: Lease) -> None:
        link = lease.link
        try:
            async with asyncio.timeout(self.limits.fetch_timeout):
                response = await self.context.fetch(link)
        except TimeoutError:
            response = Response(
                link.url,
                link.url,
                at=self.context.clock(),
                failure=Failure.TIMEOUT,
                detail=f"no page within {self.limits.fetch_timeout:g} s",
            )
        for observe_response in self.response_observers:
            observe_response(response)
        members: Sequence[tuple[Link, Response]] = ()
        if self.context.document_reader is not None and self.context.document_reader.is_document(response):
            response, members = await self.context.document_reader.unpack_document(response, link)
        main = await self._parse_costly_page(response, link)
        parsed_members = [(inner, await self._parse_costly_page(file, inner)) for inner, file in members]
        self._arrivals.append(_Arrival(lease, main, parsed_members))

    async def _parse_costly_page(self, response: Response, link: Link) -> ParsedResponse:
        """Parse a page outside the event loop if it is costly. Any other page is parsed later."""
        parser = self.context.off_loop_parser
        if parser is None or not parser.is_costly(response):
            return ParsedResponse(response)
        return await parser.parse_page(response, link)

    def _on_fetch_done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._wake.set()
        if not task.cancelled():
            self._fetch_error = self._fetch_error or task.exception()

    async def _wait_for_event(self) -> None:
        """Wait until a fetch finishes, a host becomes ready, the time limit is reached or the crawl is interrupted."""
        timer = None
        wait = self._grace_ends_at - self.context.clock()
        stop_reason = self._get_stop_reason()
        if stop_reason in _REASONS_WITH_GRACE and wait == inf:
            return  # the time limit was reached after the last check, so the grace period has not started yet
        if not stop_reason:
            wait = min(wait, self._deadline - self.context.clock())
            if self._count_free_slots() > 0 and not self.paused:
                limits = self._get_lease_limits()
                ready = await self._lease_filter.seconds_until_ready(self.context, limits)
                wait = min(wait, inf if ready is None else ready or _POLL_SECONDS)
                if limits.focus or self.context.link_filter.demotes_links:
                    # Poor or demoted links are held back. A slow fetch of a good link may release them.
                    wait = min(wait, _RECHECK_SECONDS)
        elif self._leased_at and self.limits.pages:
            # The running fetches may reach the page limit; slow ones are replaced by other links.
            oldest = min(self._leased_at.values())
            wait = min(wait, max(oldest + self.limits.slow_fetch_seconds - self.context.clock(), _POLL_SECONDS))
        if wait < inf:
            timer = asyncio.get_running_loop().call_later(max(0.001, wait), self._wake.set)
        await self._wake.wait()
        if timer:
            timer.cancel()

    async def _is_finished(self) -> bool:
        """With no running fetches, return whether the crawl is finished, and set the stop reason."""
        if (full := self._get_stop_reason()) is not None:
            self.stop_reason = full
            return True
        ready = await self.context.frontier.seconds_until_ready(self._score_limits)
        while (
            ready is None and self.context.wait_for_more_links is not None and await self.context.wait_for_more_links()
        ):
            if (full := self._get_stop_reason()) is not None:
                self.stop_reason = full
                return True
            ready = await self.context.frontier.seconds_until_ready(self._score_limits)
        if ready is None:
            only_low_scores = self.limits.min_score and await self.context.frontier.seconds_until_ready() is not None
            self.stop_reason = StopReason.MIN_SCORE if only_low_scores else StopReason.EMPTY
        elif ready > self.limits.patience:
            self.stop_reason = StopReason.UNREACHABLE
        return self.stop_reason is not None

    async def close(self) -> None:
        """Cancel running fetches and release all leases, so that the next run can lease them. May be called twice."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for lease in list(self._leases.values()):
            # The host may have been requested a moment ago.
            wait = self.context.get_crawl_delay(lease.host) if self.context.get_crawl_delay is not None else 0.0
            try:
                await self.context.frontier.release(lease, wait=wait, count_attempt=False)
            except SpaceError:
                return  # opening the frontier again releases them
        self._leases.clear()
        self._leased_at.clear()

    # Processing of responses

    async def _process_batch(self) -> list[Visit]:
        """Process some of the finished fetches. If that raises an exception, it counts as an attempt of their links."""
        try:
            return await self._process_arrivals()
        except TopicrawlError:
            raise
        except Exception:
            # The page may cause the same exception in every run, and must not be fetched forever.
            for lease in self._processing:
                await self.context.frontier.release(lease)
            raise

    async def _process_arrivals(self) -> list[Visit]:
        """Process the finished fetches, store the visits and complete the links, several pages per transaction."""
        processed: list[ProcessedVisit] = []
        completions: list[Completion] = []
        batch_size = 1 if self.context.strategy.merges else _BATCH_SIZE
        batch_end = time.monotonic() + _BATCH_SECONDS
        while self._arrivals and len(processed) < batch_size and not self._get_reached_goal():
            arrival = self._arrivals[0]
            if (arrival.main.response.hops or arrival.members) and processed:
                # The others must be complete before a redirect can be recognised as a duplicate; and an archive may
                # have many members.
                break
            self._arrivals.popleft()
            lease = arrival.lease
            del self._leases[lease.token], self._leased_at[lease.token]
            self._processing.append(lease)
            if await self.retry_policy.requeue(lease, arrival.main.response):
                continue
            visits = await self._process_arrival(arrival)
            if visits is None:
                continue
            processed += visits
            completions.append(await self._build_completion(lease, visits))
            if time.monotonic() > batch_end:
                break
        if processed:
            # Each of these steps may take a tenth of a second for large pages. Other tasks run between them.
            await asyncio.sleep(0)
            self.context.sink.store_visits(processed)
            await asyncio.sleep(0)
            await self.context.frontier.complete_all(completions)
        self._processing.clear()
        for visit, response, _ in processed:
            await page_processing.apply_side_effects(self.context, visit, response)
        self.is_at_visit_boundary = True
        self.context.sink.on_batch_completed()
        return [visit for visit, _, _ in processed]

    async def _process_arrival(self, arrival: _Arrival) -> list[ProcessedVisit] | None:
        """Process a response, then the members if it is an archive.

        Return None if processing raised an exception and the link will be fetched again.
        """
        lease = arrival.lease
        main = await self._process_safely(lease.link, lease.priority, arrival.main, lease=lease)
        if main is None or main.visit.failure is not None:
            return None if main is None else [main]
        if not lease.is_poor:
            self._focus_policy.record_page(self.context.clock())
        processed = [main]
        for link, parsed in arrival.members:
            file = await self._process_safely(link, lease.priority, parsed)
            assert file is not None  # a member is not fetched again
            processed.append(file)
            # An archive may have hundreds of members. No task changes the models until the archive is complete.
            await asyncio.sleep(0)
        return processed

    async def _build_completion(self, lease: Lease, visits: Sequence[ProcessedVisit]) -> Completion:
        """Return the completion of a link. The links of an archive are those of its members."""
        main, *files = visits
        outlinks = Outlinks.join(each.outlinks for each in files) if files else main.outlinks
        offers = await build_offers(outlinks, self.context.strategy, self.context.frontier)
        unused = main.visit.failure == Failure.ROBOTS and not main.response.hops
        wait = page_processing.politeness_delay(self.context, lease.host, main.response)
        return Completion(lease, main.visit.failure or FETCHED, offers, wait, unused)

    async def _process_safely(
        self, link: Link, priority: Priority, parsed: ParsedResponse, *, lease: Lease | None = None
    ) -> ProcessedVisit | None:
        """Create the visit for a response. An exception, except that of a plugin, is the failure of the page.

        Return None if the link of the lease will be fetched again.
        """
        response = parsed.response
        if response.failure is not Failure.PROCESSING:
            try:
                return await self._process_visit(link, priority, parsed)
            except TopicrawlError:
                raise
            except Exception as error:
                detail = f"{type(error).__name__}: {' '.join(str(error).split())}"[:300]
                log.warning("cannot process %s: %s", link.url, detail, exc_info=True)
                response = replace(response, failure=Failure.PROCESSING, detail=detail)
        if lease is not None and await self.retry_policy.requeue_processing_error(lease, response):
            return None
        return await self._process_visit(link, priority, ParsedResponse(response))

    async def _process_visit(self, link: Link, priority: Priority, parsed: ParsedResponse) -> ProcessedVisit:
        """Create the visit for a response: process the response, score the page and its links, and learn from it."""
        self.is_at_visit_boundary = False
        page, failure, detail, twin = await page_processing.process_response(self.context, link, parsed)
        response = parsed.response
        is_costly = parsed.page is not None or len(response.body) > _LARGE_BODY_BYTES
        if page is not None:
            # The search for duplicates may have parsed large stored pages. Other tasks run before the next step.
            await asyncio.sleep(0)
        stored_step = self.context.sink.find_stored_step(link)
        if self.context.stores_score_parts:
            reasons = self.context.strategy.explain(link)
            priority = replace(priority, parts=list_score_parts(link, priority, reasons, self.context.link_filter))
        relevance = self.context.relevance.score(page) if page is not None else None
        visit = Visit(
            stored_step or self.step + 1,
            link,
            priority,
            response.final_url,
            page,
            relevance,
            failure,
            response.at,
            response.status,
            detail,
            twin,
            self._build_judgement(page, relevance) if page is not None and failure is None else None,
        )
        if is_costly:
            await asyncio.sleep(0)
        # The models do not learn from pages that are not stored, because a restart could not replay them.
        if page is not None and failure is None and self._learner is not None:
            self._learner.observe(page)
        self.context.strategy.learn(visit if failure is None else replace(visit, page=None))
        # Before the links are scored: the page decides whether its links lead into a trap.
        self.context.link_filter.observe_visit(visit)
        outlinks = score_outlinks(
            visit, self.context.strategy, self.context.link_filter, find_closed=self.context.frontier.find_closed
        )
        if stored_step is None:
            self._count_visit(visit)
        return ProcessedVisit(visit, response, outlinks)

    def _count_visit(self, visit: Visit) -> None:
        """Count a visit that no earlier run has stored."""
        self.step += 1
        if visit.failure is None:
            self.pages += 1
            self.relevant += (visit.relevance or 0.0) >= self.context.strategy.context.topic.threshold
        if self.context.recall_monitor is not None:
            self.context.recall_monitor.add_visit(visit.relevance if visit.failure is None else None)

    def _build_judgement(self, page: Page, relevance: float | None) -> PageJudgement | None:
        """Return the judgement on a page that is stored with it; None if the crawl stores no details."""
        if not self.context.stores_score_parts:
            return None
        if self._judgement_builder is not None:
            return self._judgement_builder.build_judgement(page)
        return build_score_judgement(relevance or 0.0, self.context.strategy.context.topic.threshold)


def build_seed_links(urls: Sequence[str]) -> list[Link]:
    """Return links without a source, one for each distinct URL.

    >>> [link.url for link in build_seed_links(["http://a/", "http://a/"])]
    ['http://a/']
    """
    return [Link(url) for url in dict.fromkeys(urls)]
