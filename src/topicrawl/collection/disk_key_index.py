"""Disk-backed index of duplicate keys: the latest keys in memory, all others in an unlinked temporary file.

Most pages are not duplicates, so most lookups end at a bit table, which needs one or two bytes per key. The file
contains the sorted entries of `key_index.py`; the first entry of each block is in memory, so that a lookup reads at
most one block. When the keys in memory reach an eighth of the file, the file is rewritten chunk by chunk. It disappears
with the process, because the keys are also stored with their pages. `0008-duplicate-key-index.md` compares this index
with an SQLite table.
"""

from __future__ import annotations

import os
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from tempfile import mkstemp
from weakref import finalize

import numpy as np
from numpy.typing import NDArray

from topicrawl.collection.key_index import KEY_MASK, STEP_BITS, STEP_MASK, KeyIndex, build_entries, drop_older_entries

_MIN_KEYS_IN_MEMORY = 1 << 17  # keys in memory before the first file is written
_MEMORY_DIVISOR = 8  # at most 1/8 as many keys in memory as in the file
_BLOCK_ENTRIES = 512  # entries per block, 4 KB: one lookup reads one block
_CHUNK_ENTRIES = 1 << 16  # entries per write
_LOAD_BATCH = 10_000  # pages that are loaded at once
_BITS_PER_KEY = 8  # minimum number of table bits per key, for at most 1/8 false positives


