"""Rate limit per host: never send two requests to a host within its crawl delay.

The limit covers all requests of the crawler: pages, robots.txt and redirects.

    async with rate_limiter.acquire_slot("example.org") as slot:
        response = await http.get(url, observer=slot)

The delay is measured between the moments at which requests are sent. DNS lookups and TLS handshakes may take seconds,
so the slot stays taken until the request has been sent. The operating system may suspend the process at any line, so
the send time is the time at which the sending call returns.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from types import TracebackType
from typing import Protocol, Self
from weakref import WeakValueDictionary

#: Upper limit of a crawl delay in seconds. Start times of requests are kept for at least this long.
MAX_CRAWL_DELAY = 60.0

_MIN_SWEEP_SIZE = 1024


class LeaseExpired(Exception):
    """The lease on the host has expired, so the request was not sent. Other workers may now use the host."""


class HostLeases(Protocol):
    """Leases on hosts in a crawl with several workers. Only the holder may send requests to a host."""

    def may_start(self, host: str) -> bool:
        """Return whether this worker holds the lease on a host at this moment."""

    async def claim(self, host: str) -> bool:
        """Wait for the lease on a host, for one request. Return False if the wait takes too long."""


class HostRateLimiter:
    """Rate limiter with one slot per host.

    `delay` is the minimum number of seconds between two requests to a host. `host_delays` replaces it for some hosts.
    """

    def __init__(
        self,
        delay: float = 1.0,
        *,
        host_delays: Mapping[str, float] | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self.delay = delay
        self._host_delays = host_delays or {}
        self.host_leases: HostLeases | None = None  # None: this process is the only worker
        self._clock = clock
        self._sleep = sleep
        self._last_starts: dict[str, tuple[float, float]] = {}
        self._sweep_size = _MIN_SWEEP_SIZE
        # A lock exists only while a task uses it, so idle hosts need no memory.
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def __len__(self) -> int:
        """Return the number of hosts with a recorded start time."""
        return len(self._last_starts)

    def get_delay(self, host: str) -> float:
        """Return the minimum number of seconds between two requests to a host."""
        return self._host_delays.get(host, self.delay)

    def acquire_slot(self, host: str, delay: float | None = None) -> HostSlot:
        """Return the slot of a host as an async context manager, which waits on entry until a request may be sent.

        The delay is `delay` or the delay of the host, whichever is longer.
        """
        lock = self._locks.get(host)
        if lock is None:
            lock = self._locks[host] = asyncio.Lock()
        return HostSlot(self, host, max(self.get_delay(host), delay or 0.0), lock)

    def is_free(self, host: str) -> bool:
        """Return whether a request could be sent now: the slot is free and the delay has passed."""
        start, delay = self._last_starts.get(host, (float("-inf"), 0.0))
        lock = self._locks.get(host)
        return (lock is None or not lock.locked()) and start + max(self.get_delay(host), delay) <= self._clock()

    def seconds_until_free(self, host: str) -> float:
        """Return the seconds until the delay since the last request to a host has passed, 0 if it has."""
        start, delay = self._last_starts.get(host, (float("-inf"), 0.0))
        return max(0.0, start + max(self.get_delay(host), delay) - self._clock())

    async def _wait_until_ready(self, host: str, delay: float) -> None:
        """Sleep until the delay after the last request to a host has passed."""
        start, previous_delay = self._last_starts.get(host, (float("-inf"), 0.0))
        due = start + _add_margin(max(delay, previous_delay))
        # Timers may fire early, so the clock is checked again after each sleep.
        while (remaining := due - self._clock()) > 0:
            await self._sleep(remaining)

    def _record_start(self, host: str, delay: float) -> None:
        """Record that a request to a host was sent now. Sometimes also forget the hosts whose delay has passed."""
        now = self._clock()
        self._last_starts[host] = (now, delay)
        if len(self._last_starts) >= self._sweep_size:
            self._last_starts = {
                name: entry
                for name, entry in self._last_starts.items()
                if entry[0] + max(entry[1], MAX_CRAWL_DELAY) > now
            }
            self._sweep_size = max(_MIN_SWEEP_SIZE, 2 * len(self._last_starts))


def _add_margin(delay: float) -> float:
    """Return the delay plus a small margin.

    A busy host may register one request late and the next one on time, and would then see them too close together.

    >>> [round(_add_margin(delay), 3) for delay in (0.0, 0.1, 1.0, 60.0)]
    [0.0, 0.11, 1.02, 60.02]
    """
    return delay + min(0.02, delay / 10)


class HostSlot:
    """The slot of a host, as an async context manager.

    The slot is acquired on entry. It is released when the request has been sent, or on exit if none was sent.
    """

    __slots__ = ("_delay", "_host", "_is_held", "_limiter", "_lock")

    def __init__(self, limiter: HostRateLimiter, host: str, delay: float, lock: asyncio.Lock) -> None:
        self._limiter = limiter
        self._host = host
        self._delay = delay
        self._lock = lock
        self._is_held = False

    async def __aenter__(self) -> Self:
        await self._lock.acquire()
        try:
            await self._limiter._wait_until_ready(self._host, self._delay)
        except BaseException:
            self._lock.release()
            raise
        self._is_held = True
        return self

    def before_send(self) -> None:
        """Raise `LeaseExpired` if this worker no longer holds the lease on the host.

        Connecting may have taken long, and the process may have been suspended.
        """
        if self._limiter.host_leases is not None and not self._limiter.host_leases.may_start(self._host):
            raise LeaseExpired(self._host)

    def after_send(self) -> None:
        """Record the send time and release the slot; the next request may follow after the delay.

        A request that is sent again counts too.
        """
        self._limiter._record_start(self._host, self._delay)
        if self._is_held:
            self._is_held = False
            self._lock.release()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # An attempt that failed before sending has opened a connection to the host, so it counts as a request.
        if self._is_held:
            self.after_send()
