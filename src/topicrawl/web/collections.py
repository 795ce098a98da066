"""Registry of the served collections by name; requests can reach no other files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from topicrawl.collection.archive import WarcArchive
from topicrawl.collection.directory import contains_crawl, load_crawl_topic
from topicrawl.collection.store import CollectionStore
from topicrawl.errors import CollectionError, UsageError
from topicrawl.topic import Topic
from topicrawl.web.collection_cache import CollectionCache, CollectionCaches

_MIN_PREPARED_VISITS = 5000  # visits of a collection whose caches are built when the server starts
_MAX_PREPARED = 4  # such collections


class NotFoundError(UsageError):
    """The requested collection, page or report does not exist."""


@dataclass(frozen=True)
class OpenCollection:
    """An open collection; a crawl may be writing it at the same time."""

    name: str
    directory: Path
    topic: Topic
    store: CollectionStore
    cache: CollectionCache = field(default_factory=CollectionCache)

    @property
    def archive(self) -> WarcArchive:
        """The archive of the collection."""
        return WarcArchive(self.directory)


class CollectionRegistry:
    """The collections in the given directories.

    Each directory is a crawl or contains crawls. New crawls are created in the first directory that is not a crawl. The
    constructor raises `CollectionError` if one is not a directory.
    """

    def __init__(self, directories: Sequence[Path]) -> None:
        self._directories = [place.resolve() for place in directories]
        self.caches = CollectionCaches()
        self._known: set[tuple[Path, int, int]] = set()  # directory, device and inode of databases that contain crawls
        for place in self._directories:
            if not place.is_dir():
                raise CollectionError(f"{place} is not a directory: name crawls, or a directory that contains crawls")

    @property
    def crawl_home(self) -> Path | None:
        """Directory for new crawls, or None if all directories are crawls."""
        return next((place for place in self._directories if not self._contains_crawl(place)), None)

    def list_directories(self) -> dict[str, Path]:
        """Return the directories of all collections by name; equal names get a number as a suffix."""
        directories: dict[str, Path] = {}
        for place in self._directories:
            for directory in [place] if self._contains_crawl(place) else sorted(place.iterdir()):
                if directory.is_dir() and not directory.is_symlink() and self._contains_crawl(directory):
                    name, number = directory.name, 2
                    while name in directories and directories[name] != directory:
                        name, number = f"{directory.name}-{number}", number + 1
                    directories[name] = directory
        return directories

    def find_damaged(self) -> Iterator[tuple[str, str]]:
        """Yield the name and an error message of each crawl that cannot be read."""
        for place in self._directories:
            for directory in [place, *sorted(place.iterdir())]:
                if (directory / "topicrawl.sqlite").is_file() and not directory.is_symlink():
                    try:
                        self._check_crawl(directory)
                    except CollectionError as error:
                        yield directory.name, str(error).replace(str(directory), directory.name)

    def _contains_crawl(self, directory: Path) -> bool:
        try:
            return self._check_crawl(directory)
        except CollectionError:
            return False

    def _check_crawl(self, directory: Path) -> bool:
        """Return whether a directory contains a complete crawl. Raise `CollectionError` if it cannot be read.

        A database that contained a crawl is not opened again, because each request lists all collections.
        """
        try:
            status = (directory / "topicrawl.sqlite").stat()
        except OSError:
            return False
        key = (directory, status.st_dev, status.st_ino)
        if key not in self._known and contains_crawl(directory):
            self._known.add(key)
        return key in self._known

    def get_directory(self, name: str) -> Path:
        """Return the directory of a collection. Raise `NotFoundError` if this server has no collection of that name."""
        directory = self.list_directories().get(name)
        if directory is None:
            raise NotFoundError(f"this server has no collection {name!r}")
        return directory

    def get_movable_directory(self, name: str) -> Path:
        """Return the directory of a collection that may be renamed or removed. Raise `UsageError` if it may not.

        A directory given to `topicrawl serve` itself cannot be renamed or removed, because the server would no longer
        find it.
        """
        directory = self.get_directory(name)
        if directory in self._directories:
            raise UsageError(
                f"{name} was given to `topicrawl serve` itself: start the server with the directory that contains it"
            )
        return directory

    @contextmanager
    def open_readonly(self, name: str) -> Iterator[OpenCollection]:
        """Open a collection read-only, and close it at the end of the block. Raise `NotFoundError` if there is none."""
        with self._open(name, readonly=True) as opened:
            yield opened

    @contextmanager
    def open_writable(self, name: str) -> Iterator[OpenCollection]:
        """Open a collection to write annotations or commands; a crawl may be writing it too.

        Raise `NotFoundError` if this server has no collection of that name.
        """
        with self._open(name, readonly=False) as opened:
            yield opened

    @contextmanager
    def _open(self, name: str, *, readonly: bool) -> Iterator[OpenCollection]:
        directory = self.get_directory(name)
        store = CollectionStore(directory / "topicrawl.sqlite", readonly=readonly)
        try:
            yield OpenCollection(name, directory, load_crawl_topic(directory), store, self.caches.get(directory))
        finally:
            store.close()

    def prepare_caches(self, is_stopped: Callable[[], bool]) -> list[str]:
        """Build the review groups and the feedback of the largest collections, which takes a second for 50,000 pages.

        Returns the names of these collections. `is_stopped` is checked before each collection.
        """
        sizes: dict[str, int] = {}
        for name in self.list_directories():
            # Requests for a damaged collection report the error.
            with suppress(CollectionError), self.open_readonly(name) as opened:
                sizes[name] = opened.store.query_value(int, "SELECT coalesce(max(step), 0) FROM visits")
        largest = sorted(sizes, key=lambda name: -sizes[name])[:_MAX_PREPARED]
        names = [name for name in largest if sizes[name] >= _MIN_PREPARED_VISITS]
        for name in names:
            if is_stopped():
                return []
            with suppress(CollectionError, NotFoundError), self.open_readonly(name) as opened:
                opened.cache.get_feedback(opened.store, opened.topic)
                with opened.cache.use_review(opened.store, opened.topic):
                    pass
        return names

    @contextmanager
    def open_store(self, name: str) -> Iterator[CollectionStore]:
        """Open the store of a collection to write annotations or commands; a crawl may be writing it too.

        Raise `NotFoundError` if this server has no collection of that name.
        """
        directory = self.get_directory(name)
        store = CollectionStore(directory / "topicrawl.sqlite")
        try:
            yield store
        finally:
            store.close()
