"""Where marks lead: 64-bit marks → steps, for millions of pages in little memory.

One array of 8 bytes an entry: the upper 40 bits of a mark, then its page's step. A mark's place is given by its upper
bits, or is the next free one behind (linear probing), so entries in their order are entries by their value, and a
larger array is filled by sorting. Of two pages with the same mark, the newer one is found: the older may be lost.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

import numpy as np
from numpy.typing import NDArray

_STEP_BITS = 24  # 16 million pages
_STEP = (1 << _STEP_BITS) - 1
_ALL = (1 << 64) - 1
_LOAD = 0.7
_TOGETHER = 10_000  # pages that are loaded at once
_TAIL = 256  # places behind the last one, for what is pushed out of the end


class Marks:
    """Mark → step; between 12 and 24 bytes a mark.

    >>> marks = Marks()
    >>> marks.add(-5, 7)
    >>> marks.step(-5), marks.step(5)
    (7, None)
    """

    def __init__(self) -> None:
        self._fill(np.zeros(0, np.uint64))

    def __len__(self) -> int:
        return self._count

    @property
    def size(self) -> int:
        """Bytes in memory."""
        return self._array.nbytes

    def step(self, mark: int) -> int | None:
        """The step that a mark leads to."""
        entry = self._places[self._find(mark)]
        return entry & _STEP if entry else None

    def add(self, mark: int, step: int) -> None:
        """Let a mark lead to a step."""
        if not 0 < step <= _STEP:
            return  # beyond what fits: such a page is not found again
        place = self._find(mark)
        self._count += not self._places[place]
        self._places[place] = (mark & _ALL & ~_STEP) | step
        if self._count > _LOAD * (1 << self._bits) or place >= len(self._places) - 2:
            self._fill(self._array[self._array > 0])

    def load(self, rows: Iterable[tuple[int, bytes]]) -> None:
        """Add pages as they were stored: their steps, and their marks packed."""
        parts = [self._array[self._array > 0]]
        rows = iter(rows)
        while some := list(islice(rows, _TOGETHER)):
            # Some at a time: as objects of their own, all of them would take ten times the room.
            marks = np.frombuffer(b"".join([packed for _, packed in some]), "<u8")
            steps = np.repeat([step for step, _ in some], [len(packed) // 8 for _, packed in some]).astype(np.uint64)
            fitting = steps <= _STEP
            parts.append((marks[fitting] & np.uint64(_ALL & ~_STEP)) | steps[fitting])
        self._fill(np.concatenate(parts))

    def _find(self, mark: int) -> int:
        """The place of a mark, or the free one where it would go."""
        value = mark & _ALL
        place, wanted = value >> (64 - self._bits), value >> _STEP_BITS
        places = self._places
        while (entry := places[place]) and entry >> _STEP_BITS != wanted:
            place += 1
        return place

    def _fill(self, entries: NDArray[np.uint64]) -> None:
        """Put entries into an array that is filled by a third to two thirds."""
        entries.sort()
        marks = entries >> np.uint64(_STEP_BITS)
        entries = entries[np.append(marks[1:] != marks[:-1], True)] if len(entries) else entries
        self._count = len(entries)
        self._bits = max(12, int(1.05 * self._count / _LOAD).bit_length())
        homes = (entries >> np.uint64(64 - self._bits)).astype(np.int64)
        order = np.arange(len(entries))
        # Everyone at home, or right behind the one before.
        places = np.maximum.accumulate(homes - order) + order
        last = int(places[-1]) if len(places) else 0
        self._array = np.zeros(max(last, 1 << self._bits) + _TAIL, np.uint64)
        self._array[places] = entries
        self._places = memoryview(self._array.data)
