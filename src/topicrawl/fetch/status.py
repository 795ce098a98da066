"""What an HTTP status means for a crawl, and how long a host asks us to stay away."""

from __future__ import annotations

from datetime import UTC
from email.utils import parsedate_to_datetime

from topicrawl.records import Failure

#: Statuses whose Location is followed.
REDIRECTS = frozenset({301, 302, 303, 307, 308})

#: A host that asks for more is asked again after a day all the same.
LONGEST_WAIT = 86_400.0

_NAMED = {
    304: Failure.EMPTY,
    401: Failure.FORBIDDEN,
    403: Failure.FORBIDDEN,
    404: Failure.NOT_FOUND,
    407: Failure.FORBIDDEN,
    410: Failure.NOT_FOUND,
    429: Failure.RATE_LIMITED,
    451: Failure.FORBIDDEN,
}


def failure_of(status: int) -> Failure | None:
    """Why a status brings no page; None for a success and for a redirect that can be followed.

    >>> failure_of(200), failure_of(301), failure_of(410).value, failure_of(418).value, failure_of(599).value
    (None, None, 'not_found', 'client_error', 'server_error')
    """
    if 200 <= status < 300 or status in REDIRECTS:
        return None
    named = _NAMED.get(status)
    if named is not None:
        return named
    if 300 <= status < 400:
        return Failure.BAD_REDIRECT
    if 400 <= status < 500:
        return Failure.CLIENT_ERROR
    if 500 <= status < 600:
        return Failure.SERVER_ERROR
    return Failure.BAD_RESPONSE


def retry_after(value: str, now: float) -> float | None:
    """The seconds a Retry-After header asks for, given as a number or as a date; at most a day.

    >>> retry_after("120", 0.0), retry_after("Thu, 01 Jan 1970 00:01:00 GMT", 20.0), retry_after("soon", 0.0)
    (120.0, 40.0, None)
    """
    value = value.strip()
    if value.isdecimal() and value.isascii():
        # Cut before converting: Python refuses to read a number of thousands of digits.
        return min(float(value[:9]), LONGEST_WAIT)
    try:
        date = parsedate_to_datetime(value)
        if date.tzinfo is None:
            date = date.replace(tzinfo=UTC)
        return min(max(0.0, date.timestamp() - now), LONGEST_WAIT)
    except (ValueError, OverflowError, IndexError, TypeError):
        return None
