"""The disk-backed key index finds pages by key, in memory and in its file."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from random import Random
from struct import pack

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.helpers.markers import LONG

from topicrawl.collection import disk_key_index
from topicrawl.collection.disk_key_index import DiskKeyIndex

# Few upper bits, so that many keys are adjacent.
CLOSE = st.integers(0, 40).map(lambda number: (number << 24) - (1 << 29))
KEYS = st.one_of(CLOSE, st.integers(-(2**63), 2**63 - 1), st.sampled_from([2**63 - 1, -1, 0, -(2**63)]))
LEFT = st.lists(st.tuples(KEYS, st.integers(1, 2**24 - 1)), max_size=100)


def stored_bits(key: int) -> int:
    return (key & (2**64 - 1)) >> 24


@given(LEFT, LEFT, st.lists(KEYS, max_size=20), st.integers(1, 30))
def test_every_key_finds_the_newest_loaded_page_or_the_last_added_page(
    loaded: list[tuple[int, int]], added: list[tuple[int, int]], asked: list[int], least: int
) -> None:
    index, expected = DiskKeyIndex(Path(), max_in_memory=least), dict[int, int]()
    index.load_pages((step, pack("<q", key)) for key, step in loaded)
    for key, step in loaded:
        expected[stored_bits(key)] = max(step, expected.get(stored_bits(key), 0))
    for key, step in added:
        index.add_key(key, step)
        expected[stored_bits(key)] = step
    for key in (*(key for key, _ in (*loaded, *added)), *asked):
        assert index.find_step(key) == expected.get(stored_bits(key))
    assert len(index) >= len(expected)


@LONG
def test_many_keys_take_little_memory_whether_they_are_loaded_or_added(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk_key_index, "_LOAD_BATCH", 1000)
    random = Random(2)
    drawn = [random.getrandbits(64) - 2**63 for _ in range(150_000)]
    index = DiskKeyIndex(tmp_path, max_in_memory=10_000)
    tracemalloc.start()
    index.load_pages((at + 1, pack("<10q", *drawn[at : at + 10])) for at in range(0, 100_000, 10))
    for at in range(100_000, len(drawn)):
        index.add_key(drawn[at], at + 1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert [index.find_step(drawn[at]) for at in (0, 7, 70_000, 100_000, 149_999)] == [1, 1, 70_001, 100_001, 150_000]
    assert all(index.find_step(key) for key in drawn[::97])
    assert not any(index.find_step(random.getrandbits(64)) for _ in range(1000))
    assert len(index) == len(drawn)
    assert index.memory_bytes < 4 * len(drawn)
    assert peak < 40 * len(drawn)
    assert not list(tmp_path.iterdir())


def test_a_failed_write_changes_nothing(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    index = DiskKeyIndex(gone, max_in_memory=2)
    gone.rmdir()
    for step in (1, 2):
        index.add_key(step << 40, step)
    with pytest.raises(FileNotFoundError):
        index.add_key(3 << 40, 3)
    assert [index.find_step(step << 40) for step in (1, 2, 3, 4)] == [1, 2, 3, None]
