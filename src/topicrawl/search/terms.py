"""Stems as numbers, the same for the whole index, in the order in which they are met: frequent ones are small."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from topicrawl.database import Database

_KNOWN = 500_000  # stems that are remembered, about 50 MB


class Terms:
    """For the one who writes the index, within his transactions; after one that fails, he needs another."""

    def __init__(self, database: Database, *, is_bulk: bool) -> None:
        self._database = database
        ((self._next,),) = database.execute("SELECT count(*) FROM terms")
        # Asking for one after the other takes as long as reading all when a third of them is asked for.
        self._is_complete = self._next == 0 or (is_bulk and self._next < _KNOWN)
        everything = database.execute("SELECT term, id FROM terms") if self._is_complete else ()
        self._known: dict[str, int] = dict(everything)
        self._tables: dict[int, array[int]] = {}

    def table(self, reader: int, first: int, stems: Sequence[str]) -> NDArray[np.int32]:
        """A reader's numbers → ours, after it has met new stems."""
        table = self._tables.setdefault(reader, array("i"))
        del table[first:]
        table.extend(self._numbers(stems))
        return np.array(table, np.int32)

    def _numbers(self, stems: Sequence[str]) -> Iterable[int]:
        if len(self._known) > _KNOWN:
            self._known.clear()
            self._is_complete = False
        new = [stem for stem in dict.fromkeys(stems) if stem not in self._known]
        if not self._is_complete:
            for stem in new:
                self._known.update(self._database.execute("SELECT term, id FROM terms WHERE term = ?", (stem,)))
            new = [stem for stem in new if stem not in self._known]
        numbered = list(zip(new, range(self._next, self._next + len(new)), strict=True))
        self._known.update(numbered)
        self._next += len(new)
        # In the order of the table, its pages are touched once each.
        self._database.executemany("INSERT INTO terms VALUES (?,?)", sorted(numbered))
        return map(self._known.__getitem__, stems)
