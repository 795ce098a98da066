"""Step 8. One directory that holds a crawl.

DIR/topicrawl.sqlite     visits, pages, links, failures, hosts, facts
DIR/frontier.sqlite      links that wait (`topicrawl.frontier.sqlite`)
DIR/warc/00001.warc.gz   requests and responses as they went over the wire
DIR/topic.toml           what was looked for
DIR/crawl.log            what happened, in lines
DIR/lock                 held by the process that writes
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import IO

from topicrawl import topic as topics
from topicrawl.collection.archive import Archive
from topicrawl.collection.store import Row, Store, Stored
from topicrawl.errors import CollectionError, SpaceError
from topicrawl.records import Carry, Fetch, Link, Response, Visit
from topicrawl.topic import Topic

_RECENT = 1024  # more visits than can ever be stored and not yet complete
_SPACE_EVERY = 50  # pages between two looks at the free space


def occupied(directory: Path) -> bool:
    """Whether there is a crawl in the directory; a directory with other things in it is refused."""
    if (directory / "topicrawl.sqlite").exists():
        return True
    if directory.exists():
        if not directory.is_dir():
            raise CollectionError(f"{directory}: is a file, not a directory")
        # What a start that was interrupted in its first moments leaves behind is ours.
        strangers = {path.name for path in directory.iterdir()} - {"lock", "topic.toml", "crawl.log"}
        if strangers:
            raise CollectionError(
                f"{directory}: holds other files ({min(strangers)}) and no crawl; name another directory with --out"
            )
    return False


class Collection:
    """A crawl's directory, open for writing by one process. Facts are set when it is made, and kept."""

    def __init__(self, directory: Path, topic: Topic, facts: Mapping[str, Carry], *, min_free: int = 0) -> None:
        self.directory = directory
        self.resumed = occupied(directory)
        self.min_free = min_free
        try:
            directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise CollectionError(f"{directory}: cannot be made: {error.strerror}") from error
        self._lock = _locked(directory / "lock")
        try:
            self.store = Store(directory / "topicrawl.sqlite")
            if not self.resumed:
                _written(directory / "topic.toml", topic.toml())
                self.store.set_facts(facts)
            self.archive = Archive(directory, about={"robots": "obey"})
            self.lost = self._recover()
        except BaseException:
            self._lock.close()
            raise
        self._recent = {row.requested: row for row in self._last(_RECENT)}
        self._since_look = 0

    def _last(self, n: int) -> list[Stored]:
        return list(self.store.visits("step > (SELECT max(step) FROM visits) - ?", (n,)))

    def _recover(self) -> list[Stored]:
        """Cut the archive to what the store knows; returns the visits whose pages no longer read back."""
        last = self.store.last_spot()
        self.archive.cut(last)
        if last is None or self.archive.whole(last):
            return []
        lost = [row for row in self.store.visits("segment=?", (last.segment,)) if row.spot]
        lost = [row for row in lost if row.spot and not self.archive.whole(row.spot)]
        self.store.forget([row.step for row in lost])
        return lost

    def keep(self, visit: Visit, response: Response, outlinks: Sequence[Row]) -> None:
        """Archive and store a visit. When this returns, no crash can lose it."""
        self._since_look += 1
        if self._since_look >= _SPACE_EVERY:
            self._since_look = 0
            self.check_space()
        spot = None
        if (again := self._recent.pop(visit.link.url, None)) is not None:
            spot = again.spot
        elif visit.failure is None:
            spot = self.archive.write(response)
        self.store.add(visit, response, spot, outlinks)

    def through(self, fetch: Fetch) -> Fetch:
        """A fetch function that takes what a killed run had stored, but not completed, from the archive."""

        async def archived_or_fetched(link: Link) -> Response:
            known = self._recent.get(link.url)
            if known is not None and known.spot is not None and known.failure is None:
                return replace(self.archive.read(known.spot), url=link.url, final_url=known.url)
            self._recent.pop(link.url, None)
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
        self._lock.close()

    def __enter__(self) -> Collection:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def topic_of(directory: Path) -> Topic:
    """The topic of a crawl that exists."""
    return topics.load(directory / "topic.toml")


def _locked(path: Path) -> IO[str]:
    """The lock of a directory, held until the file is closed or the process ends, however it ends."""
    try:
        file = path.open("a+")
    except OSError as error:
        raise CollectionError(f"{path.parent}: cannot be written to: {error.strerror}") from error
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        file.seek(0)
        holder = file.read().strip() or "unknown"
        file.close()
        raise CollectionError(
            f"{path.parent}: another process (id {holder}) is crawling into it; `topicrawl status` may look at it"
        ) from error
    file.truncate(0)
    file.write(str(os.getpid()))
    file.flush()
    return file


def _written(path: Path, text: str) -> None:
    """Write a file so that a crash leaves the whole of it or none."""
    draft = path.with_suffix(".new")
    try:
        draft.write_text(text, "utf-8")
        draft.replace(path)
    except OSError as error:
        raise SpaceError(f"{path}: cannot be written: {error.strerror}") from error
