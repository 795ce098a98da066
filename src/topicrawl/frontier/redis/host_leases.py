"""Deadlines until which a worker may send requests to its leased hosts.

The server confirms with each lease, and again with each heartbeat, that a host still belongs to this worker. A
confirmation is valid for a few seconds only, because the server may have been killed since then and may have lost the
lease. After a restart the server waits for the same time before it leases any host. So the worker need not ask again
right before a request.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from math import inf

# Seconds for which a confirmation is valid: several heartbeats; the same value as in lua/1_run.lua
CONFIRMATION_SECONDS = 4.0
# Share of a lease after which the worker starts no more requests: 1 − `LATE_SHARE` in lua/1_run.lua
REQUEST_START_SHARE = 0.8
_CLAIM_TIMEOUT = 30.0  # maximum seconds to wait for a claim
_CLOCK_ID = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


class RedisHostLeases:
    """Request deadlines of the hosts of one worker.

    `request_claim` asks the server for a single request to a host. It returns the seconds to wait, or 0 if the server
    grants the request.
    """

    def __init__(self, request_claim: Callable[[str], Awaitable[float]]) -> None:
        self.lease_seconds = 0.0
        self._request_claim = request_claim
        self._deadlines: dict[str, float] = {}  # host → time until which a request may start

    def compute_deadline(self) -> float:
        """Return the deadline for requests if the server confirms the lease by a call that starts now."""
        return read_boot_clock() + min(CONFIRMATION_SECONDS, REQUEST_START_SHARE * self.lease_seconds)

    def set_deadline(self, host: str, deadline: float = -inf) -> None:
        """Allow requests to a host until the deadline. Without a deadline, allow none."""
        self._deadlines[host] = deadline

    def remove_host(self, host: str) -> None:
        """Forget the deadline of a host, after the last lease of this worker on it. The server is not called."""
        self._deadlines.pop(host, None)

    def clear(self) -> None:
        """Remove all hosts."""
        self._deadlines.clear()

    def may_start(self, host: str) -> bool:
        """Return whether a request to a host may start now: its deadline has not passed. False for an unknown host."""
        return read_boot_clock() < self._deadlines.get(host, -inf)

    async def claim(self, host: str) -> bool:
        """Wait for permission to send one request to a host without a lease, and set its deadline.

        Return False if the server does not grant it within `_CLAIM_TIMEOUT` seconds.
        """
        until = read_boot_clock() + _CLAIM_TIMEOUT
        while read_boot_clock() < until:
            start = self.compute_deadline()
            wait = await self._request_claim(host)
            if wait <= 0:
                self.set_deadline(host, start)
                return True
            await asyncio.sleep(min(wait, _CLAIM_TIMEOUT))
        return False


def read_boot_clock() -> float:
    """Return the seconds of a clock that continues while the process or the machine is suspended."""
    return time.clock_gettime(_CLOCK_ID)
