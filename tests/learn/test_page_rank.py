"""PageRank of graphs small enough to do by hand."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from topicrawl.learn.page_rank import page_ranks

# Page by page: its links, and the ranks by hand with d = .9 (sums are the number of pages).
BY_HAND = [
    ([[1], [0]], [1.0, 1.0]),  # two that link to each other
    ([[1, 2], [2], []], [3 / 5.205, 3 * 1.45 / 5.205, 3 * 2.755 / 5.205]),
    # A star: x + three times .9 of x; the middle is not fetched: x, x, x, 3.7 x, together 6.7 x = 4.
    ([[3], [3], [3], []], [4 / 6.7, 4 / 6.7, 4 / 6.7, 4 * 3.7 / 6.7]),
]


def ranked(links: list[list[int]], damping: float = 0.9) -> list[float]:
    pages = [page for page, targets in enumerate(links) if targets]
    targets = [target for page in pages for target in links[page]]
    ranks, _ = page_ranks(list(map(len, links)), pages, targets, [1.0] * len(links), damping)
    return [float(rank) for rank in ranks]


@pytest.mark.parametrize(("links", "ranks"), BY_HAND)
def test_small_graphs_by_hand(links: list[list[int]], ranks: list[float]) -> None:
    assert ranked(links) == pytest.approx(ranks, abs=2e-4)


def test_the_order_of_pages_is_free() -> None:
    ranks, _ = page_ranks([2, 1, 0], [1, 0], [2, 1, 2], [1, 1, 1], 0.9)
    assert ranks == pytest.approx(ranked([[1, 2], [2], []]), abs=1e-6)


def test_links_to_pages_that_are_not_ranked_take_their_share_with_them() -> None:
    ranks, least = page_ranks([2, 0], [0], [1, -1], [1, 1], 0.9)
    # x and x + .45 x, scaled to 2 together.
    assert list(ranks) == pytest.approx([2 / 2.45, 2 * 1.45 / 2.45], abs=1e-3)
    assert least <= ranks.min()


@given(st.lists(st.lists(st.integers(0, 7), unique=True, max_size=4), min_size=8, max_size=8))
def test_ranks_are_the_same_as_those_of_the_linear_equations(links: list[list[int]]) -> None:
    size, damping = len(links), 0.85
    flow = np.zeros((size, size))
    for page, targets in enumerate(links):
        for target in targets or range(size):
            flow[target, page] = 1 / (len(targets) or size)
    exact = np.linalg.solve(np.eye(size) - damping * flow, np.full(size, 1 - damping))
    assert ranked(links, damping) == pytest.approx(list(exact), abs=1e-3)


def test_without_damping_all_are_equal() -> None:
    assert all(a == b for a, b in pairwise(ranked([[1, 2], [2], []], 0.0)))
