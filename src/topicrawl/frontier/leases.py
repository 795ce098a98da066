"""Which links are out, until when, and under which token."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import Generic, TypeVar

from topicrawl.frontier.hosts import Host

Item = TypeVar("Item")


@dataclass(slots=True)
class Out(Generic[Item]):
    """One lease: what is out, on which host."""

    item: Item
    host: Host
    token: int
    until: float


class Leases(Generic[Item]):
    """All leases that are out. Tokens rise and are never used twice."""

    def __init__(self, first_token: int = 1) -> None:
        self._next = first_token
        self._out: dict[int, Out[Item]] = {}
        self._ends: list[tuple[float, int]] = []

    def __len__(self) -> int:
        return len(self._out)

    def __iter__(self) -> Iterator[Out[Item]]:
        return iter(self._out.values())

    def hand_out(self, item: Item, host: Host, until: float) -> int:
        """Remember a lease under a new token."""
        token, self._next = self._next, self._next + 1
        self._out[token] = Out(item, host, token, until)
        heappush(self._ends, (until, token))
        return token

    def find(self, token: int) -> Out[Item] | None:
        """The lease of a token; None when it is over."""
        return self._out.get(token)

    def end(self, token: int) -> None:
        """Forget a lease."""
        del self._out[token]
        if len(self._ends) > 2 * len(self._out) + 64:
            self._ends = [(out.until, out.token) for out in self._out.values()]
            heapify(self._ends)

    def extend(self, token: int, until: float) -> bool:
        """Move the end of a lease."""
        out = self._out.get(token)
        if out is None:
            return False
        out.until = until
        heappush(self._ends, (until, token))
        return True

    def overdue(self, now: float) -> list[Out[Item]]:
        """The leases whose time is over, the earliest first; they stay until they are ended."""
        ends: list[tuple[float, int]] = self._ends
        found: dict[int, Out[Item]] = {}
        while ends and ends[0][0] <= now:
            until, token = heappop(ends)
            out = self._out.get(token)
            if out is not None and out.until == until:
                found[token] = out
        # Ending them may fail for want of space: then they come up again.
        for out in found.values():
            heappush(ends, (out.until, out.token))
        return list(found.values())

    def soonest(self) -> float:
        """When the first link that is out could be asked again; infinity if never."""
        return min((max(out.until, out.host.ready_at) for out in self._out.values()), default=float("inf"))
