"""The pool gives back what was put in, however often it is swept or restored."""

from __future__ import annotations

import json

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from topicrawl.scoring.pool import PARENTS, Pool, Rows


def rows(*lengths: int, first: int = 0) -> Rows:
    flat = np.arange(first, first + sum(lengths), dtype=np.uint32)
    known = np.arange(len(lengths), dtype=np.float32).reshape(-1, 1) + first
    return Rows(flat, np.array(lengths, np.int32), known, np.full((len(lengths), 2), first, np.int32))


def seen(pool: Pool) -> dict[str, list[tuple[list[int], list[float], list[int]]]]:
    """Everything that is known of each address."""
    found = {}
    for url in sorted(pool.numbers):
        found[url] = [
            (features.tolist(), known.tolist(), groups.tolist()) for features, known, groups in pool.rows(url)
        ]
    return found


def test_a_row_is_found_before_and_after_all_rows_are_joined() -> None:
    pool = Pool(1, 2)
    pool.add(["a", "b"], rows(2, 3), [0.5, 0.5])
    pool.add(["c"], rows(4, first=11), [0.5])
    before = seen(pool)
    assert before == {"a": [([0, 1], [0.0], [0, 0])], "b": [([2, 3, 4], [1.0], [0, 0])],
                      "c": [([11, 12, 13, 14], [11.0], [11, 11])]}  # fmt: skip
    pool.all()
    assert seen(pool) == before


def test_an_address_has_so_many_rows_and_no_more() -> None:
    pool = Pool(1, 2)
    for first in range(4):
        pool.add(["a"], rows(1, first=first), [first / 10])
    assert [features for features, _, _ in seen(pool)["a"]] == [[0], [1], [2], [3]]
    assert PARENTS == 6
    assert pool.room(["a", "b", "a", "a"]) == [True, True, True, False]
    assert list(pool.told) == [0.3], "the best score that was offered"


def test_what_was_fetched_is_not_taken_in_again_also_after_a_restart() -> None:
    pool, other = Pool(1, 2), Pool(1, 2)
    pool.add(["a", "b"], rows(1, 1), [0.5, 0.5])
    pool.fetched("a")
    other.restore(pool.state())
    assert pool.room(["a", "b"]) == other.room(["a", "b"]) == [False, True]
    assert pool.room(["a", "b", "a", *"c" * 7]) == [False, True, False, *[True] * 6, False]
    assert list(other.numbers) == ["b"]


def test_an_address_is_worth_half_its_best_row_and_half_their_mean() -> None:
    pool = Pool(1, 2)
    pool.add(["a", "b", "a", "c"], rows(1, 1, 1, 1), [0.0] * 4)
    pool.remove("c")
    assert pool.worth(np.array([-2.0, 0.5, 1.0, 0.9], np.float32)).tolist() == [0.25, 0.5, -np.inf]


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.integers(1, 4), st.booleans()), max_size=30))
def test_sweeping_and_restoring_change_nothing_that_can_be_seen(steps: list[tuple[str, int, bool]]) -> None:
    pool = Pool(1, 2)
    for number, (url, length, removes) in enumerate(steps):
        if removes:
            pool.remove(url)
        else:
            pool.add([url], rows(length, first=10 * number), [number / 100])
    before = seen(pool)
    restored = Pool(1, 2)
    restored.restore(json.loads(json.dumps(pool.state())))
    assert seen(restored) == before
    pool.sweep()
    assert seen(pool) == before
    assert all(pool.urls[number] == url for url, number in pool.numbers.items())
    assert {url: pool.told[number] for url, number in pool.numbers.items()} == {
        url: restored.told[number] for url, number in restored.numbers.items()
    }
