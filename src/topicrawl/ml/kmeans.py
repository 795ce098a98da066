"""Spherical K-means: rows with a similar direction form a cluster (Batsakis 2007, section 3.4.1).

Rows and centres have length 1, so the nearest centre has the largest cosine. k-means++ chooses the initial centres:
distant rows are more probable. The result of the restart with the smallest spread is returned.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

import numpy as np

from topicrawl.ml.sparse_rows import Floats, IndexArray, SparseRows

_MAX_ITERATIONS = 50  # maximum number of iterations per restart; usually a few are enough
_RESTARTS = 4
_MIN_SQUARED_CHORD = 1e-12  # squared chord length below which two directions are equal


@dataclass(frozen=True)
class Clustering:
    """Assignment of rows to clusters."""

    labels: IndexArray
    centres: Floats  # unit vectors
    inertia: float  # sum of 1 - cosine over all rows and their centres

    @property
    def count(self) -> int:
        """Number of clusters."""
        return len(self.centres)


def kmeans(rows: SparseRows, count: int, random: Random) -> Clustering:
    """Cluster unit rows into at most `count` clusters. There are fewer only if fewer rows are distinct.

    >>> rows = SparseRows.from_mappings([{0: 1.0}, {1: 1.0}, {0: 0.8, 1: 0.6}, {1: 1.0}], 2)
    >>> found = kmeans(rows, 2, Random(0))
    >>> bool(found.labels[0] == found.labels[2] != found.labels[1] == found.labels[3])
    True
    """
    if not rows.count:
        return Clustering(np.zeros(0, dtype=np.intp), np.zeros((0, rows.width)), 0.0)
    results = [refine_clusters(rows, _choose_initial_centres(rows, count, random)) for _ in range(_RESTARTS)]
    return min(results, key=lambda found: found.inertia)


def refine_clusters(rows: SparseRows, centres: Floats) -> Clustering:
    """Assign rows and move centres alternately until no row changes its cluster."""
    labels = np.full(rows.count, -1, dtype=np.intp)
    for _ in range(_MAX_ITERATIONS):
        cosines = rows.multiply(centres)
        nearest = np.argmax(cosines, axis=1)
        _fill_empty_clusters(nearest, cosines)
        if np.array_equal(nearest, labels):
            break
        labels = nearest
        centres = _normalize_rows(rows.compute_group_means(labels, len(centres)))
    cosines = rows.multiply(centres)
    spread = float(np.sum(1.0 - cosines[np.arange(rows.count), labels]))
    return Clustering(labels, centres, spread)


def _fill_empty_clusters(labels: IndexArray, cosines: Floats) -> None:
    """Give each empty cluster the row that fits its own cluster worst."""
    similarities = cosines[np.arange(len(labels)), labels]
    for empty in np.flatnonzero(np.bincount(labels, minlength=cosines.shape[1]) == 0):
        is_only = np.bincount(labels, minlength=cosines.shape[1])[labels] == 1
        candidates = np.where(is_only, np.inf, similarities)
        if np.isfinite(worst := candidates.min()):
            place = int(np.flatnonzero(candidates == worst)[0])
            labels[place], similarities[place] = empty, 1.0


def _choose_initial_centres(rows: SparseRows, count: int, random: Random) -> Floats:
    """Choose initial centres by k-means++: rows farther from the chosen centres are more probable."""
    chosen = [random.randrange(rows.count)]
    centres = [rows.get_dense_row(chosen[0])]
    far = np.maximum(2.0 - 2.0 * rows.multiply(np.array(centres))[:, 0], 0.0)
    while len(centres) < min(count, rows.count) and far.max() > _MIN_SQUARED_CHORD:
        far[far <= _MIN_SQUARED_CHORD] = 0.0
        place = int(np.searchsorted(np.cumsum(far), random.random() * far.sum(), side="right"))
        centres.append(rows.get_dense_row(min(place, rows.count - 1)))
        far = np.minimum(far, np.maximum(2.0 - 2.0 * rows.multiply(centres[-1][None, :])[:, 0], 0.0))
    return np.array(centres)


def _normalize_rows(means: Floats) -> Floats:
    """Scale mean vectors to length 1."""
    lengths = np.sqrt(np.sum(means**2, axis=1))
    lengths[lengths == 0.0] = 1.0
    return np.asarray(means / lengths[:, None])
