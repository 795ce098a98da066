"""Stems as numbers, the same for the whole index, in the order in which they are met: frequent ones are small."""

from __future__ import annotations

from collections.abc import Sequence

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
        self._new: list[tuple[str, int]] = []
        self._tables: dict[int, NDArray[np.int32]] = {}

    def table(self, reader: int, first: int, stems: Sequence[str]) -> NDArray[np.int32]:
        """A reader's numbers → ours, after it has met new stems; good until the next is asked for."""
        table, last = self._tables.get(reader), first + len(stems)
        if table is None or len(table) < last:
            larger = np.zeros(2 * last + 1024, np.int32)
            larger[:first] = 0 if table is None else table[:first]
            self._tables[reader] = table = larger
        table[first:last] = self._numbers(stems)
        return table

    def store(self) -> None:
        """Write what is new."""
        # In the order of the table, its pages are touched once each.
        self._database.executemany("INSERT INTO terms VALUES (?,?)", sorted(self._new))
        self._new.clear()

    def _numbers(self, stems: Sequence[str]) -> list[int]:
        if len(self._known) > _KNOWN:
            self._known = dict(self._new)
            self._is_complete = False
        new = [stem for stem in dict.fromkeys(stems) if stem not in self._known]
        if not self._is_complete:
            for stem in new:
                self._known.update(self._database.execute("SELECT term, id FROM terms WHERE term = ?", (stem,)))
            new = [stem for stem in new if stem not in self._known]
        numbered = list(zip(new, range(self._next, self._next + len(new)), strict=True))
        self._known.update(numbered)
        self._next += len(new)
        self._new += numbered
        return [self._known[stem] for stem in stems]
