"""A recorded web as a fetcher: a directory of WARC files in which every fetch gives what was recorded.

One scan notes where the response for each canonical URL begins; a body is read when it is fetched, one record
at a time. The last recording of a URL counts. Redirects are followed inside the recording. A document (PDF, …) whose
text was recorded behind it, as a crawl does, is readable.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from topicrawl.errors import RecordingError
from topicrawl.fetch.decode import TooLarge
from topicrawl.fetch.record import OneStream, Torn, readable_of, record_at, response_of, scan
from topicrawl.fetch.redirects import followed
from topicrawl.records import Failure, Link, Response
from topicrawl.urls import canonical

_SUFFIXES = (".warc", ".warc.gz")
_KINDS = ("response", "revisit", "conversion")
_AS_IT_IS = ("text/html", "application/xhtml+xml", "text/plain")


class Index(NamedTuple):
    """Where the response for each URL begins, file and offset; and where the text of a document does."""

    places: Mapping[str, tuple[int, int]]
    torn: str
    texts: Mapping[str, tuple[int, int]] = MappingProxyType({})


class Recording:
    """A `Fetch` that answers from the WARC files of a directory or of its `warc` folder.

    `torn` is empty, or says in one line which end of a file could not be read.
    """

    def __init__(
        self, path: str | os.PathLike[str], *, max_bytes: int = 10 * 1024 * 1024, index: Index | None = None
    ) -> None:
        self._max_bytes = max_bytes
        self._files = warc_files(Path(path))
        self._places: dict[str, tuple[int, int]] = dict(index.places) if index is not None else {}
        self._texts: dict[str, tuple[int, int]] = dict(index.texts) if index is not None else {}
        notes = [index.torn] if index is not None and index.torn else []
        if index is None:
            notes = [note for number in range(len(self._files)) if (note := self._scan(number))]
        self.torn = "; ".join(notes)
        if not self._places:
            raise RecordingError(f"{path} holds no recorded responses" + (f" ({self.torn})" if notes else ""))

    @property
    def index(self) -> Index:
        """What the scan found: with it, the same files need not be scanned again."""
        return Index(self._places, self.torn, self._texts)

    def __len__(self) -> int:
        """How many URLs are recorded."""
        return len(self._places)

    def known(self, url: str) -> bool:
        """Is there an answer for this canonical URL? A recording is a closed world."""
        return url in self._places

    def __iter__(self) -> Iterator[str]:
        """The recorded URLs, in the order of the recording."""
        return iter(self._places)

    def answer(self, url: str) -> Response:
        """What was recorded for a URL, for readers that are no crawl."""
        asked = self(Link(url))
        try:
            asked.send(None)
        except StopIteration as done:
            response: Response = done.value
            return response
        raise AssertionError("a recording has nothing to wait for")

    async def __call__(self, link: Link) -> Response:
        """What was recorded for the link, at the end of its redirects."""
        return await followed(link.url, self._recorded)

    async def _recorded(self, url: str) -> Response:
        place = self._places.get(url)
        if place is None:
            return Response(url, url, failure=Failure.NOT_RECORDED, detail="not in the recording")
        number = place[0]
        try:
            response = response_of(self._bytes(place), url, self._max_bytes)
            text = self._texts.get(url)
            # Others record the text of web pages too; these are read as they are.
            if text is None or response.failure is not None or response.content_type in _AS_IT_IS:
                return response
            return replace(response, readable=readable_of(self._bytes(text)))
        except TooLarge:
            detail = f"more than {self._max_bytes} bytes"
            return Response(url, url, failure=Failure.TOO_LARGE, detail=detail)
        except Torn:
            return Response(url, url, failure=Failure.BAD_RESPONSE, detail="the record is damaged")
        except OSError as error:
            raise RecordingError(f"{self._files[number]} cannot be read: {error.strerror}") from error

    def _bytes(self, place: tuple[int, int]) -> bytes:
        return record_at(self._files[place[0]], place[1], self._max_bytes)

    def _scan(self, number: int) -> str:
        """Note where the responses of a file begin; the note that comes back says what was torn."""
        path = self._files[number]
        count = 0
        try:
            for offset, fields in scan(path):
                count += 1
                kind = fields.get("warc-type", "")
                url = _address(fields.get("warc-target-uri", "")) if kind in _KINDS else None
                if url is None:
                    continue
                if kind == "response":
                    self._places[url] = (number, offset)
                    self._texts.pop(url, None)
                elif kind == "conversion":
                    self._texts[url] = (number, offset)
                else:
                    self._repeat(url, _address(fields.get("warc-refers-to-target-uri", "")))
        except Torn:
            if not count:
                raise RecordingError(f"{path} is not a WARC file, or its first record is cut off") from None
            return f"{path.name} is damaged or cut off after {count} whole records"
        except OneStream:
            raise RecordingError(
                f"{path} is one gzip stream; each record needs its own (`warcio recompress` does it)"
            ) from None
        except OSError as error:
            raise RecordingError(f"{path} cannot be read: {error.strerror}") from error
        return ""

    def _repeat(self, url: str, same: str | None) -> None:
        """A page that was seen again unchanged: an earlier record has its body, perhaps under another URL."""
        if url not in self._places and same in self._places:
            self._places[url] = self._places[same]


def _address(uri: str) -> str | None:
    # Some writers put the address into angle brackets, as an early version of the standard had it.
    return canonical(uri.strip("<>"))


def warc_files(path: Path) -> list[Path]:
    """The WARC files of a recording, in the order of their names."""
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise RecordingError(f"{path} does not exist; a recording is a directory with WARC files")
    found = [file for folder in (path, path / "warc") if folder.is_dir() for file in sorted(folder.iterdir())]
    files = [file for file in found if file.name.endswith(_SUFFIXES) and file.is_file()]
    if not files:
        raise RecordingError(f"{path} has no .warc or .warc.gz files")
    return files
