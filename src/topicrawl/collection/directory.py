"""Step 7. One directory that holds a crawl.

DIR/topicrawl.sqlite     visits, pages, links, failures, hosts, facts
DIR/frontier.sqlite      links that wait (`topicrawl.frontier.sqlite`)
DIR/warc/00001.warc.gz   requests and responses as they went over the wire
DIR/topic.toml           what was looked for
DIR/crawl.log            what happened, in lines
DIR/lock                 held by the process that writes
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from topicrawl import topic as topics
from topicrawl.collection import report
from topicrawl.collection.archive import Archive, Spot
from topicrawl.collection.links import Packed
from topicrawl.collection.store import REMEMBERED, Kept, Store, Stored
from topicrawl.database import Lock, errors_of, is_held
from topicrawl.errors import CollectionError, DamagedError, SpaceError
from topicrawl.records import Carry, Fetch, Link, Response, Visit
from topicrawl.topic import Topic

if TYPE_CHECKING:
    from topicrawl.collection.duplicates import Duplicates

_RECENT = 1024  # more visits than can ever be stored and not yet complete
_SPACE_EVERY = 50  # pages between two looks at the free space
# What a start that ended in its first moments leaves behind.
_OURS = (
    "lock",
    "topic.toml",
    "topic.new",
    "crawl.log",
    "topicrawl.sqlite",
    "frontier.sqlite",
    "told.jsonl",
    "examples",
)


def occupied(directory: Path) -> bool:
    """Whether there is a crawl in the directory; a directory with other things in it is refused."""
    with errors_of(directory):
        if not directory.exists():
            return False
        if not directory.is_dir():
            raise CollectionError(f"{directory} is a file, not a directory")
        names = sorted(os.listdir(directory))
    if "topicrawl.sqlite" in names:
        if not (directory / "topicrawl.sqlite").stat().st_size:
            return False
        store = Store(directory / "topicrawl.sqlite", readonly=True)
        try:
            return store.fact("identity") is not None
        finally:
            store.close()
    strangers = [name for name in names if not name.startswith(_OURS)]
    if strangers:
        raise CollectionError(
            f"{directory} holds other files ({strangers[0]}) and no crawl; name another directory with --out"
        )
    return False


class Collection:
    """A crawl's directory, open for writing by one process. Facts are set when it is made, and kept.

    `about` goes into the first record of each segment of the archive.
    """

    def __init__(
        self,
        directory: Path,
        topic: Topic,
        facts: Mapping[str, Carry],
        *,
        min_free: int = 0,
        about: Mapping[str, str] | None = None,
    ) -> None:
        self.directory = directory
        self.resumed = occupied(directory)
        self.min_free = min_free
        with errors_of(directory):
            directory.mkdir(parents=True, exist_ok=True)
        try:
            self._lock = Lock(directory / "lock", directory)
        except CollectionError as error:
            raise CollectionError(f"{error}; `topicrawl status {directory}` may look at it") from error
        try:
            if not self.resumed:
                # The facts go in last: a directory without them is no crawl yet.
                _written(directory / "topic.toml", topic.toml())
            self.store = Store(directory / "topicrawl.sqlite")
            if not self.resumed:
                self.store.set_facts(facts)
            self.archive = Archive(directory, about=about)
        except BaseException:
            self._lock.release()
            raise
        # What was forgotten on purpose waits again too, but it is to be fetched.
        recent = self.store.visits(f"step > (SELECT max(step) FROM visits) - ? AND {REMEMBERED}", (_RECENT,))
        self._recent = {row.requested: row for row in recent}
        self._since_look = 0
        self.duplicates: Duplicates | None = None  # None: nobody looks for them

    def recover(self) -> list[Stored]:
        """Cut the archive to what the store knows; returns the visits whose pages no longer read back.

        They are to be put back into the frontier before the store forgets them.
        """
        last = report.last_spot(self.store)
        self.archive.cut(last)
        if last is None or self.archive.whole(last):
            return []
        stored = self.store.visits("segment=?", (last.segment,))
        lost = [row for row in stored if row.spot is not None and not self.archive.whole(row.spot)]
        for row in lost:
            self._recent.pop(row.requested, None)
        return lost

    def step_of(self, link: Link) -> int | None:
        """The step of a visit that a killed run stored but did not complete."""
        known = self._recent.get(link.url)
        return known.step if known is not None else None

    def keep(self, found: Iterable[tuple[Visit, Response, Packed | None]]) -> None:
        """Archive and store visits. When this returns, no kill can lose them."""
        rows = [
            Kept(visit, response, self._archived(visit, response), links, self._marks(visit))
            for visit, response, links in found
        ]
        self.store.add(rows)
        self._since_look += len(rows)
        if self._since_look >= _SPACE_EVERY:
            self._since_look = 0
            self.check_space()

    def version(self, visit: Visit, response: Response, links: Packed | None) -> Kept:
        """A page that has changed, archived and ready to be stored in the place of what it was."""
        # It needs numpy, which takes a tenth of a second: those who only look at a collection do without.
        from topicrawl.collection.duplicates import marks_of

        # Whoever looks for duplicates may hold the page until it is stored.
        marks = self._marks(visit) or (marks_of(visit.page) if visit.page is not None else None)
        return Kept(visit, response, self.archive.write(response), links, marks)

    def _marks(self, visit: Visit) -> bytes | None:
        if self.duplicates is None or visit.failure is not None:
            return None
        return self.duplicates.stored(visit.url, visit.step)

    def _archived(self, visit: Visit, response: Response) -> Spot | None:
        """Where the page of a visit stands in the archive."""
        again = self._recent.pop(visit.link.url, None)
        if visit.failure is not None:
            return None
        return (again.spot if again is not None else None) or self.archive.write(response)

    def through(self, fetch: Fetch) -> Fetch:
        """A fetch function that takes what a killed run had stored, but not completed, from the archive."""

        async def archived_or_fetched(link: Link) -> Response:
            known = self._recent.get(link.url)
            if known is not None and known.spot is not None:
                try:
                    return replace(self.archive.read(known.spot), url=link.url, final_url=known.url)
                except DamagedError:
                    # Its step stays its own; the page itself is fetched and archived anew.
                    self._recent[link.url] = known._replace(segment=None)
            return await fetch(link)

        return archived_or_fetched

    def check_space(self) -> None:
        free = shutil.disk_usage(self.directory).free
        if free < self.min_free:
            raise SpaceError(
                f"{self.directory}: {free >> 20} MB left on the disk, {self.min_free >> 20} MB are kept free; "
                "make space and start again with the same command"
            )

    def close(self) -> None:
        self.archive.sync()
        self.archive.close()
        self.store.close()
        self._lock.release()

    def __enter__(self) -> Collection:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def crawling(directory: Path) -> bool:
    """Whether some process is crawling into the directory."""
    return is_held(directory / "lock")


def topic_of(directory: Path) -> Topic:
    """The topic of a crawl that exists."""
    with errors_of(directory):
        if directory.is_dir() and not (directory / "topic.toml").exists():
            raise CollectionError(f"{directory}/topic.toml is missing: bring it back from a backup")
    return topics.load(directory / "topic.toml")


def _written(path: Path, text: str) -> None:
    """Write a file so that a crash leaves the whole of it or none."""
    draft = path.with_suffix(".new")
    with errors_of(path):
        draft.write_text(text, "utf-8")
        draft.replace(path)
