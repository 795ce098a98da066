"""Replay fetcher: answer fetches from recorded responses in WARC files.

One scan indexes the file offset of the response for each canonical URL. Bodies are read on demand, one record at a
time. If a URL was recorded several times, the last record counts. Redirects are followed inside the recording; the
lines of `aliases.tsv` in its directory are redirects too.
Documents (PDF, …) are readable if a conversion record with their text follows, as crawls write it. So are pages that a
browser has rendered.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from msgspec.structs import replace

from topicrawl.documents.file_types import detect_type
from topicrawl.errors import RecordingError
from topicrawl.fetch.aliases import find_aliases_file, read_recorded_aliases
from topicrawl.fetch.decoding import BodyTooLarge
from topicrawl.fetch.redirects import follow_redirects
from topicrawl.fetch.warc_reader import (
    CONVERSION_PREFIX,
    DamagedRecord,
    SingleGzipStream,
    parse_conversion_record,
    parse_response_record,
    read_record,
    scan_records,
)
from topicrawl.models import Failure, Link, Response
from topicrawl.urls import canonicalize_url

_WARC_SUFFIXES = (".warc", ".warc.gz")
_IMPORTED_SUFFIXES = (".wacz", ".arc", ".arc.gz", ".warc.zst")
_OWN_CONVERSION = f"WARC-Target-URI: {CONVERSION_PREFIX}".encode()
_RECORD_TYPES = ("response", "resource", "revisit", "conversion")


class RecordingIndex(NamedTuple):
    """Index of a recording: file number and offset of the response, and of the converted text, for each URL.

    `aliases` has the redirect target of each URL that is only in `aliases.tsv`.
    """

    response_offsets: Mapping[str, tuple[int, int]]
    damage: str
    text_offsets: Mapping[str, tuple[int, int]] = MappingProxyType({})
    aliases: Mapping[str, str] = MappingProxyType({})


class Recording:
    """A `FetchFunction` that answers from the WARC files of a directory or of its `warc` folder.

    With `keeps_wire`, the responses contain the recorded bytes, for archives.
    `damage` is empty, or one line that names the files that could only be read in part. The constructor raises
    `RecordingError` if there are no readable responses.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        max_bytes: int = 10 * 1024 * 1024,
        index: RecordingIndex | None = None,
        keeps_wire: bool = False,
    ) -> None:
        self._max_bytes, self._keeps_wire = max_bytes, keeps_wire
        self._files = list_warc_files(Path(path))
        self._response_offsets: dict[str, tuple[int, int]] = dict(index.response_offsets) if index is not None else {}
        self._text_offsets: dict[str, tuple[int, int]] = dict(index.text_offsets) if index is not None else {}
        notes = [index.damage] if index is not None and index.damage else []
        if index is None:
            notes = [note for number in range(len(self._files)) if (note := self._scan(number))]
        self.damage = "; ".join(notes)
        if not self._response_offsets:
            reason = f" ({self.damage})" if notes else ""
            raise RecordingError(f"{path} contains no recorded responses{reason}{_hint_at_import(self._files)}")
        self._aliases = (
            dict(index.aliases)
            if index is not None
            else read_recorded_aliases(find_aliases_file(Path(path)), self._response_offsets)
        )

    @property
    def index(self) -> RecordingIndex:
        """The index of the scan; pass it to a new `Recording` of the same files to skip the scan."""
        return RecordingIndex(self._response_offsets, self.damage, self._text_offsets, self._aliases)

    def __len__(self) -> int:
        """Return the number of recorded URLs, including aliases."""
        return len(self._response_offsets) + len(self._aliases)

    def contains(self, url: str) -> bool:
        """Return whether a canonical URL was recorded. A fetch of any other URL fails."""
        return url in self._response_offsets or url in self._aliases

    def __iter__(self) -> Iterator[str]:
        """Iterate over the recorded URLs, in the order of the recording, then over the aliases."""
        return chain(self._response_offsets, self._aliases)

    def get_response(self, url: str) -> Response:
        """Return the recorded response for a URL, with its redirects followed, for synchronous callers.

        The failure of a URL that was not recorded is NOT_RECORDED. A file that cannot be read raises `RecordingError`.
        """
        fetch = self(Link(url))
        try:
            fetch.send(None)
        except StopIteration as done:
            response: Response = done.value
            return response
        raise AssertionError("fetching from a recording never suspends")

    async def __call__(self, link: Link) -> Response:
        """Return the recorded response for a link, with its redirects followed."""
        # A page whose meta refresh leads out of the recording stays a page: the content of the target is unknown.
        return await follow_redirects(link.url, self._load_response, follows_refresh=self.contains)

    async def _load_response(self, url: str) -> Response:
        """Return the recorded response for a URL, without following redirects.

        A missing, damaged or oversized record gives a response with a failure. A file that cannot be read raises
        `RecordingError`.
        """
        place = self._response_offsets.get(url)
        if place is None and url in self._aliases:
            return Response(url, url, 301, {"location": self._aliases[url]})
        if place is None:
            return Response(url, url, failure=Failure.NOT_RECORDED, detail="not in the recording")
        number = place[0]
        try:
            record = self._read_record(place)
            response = parse_response_record(record, url, self._max_bytes, keeps_wire=self._keeps_wire)
            text = self._text_offsets.get(url)
            if text is None or response.failure is not None:
                return response
            conversion = self._read_record(text)
            # Other tools write conversion records for web pages too; these pages are parsed from their HTML. Those of
            # a crawl contain the document that a browser has rendered.
            if not _is_converted(response) and _OWN_CONVERSION not in conversion.partition(b"\r\n\r\n")[0]:
                return response
            return replace(response, readable=parse_conversion_record(conversion))
        except BodyTooLarge:
            detail = f"the body exceeds {self._max_bytes} bytes"
            return Response(url, url, failure=Failure.TOO_LARGE, detail=detail)
        except DamagedRecord:
            return Response(url, url, failure=Failure.BAD_RESPONSE, detail="the WARC record is damaged")
        except OSError as error:
            raise RecordingError(f"{self._files[number]} cannot be read: {error.strerror}") from error

    def _read_record(self, location: tuple[int, int]) -> bytes:
        """Read the bytes of the record at a file number and offset."""
        return read_record(self._files[location[0]], location[1], self._max_bytes)

    def _scan(self, number: int) -> str:
        """Add the responses of a file to the index. Return a note if the file is damaged after some records, else "".

        Raise `RecordingError` if the file cannot be read, is not a WARC file, or is one gzip stream.
        """
        path = self._files[number]
        count = 0
        try:
            for offset, fields in scan_records(path):
                count += 1
                kind = fields.get("warc-type", "")
                url = _parse_target_uri(fields.get("warc-target-uri", "")) if kind in _RECORD_TYPES else None
                if url is None:
                    continue
                if kind in ("response", "resource"):
                    self._response_offsets[url] = (number, offset)
                    self._text_offsets.pop(url, None)
                elif kind == "conversion":
                    self._text_offsets[url] = (number, offset)
                else:
                    self._index_revisit(url, _parse_target_uri(fields.get("warc-refers-to-target-uri", "")))
        except DamagedRecord:
            if not count:
                hint = _hint_at_import([path])
                raise RecordingError(f"{path} is not a WARC file, or its first record is truncated{hint}") from None
            return f"{path.name} is damaged or truncated after {count} complete records"
        except SingleGzipStream:
            raise RecordingError(
                f"{path} is one gzip stream; each record must be its own gzip member: run `warcio recompress`, or "
                "`topicrawl import`, whose directory is a recorded web"
            ) from None
        except OSError as error:
            raise RecordingError(f"{path} cannot be read: {error.strerror}") from error
        return ""

    def _index_revisit(self, url: str, original: str | None) -> None:
        """Index a revisit record: an earlier record, possibly of another URL, has the unchanged body."""
        if url not in self._response_offsets and original in self._response_offsets:
            self._response_offsets[url] = self._response_offsets[original]


