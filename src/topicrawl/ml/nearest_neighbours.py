"""k-nearest-neighbour classifier (Batsakis 2007, section 3.4, step III)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from topicrawl.ml.sparse_rows import SparseRows


class NearestNeighbours:
    """Unit rows with labels. Each of the k rows with the largest cosine votes with its cosine.

    >>> known = NearestNeighbours(SparseRows.from_mappings([{0: 1.0}, {0: 0.6, 1: 0.8}, {1: 1.0}], 3), [0, 1, 1], k=2)
    >>> known.predict({0: 2.0}), known.predict({0: 1.0, 1: 1.0}), known.predict({2: 1.0})
    (0, 1, None)
    """

    def __init__(self, rows: SparseRows, labels: Sequence[int], k: int) -> None:
        self._rows = rows
        self._labels = np.array(labels, dtype=np.intp)
        self._k = k

    def predict(self, vector: Mapping[int, float]) -> int | None:
        """Return the label with the most votes, the smallest among equals, or None if no row has a common column."""
        full = np.zeros(self._rows.width)
        full[list(vector)] = list(vector.values())
        cosines = self._rows.multiply(full[None, :])[:, 0]
        # The sort is stable: among equally near rows, the first ones vote.
        nearest = np.argsort(-cosines, kind="stable")[: self._k]
        votes = np.bincount(self._labels[nearest], cosines[nearest]) if len(nearest) else np.zeros(1)
        return int(np.argmax(votes)) if votes.max() > 0.0 else None
