"""The loop: a page's way through the crawler.

1. The **topic** and the strategy are ready; seeds have been offered to the frontier.
2. The **frontier** leases the best links whose hosts may be asked now.
3. **Fetch** asks the host, as its robots.txt and its pace allow; a failure is a named value.
4. **Parse** reads the response into a page: text, words, links with their surroundings. Documents are made readable
   first, outside of the loop; each file of an archive goes on as a page of its own.
5. **Relevance** judges how much the page is about the topic. Together: a **visit**.
6. The **strategy** learns from the visit and gives every link of the page a place.
7. The visit is **kept**: archived and stored, before
8. the frontier is told that the link is **complete**, and takes in the page's links, in one step. Pages that have
   arrived together go through 7 and 8 together.

A crash before 8 means that the page is fetched again, never that a link is lost.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field, replace
from math import inf

from topicrawl import judging
from topicrawl.budget import Budget, Stop
from topicrawl.errors import SpaceError
from topicrawl.frontier.contract import End, Lease, Offer
from topicrawl.parts import Found, Parts
from topicrawl.placing import LATE, combined, placed
from topicrawl.records import Failure, Link, Place, Response, Visit
from topicrawl.setbacks import Setbacks

_FEW = 4  # fetches in flight, of all workers, that need not be worth as much as the best ones lately
_POLL = 0.05  # seconds between two looks for better links than those that are held back
_TOGETHER = 16  # pages that are written down at once, if so many have arrived


@dataclass
class Crawl:
    """One crawl. `async for visit in crawl.visits()`; afterwards `stopped` says why it ended."""

    parts: Parts
    budget: Budget
    step: int = 0  # visits of earlier runs
    pages: int = 0  # pages of earlier runs
    stopped: Stop | None = None
    paused: bool = False  # what is in flight comes back, and nothing else is asked for
    lessons: int = 0  # of other workers that were learned from
    settled: bool = True  # no visit is learned from and not completed yet
    _leases: dict[int, Lease] = field(default_factory=dict)  # all that is out: queued here or in flight
    _since: dict[int, float] = field(default_factory=dict)  # when each was leased
    _queue: deque[Lease] = field(default_factory=deque)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)
    _arrived: deque[tuple[Lease, Response, Sequence[tuple[Link, Response]]]] = field(default_factory=deque)
    _wake: asyncio.Event = field(default_factory=asyncio.Event)
    _interrupted: Stop | None = None
    _until: float = inf
    _grace: float = inf  # when the patience with what is in flight ends
    _broken: BaseException | None = None  # a defect in a fetch function; failures of the web are values

    def __post_init__(self) -> None:
        self.setbacks = Setbacks(self.parts, self.budget)

    @property
    def trouble(self) -> str:
        """The last attempt that failed and will be made again, for people."""
        return self.setbacks.trouble

    def interrupt(self, why: Stop = Stop.INTERRUPTED) -> None:
        """Finish what is in flight, then stop. May be called from a signal handler of the loop."""
        self._interrupted = self._interrupted or why
        self._wake.set()

    def wake(self) -> None:
        """Look again what is to be done: someone has changed the frontier, or `paused`."""
        self._wake.set()

    @property
    def in_flight(self) -> int:
        return len(self._tasks)

    async def seed(self, links: Sequence[Link]) -> int:
        """Offer seeds; known ones change nothing. Returns how many were new."""
        # A strategy may have put a seed further back meanwhile, and an offer would raise it again.
        links = [link for link in links if await self.parts.frontier.find(link.url) is None]
        places = self.parts.strategy.seeds(links)
        return await self.parts.frontier.add([Offer(a, b) for a, b in zip(links, places, strict=True)])

    async def visits(self) -> AsyncIterator[Visit]:
        """Every visit as it is completed."""
        if self.budget.seconds:
            self._until = self.parts.clock() + self.budget.seconds
        try:
            while True:
                self._wake.clear()
                while self._arrived and not self._reached():
                    for visit in await self._take_in():
                        yield visit
                if self._broken is not None:
                    raise self._broken
                await self._fill()
                if not self._tasks and not self._arrived and not self._resting() and await self._ended():
                    return
                if self._impatient():
                    return
                if not self._arrived:
                    await self._sleep()
        except SpaceError:
            self.stopped = Stop.SPACE
            raise
        finally:
            await self.close()

    # Taking links out

    def _full(self) -> Stop | None:
        """Why no further fetch may start: the budgets, counting what is in flight."""
        out = self._coming()
        if self._interrupted:
            return self._interrupted
        if self.budget.pages and self.pages + out >= self.budget.pages:
            return Stop.PAGES
        if self.budget.fetches and self.step + out >= self.budget.fetches:
            return Stop.FETCHES
        if self.parts.clock() >= self._until:
            return Stop.TIME
        if self.parts.discoveries is not None and self.parts.discoveries.over():
            return Stop.FOUND
        return None

    def _resting(self) -> bool:
        return self.paused and not self._interrupted

    def _reached(self) -> bool:
        return bool(self.budget.pages) and self.pages >= self.budget.pages

    def _coming(self) -> int:
        """Links that are out and may soon be pages; what is slow is not waited for when the goal is near."""
        if not self.budget.pages or self.pages + len(self._leases) < self.budget.pages:
            return len(self._leases)
        begun = self.parts.clock() - self.budget.slow
        return sum(since > begun for since in self._since.values())

    def _impatient(self) -> bool:
        """Whether what is in flight has had its time after the end was called."""
        if self._reached():
            self.stopped = Stop.PAGES
            return True
        full = self._full()
        if full not in (Stop.TIME, Stop.INTERRUPTED, Stop.FINISHED, Stop.FOUND):
            return False
        self._grace = min(self._grace, self.parts.clock() + self.budget.grace)
        if self.parts.clock() < self._grace:
            return False
        self.stopped = full
        return True

    def _room(self) -> int:
        """How many links may be leased now."""
        room = self.budget.concurrency - len(self._tasks) - len(self._queue)
        if self.parts.strategy.batch > 1:
            # N at a time, and none before all N have come back.
            room = 0 if self._leases else self.parts.strategy.batch
        for limit, used in ((self.budget.pages, self.pages), (self.budget.fetches, self.step)):
            if limit:
                room = min(room, limit - used - self._coming())
        return room

    async def _best(self, room: int) -> list[Lease]:
        """The best links; what is much worse than the best ones lately gets a few hands, not all that are free.

        Hosts of good links are often busy, and with many hands free whatever is left would be fetched meanwhile.
        """
        focus = self.budget.focus if self.parts.strategy.batch == 1 else 0.0
        return await self.parts.frontier.lease(room, focus=focus, few=_FEW)

    async def _fill(self) -> None:
        """Lease what may be asked now, and start fetches while there are free hands."""
        while not self.paused and not self._full() and (room := self._room()) > 0:
            leases = await self._best(room)
            for lease in leases:
                if lease.place.score >= 0 and self.parts.fences.exhausted(lease.link):
                    await self.parts.frontier.give_back(lease, count=False, unused=True)
                    await self.parts.frontier.rescore({lease.link.url: lease.place.score - LATE})
                    continue
                self._leases[lease.token] = lease
                self._since[lease.token] = self.parts.clock()
                self._queue.append(lease)
            if len(self._leases) or not leases:
                break
        while self._queue and len(self._tasks) < self.budget.concurrency and not self._interrupted:
            task = asyncio.create_task(self._fetch(self._queue.popleft()))
            self._tasks.add(task)
            task.add_done_callback(self._done)

    async def _fetch(self, lease: Lease) -> None:
        link = lease.link
        try:
            async with asyncio.timeout(self.budget.deadline):
                response = await self.parts.fetch(link)
        except TimeoutError:
            response = Response(
                link.url, link.url, at=self.parts.clock(), failure=Failure.TIMEOUT,
                detail=f"no page within {self.budget.deadline:g} s",
            )  # fmt: skip
        members: Sequence[tuple[Link, Response]] = ()
        if self.parts.documents is not None and self.parts.documents.wanted(response):
            response, members = await self.parts.documents.unfolded(response, link)
        self._arrived.append((lease, response, members))

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._wake.set()
        if not task.cancelled():
            self._broken = self._broken or task.exception()

    async def _sleep(self) -> None:
        """Until a fetch comes back, a host becomes ready, the time is up or someone interrupts."""
        timer = None
        wait = self._grace - self.parts.clock()
        if not self._full():
            wait = min(wait, self._until - self.parts.clock())
            ready = await self.parts.frontier.next_ready() if self._room() > 0 and not self.paused else None
            if ready is not None:
                # Ready and not taken: it is held back, and something better may become ready.
                wait = min(wait, ready or _POLL)
        elif self._since and self.budget.pages:
            # The goal may be filled by what is in flight; what turns out to be slow is replaced.
            oldest = min(self._since.values())
            wait = min(wait, max(oldest + self.budget.slow - self.parts.clock(), _POLL))
        if wait < inf:
            timer = asyncio.get_running_loop().call_later(max(0.001, wait), self._wake.set)
        await self._wake.wait()
        if timer:
            timer.cancel()

    async def _ended(self) -> bool:
        """Nothing is in flight: is there anything left to do?"""
        if (full := self._full()) is not None:
            self.stopped = full
            return True
        ready = await self.parts.frontier.next_ready()
        while ready is None and self.parts.more is not None and await self.parts.more():
            if (full := self._full()) is not None:
                self.stopped = full
                return True
            ready = await self.parts.frontier.next_ready()
        if ready is None:
            self.stopped = Stop.EMPTY
        elif ready > self.budget.patience:
            self.stopped = Stop.UNREACHABLE
        return self.stopped is not None

    async def close(self) -> None:
        """Give back what is still out, so that the next run starts from a clean frontier. May be called twice."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for lease in list(self._leases.values()):
            # It may have been asked a moment ago.
            wait = self.parts.delay_of(lease.host) if self.parts.delay_of is not None else 0.0
            try:
                await self.parts.frontier.give_back(lease, wait=wait, count=False)
            except SpaceError:
                return  # the next opening gives them back
        self._leases.clear()
        self._since.clear()

    # What came back

    async def _take_in(self) -> list[Visit]:
        """Judge and place what has arrived, keep it, complete it: several pages share the price of writing."""
        found: list[Found] = []
        ends: list[End] = []
        most = 1 if self.parts.strategy.combines else _TOGETHER
        while self._arrived and len(found) < most and not self._reached():
            lease, response, members = self._arrived[0]
            if (response.hops or members) and found:
                # Whether it leads to a page that is here already shows when the others are complete; and of the files
                # of an archive there may be many.
                break
            self._arrived.popleft()
            del self._leases[lease.token], self._since[lease.token]
            if await self.setbacks.waits(lease, response):
                continue
            first = await self._found(lease.link, lease.place, response)
            visit, _, outlinks = first
            found.append(first)
            if members and visit.failure is None:
                files = [await self._found(link, lease.place, file) for link, file in members]
                found += files
                outlinks = [out for each in files for out in each.outlinks]
            offers = await combined(outlinks, self.parts.strategy, self.parts.frontier)
            unused = visit.failure == Failure.ROBOTS and not response.hops
            wait = judging.pause(self.parts, lease.host, response)
            ends.append(End(lease, visit.failure or "fetched", offers, wait, unused))
        if found:
            self.parts.keep.keep(found)
            await self.parts.frontier.complete_all(ends)
        for visit, response, _ in found:
            await judging.aftermath(self.parts, visit, response)
        self.settled = True
        self.parts.keep.settled()
        return [visit for visit, _, _ in found]

    async def _found(self, link: Link, place: Place, response: Response) -> Found:
        """The visit that a response makes, and what hangs on it."""
        page, failure, detail, twin = await judging.reading(self.parts, link, response)
        known = self.parts.keep.step_of(link)
        if known is None:
            self.step += 1
            self.pages += failure is None
        if self.parts.explained and (reasons := self.parts.strategy.reasons(link)):
            place = replace(place, parts=reasons)
        visit = Visit(
            known or self.step, link, place, response.final_url, page,
            self.parts.relevance.score(page) if page is not None else None,
            failure, response.at, response.status, detail, twin,
        )  # fmt: skip
        if known is None and self.parts.discoveries is not None:
            self.parts.discoveries.seen(visit.relevance if failure is None else None)
        self.settled = False
        # What is not kept is not learned from either: after a restart it could not be.
        self.parts.strategy.learn(visit if failure is None else replace(visit, page=None))
        return Found(visit, response, placed(visit, self.parts.strategy, self.parts.fences))


def seed_links(urls: Sequence[str]) -> list[Link]:
    """Links without a source, one for each distinct URL.

    >>> [link.url for link in seed_links(["http://a/", "http://a/"])]
    ['http://a/']
    """
    return [Link(url) for url in dict.fromkeys(urls)]
