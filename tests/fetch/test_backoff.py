"""Tests of the retry backoff: transient failures, waiting times and their limits."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from topicrawl.fetch.backoff import TRANSIENT_FAILURES, backoff_seconds
from topicrawl.models import Failure, Response


@given(st.integers(1, 500), st.one_of(st.none(), st.floats(0, 86_400)))
def test_backoff_never_decreases_and_is_at_least_retry_after(attempt: int, wait: float | None) -> None:
    response = Response("u", "u", wait=wait)
    assert backoff_seconds(attempt + 1, response) >= backoff_seconds(attempt, response) >= (wait or 0.0)


def test_backoff_is_at_most_one_hour_without_retry_after() -> None:
    assert backoff_seconds(10**9, Response("u", "u")) == 3600.0


def test_permanent_failures_are_not_transient() -> None:
    decided = {
        Failure.NOT_FOUND,
        Failure.FORBIDDEN,
        Failure.ROBOTS,
        Failure.ADDRESS,
        Failure.CONTENT_TYPE,
        Failure.TOO_LARGE,
    }
    assert not TRANSIENT_FAILURES & decided
