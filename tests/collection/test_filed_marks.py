"""Marks lead to the pages that left them, however many there are: in memory and in a file."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from random import Random
from struct import pack

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topicrawl.collection import filed_marks
from topicrawl.collection.filed_marks import FiledMarks

# Few upper bits, so that many marks stand side by side.
CLOSE = st.integers(0, 40).map(lambda number: (number << 24) - (1 << 29))
MARKS = st.one_of(CLOSE, st.integers(-(2**63), 2**63 - 1), st.sampled_from([2**63 - 1, -1, 0, -(2**63)]))
LEFT = st.lists(st.tuples(MARKS, st.integers(1, 2**24 - 1)), max_size=100)


def key(mark: int) -> int:
    return (mark & (2**64 - 1)) >> 24


@given(LEFT, LEFT, st.lists(MARKS, max_size=20), st.integers(1, 30))
def test_every_mark_leads_to_the_newest_page_that_was_loaded_or_the_last_one_that_was_added(
    loaded: list[tuple[int, int]], added: list[tuple[int, int]], asked: list[int], least: int
) -> None:
    marks, expected = FiledMarks(Path(), least=least), dict[int, int]()
    marks.load((step, pack("<q", mark)) for mark, step in loaded)
    for mark, step in loaded:
        expected[key(mark)] = max(step, expected.get(key(mark), 0))
    for mark, step in added:
        marks.add(mark, step)
        expected[key(mark)] = step
    for mark in (*(mark for mark, _ in (*loaded, *added)), *asked):
        assert marks.step(mark) == expected.get(key(mark))
    assert len(marks) >= len(expected)


def test_many_marks_take_little_room_whether_they_are_loaded_or_added(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(filed_marks, "_TOGETHER", 1000)
    random = Random(2)
    drawn = [random.getrandbits(64) - 2**63 for _ in range(150_000)]
    marks = FiledMarks(tmp_path, least=10_000)
    tracemalloc.start()
    marks.load((at + 1, pack("<10q", *drawn[at : at + 10])) for at in range(0, 100_000, 10))
    for at in range(100_000, len(drawn)):
        marks.add(drawn[at], at + 1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert [marks.step(drawn[at]) for at in (0, 7, 70_000, 100_000, 149_999)] == [1, 1, 70_001, 100_001, 150_000]
    assert all(marks.step(mark) for mark in drawn[::97])
    assert not any(marks.step(random.getrandbits(64)) for _ in range(1000))
    assert len(marks) == len(drawn)
    assert marks.size < 4 * len(drawn)
    assert peak < 40 * len(drawn)
    assert not list(tmp_path.iterdir())


def test_a_disk_that_is_full_changes_nothing(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    marks = FiledMarks(gone, least=2)
    gone.rmdir()
    for step in (1, 2):
        marks.add(step << 40, step)
    with pytest.raises(FileNotFoundError):
        marks.add(3 << 40, 3)
    assert [marks.step(step << 40) for step in (1, 2, 3, 4)] == [1, 2, 3, None]
