"""Sparse matrix rows, for example the term vectors of pages.

Products and means use `bincount`, which adds in the order of the entries. The same rows give the same sums on every
machine, independent of numpy's linear algebra library.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
IndexArray = NDArray[np.intp]


@dataclass(frozen=True)
class SparseRows:
    """Non-zero entries of a sparse matrix, row by row.

    >>> rows = SparseRows.from_mappings([{0: 3.0, 2: 4.0}, {}], 3)
    >>> rows.multiply(np.array([[1.0, 9.0, 1.0]])).tolist(), rows.normalize().value.tolist()
    ([[7.0], [0.0]], [0.6, 0.8])
    """

    row: IndexArray
    column: IndexArray
    value: Floats
    count: int  # number of rows
    width: int  # number of columns

    @classmethod
    def from_mappings(cls, vectors: Sequence[Mapping[int, float]], width: int) -> SparseRows:
        """Create the rows from one mapping of column → value per row."""
        row = np.repeat(np.arange(len(vectors)), [len(vector) for vector in vectors])
        column = np.array([place for vector in vectors for place in vector], dtype=np.intp)
        value = np.array([number for vector in vectors for number in vector.values()], dtype=np.float64)
        return cls(row, column, value, len(vectors), width)

    def normalize(self) -> SparseRows:
        """Return the rows scaled to length 1. Empty rows stay empty."""
        lengths = np.sqrt(np.bincount(self.row, self.value**2, self.count))
        lengths[lengths == 0.0] = 1.0
        return SparseRows(self.row, self.column, self.value / lengths[self.row], self.count, self.width)

    def select(self, chosen: IndexArray) -> SparseRows:
        """Return the chosen rows, renumbered in the order of `chosen`."""
        number = np.full(self.count, -1, dtype=np.intp)
        number[chosen] = np.arange(len(chosen))
        mask = number[self.row] >= 0
        return SparseRows(number[self.row[mask]], self.column[mask], self.value[mask], len(chosen), self.width)

    def get_dense_row(self, row: int) -> Floats:
        """Return one row as a dense vector."""
        full = np.zeros(self.width)
        full[self.column[self.row == row]] = self.value[self.row == row]
        return full

    def multiply(self, others: Floats) -> Floats:
        """Return the inner products of the rows (result rows) with dense vectors (result columns)."""
        products = [np.bincount(self.row, self.value * other[self.column], self.count) for other in others]
        return np.stack(products, axis=1) if products else np.zeros((self.count, 0))

    def compute_group_means(self, labels: IndexArray, groups: int) -> Floats:
        """Return the mean row of each group. A group without rows has zeros."""
        flat = np.bincount(labels[self.row] * self.width + self.column, self.value, groups * self.width)
        sizes = np.maximum(np.bincount(labels, minlength=groups), 1)
        means: Floats = flat.reshape(groups, self.width) / sizes[:, None]
        return means
