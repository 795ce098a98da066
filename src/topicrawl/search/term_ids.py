"""Index-wide ids of stems, assigned in the order of first occurrence, so that frequent stems get small ids."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from topicrawl.database import Database

_MAX_CACHED_STEMS = 500_000  # cached stems, about 50 MB


class TermIdAllocator:
    """Assign ids to stems, within the transactions of the index writer.

    After a failed transaction, the writer must discard this object and create a new one.
    """

    def __init__(self, database: Database, *, is_bulk: bool) -> None:
        self._database = database
        ((self._next_id,),) = database.execute("SELECT count(*) FROM terms")
        # Single lookups take as long as reading the whole table once a third of all terms is looked up.
        self._has_all_terms = self._next_id == 0 or (is_bulk and self._next_id < _MAX_CACHED_STEMS)
        rows = database.execute("SELECT term, id FROM terms") if self._has_all_terms else ()
        self._ids: dict[str, int] = dict(rows)
        self._unsaved: list[tuple[str, int]] = []
        self._reader_tables: dict[int, NDArray[np.int32]] = {}

    def map_reader_terms(self, reader: int, first: int, stems: Sequence[str]) -> NDArray[np.int32]:
        """Return the array that maps the term numbers of a page reader to ids of the index.

        `stems` are the new stems of the reader, numbered from `first` on. The array is valid until the next call.
        """
        table, last = self._reader_tables.get(reader), first + len(stems)
        if table is None or len(table) < last:
            larger = np.zeros(2 * last + 1024, np.int32)
            larger[:first] = 0 if table is None else table[:first]
            self._reader_tables[reader] = table = larger
        table[first:last] = self._assign_ids(stems)
        return table

    def save_new_terms(self) -> None:
        """Insert the new terms into the database."""
        # Sorted by primary key, so that SQLite touches each page of the table once.
        self._database.executemany("INSERT INTO terms VALUES (?,?)", sorted(self._unsaved))
        self._unsaved.clear()

    def _assign_ids(self, stems: Sequence[str]) -> list[int]:
        if len(self._ids) > _MAX_CACHED_STEMS:
            self._ids = dict(self._unsaved)
            self._has_all_terms = False
        new = [stem for stem in dict.fromkeys(stems) if stem not in self._ids]
        if not self._has_all_terms:
            for stem in new:
                self._ids.update(self._database.execute("SELECT term, id FROM terms WHERE term = ?", (stem,)))
            new = [stem for stem in new if stem not in self._ids]
        numbered = list(zip(new, range(self._next_id, self._next_id + len(new)), strict=True))
        self._ids.update(numbered)
        self._next_id += len(new)
        self._unsaved += numbered
        return [self._ids[stem] for stem in stems]
