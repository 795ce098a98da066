"""Table of active leases with tokens and expiry times."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import Generic, TypeVar

from topicrawl.frontier.base import SLOW_LEASE_SECONDS
from topicrawl.frontier.host_schedule import HostState

Item = TypeVar("Item")


@dataclass(slots=True)
class ActiveLease(Generic[Item]):
    """One active lease: the leased item and its host."""

    item: Item
    host: HostState
    token: int
    expires_at: float
    leased_at: float


class LeaseTable(Generic[Item]):
    """All active leases. Tokens increase and are never reused."""

    def __init__(self, first_token: int = 1) -> None:
        self._next_token = first_token
        self._active: dict[int, ActiveLease[Item]] = {}
        self._expiry_heap: list[tuple[float, int]] = []

    def __len__(self) -> int:
        return len(self._active)

    def __iter__(self) -> Iterator[ActiveLease[Item]]:
        return iter(self._active.values())

    def create_lease(self, item: Item, host: HostState, expires_at: float) -> int:
        """Create a lease and return its token. The host has just been leased."""
        token, self._next_token = self._next_token, self._next_token + 1
        self._active[token] = ActiveLease(item, host, token, expires_at, host.last_lease)
        heappush(self._expiry_heap, (expires_at, token))
        return token

    def get_lease(self, token: int) -> ActiveLease[Item] | None:
        """Return the lease of a token, or None if it has ended."""
        return self._active.get(token)

    def end_lease(self, token: int) -> None:
        """Remove an active lease. Raise KeyError if the lease has ended."""
        del self._active[token]
        if len(self._expiry_heap) > 2 * len(self._active) + 64:
            self._expiry_heap = [(lease.expires_at, lease.token) for lease in self._active.values()]
            heapify(self._expiry_heap)

    def extend(self, token: int, expires_at: float) -> bool:
        """Set a new expiry time of a lease. Return False if the lease has ended."""
        lease = self._active.get(token)
        if lease is None:
            return False
        lease.expires_at = expires_at
        heappush(self._expiry_heap, (expires_at, token))
        return True

    def get_expired(self, now: float) -> list[ActiveLease[Item]]:
        """Return the expired leases, earliest first. They stay in the table until `end_lease` is called."""
        ends: list[tuple[float, int]] = self._expiry_heap
        expired: dict[int, ActiveLease[Item]] = {}
        while ends and ends[0][0] <= now:
            until, token = heappop(ends)
            lease = self._active.get(token)
            if lease is not None and lease.expires_at == until:
                expired[token] = lease
        # The caller may fail to end them on a full disk: keep them so that the next call returns them again.
        for lease in expired.values():
            heappush(ends, (lease.expires_at, lease.token))
        return list(expired.values())

    def iter_recent(self, now: float) -> Iterator[Item]:
        """Iterate over the leased items whose leases are not slow."""
        return (lease.item for lease in self._active.values() if lease.leased_at + SLOW_LEASE_SECONDS >= now)

    def get_next_ready_time(self) -> float:
        """Return the earliest time at which a leased link could be leased again, or infinity if no link is leased."""
        return min(
            (max(lease.expires_at, lease.host.ready_at) for lease in self._active.values()), default=float("inf")
        )
