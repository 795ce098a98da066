"""Load stored pages from the archive, for duplicate detection and for replaying visits."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from msgspec.structs import replace

from topicrawl.collection.archive import WarcArchive
from topicrawl.collection.disk_key_index import DiskKeyIndex
from topicrawl.collection.store import CollectionStore, StoredVisit
from topicrawl.database import translate_errors
from topicrawl.errors import DamagedError
from topicrawl.models import Page, ParseFunction
from topicrawl.urls import fingerprint

log = logging.getLogger("topicrawl")


@dataclass
class PageLoader:
    """Find stored pages by their duplicate keys, and parse them again from the archive."""

    store: CollectionStore
    archive: WarcArchive
    parse: ParseFunction

    @cached_property
    def _key_index(self) -> DiskKeyIndex:
        """Duplicate keys of all stored pages, read from the database at the first use."""
        index = DiskKeyIndex(self.store.path.parent)
        with translate_errors(self.store.path):
            index.load_pages(
                self.store.db.execute("SELECT step, duplicate_keys FROM pages WHERE duplicate_keys NOT NULL")
            )
        return index

    @property
    def memory_bytes(self) -> int:
        """Memory use of the duplicate keys in bytes."""
        return self._key_index.memory_bytes

    def find_steps(self, keys: Iterable[int]) -> dict[int, int]:
        """Return the steps of the stored pages by key, for the keys that are in the index."""
        return {key: step for key in keys if (step := self._key_index.find_step(key)) is not None}

    def add_keys(self, keys: Iterable[int], step: int) -> None:
        """Add the keys of a page that is being stored."""
        with translate_errors(self.store.path):
            for key in keys:
                self._key_index.add_key(key, step)

    def find_step_by_url(self, url: str) -> int | None:
        """Return the step of the page at a URL, or None."""
        rows = self.store.query_typed_rows(tuple[int], "SELECT step FROM pages WHERE id=?", (fingerprint(url),))
        return rows[0][0] if rows else None

    def load_page(self, step: int) -> Page | None:
        """Return the parsed page of a step, or None if it cannot be read."""
        row = next(self.store.iterate_visits("step=?", (step,)), None)
        return reload_page(self.archive, row, self.parse) if row is not None and row.failure is None else None


def reload_page(archive: WarcArchive, row: StoredVisit, parse: ParseFunction) -> Page | None:
    """Parse a stored page again from the archive. `row` is its visit.

    Return None if the page has no record, or if its record is damaged (which is logged) or cannot be parsed.
    """
    if row.location is None:
        return None
    try:
        response = replace(archive.read_response(row.location), url=row.requested, final_url=row.url)
    except DamagedError as error:
        log.warning("cannot read %s from the archive: %s", row.url, error)
        return None
    page = parse(response, row.link)
    return page if isinstance(page, Page) else None
