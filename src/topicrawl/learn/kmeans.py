"""K-means by the angle: rows that point the same way are one cluster (Batsakis 2007, section 3.4.1).

Rows have length 1, and so have centres, so that the nearest centre is the one of the largest cosine. First centres
are drawn as k-means++ does, far ones more likely; of several starts the tightest result counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

import numpy as np

from topicrawl.learn.sparse import Floats, Rows, Whole

_ROUNDS = 50  # at most, of one start; a few are usual
_STARTS = 4
_SAME = 1e-12  # squared chord below which two directions are one


@dataclass(frozen=True)
class Clusters:
    """Which row belongs where."""

    labels: Whole
    centres: Floats  # of length 1
    spread: float  # sum over the rows of 1 - cosine with their centre

    @property
    def count(self) -> int:
        return len(self.centres)


def kmeans(rows: Rows, count: int, random: Random) -> Clusters:
    """At most so many clusters of unit rows: fewer only where fewer rows differ.

    >>> rows = Rows.of([{0: 1.0}, {1: 1.0}, {0: 0.8, 1: 0.6}, {1: 1.0}], 2)
    >>> found = kmeans(rows, 2, Random(0))
    >>> bool(found.labels[0] == found.labels[2] != found.labels[1] == found.labels[3])
    True
    """
    if not rows.count:
        return Clusters(np.zeros(0, dtype=np.intp), np.zeros((0, rows.width)), 0.0)
    tries = [settled(rows, _first(rows, count, random)) for _ in range(_STARTS)]
    return min(tries, key=lambda found: found.spread)


def settled(rows: Rows, centres: Floats) -> Clusters:
    """Assign rows and move centres in turns until no row changes its cluster."""
    labels = np.full(rows.count, -1, dtype=np.intp)
    for _ in range(_ROUNDS):
        cosines = rows.times(centres)
        nearest = np.argmax(cosines, axis=1)
        _fill(nearest, cosines)
        if np.array_equal(nearest, labels):
            break
        labels = nearest
        centres = _directions(rows.means(labels, len(centres)))
    cosines = rows.times(centres)
    spread = float(np.sum(1.0 - cosines[np.arange(rows.count), labels]))
    return Clusters(labels, centres, spread)


def _fill(labels: Whole, cosines: Floats) -> None:
    """A cluster that lost its last row takes the row that fits its own cluster worst."""
    fits = cosines[np.arange(len(labels)), labels]
    for empty in np.flatnonzero(np.bincount(labels, minlength=cosines.shape[1]) == 0):
        alone = np.bincount(labels, minlength=cosines.shape[1])[labels] == 1
        candidates = np.where(alone, np.inf, fits)
        if np.isfinite(worst := candidates.min()):
            place = int(np.flatnonzero(candidates == worst)[0])
            labels[place], fits[place] = empty, 1.0


def _first(rows: Rows, count: int, random: Random) -> Floats:
    """k-means++: each next centre is a row, likelier the farther it is from the centres so far."""
    chosen = [random.randrange(rows.count)]
    centres = [rows.dense(chosen[0])]
    far = np.maximum(2.0 - 2.0 * rows.times(np.array(centres))[:, 0], 0.0)
    while len(centres) < min(count, rows.count) and far.max() > _SAME:
        far[far <= _SAME] = 0.0
        place = int(np.searchsorted(np.cumsum(far), random.random() * far.sum(), side="right"))
        centres.append(rows.dense(min(place, rows.count - 1)))
        far = np.minimum(far, np.maximum(2.0 - 2.0 * rows.times(centres[-1][None, :])[:, 0], 0.0))
    return np.array(centres)


def _directions(means: Floats) -> Floats:
    lengths = np.sqrt(np.sum(means**2, axis=1))
    lengths[lengths == 0.0] = 1.0
    return np.asarray(means / lengths[:, None])
