"""Which failures are worth another try, and when."""

from __future__ import annotations

from topicrawl.records import Failure, Response

#: Failures that may be gone tomorrow. The others say the same however often one asks.
TRANSIENT = frozenset(
    {
        Failure.DNS,
        Failure.CONNECTION,
        Failure.TIMEOUT,
        Failure.BAD_RESPONSE,
        Failure.RATE_LIMITED,
        Failure.SERVER_ERROR,
        Failure.ROBOTS_UNREACHABLE,
    }
)


def backoff(attempt: int, response: Response, *, base: float = 10.0, cap: float = 3600.0) -> float:
    """Seconds to wait after an attempt (1 is the first): twice as long each time, or what the host asks.

    >>> failed = Response("u", "u")
    >>> [backoff(attempt, failed) for attempt in (1, 2, 3, 99)]
    [10.0, 20.0, 40.0, 3600.0]
    >>> backoff(1, Response("u", "u", status=503, wait=120.0))
    120.0
    """
    return max(response.wait or 0.0, min(cap, base * 2.0 ** min(attempt - 1, 30)))
