"""Retry backoff: which failures are transient, and how long to wait before the next attempt."""

from __future__ import annotations

from topicrawl.models import Failure, Response

#: Failures that may disappear later. All others are permanent: a retry would give the same result.
TRANSIENT_FAILURES = frozenset(
    {
        Failure.DNS,
        Failure.CONNECTION,
        Failure.TIMEOUT,
        Failure.BAD_RESPONSE,
        Failure.RATE_LIMITED,
        Failure.SERVER_ERROR,
        Failure.ROBOTS_UNREACHABLE,
        Failure.RENDERING,
    }
)


def backoff_seconds(attempt: int, response: Response, *, base: float = 10.0, cap: float = 3600.0) -> float:
    """Return the seconds to wait after an attempt (1 is the first): exponential backoff, at most `cap`.

    If the response asks for a longer wait (`Response.wait`, from Retry-After), the longer one counts. `base` is the
    wait after the first attempt; a crawl passes `CrawlLimits.backoff`.

    >>> failed = Response("u", "u")
    >>> [backoff_seconds(attempt, failed) for attempt in (1, 2, 3, 99)]
    [10.0, 20.0, 40.0, 3600.0]
    >>> backoff_seconds(1, Response("u", "u", status=503, wait=120.0))
    120.0
    """
    return max(response.wait or 0.0, min(cap, base * 2.0 ** min(attempt - 1, 30)))
