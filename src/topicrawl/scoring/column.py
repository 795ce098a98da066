"""An array that grows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

_SPARE = 8  # room for one more row for so many there are


class Column:
    """An array that grows at its end, with room to spare: joining arrays would copy all of it for every few rows.

    >>> column = Column(np.zeros((0, 2)))
    >>> column.extend([np.ones((2, 2)), np.zeros((1, 2))])
    >>> column.values.shape
    (3, 2)
    """

    def __init__(self, values: NDArray[Any]) -> None:
        self.values = self._room = values

    def extend(self, parts: Sequence[NDArray[Any]]) -> None:
        count = len(self.values)
        total = count + sum(map(len, parts))
        if total > len(self._room):
            self._room = np.empty((total + total // _SPARE, *self._room.shape[1:]), self._room.dtype)
            self._room[:count] = self.values
        np.concatenate(parts, out=self._room[count:total])
        self.values = self._room[:total]

    def behind(self, parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
        """All values and others behind them, which are gone with the next call.

        >>> column = Column(np.arange(3))
        >>> column.behind([np.array([7]), np.array([8])]).tolist(), column.values.tolist()
        ([0, 1, 2, 7, 8], [0, 1, 2])
        """
        count = len(self.values)
        self.extend(parts)
        laid, self.values = self.values, self.values[:count]
        return laid

    def replace(self, values: NDArray[Any]) -> None:
        self.values = self._room[:0]
        self.extend([values])
