"""The pool keeps its content when dead rows are dropped and when it is restored."""

from __future__ import annotations

import json

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from topicrawl.strategies.apprentice.link_pool import MAX_LINKS_PER_URL, LinkPool, PoolRows


def make_rows(*lengths: int, first: int = 0) -> PoolRows:
    flat = np.arange(first, first + sum(lengths), dtype=np.uint32)
    known = np.arange(len(lengths), dtype=np.float32).reshape(-1, 1) + first
    return PoolRows(flat, np.array(lengths, np.int32), known, np.full((len(lengths), 2), first, np.int32))


def list_content(pool: LinkPool) -> dict[str, list[tuple[list[int], list[float], list[int]]]]:
    """Return all rows of each URL."""
    found = {}
    for url in sorted(pool.numbers):
        found[url] = [
            (features.tolist(), known.tolist(), groups.tolist()) for features, known, groups in pool.get_rows(url)
        ]
    return found


def test_rows_are_accessible_before_and_after_merging() -> None:
    pool = LinkPool(1, 2)
    pool.add(["a", "b"], make_rows(2, 3), [0.5, 0.5])
    pool.add(["c"], make_rows(4, first=11), [0.5])
    before = list_content(pool)
    assert before == {
        "a": [([0, 1], [0.0], [0, 0])],
        "b": [([2, 3, 4], [1.0], [0, 0])],
        "c": [([11, 12, 13, 14], [11.0], [11, 11])],
    }
    pool.get_all_rows()
    assert list_content(pool) == before


def test_the_number_of_rows_per_url_is_limited() -> None:
    pool = LinkPool(1, 2)
    for first in range(4):
        pool.add(["a"], make_rows(1, first=first), [first / 10])
    assert [features for features, _, _ in list_content(pool)["a"]] == [[0], [1], [2], [3]]
    assert MAX_LINKS_PER_URL == 6
    assert pool.check_room(["a", "b", "a", "a"]) == [True, True, True, False]
    assert list(pool.frontier_scores) == [0.3], "the highest score"


def test_fetched_urls_are_not_accepted_again_even_after_a_restart() -> None:
    pool, other = LinkPool(1, 2), LinkPool(1, 2)
    pool.add(["a", "b"], make_rows(1, 1), [0.5, 0.5])
    pool.mark_fetched("a")
    other.restore_state(pool.get_state())
    assert pool.check_room(["a", "b"]) == other.check_room(["a", "b"]) == [False, True]
    assert pool.check_room(["a", "b", "a", *"c" * 7]) == [False, True, False, *[True] * 6, False]
    assert list(other.numbers) == ["b"]


def test_a_url_scores_the_mean_of_best_and_average_row() -> None:
    pool = LinkPool(1, 2)
    pool.add(["a", "b", "a", "c"], make_rows(1, 1, 1, 1), [0.0] * 4)
    pool.remove("c")
    assert pool.aggregate_by_url(np.array([-2.0, 0.5, 1.0, 0.9], np.float32)).tolist() == [0.25, 0.5, -np.inf]


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.integers(1, 4), st.booleans()), max_size=30))
def test_dropping_dead_rows_and_restoring_keep_the_content(steps: list[tuple[str, int, bool]]) -> None:
    pool = LinkPool(1, 2)
    for number, (url, length, removes) in enumerate(steps):
        if removes:
            pool.remove(url)
        else:
            pool.add([url], make_rows(length, first=10 * number), [number / 100])
    before = list_content(pool)
    restored = LinkPool(1, 2)
    restored.restore_state(json.loads(json.dumps(pool.get_state())))
    assert list_content(restored) == before
    pool.drop_dead_rows()
    assert list_content(pool) == before
    assert all(pool.urls[number] == url for url, number in pool.numbers.items())
    assert {url: pool.frontier_scores[number] for url, number in pool.numbers.items()} == {
        url: restored.frontier_scores[number] for url, number in restored.numbers.items()
    }


def test_rows_of_an_earlier_version_get_zeros_for_new_prior_features() -> None:
    old, new = LinkPool(1, 2), LinkPool(3, 2)
    old.add(["a", "b"], make_rows(2, 1, first=5), [0.5, 0.5])
    new.restore_state(old.get_state())
    assert list_content(new) == {"a": [([5, 6], [5.0, 0.0, 0.0], [5, 5])], "b": [([7], [6.0, 0.0, 0.0], [5, 5])]}
    new.restore_state(LinkPool(1, 2).get_state())
    assert list_content(new) == {}
