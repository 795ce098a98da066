"""Array with spare capacity at its end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

_ROWS_PER_SPARE = 8  # one spare row per this number of rows


class GrowableArray:
    """Array that grows at its end with spare capacity.

    Joining arrays instead would copy all rows for every few new ones.

    >>> column = GrowableArray(np.zeros((0, 2)))
    >>> column.extend([np.ones((2, 2)), np.zeros((1, 2))])
    >>> column.values.shape
    (3, 2)
    """

    def __init__(self, values: NDArray[Any]) -> None:
        self.values = self._buffer = values

    def extend(self, parts: Sequence[NDArray[Any]]) -> None:
        """Append arrays."""
        count = len(self.values)
        total = count + sum(map(len, parts))
        if total > len(self._buffer):
            self._buffer = np.empty((total + total // _ROWS_PER_SPARE, *self._buffer.shape[1:]), self._buffer.dtype)
            self._buffer[:count] = self.values
        np.concatenate(parts, out=self._buffer[count:total])
        self.values = self._buffer[:total]

    def append_temporarily(self, parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
        """Return all values followed by `parts`. The parts are only valid until the next call.

        >>> column = GrowableArray(np.arange(3))
        >>> column.append_temporarily([np.array([7]), np.array([8])]).tolist(), column.values.tolist()
        ([0, 1, 2, 7, 8], [0, 1, 2])
        """
        count = len(self.values)
        self.extend(parts)
        joined, self.values = self.values, self.values[:count]
        return joined

    def replace(self, values: NDArray[Any]) -> None:
        """Replace all values."""
        self.values = self._buffer[:0]
        self.extend([values])
