"""Rows of numbers that are mostly zero, such as the term vectors of pages.

Products and means go through `bincount`, which adds in the order of the entries: the same rows give the same sums on
every machine, whatever linear algebra library numpy was built with.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Whole = NDArray[np.intp]


@dataclass(frozen=True)
class Rows:
    """The entries that are not zero, row by row.

    >>> rows = Rows.of([{0: 3.0, 2: 4.0}, {}], 3)
    >>> rows.times(np.array([[1.0, 9.0, 1.0]])).tolist(), rows.unit().value.tolist()
    ([[7.0], [0.0]], [0.6, 0.8])
    """

    row: Whole
    column: Whole
    value: Floats
    count: int  # of rows
    width: int  # of columns

    @classmethod
    def of(cls, vectors: Sequence[Mapping[int, float]], width: int) -> Rows:
        """From one mapping of columns to values for each row."""
        row = np.repeat(np.arange(len(vectors)), [len(vector) for vector in vectors])
        column = np.array([place for vector in vectors for place in vector], dtype=np.intp)
        value = np.array([number for vector in vectors for number in vector.values()], dtype=np.float64)
        return cls(row, column, value, len(vectors), width)

    def unit(self) -> Rows:
        """The same rows with length 1; a row without entries stays empty."""
        lengths = np.sqrt(np.bincount(self.row, self.value**2, self.count))
        lengths[lengths == 0.0] = 1.0
        return Rows(self.row, self.column, self.value / lengths[self.row], self.count, self.width)

    def take(self, chosen: Whole) -> Rows:
        """Some of the rows, numbered anew in their order."""
        number = np.full(self.count, -1, dtype=np.intp)
        number[chosen] = np.arange(len(chosen))
        kept = number[self.row] >= 0
        return Rows(number[self.row[kept]], self.column[kept], self.value[kept], len(chosen), self.width)

    def dense(self, row: int) -> Floats:
        """One row with its zeros."""
        full = np.zeros(self.width)
        full[self.column[self.row == row]] = self.value[self.row == row]
        return full

    def times(self, others: Floats) -> Floats:
        """The inner product of each row (down) with each of some full vectors (across)."""
        products = [np.bincount(self.row, self.value * other[self.column], self.count) for other in others]
        return np.stack(products, axis=1) if products else np.zeros((self.count, 0))

    def means(self, labels: Whole, groups: int) -> Floats:
        """The mean row of each group; a group without rows has zeros."""
        flat = np.bincount(labels[self.row] * self.width + self.column, self.value, groups * self.width)
        sizes = np.maximum(np.bincount(labels, minlength=groups), 1)
        means: Floats = flat.reshape(groups, self.width) / sizes[:, None]
        return means
