"""What may be gone tomorrow is tried again, ever later."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from topicrawl.fetch.retry import TRANSIENT, backoff
from topicrawl.records import Failure, Response


@given(st.integers(1, 500), st.one_of(st.none(), st.floats(0, 86_400)))
def test_the_wait_never_falls_and_is_never_shorter_than_the_host_asks(attempt: int, wait: float | None) -> None:
    response = Response("u", "u", wait=wait)
    assert backoff(attempt + 1, response) >= backoff(attempt, response) >= (wait or 0.0)


def test_a_host_that_asks_for_nothing_is_left_alone_for_an_hour_at_most() -> None:
    assert backoff(10**9, Response("u", "u")) == 3600.0


def test_what_the_host_has_decided_is_not_asked_again() -> None:
    decided = {
        Failure.NOT_FOUND,
        Failure.FORBIDDEN,
        Failure.ROBOTS,
        Failure.ADDRESS,
        Failure.CONTENT_TYPE,
        Failure.TOO_LARGE,
    }
    assert not TRANSIENT & decided
