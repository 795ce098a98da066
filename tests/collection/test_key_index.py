"""The in-memory key index finds pages by key."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from topicrawl.collection.key_index import KeyIndex

# Few upper bits, so that many keys want the same slot.
CLOSE = st.integers(0, 40).map(lambda number: (number << 24) - (1 << 29))
KEYS = st.one_of(CLOSE, st.integers(-(2**63), 2**63 - 1), st.sampled_from([2**63 - 1, -1, 0, -(2**63)]))


def stored_bits(key: int) -> int:
    return (key & (2**64 - 1)) >> 24


@given(st.lists(st.tuples(KEYS, st.integers(1, 2**24 - 1)), max_size=200), st.lists(KEYS, max_size=20))
def test_every_key_finds_the_last_page_that_was_added_with_it(added: list[tuple[int, int]], asked: list[int]) -> None:
    index, expected = KeyIndex(), dict[int, int]()
    for key, step in added:
        index.add_key(key, step)
        expected[stored_bits(key)] = step
    for key in (*(key for key, _ in added), *asked):
        assert index.find_step(key) == expected.get(stored_bits(key))
    assert len(index) == len(expected)


def test_it_grows_and_takes_at_most_14_bytes_per_key() -> None:
    random = Random(1)
    index = KeyIndex()
    added = {random.getrandbits(64) - 2**63: step for step in range(1, 20_001)}
    for key, step in added.items():
        index.add_key(key, step)
    assert all(index.find_step(key) == step for key, step in added.items())
    assert index.memory_bytes < 14 * len(index)


def test_keys_at_the_end_of_the_range_extend_the_array() -> None:
    index = KeyIndex()
    added = {-1 - (number << 24): number + 1 for number in range(1000)}
    for key, step in added.items():
        index.add_key(key, step)
    assert all(index.find_step(key) == step for key, step in added.items())


def test_pages_whose_step_does_not_fit_are_not_indexed() -> None:
    index = KeyIndex()
    index.add_key(7, 2**24)
    assert index.find_step(7) is None
