"""The kept pages of a collection, read again: by whoever looks for duplicates, and by whoever learns anew."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

from topicrawl.collection.archive import Archive
from topicrawl.collection.filed_marks import FiledMarks
from topicrawl.collection.store import Store, Stored
from topicrawl.database import errors_of
from topicrawl.errors import DamagedError
from topicrawl.records import Page, Parse
from topicrawl.urls import fingerprint

log = logging.getLogger("topicrawl")


@dataclass
class Shelf:
    """Finds kept pages by their marks and reads them again out of the archive."""

    store: Store
    archive: Archive
    parse: Parse

    @cached_property
    def _marks(self) -> FiledMarks:
        """The marks of all kept pages."""
        found = FiledMarks(self.store.path.parent)
        with errors_of(self.store.path):
            found.load(self.store.db.execute("SELECT step, marks FROM pages WHERE marks NOT NULL"))
        return found

    def steps(self, marks: Iterable[int]) -> dict[int, int]:
        """Mark → the step of the page that left it."""
        return {mark: step for mark in marks if (step := self._marks.step(mark)) is not None}

    def add(self, marks: Iterable[int], step: int) -> None:
        """Remember what leads to a page that is being kept."""
        with errors_of(self.store.path):
            for mark in marks:
                self._marks.add(mark, step)

    def step_at(self, url: str) -> int | None:
        """The step of the page at an address."""
        for (step,) in self.store.rows("SELECT step FROM pages WHERE id=?", (fingerprint(url),)):
            return int(str(step))
        return None

    def page(self, step: int) -> Page | None:
        """A page as it was read; None when it is lost."""
        row = next(self.store.visits("step=?", (step,)), None)
        return reread(self.archive, row, self.parse) if row is not None and row.failure is None else None


def reread(archive: Archive, row: Stored, parse: Parse) -> Page | None:
    """A page that is kept, parsed anew; None where there is nothing to read."""
    if row.spot is None:
        return None
    try:
        response = replace(archive.read(row.spot), url=row.requested, final_url=row.url)
    except DamagedError as error:
        log.warning("cannot read %s again: %s", row.url, error)
        return None
    page = parse(response, row.link)
    return page if isinstance(page, Page) else None
