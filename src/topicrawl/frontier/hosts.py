"""When each host may be asked again, and which of those that may be asked now has the best link.

Two heaps: hosts that are ready, by their best link; hosts that have to wait, by time. Entries are never
searched for: a host remembers its one valid entry, the others are skipped when they come up and swept
out when they are the majority.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from math import inf
from typing import TypeAlias

from topicrawl.frontier.contract import LATELY, Rules

#: The best waiting link of a host: (−score, sequence number, …), so the smallest is the best.
Top: TypeAlias = tuple[float, int] | tuple[float, int, object]

_SLACK = 64  # stale entries that are not worth a sweep


@dataclass(slots=True, eq=False)
class Host:
    """What politeness knows of a host."""

    name: str
    number: int  # in the order hosts were found
    delay: float
    last: float = -inf  # start of the last lease
    hold: float = -inf  # not before: what `wait` asked for
    wait: float = 0.0  # how many seconds that was
    blocked: float = -inf
    pages: int = 0  # completed links
    leased: int = 0
    top: Top | None = None
    ready_entry: Top | None = field(default=None, repr=False)
    wait_entry: tuple[float, int, Host] | None = field(default=None, repr=False)

    def __lt__(self, other: Host) -> bool:
        return self.number < other.number

    @property
    def ready_at(self) -> float:
        """The moment from which the host may be asked, as far as time is concerned."""
        return max(self.last + self.delay, self.hold, self.blocked)

    def spare(self, unused: bool) -> None:
        """An unused turn is given back: the host was ready when it was leased, so it is ready now."""
        if unused:
            self.last -= self.delay

    def postpone(self, now: float, wait: float) -> None:
        """Nothing before `wait` seconds from now; an earlier, longer wait stays."""
        if wait > 0 and now + wait > self.hold:
            self.hold, self.wait = now + wait, wait


class Schedule:
    """The order in which hosts are asked. Whoever changes a host files it again."""

    def __init__(self, rules: Rules) -> None:
        self.lately: deque[float] = deque(maxlen=LATELY)  # scores of the last links that were leased
        self._parallel = rules.parallel or inf
        self._host_pages = rules.host_pages or inf
        self._ready: list[tuple[Top, Host]] = []
        self._waiting: list[tuple[float, int, Host]] = []
        self._ready_live = 0
        self._waiting_live = 0

    def is_spent(self, host: Host, *, credit: int = 0) -> bool:
        """Has the host given as many pages as it may, `credit` of them not counted?"""
        return host.pages - credit >= self._host_pages

    def file(self, host: Host, now: float) -> None:
        """Put a host where it belongs after a change."""
        top = host.top
        if top is None or host.leased >= self._parallel or host.pages + host.leased >= self._host_pages:
            self._unfile(host)
            return
        when = host.ready_at
        if when <= now:
            if host.ready_entry is not top:
                self._unfile(host)
                host.ready_entry = top
                self._ready_live += 1
                heappush(self._ready, (top, host))
        elif host.wait_entry is None or host.wait_entry[0] != when:
            self._unfile(host)
            if when < inf:
                host.wait_entry = (when, host.number, host)
                self._waiting_live += 1
                heappush(self._waiting, host.wait_entry)

    def file_all(self, hosts: Iterable[Host], now: float) -> None:
        """Put many hosts where they belong."""
        for host in hosts:
            self.file(host, now)

    def modest(self, n: int, focus: float, few: int, now: float) -> tuple[int, float]:
        """How many links may be leased, from which score on: where none is worth it, a few of any."""
        best = max(self.lately, default=0.0) if focus else 0.0
        if best <= 0.0:
            return n, -inf
        return (min(n, few), -inf) if few > 0 and self.best(now, focus * best) is None else (n, focus * best)

    def forget(self, score: float) -> None:
        """Nothing was asked for by this lease."""
        if score in self.lately:
            self.lately.remove(score)

    def best(self, now: float, floor: float = -inf) -> Host | None:
        """The host whose best link is the best of all that may be asked now; None when that is below `floor`."""
        waiting, ready = self._waiting, self._ready
        while waiting and waiting[0][0] <= now:
            entry = heappop(waiting)
            host = entry[2]
            if host.wait_entry is entry:
                self.file(host, now)
        while ready:
            top, host = ready[0]
            if host.ready_entry is top:
                return host if -top[0] >= floor else None
            heappop(ready)
        return None

    def soonest(self, now: float) -> float:
        """When the next host becomes ready: `now` if one is, infinity if none ever does."""
        if self.best(now) is not None:
            return now
        waiting = self._waiting
        while waiting and waiting[0][2].wait_entry is not waiting[0]:
            heappop(waiting)
        return waiting[0][0] if waiting else inf

    @property
    def resting(self) -> int:
        """How many hosts have links that wait and may not be asked yet."""
        return self._waiting_live

    def _unfile(self, host: Host) -> None:
        if host.ready_entry is not None:
            host.ready_entry = None
            self._ready_live -= 1
            if len(self._ready) > 2 * self._ready_live + _SLACK:
                self._ready[:] = [entry for entry in self._ready if entry[1].ready_entry is entry[0]]
                heapify(self._ready)
        if host.wait_entry is not None:
            host.wait_entry = None
            self._waiting_live -= 1
            if len(self._waiting) > 2 * self._waiting_live + _SLACK:
                self._waiting[:] = [entry for entry in self._waiting if entry[2].wait_entry is entry]
                heapify(self._waiting)
