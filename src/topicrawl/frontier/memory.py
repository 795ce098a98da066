"""Best-first frontier in memory: the fastest one, for replays and for crawls that need not survive their process."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from heapq import heapify, heappop, heappush, nlargest, nsmallest

from msgspec.structs import replace

from topicrawl.frontier.base import (
    NO_LIMITS,
    Completion,
    FrontierCounts,
    FrontierEntry,
    FrontierRules,
    Lease,
    LeaseLimits,
    Offer,
)
from topicrawl.frontier.clock import MonotonicClock
from topicrawl.frontier.entry import (
    DONE,
    DROPPED,
    FILL_AFTER_SWEEP,
    LEASED,
    WAITING,
    LinkRecord,
    apply_offer,
    check_scores,
)
from topicrawl.frontier.host_schedule import HostSchedule, HostState, LeaseBudget
from topicrawl.frontier.leases import ActiveLease, LeaseTable
from topicrawl.models import Link, Priority, Refusal
from topicrawl.urls import get_host as host_of

_MAX_STALE_ENTRIES = 16  # stale heap entries that are tolerated before a queue is rebuilt


class MemoryFrontierReader:
    """All known links of a memory frontier, with the read operations of `FrontierReader`."""

    def __init__(self) -> None:
        self._records: dict[str, LinkRecord] = {}
        self._hosts: dict[str, HostState] = {}
        self._counts = [0, 0, 0, 0]

    async def get_priorities(self, urls: Sequence[str]) -> dict[str, Priority]:
        """Return the priorities of those URLs that are waiting."""
        records = ((url, self._records.get(url)) for url in urls)
        return {url: record.priority for url, record in records if record is not None and record.state == WAITING}

    async def get_entry(self, url: str) -> FrontierEntry | None:
        """Return the entry of a URL, or None if the URL is unknown."""
        record = self._records.get(url)
        return None if record is None else record.as_entry()

    async def get_best_entries(self, n: int) -> list[FrontierEntry]:
        """Return the `n` best waiting links, whether or not their hosts are ready."""
        return [record.as_entry() for record in nsmallest(n, self._iter_waiting(), key=_rank_key)]

    async def get_counts(self) -> FrontierCounts:
        """Count the links in each state."""
        waiting, leased, done, dropped = self._counts
        return FrontierCounts(waiting, leased, done, dropped, len(self._hosts))

    async def close(self) -> None:
        """Do nothing: there is no file to write."""

    def _iter_waiting(self) -> Iterable[LinkRecord]:
        return (record for record in self._records.values() if record.state == WAITING)


class MemoryFrontier(MemoryFrontierReader):
    """Best-first frontier with per-host politeness, in memory.

    >>> import asyncio
    >>> async def example() -> list[str]:
    ...     frontier = MemoryFrontier(FrontierRules(), clock=lambda: 0.0)
    ...     pages = {"http://a.org/1": 0.5, "http://a.org/2": 0.9, "http://b.org/": 0.7}
    ...     await frontier.add([Offer(Link(url), Priority(score)) for url, score in pages.items()])
    ...     return [lease.link.url for lease in await frontier.lease(3)]
    >>> asyncio.run(example())
    ['http://a.org/2', 'http://b.org/']
    """

    def __init__(self, rules: FrontierRules, clock: Callable[[], float]) -> None:
        super().__init__()
        self._rules = rules
        self._clock = MonotonicClock(clock)
        self._schedule = HostSchedule(rules)
        self._leases: LeaseTable[LinkRecord] = LeaseTable()
        self._queues: list[list[tuple[float, int, LinkRecord]]] = []  # indexed by host number
        self._queue_sizes: list[int] = []  # waiting links of each host
        self._hosts_by_number: list[HostState] = []
        self._next_sequence = 0

    async def add(self, offers: Sequence[Offer]) -> int:
        """Add links and return how many of them are new."""
        check_scores([offer.priority.score for offer in offers])
        return self._add_offers(offers, self._start_operation())

    def find_closed(self, urls: Sequence[str]) -> set[str]:
        """Return the URLs that are closed."""
        records = self._records
        return {url for url in urls if (record := records.get(url)) is not None and record.is_closed}

    async def lease(self, n: int, limits: LeaseLimits = NO_LIMITS) -> list[Lease]:
        """Lease up to `n` of the best links whose hosts are ready, best first, as far as the limits allow."""
        now = self._start_operation()
        until = now + self._rules.lease_seconds
        leases: list[Lease] = []
        budget = self._create_budget(limits, now)
        while len(leases) < n and (host := self._schedule.get_best_host(now, budget.min_score)) is not None:
            record = self._queues[host.number][0][2]
            record.attempts += 1
            self._set_state(record, LEASED)
            host.last_lease = now
            host.leased += 1
            self._update_best_rank(host, now)
            is_poor = budget.count_lease(record.priority.score)
            token = self._leases.create_lease(record, host, until)
            leases.append(record.as_lease(host.name, token, self._clock.to_external(until), is_poor=is_poor))
        return leases

    async def complete(
        self, lease: Lease, reason: str, offers: Sequence[Offer] = (), *, wait: float = 0.0, unused: bool = False
    ) -> bool:
        """Mark a leased link as done and add its out-links, atomically. Return False if the lease is stale."""
        check_scores([offer.priority.score for offer in offers])
        now = self._start_operation()
        active = self._leases.get_lease(lease.token)
        if active is None:
            return False
        active.item.reason = reason
        active.host.pages += 1
        active.host.refund_delay(unused)
        active.host.postpone(now, wait)
        self._end_lease(active, DONE)
        if self._schedule.is_budget_spent(active.host):
            for record in [entry[2] for entry in self._queues[active.host.number] if entry[2].heap_entry is entry]:
                record.reason = Refusal.HOST_BUDGET.value
                self._set_state(record, DROPPED)
        self._update_best_rank(active.host, now)
        self._add_offers(offers, now)
        return True

    async def complete_all(self, completions: Sequence[Completion]) -> list[bool]:
        """Complete several leases, one after the other."""
        check_scores([offer.priority.score for end in completions for offer in end.offers])
        return [await self.complete(end[0], end[1], end[2], wait=end[3], unused=end[4]) for end in completions]

    async def release(
        self, lease: Lease, *, wait: float = 0.0, count_attempt: bool = True, unused: bool = False
    ) -> bool:
        """Return a leased link to the queue. Return False if the lease is stale."""
        now = self._start_operation()
        active = self._leases.get_lease(lease.token)
        if active is None:
            return False
        active.host.refund_delay(unused)
        active.host.postpone(now, wait)
        self._requeue(active, now, count_attempt=count_attempt)
        return True

    async def extend(self, lease: Lease) -> bool:
        """Restart the full duration of a lease now. Return False if the lease is stale."""
        return self._leases.extend(lease.token, self._start_operation() + self._rules.lease_seconds)

    async def mark_done(self, urls: Iterable[str], reason: str) -> None:
        """Mark URLs as done without a lease."""
        now = self._start_operation()
        for url in urls:
            record = self._records.get(url)
            if record is None:
                record = self._create_record(Offer(Link(url), Priority(0.0)))
            before = record.state
            if record.mark_done(reason):
                self._set_state(record, DONE, before)
                self._update_best_rank(self._hosts_by_number[record.host_number], now)

    async def reopen(self, offers: Sequence[Offer]) -> None:
        """Queue done links again with the offered priority."""
        check_scores([offer.priority.score for offer in offers])
        self._add_offers(offers, self._start_operation(), reopen=True)

    async def iterate_done(self) -> AsyncIterator[Sequence[FrontierEntry]]:
        """Yield all done links in one batch."""
        yield [record.as_entry() for record in self._records.values() if record.state == DONE]

    async def sync_to_disk(self) -> None:
        """Do nothing: the frontier has no file."""

    async def rescore(self, scores: Mapping[str, float]) -> int:
        """Set new scores of waiting links and return how many of the URLs are waiting."""
        check_scores(scores.values())
        now, count = self._start_operation(), 0
        changed: dict[int, HostState] = {}
        for url, score in scores.items():
            record = self._records.get(url)
            if record is not None and record.state == WAITING:
                count += 1
                record.priority = replace(record.priority, score=score)
                self._set_state(record, WAITING)
                changed[record.host_number] = self._hosts_by_number[record.host_number]
        for host in changed.values():
            self._update_best_rank(host, now)
        return count

    async def set_host_delay(self, host: str, delay: float) -> None:
        """Set the crawl delay of a host. The delay of the rules is the minimum."""
        now, host_state = self._start_operation(), self._get_host(host)
        host_state.delay = max(self._rules.get_delay(host), delay)
        self._schedule.update_host(host_state, now)

    async def block(self, host: str, until: float) -> None:
        """Do not lease links of a host before `until`."""
        now, host_state = self._start_operation(), self._get_host(host)
        host_state.blocked_until = self._clock.to_internal(until)
        self._schedule.update_host(host_state, now)

    async def seconds_until_ready(self, limits: LeaseLimits = NO_LIMITS) -> float | None:
        """Return the seconds until a link within the limits can be leased, or None if none ever can."""
        now = self._start_operation()
        min_score = self._create_budget(limits, now).min_score
        ready_at = min(self._schedule.get_next_ready_time(now, min_score), self._leases.get_next_ready_time())
        return None if ready_at == float("inf") else max(0.0, ready_at - now)

    async def count_delayed_hosts(self) -> int:
        """Count the hosts that have waiting links and are not ready yet."""
        self._schedule.get_best_host(self._start_operation())
        return self._schedule.delayed_count

    def _create_budget(self, limits: LeaseLimits, now: float) -> LeaseBudget:
        """Return which links may be leased now."""
        scores = (record.priority.score for record in self._leases.iter_recent(now))
        return self._schedule.create_budget(limits, now, leased_scores=scores, leased=len(self._leases))

    def _start_operation(self) -> float:
        """Requeue the links of expired leases, with a counted attempt, and return the current time."""
        now = self._clock.now()
        for expired in self._leases.get_expired(now):
            self._requeue(expired, now, count_attempt=True)
        return now

    def _add_offers(self, offers: Sequence[Offer], now: float, *, reopen: bool = False) -> int:
        """Add new links and apply the offers of known ones. Return how many links are new.

        Links of a host whose page budget is used up are not added. If the capacity is exceeded, the worst links are
        dropped.
        """
        before = self._next_sequence
        changed: dict[int, HostState] = {}
        for offer in offers:
            record = self._records.get(offer.link.url)
            if record is None:
                host = self._get_host(host_of(offer.link.url))
                if not self._schedule.is_budget_spent(host):
                    self._set_state(self._create_record(offer), WAITING)
                    changed[host.number] = host
            elif self._apply_offer(record, offer, reopen=reopen):
                changed[record.host_number] = self._hosts_by_number[record.host_number]
        new = self._next_sequence - before
        for host in changed.values():
            self._update_best_rank(host, now)
        if 0 < self._rules.capacity < self._counts[WAITING]:
            self._drop_worst(now)
        return new

    def _apply_offer(self, record: LinkRecord, offer: Offer, *, reopen: bool) -> bool:
        """Apply an offer to a known link and return whether it changed."""
        before = record.state
        if before == DONE and not reopen:
            return False
        if not apply_offer(record, offer, self._hosts_by_number[record.host_number], self._schedule, reopen=reopen):
            return False
        self._set_state(record, WAITING, before)
        return True

    def _drop_worst(self, now: float) -> None:
        """Drop the worst waiting links until `FILL_AFTER_SWEEP` of the capacity is filled."""
        surplus = self._counts[WAITING] - int(self._rules.capacity * FILL_AFTER_SWEEP)
        changed: dict[int, HostState] = {}
        for record in nlargest(surplus, self._iter_waiting(), key=_rank_key):
            record.reason = Refusal.DROPPED.value
            self._set_state(record, DROPPED)
            changed[record.host_number] = self._hosts_by_number[record.host_number]
        for host in changed.values():
            self._update_best_rank(host, now)

    def _get_host(self, name: str) -> HostState:
        """Return the state of a host, and create it for a new host."""
        host = self._hosts.get(name)
        if host is None:
            host = self._hosts[name] = HostState(name, len(self._hosts), self._rules.get_delay(name))
            self._hosts_by_number.append(host)
            self._queues.append([])
            self._queue_sizes.append(0)
        return host

    def _create_record(self, offer: Offer) -> LinkRecord:
        """Create the record of a new link."""
        record = LinkRecord(
            self._next_sequence, self._get_host(host_of(offer.link.url)).number, offer.link, offer.priority
        )
        self._records[record.url] = record
        self._counts[WAITING] += 1
        self._next_sequence += 1
        return record

    def _requeue(self, lease: ActiveLease[LinkRecord], now: float, *, count_attempt: bool) -> None:
        """End a lease without a result: its link waits again, or is dropped if it has no attempts left."""
        lease.item.requeue(self._rules.attempts, count_attempt=count_attempt)
        self._end_lease(lease, lease.item.state)
        self._update_best_rank(lease.host, now)

    def _end_lease(self, lease: ActiveLease[LinkRecord], state: int) -> None:
        """Remove a lease and set the new state of its link."""
        self._leases.end_lease(lease.token)
        lease.host.leased -= 1
        self._set_state(lease.item, state, LEASED)

    def _set_state(self, record: LinkRecord, state: int, before: int | None = None) -> None:
        """Set the state of a link, and update the counts and the queue of its host.

        `before` is the state that the counts contain, if the record has a new one already. The caller then calls
        `_update_best_rank`.
        """
        self._counts[record.state if before is None else before] -= 1
        self._counts[state] += 1
        record.state = state
        self._queue_sizes[record.host_number] -= record.heap_entry is not None
        record.heap_entry = None
        if state == WAITING:
            record.heap_entry = (-record.priority.score, record.seq, record)
            heappush(self._queues[record.host_number], record.heap_entry)
            self._queue_sizes[record.host_number] += 1

    def _update_best_rank(self, host: HostState, now: float) -> None:
        """Find the best waiting link of a host, and update the position of the host in the schedule."""
        queue = self._queues[host.number]
        if len(queue) > 2 * self._queue_sizes[host.number] + _MAX_STALE_ENTRIES:
            queue[:] = [entry for entry in queue if entry[2].heap_entry is entry]
            heapify(queue)
        while queue and queue[0][2].heap_entry is not queue[0]:
            heappop(queue)
        host.best_rank = queue[0] if queue else None
        self._schedule.update_host(host, now)


def _rank_key(record: LinkRecord) -> tuple[float, int]:
    """Return the sort key of a link. The smallest key is the best."""
    return -record.priority.score, record.seq
