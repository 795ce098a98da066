"""Tests of K-means, X-means and nearest neighbours on sparse rows."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topicrawl.ml.kmeans import kmeans
from topicrawl.ml.nearest_neighbours import NearestNeighbours
from topicrawl.ml.sparse_rows import SparseRows
from topicrawl.ml.xmeans import compute_bic, xmeans

WIDTH = 12


def blobs(count: int, each: int, noise: float, seed: int = 3) -> tuple[SparseRows, list[int]]:
    """Return rows around axes, with the blobs in turn, and their blob numbers."""
    random = Random(seed)
    vectors = [
        {column: float(column == n % count) + noise * random.random() for column in range(WIDTH)}
        for n in range(count * each)
    ]
    return SparseRows.from_mappings(vectors, WIDTH).normalize(), [n % count for n in range(count * each)]


def same_partition(one: list[int], two: list[int]) -> bool:
    pairs = set(zip(one, two, strict=True))
    return len(pairs) == len(set(one)) == len(set(two))


@pytest.mark.parametrize("count", [1, 2, 4, 7])
def test_k_means_recovers_separated_blobs(count: int) -> None:
    rows, truth = blobs(count, 20, 0.2)
    for seed in range(3):
        assert same_partition(kmeans(rows, count, Random(seed)).labels.tolist(), truth)


@pytest.mark.parametrize("count", [1, 2, 3, 5, 8])
def test_x_means_finds_the_number_of_blobs(count: int) -> None:
    rows, truth = blobs(count, 25, 0.2)
    found = xmeans(rows, Random(1))
    assert found.count == count
    assert same_partition(found.labels.tolist(), truth)


def test_x_means_respects_its_limits() -> None:
    rows, _ = blobs(8, 25, 0.2)
    assert xmeans(rows, Random(1), max_clusters=3).count == 3
    assert xmeans(rows, Random(1), min_clusters=9, max_clusters=9).count == 9


def test_two_clusters_explain_two_blobs_better_and_one_blob_worse() -> None:
    for count, better in ((1, False), (2, True)):
        rows, _ = blobs(count, 40, 0.2)
        halves = kmeans(rows, 2, Random(0)).labels
        assert (compute_bic(rows, halves, 2) > compute_bic(rows, np.zeros(rows.count, dtype=np.intp), 1)) is better


vectors = st.lists(st.dictionaries(st.integers(0, 5), st.floats(0.1, 9.0), max_size=4), max_size=12)


@settings(max_examples=50)
@given(vectors, st.integers(1, 5), st.integers(0, 3))
def test_every_row_gets_a_cluster_and_no_cluster_is_empty(
    vectors: list[dict[int, float]], count: int, seed: int
) -> None:
    rows = SparseRows.from_mappings(vectors, 6).normalize()
    found = kmeans(rows, count, Random(seed))
    assert len(found.labels) == len(vectors)
    assert found.count <= min(count, len(vectors))
    assert set(found.labels.tolist()) == set(range(found.count))
    assert found.labels.tolist() == kmeans(rows, count, Random(seed)).labels.tolist()


def test_equal_rows_are_one_cluster() -> None:
    rows = SparseRows.from_mappings([{0: 1.0}] * 5, 1)
    assert kmeans(rows, 3, Random(0)).count == 1
    assert xmeans(rows, Random(0), min_clusters=2).count == 1


@given(vectors)
def test_sparse_rows_match_dense_rows(vectors: list[dict[int, float]]) -> None:
    rows = SparseRows.from_mappings(vectors, 6)
    full = np.array([[vector.get(column, 0.0) for column in range(6)] for vector in vectors]).reshape(-1, 6)
    others = np.arange(12.0).reshape(2, 6)
    assert np.allclose(rows.multiply(others), full @ others.T)
    labels = np.arange(len(vectors), dtype=np.intp) % 2
    for group, mean in enumerate(rows.compute_group_means(labels, 2)):
        members = full[labels == group]
        assert np.allclose(mean, members.mean(axis=0) if len(members) else 0.0)
    chosen = np.arange(0, len(vectors), 2, dtype=np.intp)
    assert np.allclose(rows.select(chosen).multiply(others), full[chosen] @ others.T)
    assert all(np.allclose(rows.get_dense_row(number), row) for number, row in enumerate(full))
    assert np.allclose(np.bincount(rows.normalize().row, rows.normalize().value ** 2, len(vectors)), full.any(axis=1))


def test_the_nearest_rows_vote_with_their_cosine() -> None:
    rows = SparseRows.from_mappings([{0: 1.0}, {0: 0.6, 1: 0.8}, {0: 0.6, 2: 0.8}, {3: 1.0}], 5)
    labels = [0, 1, 1, 2]
    assert NearestNeighbours(rows, labels, 1).predict({0: 3.0}) == 0
    assert NearestNeighbours(rows, labels, 3).predict({0: 3.0}) == 1  # 1 against .6 + .6
    assert NearestNeighbours(rows, labels, 2).predict({0: 3.0}) == 0  # 1 against .6
    assert NearestNeighbours(rows, labels, 9).predict({3: 0.1}) == 2
    assert NearestNeighbours(rows, labels, 3).predict({4: 1.0}) is None
    assert NearestNeighbours(rows, labels, 3).predict({}) is None
    assert NearestNeighbours(SparseRows.from_mappings([], 5), [], 3).predict({0: 1.0}) is None
