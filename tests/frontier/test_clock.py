"""The monotonic clock never runs backwards."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from topicrawl.frontier.clock import MonotonicClock

TIMES = st.lists(st.floats(0, 4e9), min_size=1, max_size=30)


@given(TIMES)
def test_time_never_decreases(times: list[float]) -> None:
    source = iter(times)
    steady = MonotonicClock(lambda: next(source))
    readings = [steady.now() for _ in times]
    assert readings == sorted(readings)


@given(TIMES)
def test_it_equals_the_external_clock_until_that_is_set_back(times: list[float]) -> None:
    source = iter(sorted(times))
    steady = MonotonicClock(lambda: next(source))
    assert [steady.now() for _ in times] == sorted(times)
    assert steady.to_internal(7.0) == steady.to_external(7.0) == 7.0


def test_it_continues_in_another_process() -> None:
    steady = MonotonicClock(lambda: 40.0, offset=5.0, last_external=100.0)
    assert steady.now() == 105.0
    assert (steady.offset, steady.last_external) == (65.0, 40.0)
    assert steady.to_internal(50.0) == 115.0
