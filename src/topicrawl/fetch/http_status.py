"""HTTP status codes as crawl failures, and the Retry-After header."""

from __future__ import annotations

from datetime import UTC
from email.utils import parsedate_to_datetime

from topicrawl.models import Failure

#: Status codes whose Location header the crawler follows.
REDIRECT_STATUSES = frozenset({301, 302, 303, 307, 308})

#: Upper limit of Retry-After in seconds (one day).
MAX_RETRY_AFTER = 86_400.0

_STATUS_FAILURES = {
    304: Failure.EMPTY,
    401: Failure.FORBIDDEN,
    403: Failure.FORBIDDEN,
    404: Failure.NOT_FOUND,
    407: Failure.FORBIDDEN,
    410: Failure.NOT_FOUND,
    429: Failure.RATE_LIMITED,
    451: Failure.FORBIDDEN,
}


def classify_status(status: int) -> Failure | None:
    """Return the failure for a status code; None for a success or a redirect that can be followed.

    >>> (
    ...     classify_status(200),
    ...     classify_status(301),
    ...     classify_status(410).value,
    ...     classify_status(418).value,
    ...     classify_status(599).value,
    ... )
    (None, None, 'not_found', 'client_error', 'server_error')
    """
    if 200 <= status < 300 or status in REDIRECT_STATUSES:
        return None
    failure = _STATUS_FAILURES.get(status)
    if failure is not None:
        return failure
    if 300 <= status < 400:
        return Failure.BAD_REDIRECT
    if 400 <= status < 500:
        return Failure.CLIENT_ERROR
    if 500 <= status < 600:
        return Failure.SERVER_ERROR
    return Failure.BAD_RESPONSE


def parse_retry_after(value: str, now: float) -> float | None:
    """Parse a Retry-After header (seconds or an HTTP date) to seconds from `now`, at most `MAX_RETRY_AFTER` (one day).

    Return None for a value that is neither.

    >>> (
    ...     parse_retry_after("120", 0.0),
    ...     parse_retry_after("Thu, 01 Jan 1970 00:01:00 GMT", 20.0),
    ...     parse_retry_after("soon", 0.0),
    ... )
    (120.0, 40.0, None)
    """
    value = value.strip()
    if value.isdecimal() and value.isascii():
        # Truncate first: Python refuses to convert numbers of several thousand digits.
        return min(float(value[:9]), MAX_RETRY_AFTER)
    try:
        date = parsedate_to_datetime(value)
        if date.tzinfo is None:
            date = date.replace(tzinfo=UTC)
        return min(max(0.0, date.timestamp() - now), MAX_RETRY_AFTER)
    except (ValueError, OverflowError, IndexError, TypeError):
        return None
