"""K-means, X-means and nearest neighbours on sparse rows."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topicrawl.learn.kmeans import kmeans
from topicrawl.learn.neighbours import Neighbours
from topicrawl.learn.sparse import Rows
from topicrawl.learn.xmeans import criterion, xmeans

WIDTH = 12


def blobs(count: int, each: int, noise: float, seed: int = 3) -> tuple[Rows, list[int]]:
    """Rows around axes, the blobs taking turns."""
    random = Random(seed)
    vectors = [
        {column: float(column == n % count) + noise * random.random() for column in range(WIDTH)}
        for n in range(count * each)
    ]
    return Rows.of(vectors, WIDTH).unit(), [n % count for n in range(count * each)]


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


def test_x_means_keeps_to_its_bounds() -> None:
    rows, _ = blobs(8, 25, 0.2)
    assert xmeans(rows, Random(1), most=3).count == 3
    assert xmeans(rows, Random(1), least=9, most=9).count == 9


def test_two_clusters_explain_two_blobs_better_and_one_blob_worse() -> None:
    for count, better in ((1, False), (2, True)):
        rows, _ = blobs(count, 40, 0.2)
        halves = kmeans(rows, 2, Random(0)).labels
        assert (criterion(rows, halves, 2) > criterion(rows, np.zeros(rows.count, dtype=np.intp), 1)) is better


vectors = st.lists(st.dictionaries(st.integers(0, 5), st.floats(0.1, 9.0), max_size=4), max_size=12)


@settings(max_examples=50)
@given(vectors, st.integers(1, 5), st.integers(0, 3))
def test_every_row_gets_a_cluster_and_no_cluster_is_empty(
    vectors: list[dict[int, float]], count: int, seed: int
) -> None:
    rows = Rows.of(vectors, 6).unit()
    found = kmeans(rows, count, Random(seed))
    assert len(found.labels) == len(vectors)
    assert found.count <= min(count, len(vectors))
    assert set(found.labels.tolist()) == set(range(found.count))
    assert found.labels.tolist() == kmeans(rows, count, Random(seed)).labels.tolist()


def test_equal_rows_are_one_cluster() -> None:
    rows = Rows.of([{0: 1.0}] * 5, 1)
    assert kmeans(rows, 3, Random(0)).count == 1
    assert xmeans(rows, Random(0), least=2).count == 1


@given(vectors)
def test_sparse_rows_count_as_full_ones(vectors: list[dict[int, float]]) -> None:
    rows = Rows.of(vectors, 6)
    full = np.array([[vector.get(column, 0.0) for column in range(6)] for vector in vectors]).reshape(-1, 6)
    others = np.arange(12.0).reshape(2, 6)
    assert np.allclose(rows.times(others), full @ others.T)
    labels = np.arange(len(vectors), dtype=np.intp) % 2
    for group, mean in enumerate(rows.means(labels, 2)):
        members = full[labels == group]
        assert np.allclose(mean, members.mean(axis=0) if len(members) else 0.0)
    chosen = np.arange(0, len(vectors), 2, dtype=np.intp)
    assert np.allclose(rows.take(chosen).times(others), full[chosen] @ others.T)
    assert all(np.allclose(rows.dense(number), row) for number, row in enumerate(full))
    assert np.allclose(np.bincount(rows.unit().row, rows.unit().value ** 2, len(vectors)), full.any(axis=1))


def test_the_nearest_rows_decide_and_the_nearer_ones_more() -> None:
    rows = Rows.of([{0: 1.0}, {0: 0.6, 1: 0.8}, {0: 0.6, 2: 0.8}, {3: 1.0}], 5)
    labels = [0, 1, 1, 2]
    assert Neighbours(rows, labels, 1).label({0: 3.0}) == 0
    assert Neighbours(rows, labels, 3).label({0: 3.0}) == 1  # 1 against .6 + .6
    assert Neighbours(rows, labels, 2).label({0: 3.0}) == 0  # 1 against .6
    assert Neighbours(rows, labels, 9).label({3: 0.1}) == 2
    assert Neighbours(rows, labels, 3).label({4: 1.0}) is None
    assert Neighbours(rows, labels, 3).label({}) is None
    assert Neighbours(Rows.of([], 5), [], 3).label({0: 1.0}) is None
