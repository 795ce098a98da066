"""A frontier in memory: the fastest, for a recorded web or a crawl that need not survive its process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from heapq import heapify, heappop, heappush, nlargest, nsmallest

from topicrawl.frontier.clock import Steady
from topicrawl.frontier.contract import Counts, End, Entry, Lease, Offer, Rules
from topicrawl.frontier.hosts import Host, Schedule
from topicrawl.frontier.known import DONE, DROPPED, LEASED, SWEPT, WAITING, Known, check_scores, follow
from topicrawl.frontier.leases import Leases, Out
from topicrawl.records import Link, Place, Refusal
from topicrawl.urls import host as host_of

_SLACK = 16  # stale entries of a queue that are not worth a sweep


class Shelves:
    """All known links, and what may be asked about them."""

    def __init__(self) -> None:
        self._known: dict[str, Known] = {}
        self._hosts: dict[str, Host] = {}
        self._counts = [0, 0, 0, 0]

    async def places(self, urls: Sequence[str]) -> dict[str, Place]:
        """The places of those URLs that wait."""
        found = ((url, self._known.get(url)) for url in urls)
        return {url: known.place for url, known in found if known is not None and known.state == WAITING}

    async def find(self, url: str) -> Entry | None:
        """What is known of a URL."""
        known = self._known.get(url)
        return None if known is None else known.as_entry()

    async def best(self, n: int) -> list[Entry]:
        """The best waiting links, whether or not their hosts are ready."""
        return [known.as_entry() for known in nsmallest(n, self._waiting(), key=_rank)]

    async def counts(self) -> Counts:
        """How many links are in each state."""
        waiting, leased, done, dropped = self._counts
        return Counts(waiting, leased, done, dropped, len(self._hosts))

    async def close(self) -> None:
        """Nothing to write."""

    def _waiting(self) -> Iterable[Known]:
        return (known for known in self._known.values() if known.state == WAITING)


class Memory(Shelves):
    """Known links, best first, host by host, in memory.

    >>> import asyncio
    >>> async def example() -> list[str]:
    ...     frontier = Memory(Rules(), clock=lambda: 0.0)
    ...     pages = {"http://a.org/1": 0.5, "http://a.org/2": 0.9, "http://b.org/": 0.7}
    ...     await frontier.add([Offer(Link(url), Place(score)) for url, score in pages.items()])
    ...     return [lease.link.url for lease in await frontier.lease(3)]
    >>> asyncio.run(example())
    ['http://a.org/2', 'http://b.org/']
    """

    def __init__(self, rules: Rules, clock: Callable[[], float]) -> None:
        super().__init__()
        self._rules = rules
        self._clock = Steady(clock)
        self._schedule = Schedule(rules)
        self._leases: Leases[Known] = Leases()
        self._queues: list[list[tuple[float, int, Known]]] = []  # by the host's number
        self._live: list[int] = []  # waiting links of each host
        self._by_number: list[Host] = []
        self._next = 0

    async def add(self, offers: Sequence[Offer]) -> int:
        """Put links in. Returns how many were new."""
        check_scores([offer.place.score for offer in offers])
        return self._absorb(offers, self._begin())

    async def lease(self, n: int, *, focus: float = 0.0, few: int = 0) -> list[Lease]:
        """The best `n` links whose hosts may be asked now, best first."""
        now = self._begin()
        until = now + self._rules.lease_seconds
        found: list[Lease] = []
        n, floor = self._schedule.modest(n, focus, few - len(self._leases), now)
        while len(found) < n and (host := self._schedule.best(now, floor)) is not None:
            known = self._queues[host.number][0][2]
            known.attempts += 1
            self._move(known, LEASED)
            host.last = now
            host.leased += 1
            self._refile(host, now)
            self._schedule.lately.append(known.place.score)
            token = self._leases.hand_out(known, host, until)
            found.append(known.as_lease(host.name, token, self._clock.outside(until)))
        return found

    async def complete(
        self, lease: Lease, reason: str, offers: Sequence[Offer] = (), *, wait: float = 0.0, unused: bool = False
    ) -> bool:
        """Acknowledge and add the out-links in one step. False: the lease was stale."""
        check_scores([offer.place.score for offer in offers])
        now = self._begin()
        out = self._leases.find(lease.token)
        if out is None:
            return False
        out.item.reason = reason
        out.host.pages += 1
        out.host.spare(unused)
        out.host.postpone(now, wait)
        self._end(out, DONE)
        if self._schedule.is_spent(out.host):
            for known in [entry[2] for entry in self._queues[out.host.number] if entry[2].entry is entry]:
                known.reason = Refusal.HOST_BUDGET.value
                self._move(known, DROPPED)
        self._refile(out.host, now)
        self._absorb(offers, now)
        return True

    async def complete_all(self, ends: Sequence[End]) -> list[bool]:
        """`complete` for each in turn."""
        check_scores([offer.place.score for end in ends for offer in end.offers])
        return [await self.complete(end[0], end[1], end[2], wait=end[3], unused=end[4]) for end in ends]

    async def give_back(self, lease: Lease, *, wait: float = 0.0, count: bool = True, unused: bool = False) -> bool:
        """The link waits again; its host is asked in `wait` seconds at the earliest."""
        now = self._begin()
        out = self._leases.find(lease.token)
        if out is None:
            return False
        if unused:
            self._schedule.forget(lease.place.score)
        out.host.spare(unused)
        out.host.postpone(now, wait)
        self._come_back(out, now, count=count)
        return True

    async def extend(self, lease: Lease) -> bool:
        """The lease runs for its full time again, from now. False: it was stale."""
        return self._leases.extend(lease.token, self._begin() + self._rules.lease_seconds)

    async def settle(self, urls: Iterable[str], reason: str) -> None:
        """Mark URLs as done without a lease."""
        now = self._begin()
        for url in urls:
            known = self._known.get(url)
            if known is None:
                known = self._new(Offer(Link(url), Place(0.0)))
            before = known.state
            if known.settle(reason):
                self._move(known, DONE, before)
                self._refile(self._by_number[known.host], now)

    async def reopen(self, offers: Sequence[Offer]) -> None:
        """Put done links back with the offered place."""
        check_scores([offer.place.score for offer in offers])
        self._absorb(offers, self._begin(), reopen=True)

    async def rescore(self, scores: Mapping[str, float]) -> int:
        """New scores for links that wait. Returns how many were waiting."""
        check_scores(scores.values())
        now, count = self._begin(), 0
        changed: dict[int, Host] = {}
        for url, score in scores.items():
            known = self._known.get(url)
            if known is not None and known.state == WAITING:
                count += 1
                known.place = replace(known.place, score=score)
                self._move(known, WAITING)
                changed[known.host] = self._by_number[known.host]
        for host in changed.values():
            self._refile(host, now)
        return count

    async def set_delay(self, host: str, delay: float) -> None:
        """The host's own delay from now on, never below the rules'."""
        now, found = self._begin(), self._host(host)
        found.delay = max(self._rules.delay, delay)
        self._schedule.file(found, now)

    async def block(self, host: str, until: float) -> None:
        """Ask nothing of the host before `until`."""
        now, found = self._begin(), self._host(host)
        found.blocked = self._clock.inside(until)
        self._schedule.file(found, now)

    async def next_ready(self) -> float | None:
        """Seconds until some host may be asked."""
        now = self._begin()
        when = min(self._schedule.soonest(now), self._leases.soonest())
        return None if when == float("inf") else max(0.0, when - now)

    async def resting(self) -> int:
        """How many hosts have links that wait and may not be asked yet."""
        self._schedule.best(self._begin())
        return self._schedule.resting

    def _begin(self) -> float:
        """The time; leases whose time is over have gone back."""
        now = self._clock.now()
        for out in self._leases.overdue(now):
            self._come_back(out, now, count=True)
        return now

    def _absorb(self, offers: Sequence[Offer], now: float, *, reopen: bool = False) -> int:
        before = self._next
        changed: dict[int, Host] = {}
        for offer in offers:
            known = self._known.get(offer.link.url)
            if known is None:
                host = self._host(host_of(offer.link.url))
                if not self._schedule.is_spent(host):
                    self._move(self._new(offer), WAITING)
                    changed[host.number] = host
            elif self._follow(known, offer, reopen=reopen):
                changed[known.host] = self._by_number[known.host]
        new = self._next - before
        for host in changed.values():
            self._refile(host, now)
        if 0 < self._rules.capacity < self._counts[WAITING]:
            self._sweep(now)
        return new

    def _follow(self, known: Known, offer: Offer, *, reopen: bool) -> bool:
        before = known.state
        if before == DONE and not reopen:
            return False
        if not follow(known, offer, self._by_number[known.host], self._schedule, reopen=reopen):
            return False
        self._move(known, WAITING, before)
        return True

    def _sweep(self, now: float) -> None:
        """Drop the worst, and make room for more."""
        surplus = self._counts[WAITING] - int(self._rules.capacity * SWEPT)
        changed: dict[int, Host] = {}
        for known in nlargest(surplus, self._waiting(), key=_rank):
            known.reason = Refusal.DROPPED.value
            self._move(known, DROPPED)
            changed[known.host] = self._by_number[known.host]
        for host in changed.values():
            self._refile(host, now)

    def _host(self, name: str) -> Host:
        host = self._hosts.get(name)
        if host is None:
            host = self._hosts[name] = Host(name, len(self._hosts), self._rules.delay)
            self._by_number.append(host)
            self._queues.append([])
            self._live.append(0)
        return host

    def _new(self, offer: Offer) -> Known:
        known = Known(self._next, self._host(host_of(offer.link.url)).number, offer.link, offer.place)
        self._known[known.url] = known
        self._counts[WAITING] += 1
        self._next += 1
        return known

    def _come_back(self, out: Out[Known], now: float, *, count: bool) -> None:
        out.item.come_back(self._rules.attempts, count=count)
        self._end(out, out.item.state)
        self._refile(out.host, now)

    def _end(self, out: Out[Known], state: int) -> None:
        self._leases.end(out.token)
        out.host.leased -= 1
        self._move(out.item, state, LEASED)

    def _move(self, known: Known, state: int, before: int | None = None) -> None:
        """Bring counts and queue up to date with a link's new state or score."""
        self._counts[known.state if before is None else before] -= 1
        self._counts[state] += 1
        known.state = state
        self._live[known.host] -= known.entry is not None
        known.entry = None
        if state == WAITING:
            known.entry = (-known.place.score, known.seq, known)
            heappush(self._queues[known.host], known.entry)
            self._live[known.host] += 1

    def _refile(self, host: Host, now: float) -> None:
        """Find the host's best link again, and its place among the hosts."""
        queue = self._queues[host.number]
        if len(queue) > 2 * self._live[host.number] + _SLACK:
            queue[:] = [entry for entry in queue if entry[2].entry is entry]
            heapify(queue)
        while queue and queue[0][2].entry is not queue[0]:
            heappop(queue)
        host.top = queue[0] if queue else None
        self._schedule.file(host, now)


def _rank(known: Known) -> tuple[float, int]:
    return -known.place.score, known.seq
