"""Marks of any number of pages: the latest in memory, all others in a file that nobody else sees.

Most pages repeat no other, so most questions end at a table of bits, which needs one or two bytes a mark. The file
holds entries as `marks.py` makes them, sorted; the first one of each block is in memory, so that a question that gets
so far reads one block. The file is made anew when the marks in memory are an eighth of it, chunk by chunk, and goes
away with the process: the marks are stored with their pages.
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

from topicrawl.collection.marks import ALL, STEP, STEP_BITS, Marks, entries_of, newest

_LEAST = 1 << 17  # marks in memory before the first file is made
_SHARE = 8  # of the file's marks that are in memory at most, one part
_BLOCK = 512  # entries, 4 KB: what one question reads
_CHUNK = 1 << 16  # entries that are written together
_TOGETHER = 10_000  # pages that are loaded at once
_BITS = 8  # of the table for each mark at least, so that an eighth of the questions get past it in vain


class FiledMarks:
    """Mark → step, like `Marks`; a file in `directory` holds what is more than `least`.

    >>> marks = FiledMarks(Path("."), least=2)
    >>> for step in (1, 2, 3):
    ...     marks.add(step << 40, step)
    >>> [marks.step(mark << 40) for mark in (1, 2, 3, 4)], len(marks)
    ([1, 2, 3, None], 3)
    """

    def __init__(self, directory: Path, *, least: int = _LEAST) -> None:
        self._directory = directory
        self._least = least
        self._latest = Marks()
        self._file = -1
        self._close: Callable[[], object] = lambda: None
        self._filed = 0  # entries
        self._firsts = array("Q")  # of each block
        self._table = bytearray(1)
        self._shift = 64  # of a mark's bits that do not matter in the table

    def __len__(self) -> int:
        """How many there are; one that was left again since the file was made counts twice."""
        return self._filed + len(self._latest)

    @property
    def size(self) -> int:
        """Bytes in memory."""
        return self._latest.size + len(self._table) + len(self._firsts) * self._firsts.itemsize

    def step(self, mark: int) -> int | None:
        """The step that a mark leads to."""
        found = self._latest.step(mark)
        if found is None:
            value = mark & ALL
            place = value >> self._shift
            if self._table[place >> 3] >> (place & 7) & 1:
                return self._read(value)
        return found

    def add(self, mark: int, step: int) -> None:
        """Let a mark lead to a step."""
        self._latest.add(mark, step)
        if len(self._latest) > self._most:
            self._write(self._latest.entries(), later=True)
            self._latest = Marks()

    def load(self, rows: Iterable[tuple[int, bytes]]) -> None:
        """Add pages as they were stored: their steps, and their marks packed. Of two, the newer page is found."""
        rows, parts = iter(rows), [self._latest.entries()]
        while some := list(islice(rows, _TOGETHER)):
            # Some at a time: as objects of their own, all of them would take ten times the room.
            parts.append(entries_of(some))
            if sum(map(len, parts)) > self._most:
                self._write(newest(np.sort(np.concatenate(parts))), later=False)
                parts = [np.zeros(0, np.uint64)]
        self._latest = Marks()
        if self._filed:
            # In memory they would hide newer ones in the file.
            self._write(newest(np.sort(np.concatenate(parts))), later=False)
        else:
            self._latest.fill(np.concatenate(parts))

    @property
    def _most(self) -> int:
        """Marks that may be in memory."""
        return max(self._least, self._filed // _SHARE)

    def _read(self, value: int) -> int | None:
        """Look a mark up in the file."""
        wanted = value & ~STEP
        block = bisect_right(self._firsts, wanted | STEP) - 1
        if block < 0:
            return None
        entries = array("Q", os.pread(self._file, 8 * _BLOCK, 8 * _BLOCK * block))
        place = bisect_left(entries, wanted)
        if place < len(entries) and entries[place] >> STEP_BITS == value >> STEP_BITS:
            return entries[place] & STEP
        return None

    def _write(self, entries: NDArray[np.uint64], *, later: bool) -> None:
        """Make a new file out of the old one and sorted entries: those of a mark that are `later`, or the newest."""
        bits = max(3, (_BITS * (self._filed + len(entries)) - 1).bit_length())
        table, firsts, count = np.zeros(1 << bits - 3, np.uint8), array("Q"), 0
        file, name = mkstemp(prefix=".marks-", dir=self._directory)
        os.unlink(name)
        close = finalize(self, os.close, file)
        try:
            for merged in self._merged(entries, later=later):
                _write_all(file, merged)
                _tick(table, merged >> np.uint64(64 - bits))
                firsts.frombytes(merged[-count % _BLOCK :: _BLOCK].tobytes())
                count += len(merged)
        except BaseException:
            close()
            raise
        self._close()
        self._close = close
        self._file, self._filed, self._firsts = file, count, firsts
        self._table, self._shift = bytearray(table.data), 64 - bits

    def _merged(self, entries: NDArray[np.uint64], *, later: bool) -> Iterator[NDArray[np.uint64]]:
        for at in range(0, self._filed, _CHUNK):
            old = np.frombuffer(os.pread(self._file, 8 * _CHUNK, 8 * at), np.uint64)
            last = at + len(old) >= self._filed
            end = len(entries) if last else int(np.searchsorted(entries, old[-1] | np.uint64(STEP), "right"))
            new, entries = entries[:end], entries[end:]
            if later:
                old = old[~np.isin(old >> np.uint64(STEP_BITS), new >> np.uint64(STEP_BITS), assume_unique=True)]
            yield newest(np.sort(np.concatenate([old, new]), kind="stable"))
        if not self._filed:
            for at in range(0, len(entries), _CHUNK):
                yield entries[at : at + _CHUNK]


def _write_all(file: int, entries: NDArray[np.uint64]) -> None:
    left = memoryview(entries.tobytes())
    while left:
        left = left[os.write(file, left) :]


def _tick(table: NDArray[np.uint8], places: NDArray[np.uint64]) -> None:
    """Set the bits at places that are sorted."""
    bytes_ = (places >> np.uint64(3)).astype(np.int64)
    firsts = np.flatnonzero(np.append(-1, bytes_[:-1]) != bytes_)
    bits = np.left_shift(1, places & np.uint64(7), dtype=np.uint8, casting="unsafe")
    table[bytes_[firsts]] |= np.bitwise_or.reduceat(bits, firsts)
