"""A path in an object store where workers leave what they have fetched, one folder each, and `gather` finds it.

    PATH/WORKER/topic.toml
    PATH/WORKER/warc/00001.warc.gz …
    PATH/WORKER/topicrawl.sqlite         last: what its rows tell of is there by then

Workers write to their own disk first, as ever; what has changed there is copied now and then, and at the end. fsspec
knows the stores: s3://, gs://, az://, sftp://, file:// and others, each with a driver of its own.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from topicrawl.errors import CollectionError, SettingError

log = logging.getLogger("topicrawl")

_ROWS = "topicrawl.sqlite"
_EVERY = 300.0  # seconds between two copies


@dataclass
class Depot:
    """One such path. `copied` says what is there of this worker, by size."""

    address: str
    copied: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        try:
            from fsspec.core import url_to_fs
        except ImportError as error:
            raise SettingError("an object store needs fsspec: pip install 'topicrawl[store]'") from error
        try:
            found = url_to_fs(self.address)
        except (ValueError, ImportError) as error:
            raise SettingError(f"{self.address} cannot be used as a store: {error}") from error
        self._files: Any = found[0]
        self._root: str = found[1].rstrip("/")

    def leave(self, directory: Path, worker: str) -> int:
        """Copy what has changed of a worker's directory; returns how many files that were."""
        with TemporaryDirectory() as folder:
            rows = Path(folder) / _ROWS
            # First, so that every page that it tells of stands in what is copied after it.
            _snapshot(directory / _ROWS, rows)
            segments = sorted((directory / "warc").glob("*.warc.gz"))
            changed = [path for path in (directory / "topic.toml", *segments) if self._is_new(directory, path)]
            for path in (*changed, rows):
                name = _ROWS if path is rows else path.relative_to(directory).as_posix()
                target = f"{self._root}/{worker}/{name}"
                size = path.stat().st_size
                self._files.makedirs(target.rpartition("/")[0], exist_ok=True)
                self._files.put_file(str(path), target)
                self.copied[name] = size
        return len(changed) + 1

    def _is_new(self, directory: Path, path: Path) -> bool:
        return self.copied.get(path.relative_to(directory).as_posix()) != path.stat().st_size

    async def keep(self, directory: Path, worker: str, *, every: float = _EVERY) -> None:
        """Copy again and again, beside everything else."""
        while True:
            await asyncio.sleep(every)
            await self.attempt(directory, worker)

    async def attempt(self, directory: Path, worker: str) -> None:
        """Copy once; a store that does not answer is a matter for later, as all is on the worker's disk."""
        try:
            await asyncio.to_thread(self.leave, directory, worker)
        except OSError as error:
            log.warning("nothing was copied to %s, %s is still the only place: %s", self.address, directory, error)

    def brought(self, folder: Path) -> Iterator[Path]:
        """Copies of all workers' directories, below a folder on this machine."""
        places = self._files.ls(self._root, detail=False) if self._files.exists(self._root) else []
        for place in sorted(str(place).rstrip("/") for place in places):
            if self._files.exists(f"{place}/{_ROWS}"):
                target = folder / place.rpartition("/")[2]
                for name in self._files.find(place):
                    path = target / str(name)[len(place) + 1 :]
                    path.parent.mkdir(parents=True, exist_ok=True)
                    self._files.get_file(name, str(path))
                yield target


def directories(named: tuple[str, ...], folder: Path) -> list[Path]:
    """The workers' directories that were named; those in a store are brought here, into the folder."""
    found: list[Path] = []
    for number, name in enumerate(named):
        if "://" not in name:
            found.append(Path(name))
            continue
        try:
            there = list(Depot(name).brought(folder / str(number)))
        except OSError as error:
            raise CollectionError(f"{name} cannot be read: {error}") from error
        if not there:
            raise CollectionError(f"{name} holds no worker's directory: name the path that --store was given")
        found += there
    return found


def _snapshot(database: Path, target: Path) -> None:
    """The rows as they are at one moment, while a crawl goes on."""
    with closing(sqlite3.connect(database)) as source, closing(sqlite3.connect(target)) as copy:
        source.backup(copy)
