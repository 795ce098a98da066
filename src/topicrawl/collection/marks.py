"""Where marks lead: 64-bit marks → steps, for millions of pages in little memory.

One array of 8 bytes an entry: the upper 40 bits of a mark, then its page's step. A mark's place is given by its upper
bits, or is the next free one behind (linear probing), so entries in their order are entries by their value, and a
larger array is filled by sorting. Of two pages with the same mark, the newer one is found: the older may be lost.
The array grows by a quarter at a time, and what that needs for a moment is small: a crawl of a week shall not be seen
to grow.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

STEP_BITS = 24  # 16 million pages
STEP = (1 << STEP_BITS) - 1
ALL = (1 << 64) - 1
_LOAD = 0.75  # of its places that are taken when an array is replaced by a larger one
_FRESH = 0.6  # that are taken in the larger one
_LEAST = 4096  # places
_CHUNK = 1 << 16  # entries that are looked at together
_TAIL = 256  # places behind the last one, for what is pushed out of the end
_SPARE = 2  # of them that stay free
_HOME_BITS = 28  # lowest bits that say nothing about an entry's home


class Marks:
    """Mark → step; between 10 and 14 bytes a mark.

    >>> marks = Marks()
    >>> marks.add(-5, 7)
    >>> marks.step(-5), marks.step(5)
    (7, None)
    """

    def __init__(self) -> None:
        self._array: NDArray[np.uint64] = np.zeros(0, np.uint64)
        self._places = memoryview(self._array.data)
        self.fill(self._array)

    def __len__(self) -> int:
        return self._count

    @property
    def size(self) -> int:
        """Bytes in memory."""
        return self._array.nbytes

    def step(self, mark: int) -> int | None:
        """The step that a mark leads to."""
        entry = self._places[self._find(mark)]
        return entry & STEP if entry else None

    def add(self, mark: int, step: int) -> None:
        """Let a mark lead to a step."""
        if not 0 < step <= STEP:
            return  # beyond what fits: such a page is not found again
        place = self._find(mark)
        self._count += not self._places[place]
        self._places[place] = (mark & ALL & ~STEP) | step
        if self._count > _LOAD * self._slots or place >= len(self._places) - _SPARE:
            self.fill(self._taken())

    def entries(self) -> NDArray[np.uint64]:
        """What is here, sorted: as the places are, but for what the end pushed out or a neighbour pushed on."""
        return np.sort(self._array[self._array > 0])

    def _find(self, mark: int) -> int:
        """The place of a mark, or the free one where it would go."""
        value = mark & ALL
        place, wanted = (value >> _HOME_BITS) * self._slots >> 64 - _HOME_BITS, value >> STEP_BITS
        places = self._places
        while (entry := places[place]) and entry >> STEP_BITS != wanted:
            place += 1
        return place

    def _taken(self) -> NDArray[np.uint64]:
        """All entries; the array itself is given up."""
        entries = self._array[self._array > 0]
        self._places.release()
        self._array = np.zeros(0, np.uint64)
        return entries

    def fill(self, entries: NDArray[np.uint64]) -> None:
        """Put entries into an array with some room between them."""
        entries.sort()
        entries = newest(entries)
        self._count = len(entries)
        self._slots = max(_LEAST, int(self._count / _FRESH))
        array = np.zeros(self._slots + _TAIL, np.uint64)
        ahead = -ALL >> 1  # how far the one before was pushed on
        for start in range(0, self._count, _CHUNK):
            some = entries[start : start + _CHUNK]
            order = np.arange(start, start + len(some))
            homes = (some >> np.uint64(_HOME_BITS)) * np.uint64(self._slots) >> np.uint64(64 - _HOME_BITS)
            # Everyone at home, or right behind the one before.
            pushed = np.maximum(np.maximum.accumulate(homes.astype(np.int64) - order), ahead)
            ahead = int(pushed[-1])
            places = pushed + order
            if places[-1] >= len(array) - _SPARE:
                array = np.concatenate([array, np.zeros(int(places[-1]) - len(array) + _TAIL, np.uint64)])
            array[places] = some
        self._array = array
        self._places = memoryview(array.data)


def entries_of(pages: Sequence[tuple[int, bytes]]) -> NDArray[np.uint64]:
    """The entries of pages by their steps and their marks packed; those that do not fit are left out."""
    marks = np.frombuffer(b"".join([packed for _, packed in pages]), "<u8")
    steps = np.repeat([step for step, _ in pages], [len(packed) // 8 for _, packed in pages]).astype(np.uint64)
    fitting = steps <= STEP
    return (marks[fitting] & np.uint64(ALL & ~STEP)) | steps[fitting]


def newest(entries: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Of sorted entries with the same mark, the last one."""
    kept = np.ones(len(entries), bool)
    for start in range(0, len(entries) - 1, _CHUNK):
        marks = entries[start : start + _CHUNK + 1] >> np.uint64(STEP_BITS)
        kept[start : start + len(marks) - 1] = marks[1:] != marks[:-1]
    return entries if kept.all() else entries[kept]
