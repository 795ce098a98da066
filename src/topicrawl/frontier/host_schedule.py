"""Schedule of hosts: when each host is ready, and which ready host has the best link.

There are four heaps. Ready hosts are ordered by their best link, and delayed hosts by the time when they are ready.
Hosts that are expected to be ready soon are also ordered by their best link: this gives the best score that is worth
waiting for. Hosts that wait longer are ordered by the time when they are expected.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from math import inf
from typing import Generic, TypeAlias, TypeVar

from topicrawl.frontier.base import EXPECTED_SECONDS, SLOW_LEASE_SECONDS, FrontierRules, LeaseLimits

#: Rank of the best waiting link of a host: (−score, sequence number, …). The smallest rank is the best.
LinkRank: TypeAlias = tuple[float, int] | tuple[float, int, object]
Key = TypeVar("Key", LinkRank, float)

_MAX_STALE_ENTRIES = 64  # stale heap entries that are tolerated before the heap is rebuilt


@dataclass(slots=True, eq=False)
class HostState:
    """Politeness state of one host."""

    name: str
    number: int  # in the order of discovery
    delay: float
    last_lease: float = -inf  # start of the last lease
    hold_until: float = -inf  # earliest next lease, from the `wait` of `complete` or `release`
    hold_seconds: float = 0.0  # duration of that wait in seconds
    blocked_until: float = -inf
    pages: int = 0  # completed links
    leased: int = 0
    best_rank: LinkRank | None = None

    @property
    def ready_at(self) -> float:
        """Earliest time of the next lease, apart from the limits on leases and pages."""
        return max(self.last_lease + self.delay, self.hold_until, self.blocked_until)

    def refund_delay(self, unused: bool) -> None:
        """Undo the delay of an unused lease. The host was ready when the link was leased, so it is ready now."""
        if unused:
            self.last_lease -= self.delay

    def postpone(self, now: float, wait: float) -> None:
        """Hold the host for `wait` seconds from now. A hold that ends later stays in effect."""
        if wait > 0 and now + wait > self.hold_until:
            self.hold_until, self.hold_seconds = now + wait, wait


class HostHeap(Generic[Key]):
    """Heap of hosts by a key, the smallest first. A host has at most one key.

    Heap entries are never searched for: stale entries are skipped when they reach the top, and they are removed
    together when they are the majority.

    >>> heap: HostHeap[float] = HostHeap()
    >>> one, two = HostState("one.org", 0, 1.0), HostState("two.org", 1, 1.0)
    >>> heap.set_key(one, 3.0), heap.set_key(two, 5.0), heap.set_key(one, 7.0)
    (None, None, None)
    >>> heap.get_first()[1].name, len(heap)
    ('two.org', 2)
    """

    __slots__ = ("_entries", "_heap")

    def __init__(self) -> None:
        self._heap: list[tuple[Key, int, HostState]] = []
        self._entries: dict[int, tuple[Key, int, HostState]] = {}  # valid entries by host number

    def __len__(self) -> int:
        return len(self._entries)

    def set_key(self, host: HostState, key: Key | None) -> None:
        """Set the key of a host, or remove the host if the key is None."""
        entry = self._entries.get(host.number)
        if key is None:
            if entry is not None:
                del self._entries[host.number]
                self._remove_stale_entries()
        elif entry is None or entry[0] != key:
            self._entries[host.number] = entry = (key, host.number, host)
            heappush(self._heap, entry)
            self._remove_stale_entries()

    def get_first(self) -> tuple[Key, HostState] | None:
        """Return the smallest key and its host, or None if the heap is empty."""
        heap, entries = self._heap, self._entries
        while heap:
            entry = heap[0]
            if entries.get(entry[1]) is entry:
                return entry[0], entry[2]
            heappop(heap)
        return None

    def get_all(self) -> Iterable[tuple[Key, HostState]]:
        """Return the keys and hosts in any order."""
        return ((key, host) for key, _, host in self._entries.values())

    def _remove_stale_entries(self) -> None:
        """Rebuild a heap that consists mostly of stale entries."""
        if len(self._heap) > 2 * len(self._entries) + _MAX_STALE_ENTRIES:
            self._heap = list(self._entries.values())
            heapify(self._heap)


@dataclass(slots=True)
class LeaseBudget:
    """Links that one call of `lease` may still return by its `LeaseLimits`."""

    limits: LeaseLimits
    poor_below: float  # links that score less are poor
    poor_left: int

    @property
    def min_score(self) -> float:
        """Minimum score of the next link."""
        return self.limits.min_score if self.poor_left > 0 else max(self.limits.min_score, self.poor_below)

    def count_lease(self, score: float) -> bool:
        """Count a leased link and return whether it is poor."""
        is_poor = score < self.poor_below
        self.poor_left -= is_poor
        return is_poor


class HostSchedule:
    """Order in which hosts are leased. The caller must call `update_host` after each change of a host."""

    def __init__(self, rules: FrontierRules) -> None:
        self._max_leases = rules.parallel or inf
        self._rules = rules
        self._ready: HostHeap[LinkRank] = HostHeap()
        self._delayed: HostHeap[float] = HostHeap()
        self._expected: HostHeap[LinkRank] = HostHeap()  # not ready, but soon: see `LeaseLimits`
        self._distant: HostHeap[float] = HostHeap()  # by the time when they are expected

    def is_budget_spent(self, host: HostState, *, credit: int = 0) -> bool:
        """Return whether the page budget of the host is used up, without counting `credit` of its pages."""
        return host.pages - credit >= self._rules.get_page_limit(host.name)

    def update_host(self, host: HostState, now: float) -> None:
        """Reschedule a host after a change: as ready, as delayed, or not at all if no link of it may be leased."""
        rank = host.best_rank if host.pages + host.leased < self._rules.get_page_limit(host.name) else None
        ready_at = host.ready_at
        has_slot = host.leased < self._max_leases
        is_ready = has_slot and ready_at <= now
        expected_at = ready_at - min(host.delay, EXPECTED_SECONDS)
        is_delayed = rank is not None and not is_ready and ready_at < inf
        is_expected = is_delayed and expected_at <= now and not self._is_slow(host, now)
        self._ready.set_key(host, rank if is_ready else None)
        self._delayed.set_key(host, ready_at if is_delayed and has_slot else None)
        self._expected.set_key(host, rank if is_expected else None)
        self._distant.set_key(host, expected_at if is_delayed and expected_at > now else None)

    def update_hosts(self, hosts: Iterable[HostState], now: float) -> None:
        """Call `update_host` for several hosts."""
        for host in hosts:
            self.update_host(host, now)

    def create_budget(
        self, limits: LeaseLimits, now: float, *, leased_scores: Iterable[float], leased: int
    ) -> LeaseBudget:
        """Return the budget of a call of `lease`, as described in `LeaseLimits`.

        `leased_scores` are the scores of the leased links whose leases are not slow, and `leased` is the number of all
        leased links.
        """
        reference = max((self._get_best_score(now), *leased_scores)) if limits.focus > 0 else 0.0
        poor_below = limits.focus * reference if reference > 0 else -inf
        return LeaseBudget(limits, poor_below, max(limits.max_poor, limits.min_leased - leased))

    def get_best_host(self, now: float, min_score: float = -inf) -> HostState | None:
        """Return the ready host with the best link, or None if no host is ready or the link scores below `min_score`.

        Hosts whose delay has passed by `now` become ready first.
        """
        while (delayed := self._delayed.get_first()) is not None and delayed[0] <= now:
            self.update_host(delayed[1], now)
        first = self._ready.get_first()
        return None if first is None or -first[0][0] < min_score else first[1]

    def get_next_ready_time(self, now: float, min_score: float = -inf) -> float:
        """Return the time when a host with a link of at least this score is ready: infinity if none ever is."""
        if self.get_best_host(now, min_score) is not None:
            return now
        if min_score == -inf:
            delayed = self._delayed.get_first()
            return inf if delayed is None else delayed[0]
        times = (at for at, host in self._delayed.get_all() if host.best_rank and -host.best_rank[0] >= min_score)
        return min(times, default=inf)

    @property
    def delayed_count(self) -> int:
        """Number of hosts that have waiting links and are not ready yet."""
        return len(self._delayed)

    def _get_best_score(self, now: float) -> float:
        """Return the score of the best waiting link of all hosts that are ready or expected, or −infinity."""
        while (distant := self._distant.get_first()) is not None and distant[0] <= now:
            self.update_host(distant[1], now)
        self.get_best_host(now)
        while (expected := self._expected.get_first()) is not None and self._is_slow(expected[1], now):
            self.update_host(expected[1], now)
        firsts = (self._ready.get_first(), expected)
        return max((-first[0][0] for first in firsts if first is not None), default=-inf)

    def _is_slow(self, host: HostState, now: float) -> bool:
        """Return whether all slots of a host are leased, and its last lease takes long."""
        return host.leased >= self._max_leases and host.last_lease + SLOW_LEASE_SECONDS < now
