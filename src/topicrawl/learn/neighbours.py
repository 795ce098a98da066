"""The k nearest neighbours: a row belongs where the rows most like it belong (Batsakis 2007, section 3.4, step III)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from topicrawl.learn.sparse import Rows


class Neighbours:
    """Unit rows with labels; each of the k rows nearest by cosine votes with its cosine.

    >>> known = Neighbours(Rows.of([{0: 1.0}, {0: 0.6, 1: 0.8}, {1: 1.0}], 3), [0, 1, 1], k=2)
    >>> known.label({0: 2.0}), known.label({0: 1.0, 1: 1.0}), known.label({2: 1.0})
    (0, 1, None)
    """

    def __init__(self, rows: Rows, labels: Sequence[int], k: int) -> None:
        self._rows = rows
        self._labels = np.array(labels, dtype=np.intp)
        self._k = k

    def label(self, vector: Mapping[int, float]) -> int | None:
        """The label with the most votes, of equals the smallest; None when nothing is shared with any row."""
        full = np.zeros(self._rows.width)
        full[list(vector)] = list(vector.values())
        cosines = self._rows.times(full[None, :])[:, 0]
        # A stable order: of equally near rows the first ones vote.
        nearest = np.argsort(-cosines, kind="stable")[: self._k]
        votes = np.bincount(self._labels[nearest], cosines[nearest]) if len(nearest) else np.zeros(1)
        return int(np.argmax(votes)) if votes.max() > 0.0 else None
