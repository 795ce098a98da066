"""The directory of a crawl.

DIR/topicrawl.sqlite     visits, pages, links, failures, hosts, facts
DIR/frontier.sqlite      waiting links (`topicrawl.frontier.sqlite.frontier`)
DIR/warc/00001.warc.gz   requests and responses
DIR/topic.toml           the topic
DIR/crawl.log            the log
DIR/lock                 locked by the writing process
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from msgspec.structs import replace

from topicrawl import topic as topics
from topicrawl.collection import queries
from topicrawl.collection.archive import RecordLocation, WarcArchive
from topicrawl.collection.link_rows import PackedLinks
from topicrawl.collection.store import NOT_FORGOTTEN, CollectionStore, StoredVisit, VisitRecord
from topicrawl.database import FileLock, is_locked, sync_path, translate_errors, write_text_file
from topicrawl.errors import CollectionError, DamagedError, IncompleteFileError, InUseError, SpaceError
from topicrawl.models import Failure, FetchFunction, JsonValue, Link, Response, Visit
from topicrawl.topic import Topic

if TYPE_CHECKING:
    from topicrawl.collection.deduplication import DuplicateDetector

_MAX_INCOMPLETE_VISITS = 1024  # upper bound of the visits that are stored but not yet complete
#: Number of records at the end of the archive that are read when a crawl resumes.
CHECKED_RECORDS = 10_000
#: Fact with the steps of the visits whose pages `topicrawl doctor --repair` found unreadable.
UNREADABLE_STEPS = "unreadable_steps"
#: Fact with the segment and the offset of the end of the archive after the last stored results.
ARCHIVE_END = "archive_end"
_SPACE_CHECK_INTERVAL = 50  # pages between two checks of the free disk space
# Files that a crawl creates before its database is complete.
_CRAWL_FILES = (
    "lock",
    "topic.toml",
    ".topic.toml.part",
    "topic.new",
    "crawl.log",
    "topicrawl.sqlite",
    "frontier.sqlite",
    "engine-answers.jsonl",
    "told.jsonl",
    "examples",
)


def contains_crawl(directory: Path) -> bool:
    """Return whether the directory contains a crawl. Raise `CollectionError` if it contains other files.

    False if the directory does not exist, is empty, or contains a crawl that was killed before it was created
    completely.
    """
    with translate_errors(directory):
        if not directory.exists():
            return False
        if not directory.is_dir():
            raise CollectionError(f"{directory} is a file, not a directory")
        names = sorted(os.listdir(directory))
    if "topicrawl.sqlite" in names:
        if not (directory / "topicrawl.sqlite").stat().st_size:
            return False
        try:
            store = CollectionStore(directory / "topicrawl.sqlite", readonly=True, creation_timeout=0.0)
        except IncompleteFileError:
            return False
        try:
            return store.get_fact("identity") is not None
        finally:
            store.close()
    foreign = [name for name in names if not name.startswith(_CRAWL_FILES)]
    if foreign:
        raise CollectionError(
            f"{directory} contains other files ({foreign[0]}) and no crawl; choose another directory with --out"
        )
    return False


class Collection:
    """Directory of a crawl, open for writing by one process.

    The constructor creates the directory if necessary. It raises `InUseError` if another process uses it. `facts` are
    stored only when the collection is created. `about` is added to the warcinfo record of each segment.
    """

    def __init__(
        self,
        directory: Path,
        topic: Topic,
        facts: Mapping[str, JsonValue],
        *,
        min_free: int = 0,
        about: Mapping[str, str] | None = None,
    ) -> None:
        self.directory = directory
        self.is_resumed = contains_crawl(directory)
        self.min_free = min_free
        with translate_errors(directory):
            directory.mkdir(parents=True, exist_ok=True)
        try:
            self._lock = FileLock(directory / "lock", directory)
        except InUseError as error:
            raise InUseError(f"{error}; use `topicrawl status {directory}` to inspect it") from error
        try:
            if not self.is_resumed:
                # The facts are written last: a directory without them does not count as a crawl.
                with translate_errors(directory / "topic.toml"):
                    write_text_file(directory / "topic.toml", topic.to_toml())
                    sync_path(directory.parent)
            self.store = CollectionStore(directory / "topicrawl.sqlite")
            if not self.is_resumed:
                self.store.set_facts(facts)
            self.archive = WarcArchive(directory, about=about)
        except BaseException:
            self._lock.release()
            raise
        # Forgotten visits are excluded, because their pages must be fetched again.
        recent = self.store.iterate_visits(
            f"step > (SELECT max(step) FROM visits) - ? AND {NOT_FORGOTTEN}", (_MAX_INCOMPLETE_VISITS,)
        )
        self._recent_visits = {row.requested: row for row in recent}
        self._archive_end: tuple[int, int] | None = None  # None: nothing has been stored
        self._visits_since_space_check = 0
        self.duplicate_detector: DuplicateDetector | None = None  # None: no duplicate detection

    def recover_archive(self) -> list[StoredVisit]:
        """Truncate the archive to the records in the database. Return the visits whose pages are unreadable.

        The last `CHECKED_RECORDS` records are read, and those before an unreadable one, because a power failure
        damages the end of the archive. The result also contains the visits in the fact `unreadable_steps`. The caller
        must reopen their links in the frontier before it deletes the visits.
        """
        last = queries.find_last_record(self.store)
        match self.store.get_fact(ARCHIVE_END):
            case [int(segment), int(offset)]:
                self.archive.truncate_after(last, (segment, offset))
            case _:
                self.archive.truncate_after(last)
        steps = {step for step in self.store.get_list_fact(UNREADABLE_STEPS) if isinstance(step, int)}
        steps |= set(self._find_unreadable_steps(last.segment if last is not None else 0))
        lost = [row for step in sorted(steps) for row in self.store.iterate_visits("step=?", (step,))]
        for row in lost:
            self._recent_visits.pop(row.requested, None)
        return lost

    def _find_unreadable_steps(self, last_segment: int) -> Iterator[int]:
        """Yield the steps of visits with unreadable records, from the end of the archive."""
        before: tuple[int, int] = (last_segment + 1, 0)
        found = True
        while found:
            found = False
            for step, location in queries.list_records_before(self.store, before, CHECKED_RECORDS):
                before = (location.segment, location.offset)
                # A file that is missing before the last one was moved away: its records were synced long ago.
                if location.segment < last_segment and not self.archive.has_segment(location.segment):
                    continue
                if not self.archive.is_readable(location):
                    found = True
                    yield step

    def add_incomplete_visits(self, rows: Iterable[StoredVisit]) -> None:
        """Read the pages of these visits from the archive when their links are fetched again."""
        self._recent_visits |= {row.requested: row for row in rows}

    def find_stored_step(self, link: Link) -> int | None:
        """Return the step of the visit of this link that a killed run stored but did not complete, or None."""
        known = self._recent_visits.get(link.url)
        return known.step if known is not None else None

    def owns_page(self, link: Link, url: str) -> bool:
        """Return whether a killed run stored the page of a URL with the visit of this link, and did not complete it."""
        step = self.find_stored_step(link)
        return step is not None and self.store.has_page(url, step)

    def store_visits(self, visits: Iterable[tuple[Visit, Response, PackedLinks | None]]) -> None:
        """Archive the pages of visits and store the visits in one transaction. A kill of the process cannot lose them.

        From time to time, raise `SpaceError` after the visits are stored, if too little disk space is free.
        """
        rows = [
            VisitRecord(visit, response, self._archive_page(visit, response), links, self._get_duplicate_keys(visit))
            for visit, response, links in visits
        ]
        self.store.add_visits(rows)
        self.mark_archive_end()
        self._visits_since_space_check += len(rows)
        if self._visits_since_space_check >= _SPACE_CHECK_INTERVAL:
            self._visits_since_space_check = 0
            self.check_space()

    def archive_version(self, visit: Visit, response: Response, links: PackedLinks | None) -> VisitRecord:
        """Archive the new version of a changed page, and return the record that replaces the old one in the database.

        The caller stores the record with `CollectionStore.add_visits`.
        """
        # Imported here because it needs numpy, whose import takes 0.1 s and is not needed for reading a collection.
        from topicrawl.collection.deduplication import pack_duplicate_keys

        # The duplicate detector may hold the page until it is stored.
        keys = self._get_duplicate_keys(visit) or (pack_duplicate_keys(visit.page) if visit.page is not None else None)
        return VisitRecord(visit, response, self.archive.write_fetch(response), links, keys)

    def _get_duplicate_keys(self, visit: Visit) -> bytes | None:
        if self.duplicate_detector is None or visit.failure is not None:
            return None
        return self.duplicate_detector.register_stored(visit.url, visit.step)

    def _archive_page(self, visit: Visit, response: Response) -> RecordLocation | None:
        """Write the page of a visit to the archive, unless a killed run did so. Return its location.

        Return None for a failed visit.
        """
        earlier = self._recent_visits.pop(visit.link.url, None)
        if visit.failure is not None:
            self._archive_failure(visit, response)
            return None
        return (earlier.location if earlier is not None else None) or self.archive.write_fetch(response)

    def _archive_failure(self, visit: Visit, response: Response) -> None:
        """Write an error page, or a revisit record for a page that repeats a stored one. No visit refers to them."""
        if response.wire is None:
            return
        if visit.failure is Failure.DUPLICATE:
            original = self.store.find_visit(visit.duplicate_of)
            if original is not None:
                self.archive_revisit(original, response)
        elif visit.failure is response.failure and (response.status >= 300 or visit.failure is Failure.EMPTY):
            self.archive.write_fetch(response)

    def mark_archive_end(self) -> None:
        """Note that all records in the archive belong to stored results. The next run keeps them."""
        self._archive_end = self.archive.end

    def archive_revisit(self, original: StoredVisit, response: Response) -> None:
        """Write a revisit record if a response repeats the page of a stored visit byte for byte, or confirms it."""
        if original.location is not None and response.wire is not None:
            self.archive.write_revisit(response, original.location)

    def wrap_fetch(self, fetch: FetchFunction) -> FetchFunction:
        """Wrap a fetch function: pages that a killed run stored but did not complete are read from the archive."""

        async def load_or_fetch(link: Link) -> Response:
            known = self._recent_visits.get(link.url)
            if known is not None and known.location is not None:
                try:
                    return replace(self.archive.read_response(known.location), url=link.url, final_url=known.url)
                except DamagedError:
                    # The visit keeps its step; the page is fetched and archived again.
                    self._recent_visits[link.url] = known._replace(segment=None)
            return await fetch(link)

        return load_or_fetch

    def check_space(self) -> None:
        """Raise `SpaceError` if less than `min_free` bytes are free on the disk."""
        free = shutil.disk_usage(self.directory).free
        if free < self.min_free:
            raise SpaceError(
                f"{self.directory}: {free >> 20} MB left on the disk, but {self.min_free >> 20} MB must stay free; "
                "free some space and run the same command again"
            )

    def sync_to_disk(self) -> None:
        """Sync the archive, then the database, so that all stored visits survive a power failure."""
        self.archive.sync_to_disk()
        self.store.db.sync_to_disk()

    def close(self) -> None:
        """Sync and close the archive and the database, and release the lock."""
        self.archive.sync_to_disk()
        if self._archive_end is not None:
            self.store.set_facts({ARCHIVE_END: list(self._archive_end)})
        self.archive.close()
        self.store.close()
        self._lock.release()

    def __enter__(self) -> Collection:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def is_crawling(directory: Path) -> bool:
    """Return whether a process is crawling into the directory."""
    return is_locked(directory / "lock")


def load_crawl_topic(directory: Path) -> Topic:
    """Load the topic of an existing crawl. Raise `CollectionError` if its `topic.toml` is missing."""
    with translate_errors(directory):
        if directory.is_dir() and not (directory / "topic.toml").exists():
            raise CollectionError(f"{directory}/topic.toml is missing: restore it from a backup")
    return topics.load_topic(directory / "topic.toml")