class DiskKeyIndex:
    """Map from key to step, like `KeyIndex`; keys beyond `max_in_memory` are in a file in `directory`.

    >>> index = DiskKeyIndex(Path("."), max_in_memory=2)
    >>> for step in (1, 2, 3):
    ...     index.add_key(step << 40, step)
    >>> [index.find_step(key << 40) for key in (1, 2, 3, 4)], len(index)
    ([1, 2, 3, None], 3)
    """

    def __init__(self, directory: Path, *, max_in_memory: int = _MIN_KEYS_IN_MEMORY) -> None:
        self._directory = directory
        self._min_in_memory = max_in_memory
        self._latest = KeyIndex()
        self._file = -1
        self._close: Callable[[], object] = lambda: None
        self._file_entries = 0  # entries in the file
        self._first_entries = array("Q")  # first entry of each block
        self._bit_table = bytearray(1)  # bit table of the keys in the file
        self._shift = 64  # low bits of a key that the table ignores

    def __len__(self) -> int:
        """Return the number of keys. A key that was added again after the file was written counts twice."""
        return self._file_entries + len(self._latest)

    @property
    def memory_bytes(self) -> int:
        """Memory use in bytes."""
        return (
            self._latest.memory_bytes + len(self._bit_table) + len(self._first_entries) * self._first_entries.itemsize
        )

    def find_step(self, key: int) -> int | None:
        """Return the step of the latest page with a key, or None if no page has it."""
        found = self._latest.find_step(key)
        if found is None:
            value = key & KEY_MASK
            place = value >> self._shift
            if self._bit_table[place >> 3] >> (place & 7) & 1:
                return self._read_from_file(value)
        return found

    def add_key(self, key: int, step: int) -> None:
        """Set the step of a key, which replaces an earlier step. Write the file when the memory is full."""
        self._latest.add_key(key, step)
        if len(self._latest) > self._max_in_memory:
            self._write_file(self._latest.sorted_entries(), override=True)
            self._latest = KeyIndex()

    def load_pages(self, rows: Iterable[tuple[int, bytes]]) -> None:
        """Add stored pages: their steps, and their duplicate keys as 64-bit integers, packed into one `bytes`.

        If two pages share a key, the newer one is found.
        """
        rows, parts = iter(rows), [self._latest.sorted_entries()]
        while some := list(islice(rows, _LOAD_BATCH)):
            # Load in batches: Python objects for all rows would take ten times the memory.
            parts.append(build_entries(some))
            if sum(map(len, parts)) > self._max_in_memory:
                self._write_file(drop_older_entries(np.sort(np.concatenate(parts))), override=False)
                parts = [np.zeros(0, np.uint64)]
        self._latest = KeyIndex()
        if self._file_entries:
            # In memory, they would hide newer entries in the file.
            self._write_file(drop_older_entries(np.sort(np.concatenate(parts))), override=False)
        else:
            self._latest.fill_from(np.concatenate(parts))

    @property
    def _max_in_memory(self) -> int:
        """Maximum number of keys in memory."""
        return max(self._min_in_memory, self._file_entries // _MEMORY_DIVISOR)

    def _read_from_file(self, value: int) -> int | None:
        """Return the step of a key in the file, or None."""
        wanted = value & ~STEP_MASK
        block = bisect_right(self._first_entries, wanted | STEP_MASK) - 1
        if block < 0:
            return None
        entries = array("Q", os.pread(self._file, 8 * _BLOCK_ENTRIES, 8 * _BLOCK_ENTRIES * block))
        place = bisect_left(entries, wanted)
        if place < len(entries) and entries[place] >> STEP_BITS == value >> STEP_BITS:
            return entries[place] & STEP_MASK
        return None

    def _write_file(self, entries: NDArray[np.uint64], *, override: bool) -> None:
        """Write a new file from the old one and sorted entries.

        If both have an entry for a key, the new one wins if `override` is set, otherwise the one with the larger step.
        """
        bits = max(3, (_BITS_PER_KEY * (self._file_entries + len(entries)) - 1).bit_length())
        table, firsts, count = np.zeros(1 << bits - 3, np.uint8), array("Q"), 0
        file, name = mkstemp(prefix=".keys-", dir=self._directory)
        os.unlink(name)
        close = finalize(self, os.close, file)
        try:
            for merged in self._merge_chunks(entries, override=override):
                _write_all(file, merged)
                _set_bits(table, merged >> np.uint64(64 - bits))
                firsts.frombytes(merged[-count % _BLOCK_ENTRIES :: _BLOCK_ENTRIES].tobytes())
                count += len(merged)
        except BaseException:
            close()
            raise
        self._close()
        self._close = close
        self._file, self._file_entries, self._first_entries = file, count, firsts
        self._bit_table, self._shift = bytearray(table.data), 64 - bits

    def _merge_chunks(self, entries: NDArray[np.uint64], *, override: bool) -> Iterator[NDArray[np.uint64]]:
        """Yield the merged entries of the file and of `entries`, chunk by chunk."""
        for at in range(0, self._file_entries, _CHUNK_ENTRIES):
            old = np.frombuffer(os.pread(self._file, 8 * _CHUNK_ENTRIES, 8 * at), np.uint64)
            last = at + len(old) >= self._file_entries
            end = len(entries) if last else int(np.searchsorted(entries, old[-1] | np.uint64(STEP_MASK), "right"))
            new, entries = entries[:end], entries[end:]
            if override:
                old = old[~np.isin(old >> np.uint64(STEP_BITS), new >> np.uint64(STEP_BITS), assume_unique=True)]
            yield drop_older_entries(np.sort(np.concatenate([old, new]), kind="stable"))
        if not self._file_entries:
            for at in range(0, len(entries), _CHUNK_ENTRIES):
                yield entries[at : at + _CHUNK_ENTRIES]


def _write_all(file: int, entries: NDArray[np.uint64]) -> None:
    left = memoryview(entries.tobytes())
    while left:
        left = left[os.write(file, left) :]


def _set_bits(table: NDArray[np.uint8], positions: NDArray[np.uint64]) -> None:
    """Set the bits at the given sorted positions."""
    bytes_ = (positions >> np.uint64(3)).astype(np.int64)
    firsts = np.flatnonzero(np.append(-1, bytes_[:-1]) != bytes_)
    bits = np.left_shift(1, positions & np.uint64(7), dtype=np.uint8, casting="unsafe")
    table[bytes_[firsts]] |= np.bitwise_or.reduceat(bits, firsts)
