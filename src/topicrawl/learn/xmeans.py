"""X-means: K-means that finds the number of clusters itself (Pelleg and Moore 2000; Batsakis 2007, section 3.4.1 b).

A cluster is split in two where two explain its rows better than one, by the Bayesian information criterion of round
normal clouds of one width:

    BIC = l - p/2 · log R,    l = Σₙ Rₙ·log(Rₙ/R) - R·M/2 · log(2πσ²) - M·(R - K)/2,    σ² = Σ‖x - μ‖² / (M·(R - K))

R: rows; Rₙ: rows of cluster n; M: columns; K: clusters; p = K·(M + 1): what must be estimated. The paper's variance
leaves out M; without it the clouds would be too wide by that factor.
"""

from __future__ import annotations

from math import inf, log, pi
from random import Random

import numpy as np

from topicrawl.learn.kmeans import Clusters, kmeans, settled
from topicrawl.learn.sparse import Floats, Rows, Whole

_NARROWEST = 1e-9  # variance of rows that coincide: finite, so that it can be compared


def xmeans(rows: Rows, random: Random, *, least: int = 1, most: int = 20) -> Clusters:
    """Clusters of unit rows, as many as the rows ask for.

    >>> rows = Rows.of([{n % 3: 1.0, 3 + n: 0.1} for n in range(30)], 33).unit()
    >>> xmeans(rows, Random(0)).count
    3
    """
    found = kmeans(rows, least, random)
    growing = True
    while growing and found.count < most:
        centres: list[Floats] = []
        growing = False
        for label in range(found.count):
            members = np.flatnonzero(found.labels == label)
            halves = _split(rows.take(members), random) if len(centres) + found.count - label < most else None
            centres.extend(found.centres[label : label + 1] if halves is None else halves.centres)
            growing = growing or halves is not None
        if growing:
            found = settled(rows, np.array(centres))
    return found


def _split(rows: Rows, random: Random) -> Clusters | None:
    if rows.count < 4:
        return None  # two clusters of one or two rows say nothing of their width
    halves = kmeans(rows, 2, random)
    if halves.count < 2 or np.bincount(halves.labels, minlength=2).min() < 2:
        return None
    whole = np.zeros(rows.count, dtype=np.intp)
    return halves if criterion(rows, halves.labels, 2) > criterion(rows, whole, 1) else None


def criterion(rows: Rows, labels: Whole, clusters: int) -> float:
    """How well so many clusters explain the rows, less what they cost: higher is better."""
    count, sizes = rows.count, np.bincount(labels, minlength=clusters)
    columns = max(1, len(np.unique(rows.column)))
    if count <= clusters:
        return -inf
    means = rows.means(labels, clusters)
    # Σ‖x - μ‖² = Σ‖x‖² - Σ Rₙ‖μₙ‖², which needs no full matrix of differences.
    squares = float(np.sum(rows.value**2) - np.sum(sizes * np.sum(means**2, axis=1)))
    variance = max(squares / (columns * (count - clusters)), _NARROWEST)
    mixed = sum(int(size) * log(size / count) for size in sizes if size)
    likelihood = mixed - count * columns / 2 * log(2 * pi * variance) - columns * (count - clusters) / 2
    return likelihood - clusters * (columns + 1) / 2 * log(count)
