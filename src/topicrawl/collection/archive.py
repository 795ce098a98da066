"""The pages of a crawl as they were received, in WARC segments that any archive tool reads.

    crawl/warc/00001.warc.gz      warcinfo, then for each fetch: its redirects, its request, its response
    crawl/warc/00002.warc.gz      …

A fetch is written by one call and ends with its response, so that a `Spot` (where a response stands) is also
the place behind which everything is newer. Hence recovery is simple: the database remembers the last spot it
committed, and after a crash `cut` takes away all that came behind it, whole or torn.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from mmap import ACCESS_READ, mmap
from pathlib import Path
from random import Random

import topicrawl
from topicrawl.collection.warc import decoded, encoded, unpacked, warcinfo
from topicrawl.errors import CollectionError, DamagedError, SpaceError
from topicrawl.records import Response

_SUFFIX = ".warc.gz"
_FULL = frozenset({errno.ENOSPC, errno.EFBIG, errno.EDQUOT})
_LOST = frozenset({errno.ENOENT, errno.EIO})
_MAGIC = b"\x1f\x8b\x08"


@dataclass(frozen=True, slots=True)
class Spot:
    """Where a response record stands: the segment's number, its first byte there, its compressed length."""

    segment: int
    offset: int
    length: int

    @property
    def end(self) -> int:
        return self.offset + self.length


class Archive:
    """The WARC segments of one crawl directory; one writer, any number of readers.

    Nothing is created before the first write. After opening an archive that another process may have left in
    the middle of a write, call `cut` before `write`. `about` adds lines to the warcinfo of each segment, such
    as `{"robots": "obey", "operator": "a@example.org"}`; `random` makes the records' identifiers.
    """

    def __init__(
        self,
        directory: Path,
        *,
        segment_bytes: int = 1 << 30,
        about: Mapping[str, str] | None = None,
        random: Random | None = None,
    ) -> None:
        self._folder = directory / "warc"
        self._segment_bytes = segment_bytes
        self._about = {"software": f"topicrawl/{topicrawl.__version__}"} | dict(about or {})
        self._random = random or Random()
        self._file: int | None = None
        self._segment = max(self._numbers(), default=0)
        self._end = self._path(self._segment).stat().st_size if self._segment else 0
        self._sealed = not self._segment  # the next write opens a new segment

    def write(self, response: Response, *, address: str = "") -> Spot:
        """Append a fetch and hand it to the operating system; `address` is the IP address that answered.

        A segment grows beyond its limit only when a single fetch is larger than the limit.
        """
        before, answer = encoded(response, address, self._random)
        data = before + answer
        if self._sealed or self._end + len(data) > self._segment_bytes:
            data = self._opening(response.at) + data
        self._append(data)
        return Spot(self._segment, self._end - len(answer), len(answer))

    def sync(self) -> None:
        """Return when all that was written stands on the disk."""
        if self._file is None:
            return
        with _mapped(self._path(self._segment)):
            os.fsync(self._file)
            folder = os.open(self._folder, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)

    def read(self, spot: Spot) -> Response:
        """The response at a spot, without the headers of its request."""
        member = self.member(spot)
        try:
            return decoded(member)
        except DamagedError as error:
            raise DamagedError(f"{self._path(spot.segment)} at byte {spot.offset}: {error}") from error

    def member(self, spot: Spot) -> bytes:
        """The record at a spot as it stands in the file: one gzip member, if it is whole."""
        path = self._path(spot.segment)
        try:
            file = os.open(path, os.O_RDONLY)
            try:
                return os.pread(file, spot.length, spot.offset)
            finally:
                os.close(file)
        except OSError as error:
            kind = DamagedError if error.errno in _LOST else CollectionError
            raise kind(f"{path} cannot be read: {error.strerror}") from error

    def whole(self, spot: Spot) -> bool:
        """Does the response at this spot still read back?"""
        try:
            self.read(spot)
        except DamagedError:
            return False
        return True

    def cut(self, last: Spot | None) -> None:
        """Take away all behind the last spot that counts; None: nothing counts.

        If that spot itself does not read back, the segment keeps what is whole in it and writing goes on in a
        new segment: no new record may stand where a lost spot points. Ask `whole` which spots are lost.
        """
        self.close()
        self._segment, self._end, self._sealed = (last.segment if last else 0), 0, True
        with _mapped(self._folder):
            for number in self._numbers():
                if number > self._segment:
                    self._path(number).unlink()
            if last is None:
                return
            path = self._path(last.segment)
            if self.whole(last):
                os.truncate(path, last.end)
                self._end, self._sealed = last.end, False
            elif path.exists():
                _trim(path)

    def close(self) -> None:
        """Let go of the open segment; a later write opens it again."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _opening(self, at: float) -> bytes:
        """Go to the next segment, whose first record this is."""
        # A segment that is left is never synced again, and `cut` looks at the last one only.
        self.sync()
        self.close()
        self._segment, self._end, self._sealed = self._segment + 1, 0, False
        return warcinfo(self._path(self._segment).name, self._about, at, self._random)

    def _append(self, data: bytes) -> None:
        """Write all or nothing."""
        path = self._path(self._segment)
        goal = self._end + len(data)
        rest = memoryview(data)
        with _mapped(path):
            try:
                if self._file is None:
                    self._folder.mkdir(parents=True, exist_ok=True)
                    self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
                while rest:
                    rest = rest[os.pwrite(self._file, rest, goal - len(rest)) :]
                self._end = goal
            finally:
                if self._end != goal:
                    self._cut_back(path)

    def _cut_back(self, path: Path) -> None:
        """Remove what a failed write left, so that the archive is valid and writing can go on later."""
        if self._end:
            os.truncate(path, self._end)
            return
        self.close()
        path.unlink(missing_ok=True)
        self._segment, self._sealed = self._segment - 1, True

    def _path(self, segment: int) -> Path:
        return self._folder / f"{segment:05d}{_SUFFIX}"

    def _numbers(self) -> list[int]:
        names = (path.name.removesuffix(_SUFFIX) for path in self._folder.glob(f"*{_SUFFIX}"))
        return sorted(int(name) for name in names if name.isdecimal())


@contextmanager
def _mapped(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            raise SpaceError(f"{path}: {error.strerror}; make space, then resume the crawl") from error
        raise CollectionError(f"{path}: {error.strerror}") from error


def _trim(path: Path) -> None:
    """Cut a segment back to the end of its last whole record; a file without one goes away."""
    end = 0
    with path.open("rb") as file:
        if path.stat().st_size:
            with mmap(file.fileno(), 0, access=ACCESS_READ) as data:
                end = _last_whole(data)
    if end:
        os.truncate(path, end)
    else:
        path.unlink()


def _last_whole(data: mmap) -> int:
    """Where the last whole record ends; those behind a damaged one count."""
    at = last = 0
    while 0 <= at < len(data):
        record, end = unpacked(data, at)
        if record is None:
            at = data.find(_MAGIC, at + 1)
        else:
            at = last = end
    return last
