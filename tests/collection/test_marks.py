"""Marks lead to the pages that left them."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from topicrawl.collection.marks import Marks

# Few upper bits, so that many marks want the same place.
CLOSE = st.integers(0, 40).map(lambda number: (number << 24) - (1 << 29))
MARKS = st.one_of(CLOSE, st.integers(-(2**63), 2**63 - 1), st.sampled_from([2**63 - 1, -1, 0, -(2**63)]))


def key(mark: int) -> int:
    return (mark & (2**64 - 1)) >> 24


@given(st.lists(st.tuples(MARKS, st.integers(1, 2**24 - 1)), max_size=200), st.lists(MARKS, max_size=20))
def test_every_mark_leads_to_the_newest_page_that_left_it_and_no_other_leads_anywhere(
    added: list[tuple[int, int]], asked: list[int]
) -> None:
    marks, expected = Marks(), dict[int, int]()
    for mark, step in added:
        marks.add(mark, step)
        expected[key(mark)] = step
    for mark in (*(mark for mark, _ in added), *asked):
        assert marks.step(mark) == expected.get(key(mark))
    assert len(marks) == len(expected)


def test_it_grows_and_takes_no_more_than_14_bytes_a_mark() -> None:
    random = Random(1)
    marks = Marks()
    added = {random.getrandbits(64) - 2**63: step for step in range(1, 20_001)}
    for mark, step in added.items():
        marks.add(mark, step)
    assert all(marks.step(mark) == step for mark, step in added.items())
    assert marks.size < 14 * len(marks)


def test_marks_at_the_very_end_of_the_range_push_the_end_out() -> None:
    marks = Marks()
    added = {-1 - (number << 24): number + 1 for number in range(1000)}
    for mark, step in added.items():
        marks.add(mark, step)
    assert all(marks.step(mark) == step for mark, step in added.items())


def test_more_pages_than_fit_are_not_found_and_do_no_harm() -> None:
    marks = Marks()
    marks.add(7, 2**24)
    assert marks.step(7) is None
