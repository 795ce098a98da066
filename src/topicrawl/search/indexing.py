"""Brings an index up to date from its collection, in small steps, while the crawl may go on.

What the collection has and the index has not is added; what it no longer has is marked. There is no other state, so
after a kill at any instant the next run goes on, and a file that is lost or damaged is simply made again.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from topicrawl.collection import verdicts
from topicrawl.collection.store import Store
from topicrawl.database import Lock
from topicrawl.errors import CollectionError
from topicrawl.search.index_file import ADD, LIVE, LOST, REPLACED, Row, inode, opened
from topicrawl.search.readers import MANY, Readers
from topicrawl.search.reading import Reply, Wanted
from topicrawl.search.segments import Shelving, segment
from topicrawl.search.terms import Terms
from topicrawl.urls import host

log = logging.getLogger("topicrawl")

BATCH = 1024  # pages of a transaction, and of a segment of the index
_AHEAD = 2  # batches that are being read
_READ = 32  # pages that a reader is given at once
_COMPARED = 60.0  # seconds between two comparisons of everything, while something changes
_HERE = (
    "SELECT pages.step, pages.id, at, segment, start, length, relevance, language, digest, pages.url, title"
    " FROM pages JOIN visits ON visits.step = pages.step WHERE failure IS NULL AND segment IS NOT NULL"
)

_Part: TypeAlias = tuple[list[Row], Future[tuple[int, Reply]]]


class Indexing:
    """The one that writes an index. CollectionError: another process does it already."""

    def __init__(self, directory: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self.directory = directory
        self._clock = clock
        self._store = Store(directory / "topicrawl.sqlite", readonly=True)
        try:
            self._lock = Lock(directory / "search.lock", directory / "search.sqlite")
        except CollectionError:
            self._store.close()
            raise
        try:
            self._database = opened(directory, readonly=False)
        except BaseException:
            self._lock.release()
            self._store.close()
            raise
        self._file = inode(directory)
        self._readers: Readers | None = None
        self._shelving = Shelving(self._database)
        self._seen = -1  # the store's version when it was last looked at
        self._compared = float("-inf")
        self._looks = -1  # revisits at the last comparison

    def run(self, *, most: int | None = None, tick: Callable[[int], None] | None = None) -> int:
        """Add what is missing, `most` pages at the most; returns how many were added. `tick` hears of each batch."""
        ((version,),) = self._store.rows("PRAGMA data_version")
        if version == self._seen:
            self._prepare(0)
            return 0
        missing = self._missing()
        self._prepare(len(missing))
        try:
            added = self._add(missing[:most], tick)
        except BaseException:
            # Terms that were numbered in a transaction that failed have no numbers.
            self._forget()
            raise
        self._rule()
        if added == len(missing):
            self._seen = int(str(version))
        return added

    def _prepare(self, pages: int) -> None:
        """Have readers for so many pages: beside this process while there are many."""
        if self._readers is not None and self._readers.beside != (pages >= MANY):
            self._forget()
        if self._readers is None and pages:
            self._readers = Readers(self.directory, pages, beside=pages >= MANY)
            self._terms = Terms(self._database, is_bulk=pages >= MANY)

    def _forget(self) -> None:
        if self._readers is not None:
            self._readers.close()
        self._readers = None

    def _add(self, steps: Sequence[int], tick: Callable[[int], None] | None) -> int:
        added = 0
        batches = [steps[at : at + BATCH] for at in range(0, len(steps), BATCH)]
        # While one batch is being written, the next is read, and one more waits so that no reader ever does.
        ahead = deque(map(self._sent, batches[:_AHEAD]))
        for at, batch in enumerate(batches, _AHEAD):
            pages = [(rows, reply.result()) for rows, reply in ahead.popleft()]
            ahead.extend(map(self._sent, batches[at : at + 1]))
            self._write(pages)
            added += len(batch)
            if tick is not None:
                tick(added)
        return added

    @property
    def is_current(self) -> bool:
        """Whether what is written here is what is read."""
        return self._file == inode(self.directory)

    def close(self) -> None:
        self._forget()
        self._database.close()
        self._store.close()
        self._lock.release()

    def _missing(self) -> list[int]:
        """The steps of the pages that are to be added."""
        ((looks,),) = self._store.rows("SELECT count(*) FROM revisits")
        now = self._clock()
        if looks != self._looks or now - self._compared >= _COMPARED:
            self._compared, self._looks = now, int(str(looks))
            return self._difference()
        ((last,),) = self._database.execute("SELECT coalesce(max(step), 0) FROM pages")
        sql = f"SELECT step FROM ({_HERE}) WHERE step > ? ORDER BY step"
        return [int(str(step)) for (step,) in self._store.rows(sql, (last,))]

    def _difference(self) -> list[int]:
        """Compare everything; what the collection no longer has is marked."""
        sql = "SELECT step, id, at, segment, start, number, relevance FROM pages WHERE state <> ?"
        known = {row[:5]: row[5:] for row in self._database.execute(sql, (REPLACED,))}
        missing: list[int] = []
        judged: list[tuple[object, int]] = []
        for row in self._store.each(f"SELECT step, id, at, segment, start, relevance FROM ({_HERE}) ORDER BY step"):
            found = known.pop(row[:5], None)
            if found is None:
                missing.append(int(str(row[0])))
            elif found[1] != (row[5] or 0.0):
                judged.append((row[5] or 0.0, found[0]))
        if known or judged:
            with self._database.transaction():
                gone = [(number,) for number, _ in known.values()]
                self._database.executemany(f"UPDATE pages SET state = {REPLACED} WHERE number = ?", gone)
                self._database.executemany("DELETE FROM texts WHERE number = ?", gone)
                self._database.executemany("UPDATE pages SET relevance = ? WHERE number = ?", judged)
                self._changed()
        return missing

    def _sent(self, steps: Sequence[int]) -> list[_Part]:
        """Give pages to the readers, some at a time."""
        assert self._readers is not None
        rows = self._rows(steps)
        parts = [rows[at : at + _READ] for at in range(0, len(rows), _READ)]
        return [([row for row, _ in part], self._readers.submit([wanted for _, wanted in part])) for part in parts]

    def _rows(self, steps: Sequence[int]) -> list[tuple[Row, Wanted]]:
        """What the collection knows of pages, with where they stand in the archive."""
        sql, wanted = f"SELECT * FROM ({_HERE}) WHERE step BETWEEN ? AND ? ORDER BY step", set(steps)
        ruled = bool(self._store.rows("SELECT 1 FROM verdicts LIMIT 1"))
        found = []
        for row in self._store.rows(sql, (steps[0], steps[-1])):
            if row[0] not in wanted:
                continue
            step, page, segment, start, length = (int(str(row[at])) for at in (0, 1, 3, 4, 5))
            at, relevance = float(str(row[2])), float(str(row[6] or 0.0))
            language, digest, url, title = map(str, row[7:])
            verdict = self._verdict(page) if ruled else ""
            said = (language, host(url), verdict, digest, url, title)
            known = Row(0, LIVE, step, page, at, segment, start, relevance, 0, *said)
            found.append((known, Wanted(segment, start, length, language, title, url)))
        return found

    def _write(self, pages: Sequence[tuple[Sequence[Row], tuple[int, Reply]]]) -> None:
        """Add pages, all of them or none."""
        rows: list[Row] = []
        texts: list[tuple[int, bytes]] = []
        words: list[NDArray[np.int32]] = []
        sizes: list[tuple[int, int, int]] = []
        with self._database.transaction():
            ((last,),) = self._database.execute("SELECT coalesce(max(number), 0) FROM pages")
            for known, (reader, (first, new, several, terms)) in pages:
                table = self._terms.table(reader, first, new)
                words.append(table[np.frombuffer(terms, np.int32)])
                for row, said in zip(known, several, strict=True):
                    if said.trouble:
                        log.warning("cannot be searched: %s: %s", row.url, said.trouble)
                    number, state = int(last) + len(rows) + 1, LOST if said.trouble else LIVE
                    rows.append(row._replace(number=number, state=state, words=sum(said.sizes)))
                    texts.append((number, said.text))
                    sizes.append(said.sizes)
            self._terms.store()
            self._database.executemany(ADD, rows)
            self._database.executemany("INSERT INTO texts VALUES (?,?)", texts)
            self._shelving.add(segment(int(last) + 1, np.concatenate(words), np.array(sizes)))

    def _verdict(self, page: int) -> str:
        sql = "SELECT verdict FROM verdicts WHERE page = ? ORDER BY number DESC LIMIT 1"
        return "".join(str(verdict) for (verdict,) in self._store.rows(sql, (page,)))

    def _rule(self) -> None:
        """Take over what readers said since the last time."""
        found = self._database.execute("SELECT value FROM facts WHERE name = 'verdict'").fetchone()
        new = verdicts.since(self._store, found[0] if found else 0)
        if not new:
            return
        with self._database.transaction():
            rulings = [(row.verdict, row.page) for row in new]
            self._database.executemany("UPDATE pages SET verdict = ? WHERE id = ?", rulings)
            self._database.execute("INSERT OR REPLACE INTO facts VALUES ('verdict', ?)", (new[-1].number,))
            self._changed()

    def _changed(self) -> None:
        """Let readers know that old rows are not what they were."""
        self._database.execute("INSERT OR IGNORE INTO facts VALUES ('changes', 0)")
        self._database.execute("UPDATE facts SET value = value + 1 WHERE name = 'changes'")
