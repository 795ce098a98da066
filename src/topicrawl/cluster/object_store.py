"""Upload of worker directories to an object store, from which `gather` downloads them.

    PATH/WORKER/topic.toml
    PATH/WORKER/warc/00001.warc.gz …
    PATH/WORKER/topicrawl.sqlite         uploaded last, when all files that its rows refer to are there

Workers write to their local disk. Changed files are uploaded periodically and at the end. fsspec provides the stores:
s3://, gs://, az://, sftp://, file:// and others, each with its own driver.
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

_DATABASE_NAME = "topicrawl.sqlite"
UPLOAD_INTERVAL = 300.0  # seconds between two uploads


@dataclass
class ObjectStore:
    """Path in an object store. `copied_sizes` contains the sizes of the uploaded files of this worker."""

    address: str
    copied_sizes: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        try:
            from fsspec.core import url_to_fs
        except ImportError as error:
            raise SettingError("an object store needs fsspec: pip install 'topicrawl[store]'") from error
        try:
            filesystem, root = url_to_fs(self.address)
        except (ValueError, ImportError) as error:
            raise SettingError(f"{self.address} cannot be used as a store: {error}") from error
        self._filesystem: Any = filesystem
        self._root: str = root.rstrip("/")

    def upload(self, directory: Path, worker: str) -> int:
        """Upload the changed files of a worker directory and a copy of its database. Return the number of files.

        Raise OSError if the upload fails.
        """
        with TemporaryDirectory() as folder:
            database = Path(folder) / _DATABASE_NAME
            # Copy the database first, so that the archive files contain all pages that it refers to.
            _copy_database(directory / _DATABASE_NAME, database)
            segments = sorted((directory / "warc").glob("*.warc.gz"))
            changed = [path for path in (directory / "topic.toml", *segments) if self._has_changed(directory, path)]
            for path in (*changed, database):
                name = _DATABASE_NAME if path is database else path.relative_to(directory).as_posix()
                target = f"{self._root}/{worker}/{name}"
                size = path.stat().st_size
                self._filesystem.makedirs(target.rpartition("/")[0], exist_ok=True)
                self._filesystem.put_file(str(path), target)
                self.copied_sizes[name] = size
        return len(changed) + 1

    def _has_changed(self, directory: Path, path: Path) -> bool:
        """Return whether the size of a file differs from its last upload."""
        return self.copied_sizes.get(path.relative_to(directory).as_posix()) != path.stat().st_size

    async def try_upload(self, directory: Path, worker: str) -> None:
        """Upload once. A failure is only logged, because all data is on the disk of the worker."""
        try:
            await asyncio.to_thread(self.upload, directory, worker)
        except OSError as error:
            log.warning("the upload to %s failed, the data is still only in %s: %s", self.address, directory, error)

    def download_directories(self, folder: Path) -> Iterator[Path]:
        """Download the directories of all workers into a local folder. Yield the local path of each."""
        places = self._filesystem.ls(self._root, detail=False) if self._filesystem.exists(self._root) else []
        for place in sorted(str(place).rstrip("/") for place in places):
            if self._filesystem.exists(f"{place}/{_DATABASE_NAME}"):
                target = folder / place.rpartition("/")[2]
                for name in self._filesystem.find(place):
                    path = target / str(name)[len(place) + 1 :]
                    path.parent.mkdir(parents=True, exist_ok=True)
                    self._filesystem.get_file(name, str(path))
                yield target


def resolve_directories(named: tuple[str, ...], folder: Path) -> list[Path]:
    """Return the paths of worker directories. Directories in an object store are downloaded into `folder`.

    Raise `CollectionError` if an object store cannot be read or contains no directory of a worker.
    """
    paths: list[Path] = []
    for number, name in enumerate(named):
        if "://" not in name:
            paths.append(Path(name))
            continue
        try:
            downloaded = list(ObjectStore(name).download_directories(folder / str(number)))
        except OSError as error:
            raise CollectionError(f"{name} cannot be read: {error}") from error
        if not downloaded:
            raise CollectionError(f"{name} holds no worker's directory: specify the path that was given to --store")
        paths += downloaded
    return paths


def _copy_database(database: Path, target: Path) -> None:
    """Make a consistent copy of a database, also while a crawl writes to it."""
    with closing(sqlite3.connect(database)) as source, closing(sqlite3.connect(target)) as copy:
        source.backup(copy)
