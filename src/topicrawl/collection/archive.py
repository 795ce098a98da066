"""WARC archive of the fetched pages, in segments that standard archive tools can read.

    crawl/warc/00001.warc.gz      warcinfo, then for each fetch: its redirects, its request, its response
    crawl/warc/00002.warc.gz      …

Each fetch is written in one call and ends with its response record, so everything after the `RecordLocation` of a
response is newer. This makes recovery simple: the database stores the last committed location, and after a crash
`truncate_after` removes all complete and incomplete records behind it.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from mmap import ACCESS_READ, mmap
from pathlib import Path
from random import Random

from msgspec import Struct

import topicrawl
from topicrawl.collection.warc import build_warcinfo, decode_response, encode_fetch, encode_revisit, read_record
from topicrawl.database import sync_path
from topicrawl.errors import CollectionError, DamagedError, SpaceError
from topicrawl.models import Response

_SUFFIX = ".warc.gz"
_NO_SPACE_ERRNOS = frozenset({errno.ENOSPC, errno.EFBIG, errno.EDQUOT})
_LOST_FILE_ERRNOS = frozenset({errno.ENOENT, errno.EIO})
_GZIP_MAGIC = b"\x1f\x8b\x08"


class RecordLocation(Struct, frozen=True):
    """Location of a response record: segment number, byte offset and compressed length."""

    segment: int
    offset: int
    length: int

    @property
    def end(self) -> int:
        """Offset of the first byte after the record."""
        return self.offset + self.length


class WarcArchive:
    """WARC segments of one crawl directory, with one writer and any number of readers.

    No file is created before the first write. If another process may have stopped in the middle of a write, call
    `truncate_after` before `write`. `about` adds fields to the warcinfo record of each segment, such as
    `{"robots": "obey", "operator": "a@example.org"}`; `random` generates the record identifiers.
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
        self._segment = max(self._list_segments(), default=0)
        self._segment_end = self._segment_path(self._segment).stat().st_size if self._segment else 0
        self._starts_new_segment = not self._segment  # the next write opens a new segment

    def write_fetch(self, response: Response, *, address: str = "") -> RecordLocation:
        """Append a fetch and return the location of its response; `address` is the IP address of the host.

        The records are not synced: see `sync_to_disk`. A segment exceeds its size limit only if a single fetch is
        larger than the limit. A full disk raises `SpaceError`, and the archive stays as it was.
        """
        before, answer = encode_fetch(response, address, self._random)
        data = before + answer
        if self._starts_new_segment or self._segment_end + len(data) > self._segment_bytes:
            data = self._start_segment(response.at) + data
        self._append_bytes(data)
        return RecordLocation(self._segment, self._segment_end - len(answer), len(answer))

    def write_revisit(self, response: Response, original: RecordLocation) -> None:
        """Append a revisit record if a response repeats the archived one; do nothing if its payload differs.

        A damaged original counts as different.
        """
        try:
            data = encode_revisit(response, self.read_member(original), self._random)
        except DamagedError:
            return
        if data and not self._starts_new_segment:
            self._append_bytes(data)

    @property
    def end(self) -> tuple[int, int]:
        """Number and size of the last segment."""
        return self._segment, self._segment_end

    def sync_to_disk(self) -> None:
        """Sync the records of the last segment to disk. Earlier segments were synced when they were closed."""
        path = self._segment_path(self._segment)
        # The segment may be closed and contain records of a killed process, which were not synced.
        if path.exists():
            with _translate_os_errors(path):
                sync_path(path)
                sync_path(self._folder)

    def read_response(self, location: RecordLocation) -> Response:
        """Return the response at a location, without its request headers. Raise `DamagedError` if it is unreadable."""
        member = self.read_member(location)
        try:
            return decode_response(member)
        except DamagedError as error:
            raise DamagedError(f"{self._segment_path(location.segment)} at byte {location.offset}: {error}") from error

    def read_member(self, location: RecordLocation) -> bytes:
        """Return the compressed bytes of the record at a location: one gzip member, if it is intact.

        A lost segment raises `DamagedError`, one that cannot be opened `CollectionError`. The bytes are not checked.
        """
        path = self._segment_path(location.segment)
        try:
            file = os.open(path, os.O_RDONLY)
            try:
                return os.pread(file, location.length, location.offset)
            finally:
                os.close(file)
        except OSError as error:
            kind = DamagedError if error.errno in _LOST_FILE_ERRNOS else CollectionError
            raise kind(f"{path} cannot be read: {error.strerror}") from error

    def is_readable(self, location: RecordLocation) -> bool:
        """Return whether the response at a location can be read."""
        try:
            self.read_response(location)
        except DamagedError:
            return False
        return True

    def has_segment(self, segment: int) -> bool:
        """Return whether the file of a segment exists."""
        return self._segment_path(segment).exists()

    def truncate_after(self, last: RecordLocation | None, end: tuple[int, int] = (0, 0)) -> None:
        """Remove all records after the last committed location; None removes everything.

        `end` is the end of the archive when it was last synced: revisits and error pages before it are kept.
        If the record at that location is unreadable, the segment keeps its intact records and the next write starts a
        new segment, because no new record may occupy the location of a lost one. `is_readable` tells which are lost.
        """
        self.close()
        self._segment, self._segment_end, self._starts_new_segment = (last.segment if last else 0), 0, True
        with _translate_os_errors(self._folder):
            for number in self._list_segments():
                if number > self._segment:
                    self._segment_path(number).unlink()
            if last is None:
                return
            path = self._segment_path(last.segment)
            if self.is_readable(last):
                length = end[1] if end[0] == last.segment and last.end < end[1] <= path.stat().st_size else last.end
                os.truncate(path, length)
                self._segment_end, self._starts_new_segment = length, False
            elif path.exists():
                _truncate_damaged_segment(path)

    def close(self) -> None:
        """Close the open segment. A later write opens it again."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _start_segment(self, at: float) -> bytes:
        """Sync and close the current segment, and start the next one. Return its warcinfo record, not written yet."""
        # A closed segment is never synced again, and `truncate_after` checks only the last one.
        self.sync_to_disk()
        self.close()
        self._segment, self._segment_end, self._starts_new_segment = self._segment + 1, 0, False
        return build_warcinfo(self._segment_path(self._segment).name, self._about, at, self._random)

    def _append_bytes(self, data: bytes) -> None:
        """Append all of the bytes, or none."""
        path = self._segment_path(self._segment)
        goal = self._segment_end + len(data)
        rest = memoryview(data)
        with _translate_os_errors(path):
            try:
                if self._file is None:
                    if not self._folder.exists():
                        self._folder.mkdir(parents=True)
                        sync_path(self._folder.parent)
                    self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
                while rest:
                    rest = rest[os.pwrite(self._file, rest, goal - len(rest)) :]
                self._segment_end = goal
            finally:
                if self._segment_end != goal:
                    self._undo_partial_write(path)

    def _undo_partial_write(self, path: Path) -> None:
        """Remove the bytes of a failed write, so that the archive stays valid and later writes succeed."""
        if self._segment_end:
            os.truncate(path, self._segment_end)
            return
        self.close()
        path.unlink(missing_ok=True)
        self._segment, self._starts_new_segment = self._segment - 1, True

    def _segment_path(self, segment: int) -> Path:
        return _build_segment_path(self._folder, segment)

    def _list_segments(self) -> list[int]:
        names = (path.name.removesuffix(_SUFFIX) for path in self._folder.glob(f"*{_SUFFIX}"))
        return sorted(int(name) for name in names if name.isdecimal())


@lru_cache(maxsize=16)
def _build_segment_path(folder: Path, segment: int) -> Path:
    """Return the path of a segment. Joining paths takes 8 µs, and every write needs one."""
    return folder / f"{segment:05d}{_SUFFIX}"


@contextmanager
def _translate_os_errors(path: Path) -> Iterator[None]:
    """Convert `OSError` to `SpaceError` or `CollectionError`."""
    try:
        yield
    except OSError as error:
        if error.errno in _NO_SPACE_ERRNOS:
            raise SpaceError(f"{path}: {error.strerror}; free some space, then resume the crawl") from error
        raise CollectionError(f"{path}: {error.strerror}") from error


def _truncate_damaged_segment(path: Path) -> None:
    """Truncate a segment after its last intact record; delete a file without any."""
    end = 0
    with path.open("rb") as file:
        if path.stat().st_size:
            with mmap(file.fileno(), 0, access=ACCESS_READ) as data:
                end = _find_last_record_end(data)
    if end:
        os.truncate(path, end)
    else:
        path.unlink()


def _find_last_record_end(data: mmap) -> int:
    """Return the end of the last intact record, including records after a damaged one."""
    at = last = 0
    while 0 <= at < len(data):
        record, end = read_record(data, at)
        if record is None:
            at = data.find(_GZIP_MAGIC, at + 1)
        else:
            at = last = end
    return last
