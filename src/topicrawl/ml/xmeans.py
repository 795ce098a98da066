"""X-means: K-means that finds the number of clusters (Pelleg and Moore 2000; Batsakis 2007, section 3.4.1 b).

A cluster is split in two if two clusters explain its rows better than one, by the Bayesian information criterion of
spherical normal distributions with the same variance:

    BIC = l - p/2 · log R,    l = Σₙ Rₙ·log(Rₙ/R) - R·M/2 · log(2πσ²) - M·(R - K)/2,    σ² = Σ‖x - μ‖² / (M·(R - K))

R: the number of rows; Rₙ: the rows of cluster n; M: the columns; K: the clusters; p = K·(M + 1): the number of
parameters. The variance in the paper lacks M. Without it, the variance would be too large by that factor.
"""

from __future__ import annotations

from math import inf, log, pi
from random import Random

import numpy as np

from topicrawl.ml.kmeans import Clustering, kmeans, refine_clusters
from topicrawl.ml.sparse_rows import Floats, IndexArray, SparseRows

_MIN_VARIANCE = 1e-9  # minimum variance, so that the criterion of equal rows is finite


def xmeans(rows: SparseRows, random: Random, *, min_clusters: int = 1, max_clusters: int = 20) -> Clustering:
    """Cluster unit rows into `min_clusters` to `max_clusters` clusters.

    >>> rows = SparseRows.from_mappings([{n % 3: 1.0, 3 + n: 0.1} for n in range(30)], 33).normalize()
    >>> xmeans(rows, Random(0)).count
    3
    """
    clustering = kmeans(rows, min_clusters, random)
    growing = True
    while growing and clustering.count < max_clusters:
        centres: list[Floats] = []
        growing = False
        for label in range(clustering.count):
            members = np.flatnonzero(clustering.labels == label)
            halves = (
                _split_cluster(rows.select(members), random)
                if len(centres) + clustering.count - label < max_clusters
                else None
            )
            centres.extend(clustering.centres[label : label + 1] if halves is None else halves.centres)
            growing = growing or halves is not None
        if growing:
            clustering = refine_clusters(rows, np.array(centres))
    return clustering


def _split_cluster(rows: SparseRows, random: Random) -> Clustering | None:
    """Return the two halves of a cluster, or None if one cluster explains its rows better."""
    if rows.count < 4:
        return None  # the variance of clusters with one or two rows is meaningless
    halves = kmeans(rows, 2, random)
    if halves.count < 2 or np.bincount(halves.labels, minlength=2).min() < 2:
        return None
    single = np.zeros(rows.count, dtype=np.intp)
    return halves if compute_bic(rows, halves.labels, 2) > compute_bic(rows, single, 1) else None


def compute_bic(rows: SparseRows, labels: IndexArray, clusters: int) -> float:
    """Return the Bayesian information criterion of a clustering. Higher is better."""
    count, sizes = rows.count, np.bincount(labels, minlength=clusters)
    columns = max(1, len(np.unique(rows.column)))
    if count <= clusters:
        return -inf
    means = rows.compute_group_means(labels, clusters)
    # Σ‖x - μ‖² = Σ‖x‖² - Σ Rₙ‖μₙ‖² needs no dense matrix of differences.
    squares = float(np.sum(rows.value**2) - np.sum(sizes * np.sum(means**2, axis=1)))
    variance = max(squares / (columns * (count - clusters)), _MIN_VARIANCE)
    mixture = sum(int(size) * log(size / count) for size in sizes if size)
    likelihood = mixture - count * columns / 2 * log(2 * pi * variance) - columns * (count - clusters) / 2
    return likelihood - clusters * (columns + 1) / 2 * log(count)
