"""Until when a worker may send requests to hosts: others are given a host that this one has not used in time.

The server says for every lease, and with every beat again, that it is still this worker's. What it said a few seconds
ago counts no longer: the server may have been killed meanwhile and have lost that it gave the lease. After a restart it
waits for as long before it gives any host to anybody, so nobody needs to ask once more right before a request.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from math import inf

FRESH = 4.0  # seconds for which the server's word counts: several beats; the same as in lua/1_run.lua
EARLY = 0.8  # of a lease: nobody starts a request later than this
_PATIENCE = 30.0  # seconds that a turn at a further host is waited for
_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


class Turns:
    """Hosts of one worker. `ask` asks the server for a turn: seconds to wait, 0 when it is granted."""

    def __init__(self, ask: Callable[[str], Awaitable[float]]) -> None:
        self.lease_seconds = 0.0
        self._ask = ask
        self._starts: dict[str, float] = {}  # host → until when a request to it may start

    def latest(self) -> float:
        """Until when requests may start by what the server is about to say."""
        return boottime() + min(FRESH, EARLY * self.lease_seconds)

    def grant(self, host: str, until: float = -inf) -> None:
        """The host is ours until then; without a time: it is not, or no longer."""
        self._starts[host] = until

    def end(self, host: str) -> None:
        """Nothing of the host is out any more."""
        self._starts.pop(host, None)

    def clear(self) -> None:
        """Nothing is out any more."""
        self._starts.clear()

    def may_start(self, host: str) -> bool:
        """Whether a request to a host may leave at this moment."""
        return boottime() < self._starts.get(host, -inf)

    async def claim(self, host: str) -> bool:
        """Wait for a turn at a host of which nothing is out, for one request. False: it takes too long."""
        until = boottime() + _PATIENCE
        while boottime() < until:
            start = self.latest()
            wait = await self._ask(host)
            if wait <= 0:
                self.grant(host, start)
                return True
            await asyncio.sleep(min(wait, _PATIENCE))
        return False


def boottime() -> float:
    """Seconds on a clock that goes on while the process, or the machine, is asleep."""
    return time.clock_gettime(_CLOCK)
