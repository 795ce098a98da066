"""Tests of status codes as failures, and of the Retry-After header."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topicrawl.fetch.http_status import MAX_RETRY_AFTER, classify_status, parse_retry_after
from topicrawl.models import Failure

STATUSES = {
    200: None,
    201: None,
    206: None,
    301: None,
    302: None,
    303: None,
    307: None,
    308: None,
    300: Failure.BAD_REDIRECT,
    305: Failure.BAD_REDIRECT,
    304: Failure.EMPTY,
    400: Failure.CLIENT_ERROR,
    401: Failure.FORBIDDEN,
    403: Failure.FORBIDDEN,
    404: Failure.NOT_FOUND,
    407: Failure.FORBIDDEN,
    408: Failure.CLIENT_ERROR,
    410: Failure.NOT_FOUND,
    418: Failure.CLIENT_ERROR,
    429: Failure.RATE_LIMITED,
    451: Failure.FORBIDDEN,
    500: Failure.SERVER_ERROR,
    503: Failure.SERVER_ERROR,
    599: Failure.SERVER_ERROR,
    101: Failure.BAD_RESPONSE,
    600: Failure.BAD_RESPONSE,
    0: Failure.BAD_RESPONSE,
}


@pytest.mark.parametrize(("status", "failure"), STATUSES.items())
def test_a_status_is_a_success_a_redirect_or_a_named_failure(status: int, failure: Failure | None) -> None:
    assert classify_status(status) == failure


NOW = 1_445_412_480.0  # Wed, 21 Oct 2015 07:28:00 GMT

WAITS = {
    "120": 120.0,
    " 0 ": 0.0,
    "999999": MAX_RETRY_AFTER,
    "9" * 5000: MAX_RETRY_AFTER,
    "Wed, 21 Oct 2015 07:29:30 GMT": 90.0,
    "Wed, 21 Oct 2015 07:29:30": 90.0,
    "Wed, 21 Oct 2015 09:29:30 +0200": 90.0,
    "Wed, 21 Oct 2015 07:00:00 GMT": 0.0,  # in the past: now
    "Wed, 21 Oct 2099 07:00:00 GMT": MAX_RETRY_AFTER,
    "": None,
    "soon": None,
    "-5": None,
    "1.5": None,
    "²": None,
    "Wed, 99 Oct 2015 07:29:30 GMT": None,
}


@pytest.mark.parametrize(("value", "wait"), WAITS.items())
def test_retry_after_is_a_number_of_seconds_or_a_date(value: str, wait: float | None) -> None:
    assert parse_retry_after(value, NOW) == wait


@given(st.text())
def test_any_retry_after_value_is_safe(value: str) -> None:
    wait = parse_retry_after(value, NOW)
    assert wait is None or 0.0 <= wait <= MAX_RETRY_AFTER
