"""Time goes forward, whatever the clock does."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from topicrawl.frontier.clock import Steady

TIMES = st.lists(st.floats(0, 4e9), min_size=1, max_size=30)


@given(TIMES)
def test_it_never_goes_back(times: list[float]) -> None:
    source = iter(times)
    steady = Steady(lambda: next(source))
    shown = [steady.now() for _ in times]
    assert shown == sorted(shown)


@given(TIMES)
def test_it_is_the_outer_clock_until_that_is_set_back(times: list[float]) -> None:
    source = iter(sorted(times))
    steady = Steady(lambda: next(source))
    assert [steady.now() for _ in times] == sorted(times)
    assert steady.inside(7.0) == steady.outside(7.0) == 7.0


def test_it_goes_on_in_another_process() -> None:
    steady = Steady(lambda: 40.0, offset=5.0, outer=100.0)
    assert steady.now() == 105.0
    assert (steady.offset, steady.outer) == (65.0, 40.0)
    assert steady.inside(50.0) == 115.0
