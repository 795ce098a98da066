"""The collections that are served, by name: nothing else on the disk can be reached from outside."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from topicrawl.collection.archive import Archive
from topicrawl.collection.directory import occupied, topic_of
from topicrawl.collection.store import Store
from topicrawl.errors import CollectionError, UsageError
from topicrawl.topic import Topic


class Unknown(UsageError):
    """A name that no collection has."""


@dataclass(frozen=True)
class Opened:
    """A collection that is looked at, beside whoever writes it."""

    name: str
    directory: Path
    topic: Topic
    store: Store

    @property
    def archive(self) -> Archive:
        return Archive(self.directory)


class Shelves:
    """Directories that hold a crawl, and directories of such directories; new crawls go into the first of these."""

    def __init__(self, places: Sequence[Path]) -> None:
        self._places = [place.resolve() for place in places]
        for place in self._places:
            if not place.is_dir():
                raise CollectionError(f"{place} is not a directory: name crawls, or a directory to hold them")

    @property
    def home(self) -> Path | None:
        """Where new crawls go."""
        return next((place for place in self._places if not _holds_crawl(place)), None)

    def all(self) -> dict[str, Path]:
        """Name → directory. Names are those of directories, with a number behind where several have the same."""
        found: dict[str, Path] = {}
        for place in self._places:
            for directory in [place] if _holds_crawl(place) else sorted(place.iterdir()):
                if directory.is_dir() and not directory.is_symlink() and _holds_crawl(directory):
                    name, number = directory.name, 2
                    while name in found and found[name] != directory:
                        name, number = f"{directory.name}-{number}", number + 1
                    found[name] = directory
        return found

    def damaged(self) -> Iterator[tuple[str, str]]:
        """Directories that held a crawl which cannot be read any more, and why."""
        for place in self._places:
            for directory in [place, *sorted(place.iterdir())]:
                if (directory / "topicrawl.sqlite").is_file() and not directory.is_symlink():
                    try:
                        occupied(directory)
                    except CollectionError as error:
                        yield directory.name, str(error).replace(str(directory), directory.name)

    def directory(self, name: str) -> Path:
        found = self.all().get(name)
        if found is None:
            raise Unknown(f"there is no collection {name!r} here")
        return found

    @contextmanager
    def opened(self, name: str) -> Iterator[Opened]:
        """A collection to look at."""
        directory = self.directory(name)
        store = Store(directory / "topicrawl.sqlite", readonly=True)
        try:
            yield Opened(name, directory, topic_of(directory), store)
        finally:
            store.close()

    @contextmanager
    def written(self, name: str) -> Iterator[Store]:
        """The store of a collection, to write a verdict or an order into; a crawl may be writing too."""
        directory = self.directory(name)
        store = Store(directory / "topicrawl.sqlite")
        try:
            yield store
        finally:
            store.close()


def _holds_crawl(directory: Path) -> bool:
    if not (directory / "topicrawl.sqlite").is_file():
        return False
    try:
        return occupied(directory)
    except CollectionError:
        return False
