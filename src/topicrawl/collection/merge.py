"""One collection out of the directories of many workers, as if one machine had made it.

Visits are put in the order in which they were made. What two workers fetched, because one of them was given up or the
server had forgotten, stands in it once. Pages that repeat others are found across workers too.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from struct import unpack

from topicrawl.collection.directory import Collection, crawling, occupied
from topicrawl.collection.duplicates import Duplicates
from topicrawl.collection.shelf import Shelf
from topicrawl.collection.store import Store, Stored
from topicrawl.database import errors_of
from topicrawl.errors import CollectionError
from topicrawl.records import Carry, Failure, Page, Parse
from topicrawl.urls import fingerprint

_TOGETHER = 500  # visits in one transaction
_ADD_VISIT = f"INSERT INTO visits VALUES ({','.join('?' * len(Stored._fields))})"
_ADD_PAGE = "INSERT OR REPLACE INTO pages VALUES (?,?,?,?,?,?,?,?,?,?,?)"


@dataclass
class Merged:
    """What became of it."""

    pages: int = 0
    failed: int = 0
    again: int = 0  # visits that another worker had made too
    twins: int = 0  # pages that repeat one of another worker


@dataclass
class Merge:
    """Puts workers' collections together. `distinct`: pages that repeat others are left out."""

    into: Collection
    sources: Sequence[Path]
    parse: Parse
    distinct: bool = True
    done: Merged = field(default_factory=Merged)

    def run(self) -> Iterator[int]:
        """Do it; yields the number of visits so far."""
        stores = [Store(path / "topicrawl.sqlite", readonly=True) for path in self.sources]
        try:
            segments = [self._copied(path) for path in self.sources]
            shelf = Shelf(self.into.store, self.into.archive, self.parse)
            self._shelf, self._duplicates = shelf, Duplicates(shelf)
            order = self._order(stores)
            for start in range(0, len(order), _TOGETHER):
                for number, (_, which, step) in enumerate(order[start : start + _TOGETHER], start + 1):
                    (row,) = stores[which].visits("step=?", (step,))
                    self._take(number, row, stores[which], segments[which])
                yield min(start + _TOGETHER, len(order))
            for store in stores:
                self._rest(store)
        finally:
            for store in stores:
                store.close()

    def _copied(self, path: Path) -> dict[int, int]:
        """Copy the archive of a worker; its segments get new numbers."""
        folder = self.into.directory / "warc"
        taken: dict[int, int] = {}
        with errors_of(folder):
            folder.mkdir(exist_ok=True)
            before = len(list(folder.glob("*.warc.gz")))
            for number, segment in enumerate(sorted((path / "warc").glob("*.warc.gz")), before + 1):
                shutil.copyfile(segment, folder / f"{number:05d}.warc.gz")
                taken[int(segment.name.partition(".")[0])] = number
        return taken

    def _order(self, stores: Sequence[Store]) -> list[tuple[float, int, int]]:
        """Which visits count, in the order in which they were made: time, store, step."""
        chosen: dict[int, tuple[bool, float, int, int]] = {}
        for which, store in enumerate(stores):
            for id_, failed, at, step in store.each("SELECT id, failure IS NOT NULL, at, step FROM visits"):
                visit = (bool(failed), float(str(at)), which, int(str(step)))
                known = chosen.get(int(str(id_)))
                self.done.again += known is not None
                # A page is better than a failure; of two pages the first one counts.
                chosen[int(str(id_))] = visit if known is None else min(known, visit)
        return sorted(visit[1:] for visit in chosen.values())

    def _take(self, number: int, row: Stored, source: Store, segments: dict[int, int]) -> None:
        """Put a visit in under its new number, with its page and the page's links."""
        row = row._replace(step=number, segment=segments.get(row.segment) if row.segment is not None else None)
        pages = source.rows("SELECT * FROM pages WHERE id=?", (fingerprint(row.url),)) if not row.failure else []
        twin = self._twin(row, pages[0] if pages else None)
        if twin is not None:
            url, how = twin
            row = row._replace(
                failure=Failure.DUPLICATE, detail=how, twin=url, relevance=None, segment=None, start=None, length=None
            )
            pages = []
            self.done.twins += 1
        with self.into.store.db.transaction():
            db = self.into.store.db
            db.execute(_ADD_VISIT, row)
            for page in pages:
                db.execute(_ADD_PAGE, (page[0], number, *page[2:]))
            if twin is None:
                for links in source.rows("SELECT * FROM links WHERE source=?", (fingerprint(row.url),)):
                    db.execute("INSERT OR REPLACE INTO links VALUES (?,?,?,?,?)", links)
        self.done.pages += row.failure is None
        self.done.failed += row.failure is not None

    def _twin(self, row: Stored, page: Sequence[object] | None) -> tuple[str, str] | None:
        """The page in the new collection that this one repeats, and how one can tell."""
        if row.failure is not None or row.spot is None:
            return None
        if self._shelf.step_at(row.url) is not None:
            return row.url, f"leads to {row.url}, which is here already"
        packed = page[10] if page is not None else None
        if not self.distinct or not isinstance(packed, bytes):
            return None
        marks = unpack(f"<{len(packed) // 8}q", packed)
        own, canonical = fingerprint(f"canonical {row.url}"), str(page[8]) if page is not None else ""
        # Reading a page again is dear; most share no mark with any other.
        if self._shelf.steps((*marks, own)) or (canonical and self._shelf.step_at(canonical) is not None):
            read = self._read(row)
            found = self._duplicates.twin(read) if read is not None else None
            if found is not None:
                return found.url, found.how
            self._duplicates.stored(row.url, row.step)
        else:
            self._shelf.add(marks, row.step)
        return None

    def _read(self, row: Stored) -> Page | None:
        assert row.spot is not None
        page = self.parse(self.into.archive.read(row.spot), row.link)
        return page if isinstance(page, Page) else None

    def _rest(self, source: Store) -> None:
        """What stands beside the visits."""
        with self.into.store.db.transaction():
            for table, count in (("failures", 6), ("hosts", 3)):
                sql = f"INSERT OR REPLACE INTO {table} VALUES ({','.join('?' * count)})"
                self.into.store.db.executemany(sql, source.each(f"SELECT * FROM {table}"))


def checked(out: Path, sources: Sequence[Path]) -> dict[str, Carry]:
    """The facts of the new collection; directories that do not belong together are refused."""
    if occupied(out):
        raise CollectionError(f"{out} holds a crawl already: name a new directory to gather into")
    facts: dict[str, Carry] = {}
    for path in sources:
        if not occupied(path):
            raise CollectionError(f"{path} holds no crawl: name the directories of workers")
        if crawling(path):
            raise CollectionError(f"{path} is being written to: wait for its worker, or tell the crawl to finish")
        store = Store(path / "topicrawl.sqlite", readonly=True)
        try:
            its = {name: store.fact(name) for name in ("identity", "epoch", "settings", "seeds", "stopped")}
        finally:
            store.close()
        for name in ("identity", "epoch"):
            if facts and json.dumps(its[name]) != json.dumps(facts[name]):
                raise CollectionError(f"{path} belongs to another crawl than {sources[0]}: gather them one by one")
        facts = facts or its
    return facts
