"""In-memory index of duplicate keys: 64-bit keys → steps, for millions of pages in little memory.

A hash table with 8 bytes per entry: the upper 40 bits of the key, then the step of its page. The upper bits of a key
determine its slot, with linear probing, so the entries are in sorted order and a larger array can be filled by sorting.
If two pages share a key, the newer one is found, because the older one may be lost. The array grows by a quarter at a
time, which keeps the temporary memory for resizing small.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

STEP_BITS = 24  # 16 million pages
STEP_MASK = (1 << STEP_BITS) - 1
KEY_MASK = (1 << 64) - 1
_MAX_LOAD_FACTOR = 0.75  # load factor at which the array is replaced by a larger one
_NEW_LOAD_FACTOR = 0.6  # load factor of the larger array
_MIN_SLOTS = 4096  # minimum number of slots
_CHUNK_ENTRIES = 1 << 16  # entries that are processed together
_TAIL_SLOTS = 256  # extra slots at the end, for entries that probing pushes beyond the last slot
_FREE_TAIL_SLOTS = 2  # extra slots that stay free
_HOME_BITS = 28  # lowest bits that do not affect the home slot of an entry


class KeyIndex:
    """Map from key to step, with 10 to 14 bytes per key.

    >>> index = KeyIndex()
    >>> index.add_key(-5, 7)
    >>> index.find_step(-5), index.find_step(5)
    (7, None)
    """

    def __init__(self) -> None:
        self._array: NDArray[np.uint64] = np.zeros(0, np.uint64)
        self._view = memoryview(self._array.data)
        self.fill_from(self._array)

    def __len__(self) -> int:
        return self._count

    @property
    def memory_bytes(self) -> int:
        """Memory use in bytes."""
        return self._array.nbytes

    def find_step(self, key: int) -> int | None:
        """Return the step of a key, or None if the key is not in the index."""
        entry = self._view[self._find_slot(key)]
        return entry & STEP_MASK if entry else None

    def add_key(self, key: int, step: int) -> None:
        """Set the step of a key, which replaces an earlier step. A step that does not fit into an entry is ignored."""
        if not 0 < step <= STEP_MASK:
            return  # the step does not fit: the page is not indexed
        slot = self._find_slot(key)
        self._count += not self._view[slot]
        self._view[slot] = (key & KEY_MASK & ~STEP_MASK) | step
        if self._count > _MAX_LOAD_FACTOR * self._slots or slot >= len(self._view) - _FREE_TAIL_SLOTS:
            self.fill_from(self._release_entries())

    def sorted_entries(self) -> NDArray[np.uint64]:
        """Return all entries, sorted. Slots are sorted already, except where probing has shifted entries."""
        return np.sort(self._array[self._array > 0])

    def _find_slot(self, key: int) -> int:
        """Return the slot of a key, or the free slot for it."""
        value = key & KEY_MASK
        slot, wanted = (value >> _HOME_BITS) * self._slots >> 64 - _HOME_BITS, value >> STEP_BITS
        slots = self._view
        while (entry := slots[slot]) and entry >> STEP_BITS != wanted:
            slot += 1
        return slot

    def _release_entries(self) -> NDArray[np.uint64]:
        """Return all entries and release the array."""
        entries = self._array[self._array > 0]
        self._view.release()
        self._array = np.zeros(0, np.uint64)
        return entries

    def fill_from(self, entries: NDArray[np.uint64]) -> None:
        """Replace the contents by the given entries, in an array with free slots between them."""
        entries.sort()
        entries = drop_older_entries(entries)
        self._count = len(entries)
        self._slots = max(_MIN_SLOTS, int(self._count / _NEW_LOAD_FACTOR))
        array = np.zeros(self._slots + _TAIL_SLOTS, np.uint64)
        offset = -KEY_MASK >> 1  # offset of the previous entry from its home slot
        for start in range(0, self._count, _CHUNK_ENTRIES):
            chunk = entries[start : start + _CHUNK_ENTRIES]
            order = np.arange(start, start + len(chunk))
            homes = (chunk >> np.uint64(_HOME_BITS)) * np.uint64(self._slots) >> np.uint64(64 - _HOME_BITS)
            # Each entry goes to its home slot, or directly after the previous entry.
            offsets = np.maximum(np.maximum.accumulate(homes.astype(np.int64) - order), offset)
            offset = int(offsets[-1])
            slots = offsets + order
            if slots[-1] >= len(array) - _FREE_TAIL_SLOTS:
                array = np.concatenate([array, np.zeros(int(slots[-1]) - len(array) + _TAIL_SLOTS, np.uint64)])
            array[slots] = chunk
        self._array = array
        self._view = memoryview(array.data)


def build_entries(pages: Sequence[tuple[int, bytes]]) -> NDArray[np.uint64]:
    """Return the entries of pages, given as step and packed keys. Steps that do not fit are omitted."""
    keys = np.frombuffer(b"".join([packed for _, packed in pages]), "<u8")
    steps = np.repeat([step for step, _ in pages], [len(packed) // 8 for _, packed in pages]).astype(np.uint64)
    fitting = steps <= STEP_MASK
    return (keys[fitting] & np.uint64(KEY_MASK & ~STEP_MASK)) | steps[fitting]


def drop_older_entries(entries: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return sorted entries with only the last one of each key."""
    is_last = np.ones(len(entries), bool)
    for start in range(0, len(entries) - 1, _CHUNK_ENTRIES):
        keys = entries[start : start + _CHUNK_ENTRIES + 1] >> np.uint64(STEP_BITS)
        is_last[start : start + len(keys) - 1] = keys[1:] != keys[:-1]
    return entries if is_last.all() else entries[is_last]
