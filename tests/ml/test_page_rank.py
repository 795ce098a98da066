"""Tests of PageRank on graphs small enough to compute by hand."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from topicrawl.ml.page_rank import compute_page_ranks

# Links of each page, and the ranks by hand with d = .9. The ranks sum to the number of pages.
BY_HAND = [
    ([[1], [0]], [1.0, 1.0]),  # two pages that link to each other
    ([[1, 2], [2], []], [3 / 5.205, 3 * 1.45 / 5.205, 3 * 2.755 / 5.205]),
    # A star: x + three times .9 of x; the centre is not fetched: x, x, x, 3.7 x, together 6.7 x = 4.
    ([[3], [3], [3], []], [4 / 6.7, 4 / 6.7, 4 / 6.7, 4 * 3.7 / 6.7]),
]


def compute_ranks(links: list[list[int]], damping: float = 0.9) -> list[float]:
    pages = [page for page, targets in enumerate(links) if targets]
    targets = [target for page in pages for target in links[page]]
    ranks, _ = compute_page_ranks(list(map(len, links)), pages, targets, [1.0] * len(links), damping)
    return [float(rank) for rank in ranks]


@pytest.mark.parametrize(("links", "ranks"), BY_HAND)
def test_ranks_of_small_graphs_computed_by_hand(links: list[list[int]], ranks: list[float]) -> None:
    assert compute_ranks(links) == pytest.approx(ranks, abs=2e-4)


def test_ranks_do_not_depend_on_the_order_of_pages() -> None:
    ranks, _ = compute_page_ranks([2, 1, 0], [1, 0], [2, 1, 2], [1, 1, 1], 0.9)
    assert ranks == pytest.approx(compute_ranks([[1, 2], [2], []]), abs=1e-6)


def test_links_to_unranked_pages_count_as_links() -> None:
    ranks, least = compute_page_ranks([2, 0], [0], [1, -1], [1, 1], 0.9)
    # x and x + .45 x, scaled to 2 together.
    assert list(ranks) == pytest.approx([2 / 2.45, 2 * 1.45 / 2.45], abs=1e-3)
    assert least <= ranks.min()


@given(st.lists(st.lists(st.integers(0, 7), unique=True, max_size=4), min_size=8, max_size=8))
def test_ranks_solve_the_linear_equations(links: list[list[int]]) -> None:
    size, damping = len(links), 0.85
    flow = np.zeros((size, size))
    for page, targets in enumerate(links):
        for target in targets or range(size):
            flow[target, page] = 1 / (len(targets) or size)
    exact = np.linalg.solve(np.eye(size) - damping * flow, np.full(size, 1 - damping))
    assert compute_ranks(links, damping) == pytest.approx(list(exact), abs=1e-3)


def test_without_damping_all_are_equal() -> None:
    assert all(a == b for a, b in pairwise(compute_ranks([[1, 2], [2], []], 0.0)))