def _parse_target_uri(uri: str) -> str | None:
    """Return the canonical URL of a WARC-Target-URI field, or None if it is not an http or https URL."""
    # Some tools write the URI in angle brackets, as an early version of the WARC standard required.
    return canonicalize_url(uri.strip("<>").removeprefix(CONVERSION_PREFIX))


def _hint_at_import(files: Sequence[Path]) -> str:
    """Return the end of an error message for archives that only `topicrawl import` reads; "" for other files."""
    if not any(path.name.endswith(_IMPORTED_SUFFIXES) for path in files):
        return ""
    return "; `topicrawl import` reads WACZ, ARC and zstd files, and its directory is a recorded web"


def list_warc_files(path: Path) -> list[Path]:
    """Return the WARC files of a recording, sorted by name. Raise `RecordingError` if there are none."""
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise RecordingError(f"{path} does not exist; a recording is a WARC file or a directory of WARC files")
    candidates = [file for folder in (path, path / "warc") if folder.is_dir() for file in sorted(folder.iterdir())]
    files = [file for file in candidates if file.name.endswith(_WARC_SUFFIXES) and file.is_file()]
    if not files:
        hint = _hint_at_import([file for file in candidates if file.is_file()])
        raise RecordingError(f"{path} has no .warc or .warc.gz files{hint}")
    return files


def _is_converted(response: Response) -> bool:
    """Return whether the body is a document that is parsed from its converted form, rather than a web page or text."""
    return detect_type(response.body, response.content_type) not in ("html", "plain")
