"""Merge the directories of many workers into one collection, as if one machine had crawled it.

Visits are sorted by time. A URL that two workers fetched, because the lease of one of them expired or the server lost
data, occurs once. Duplicates of pages are detected across workers too. The last verdict on a page counts, whichever
worker it was given to. The frontiers of crawls without Redis are merged, so that the crawl can continue.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from struct import unpack

from topicrawl.collection.annotations import copy_annotations
from topicrawl.collection.deduplication import DuplicateDetector
from topicrawl.collection.directory import Collection, contains_crawl, is_crawling
from topicrawl.collection.notes import copy_notes
from topicrawl.collection.page_loader import PageLoader
from topicrawl.collection.store import CollectionStore, StoredVisit
from topicrawl.database import translate_errors
from topicrawl.errors import CollectionError
from topicrawl.frontier.base import FrontierEntry, FrontierRules, Offer
from topicrawl.frontier.sqlite.frontier import SqliteFrontier
from topicrawl.frontier.sqlite.reader import SqliteFrontierReader, open_reader
from topicrawl.models import Failure, JsonValue, Page, ParseFunction
from topicrawl.urls import fingerprint

_PROGRESS_INTERVAL = 500  # visits between two progress reports
_LINK_BATCH = 1000  # links of a frontier that are merged in one transaction
_ADD_VISIT = f"INSERT INTO visits VALUES ({','.join('?' * len(StoredVisit._fields))})"
_ADD_PAGE = f"INSERT OR REPLACE INTO pages VALUES ({','.join('?' * 12)})"


@dataclass
class GatherResult:
    """Counts of a merge."""

    pages: int = 0
    failed: int = 0
    repeated: int = 0  # visits of URLs that another worker visited too
    duplicates: int = 0  # pages that duplicate a page of another worker


@dataclass
class CollectionMerger:
    """Merge of several collections. With `distinct`, duplicates of other pages are omitted."""

    target: Collection
    sources: Sequence[Path]
    parse: ParseFunction
    distinct: bool = True
    result: GatherResult = field(default_factory=GatherResult)

    def run(self) -> Iterator[int]:
        """Merge the sources into the target. Yield the number of visits so far. Afterwards, `result` has the counts.

        Of several visits of one URL, a stored page is preferred to a failure, and the earlier page to the later one.
        """
        stores = [CollectionStore(path / "topicrawl.sqlite", readonly=True) for path in self.sources]
        try:
            segments = [self._copy_archive(path) for path in self.sources]
            self._page_loader = PageLoader(self.target.store, self.target.archive, self.parse)
            self._duplicates = DuplicateDetector(self._page_loader)
            order = self._order_visits(stores)
            for start in range(0, len(order), _PROGRESS_INTERVAL):
                for number, (_, which, step) in enumerate(order[start : start + _PROGRESS_INTERVAL], start + 1):
                    (row,) = stores[which].iterate_visits("step=?", (step,))
                    self._add_visit(number, row, stores[which], segments[which])
                yield min(start + _PROGRESS_INTERVAL, len(order))
            for store in stores:
                self._copy_tables(store)
            copy_annotations(stores, self.target.store)
            copy_notes(stores, self.target.store)
        finally:
            for store in stores:
                store.close()

    def _copy_archive(self, path: Path) -> dict[int, int]:
        """Copy the archive segments of a worker into the target. Return old segment number → new segment number."""
        folder = self.target.directory / "warc"
        numbers: dict[int, int] = {}
        with translate_errors(folder):
            folder.mkdir(exist_ok=True)
            before = len(list(folder.glob("*.warc.gz")))
            for number, segment in enumerate(sorted((path / "warc").glob("*.warc.gz")), before + 1):
                shutil.copyfile(segment, folder / f"{number:05d}.warc.gz")
                numbers[int(segment.name.partition(".")[0])] = number
        return numbers

    def _order_visits(self, stores: Sequence[CollectionStore]) -> list[tuple[float, int, int]]:
        """Return the visits to merge as (time, number of the store, step), sorted by time: one for each URL.

        The others are counted in `result.repeated`.
        """
        chosen: dict[int, tuple[bool, float, int, int]] = {}
        for which, store in enumerate(stores):
            sql = "SELECT id, failure IS NOT NULL, at, step FROM visits"
            for id_, failed, at, step in store.iterate_typed_rows(tuple[int, int, float, int], sql):
                visit = (bool(failed), at, which, step)
                other = chosen.get(id_)
                self.result.repeated += other is not None
                # A page is preferred to a failure, and the earlier of two pages to the later one.
                chosen[id_] = visit if other is None else min(other, visit)
        return sorted(visit[1:] for visit in chosen.values())

    def _add_visit(self, number: int, row: StoredVisit, source: CollectionStore, segments: dict[int, int]) -> None:
        """Add a visit under its new number, with its page and the links of the page, in one transaction.

        A duplicate is added as a failed visit, without its page and links.
        """
        row = row._replace(step=number, segment=segments.get(row.segment) if row.segment is not None else None)
        pages = source.query_rows("SELECT * FROM pages WHERE id=?", (fingerprint(row.url),)) if not row.failure else []
        duplicate = self._find_duplicate(row, pages[0] if pages else None)
        if duplicate is not None:
            url, how = duplicate
            row = row._replace(
                failure=Failure.DUPLICATE,
                detail=how,
                duplicate_of=url,
                relevance=None,
                segment=None,
                start=None,
                length=None,
            )
            pages = []
            self.result.duplicates += 1
        with self.target.store.db.transaction():
            db = self.target.store.db
            db.execute(_ADD_VISIT, row)
            for page in pages:
                db.execute(_ADD_PAGE, (page[0], number, *page[2:]))
            if duplicate is None:
                for links in source.query_rows("SELECT * FROM links WHERE source=?", (fingerprint(row.url),)):
                    db.execute("INSERT OR REPLACE INTO links VALUES (?,?,?,?,?)", links)
        self.result.pages += row.failure is None
        self.result.failed += row.failure is not None

    def _find_duplicate(self, row: StoredVisit, page: Sequence[object] | None) -> tuple[str, str] | None:
        """Return the URL of the page that this page duplicates, and the reason; None if it is no duplicate.

        A page that is no duplicate is added to the index of duplicate keys.
        """
        if row.failure is not None or row.location is None:
            return None
        if self._page_loader.find_step_by_url(row.url) is not None:
            return row.url, f"redirects to {row.url}, which is already in the collection"
        packed = page[10] if page is not None else None
        if not self.distinct or not isinstance(packed, bytes):
            return None
        keys = unpack(f"<{len(packed) // 8}q", packed)
        own, canonical = fingerprint(f"canonical {row.url}"), str(page[8]) if page is not None else ""
        # Parsing a page again is expensive, and most pages share no fingerprint with another one.
        if self._page_loader.find_steps((*keys, own)) or (
            canonical and self._page_loader.find_step_by_url(canonical) is not None
        ):
            parsed = self._parse_page(row)
            match = self._duplicates.find_duplicate(parsed) if parsed is not None else None
            if match is not None:
                return match.url, match.reason
            self._duplicates.register_stored(row.url, row.step)
        else:
            self._page_loader.add_keys(keys, row.step)
        return None

    def _parse_page(self, row: StoredVisit) -> Page | None:
        """Parse the archived page of a visit; None if it is not a page. Raise `DamagedError` if it is unreadable."""
        assert row.location is not None
        page = self.parse(self.target.archive.read_response(row.location), row.link)
        return page if isinstance(page, Page) else None

    def _copy_tables(self, source: CollectionStore) -> None:
        """Copy the tables `failures` and `hosts`, which do not depend on the order of visits."""
        with self.target.store.db.transaction():
            for table, count in (("failures", 6), ("hosts", 3)):
                sql = f"INSERT OR REPLACE INTO {table} VALUES ({','.join('?' * count)})"
                self.target.store.db.executemany(sql, source.iterate_rows(f"SELECT * FROM {table}"))


async def merge_frontiers(target: Collection, sources: Sequence[Path]) -> int:
    """Write the frontier of a merged collection. Return the number of waiting links.

    All visited URLs are done. The frontier files of the sources are added: a link that is done in one of them is done,
    and of several waiting links to one URL the best score counts. Workers of a shared crawl have no such file.
    """
    frontier = SqliteFrontier(target.directory / "frontier.sqlite", FrontierRules(), time.time)
    readers: list[SqliteFrontierReader] = []
    try:
        for path in sources:
            if (path / "frontier.sqlite").exists():
                readers.append(open_reader(path / "frontier.sqlite"))
        visits = ((row.requested, row.failure or "fetched") for row in target.store.iterate_visits())
        done = (
            (entry.link.url, entry.reason)
            for entry in chain.from_iterable(map(_iterate_entries, readers))
            if entry.state == "done"
        )
        # First the visits, because their reasons include the duplicates that the merge has found.
        for reason, urls in chain(_group_by_reason(visits), _group_by_reason(done)):
            await frontier.mark_done(urls, reason)
        for reader in readers:
            waiting = (entry for entry in _iterate_entries(reader) if entry.state in ("waiting", "leased"))
            while batch := [Offer(entry.link, entry.priority) for entry in islice(waiting, _LINK_BATCH)]:
                await frontier.add(batch)
        return (await frontier.get_counts()).waiting
    finally:
        for reader in readers:
            await reader.close()
        await frontier.close()


def _iterate_entries(reader: SqliteFrontierReader) -> Iterator[FrontierEntry]:
    """Yield all links of a frontier, in the order of discovery."""
    last = 0
    while rows := reader.get_all(_LINK_BATCH, after=last):
        last = rows[-1][0]
        for _, entry in rows:
            yield entry


def _group_by_reason(done: Iterable[tuple[str, str]]) -> Iterator[tuple[str, list[str]]]:
    """Yield the URLs of done links in batches with one reason each, in any order between the reasons.

    >>> list(_group_by_reason([("http://a/", "fetched"), ("http://b/", "dns"), ("http://c/", "fetched")]))
    [('fetched', ['http://a/', 'http://c/']), ('dns', ['http://b/'])]
    """
    batches: dict[str, list[str]] = {}
    for url, reason in done:
        urls = batches.setdefault(reason, [])
        urls.append(url)
        if len(urls) >= _LINK_BATCH:
            yield reason, batches.pop(reason)
    yield from batches.items()


def check_sources(out: Path, sources: Sequence[Path]) -> dict[str, JsonValue]:
    """Return the facts of the new collection. Raise CollectionError if the directories cannot be merged."""
    if contains_crawl(out):
        raise CollectionError(f"{out} holds a crawl already: specify a new directory")
    facts: dict[str, JsonValue] = {}
    for path in sources:
        if not contains_crawl(path):
            raise CollectionError(f"{path} holds no crawl: specify the directories of the workers")
        if is_crawling(path):
            raise CollectionError(f"{path} is being written to: wait for its worker, or finish the crawl")
        store = CollectionStore(path / "topicrawl.sqlite", readonly=True)
        try:
            own_facts = {name: store.get_fact(name) for name in ("identity", "epoch", "settings", "seeds", "stopped")}
        finally:
            store.close()
        for name in ("identity", "epoch"):
            if facts and json.dumps(own_facts[name]) != json.dumps(facts[name]):
                raise CollectionError(
                    f"{path} belongs to another crawl than {sources[0]}: gather each crawl separately"
                )
        facts = facts or own_facts
    return facts
