"""No two requests to a host inside its delay, whoever asks: a page, a robots.txt or a redirect on its way.

    async with pace.turn("example.org") as turn:
        response = await http.get(url, turn=turn)

What counts is when a request leaves, not when somebody decided to send it: looking up a name and shaking
hands may take seconds, so the host's turn stays taken until the request is on its way. A busy machine may
let a process wait at any line; so a request is taken to have left when the call that sent it has come back.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Protocol, Self
from weakref import WeakValueDictionary

#: The longest delay anybody asks for, be it by a robots.txt still on its way: starts are kept as long.
LONGEST_DELAY = 60.0

_SWEEP = 1024


class TurnOver(Exception):
    """Others may ask the host by now, so the request did not leave."""


class Turns(Protocol):
    """Whose turn it is at a host, where others ask the same hosts."""

    def may_start(self, host: str) -> bool:
        """Whether it is our turn at this very moment."""

    async def claim(self, host: str) -> bool:
        """Wait until it is our turn, for one request. False: it takes too long."""


class Pace:
    """Turns of hosts; `delay` is the least number of seconds between two starts on one host."""

    def __init__(
        self,
        delay: float = 1.0,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self.delay = delay
        self.turns: Turns | None = None  # None: nobody else asks
        self._clock = clock
        self._sleep = sleep
        self._starts: dict[str, tuple[float, float]] = {}
        self._sweep_at = _SWEEP
        # A lock lives as long as somebody waits for it, so idle hosts cost nothing.
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def __len__(self) -> int:
        """The hosts that are remembered."""
        return len(self._starts)

    def turn(self, host: str, delay: float | None = None) -> Turn:
        """Wait for the host's turn; a longer `delay` than the usual one counts, a shorter one does not."""
        lock = self._locks.get(host)
        if lock is None:
            lock = self._locks[host] = asyncio.Lock()
        return Turn(self, host, max(self.delay, delay or 0.0), lock)

    def free(self, host: str) -> bool:
        """Whether a request could leave now: nobody waits for the host, and its delay has passed."""
        start, delay = self._starts.get(host, (float("-inf"), 0.0))
        lock = self._locks.get(host)
        return (lock is None or not lock.locked()) and start + max(self.delay, delay) <= self._clock()

    def left(self, host: str) -> float:
        """Seconds until the host's delay has passed."""
        start, delay = self._starts.get(host, (float("-inf"), 0.0))
        return max(0.0, start + max(self.delay, delay) - self._clock())

    async def _ready(self, host: str, delay: float) -> None:
        start, before = self._starts.get(host, (float("-inf"), 0.0))
        due = start + _with_margin(max(delay, before))
        # Timers may ring early, so the clock has the last word.
        while (left := due - self._clock()) > 0:
            await self._sleep(left)

    def _note(self, host: str, delay: float) -> None:
        now = self._clock()
        self._starts[host] = (now, delay)
        if len(self._starts) >= self._sweep_at:
            self._starts = {
                name: entry for name, entry in self._starts.items() if entry[0] + max(entry[1], LONGEST_DELAY) > now
            }
            self._sweep_at = max(_SWEEP, 2 * len(self._starts))


def _with_margin(delay: float) -> float:
    """A little more than the delay: a busy host notes one request late and the next in time, and sees them closer.

    >>> [round(_with_margin(delay), 3) for delay in (0.0, 0.1, 1.0, 60.0)]
    [0.0, 0.11, 1.02, 60.02]
    """
    return delay + min(0.02, delay / 10)


class Turn:
    """A host's turn: taken on entering, given back when the request has left or nothing was sent at all."""

    __slots__ = ("_delay", "_host", "_lock", "_pace", "_taken")

    def __init__(self, pace: Pace, host: str, delay: float, lock: asyncio.Lock) -> None:
        self._pace = pace
        self._host = host
        self._delay = delay
        self._lock = lock
        self._taken = False

    async def __aenter__(self) -> Self:
        await self._lock.acquire()
        try:
            await self._pace._ready(self._host, self._delay)
        except BaseException:
            self._lock.release()
            raise
        self._taken = True
        return self

    def leaves(self) -> None:
        """The request is about to leave. Connecting may have taken long, and the process may have been asleep."""
        if self._pace.turns is not None and not self._pace.turns.may_start(self._host):
            raise TurnOver(self._host)

    def started(self) -> None:
        """The request has left: the next one may follow a delay later."""
        if self._taken:
            self._taken = False
            self._pace._note(self._host, self._delay)
            self._lock.release()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # An attempt that never got as far as sending knocked at the host's door all the same.
        self.started()
