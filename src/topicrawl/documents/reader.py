"""Document reader: convert responses with documents to a form that the page parsers read.

PDF, PostScript, docx, odt and e-books become HTML, a gzip file is replaced by its content, and a zip archive by its
members, each with its own URL. The conversion runs in child processes (`child_process.py`), a few documents at a time.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from typing import NamedTuple, Self

from msgspec.structs import replace

from topicrawl.documents.file_types import CONVERTED_TYPES, detect_magic, detect_type, sniff_text
from topicrawl.documents.messages import ArchiveMember, ConversionLimits, ConvertedDocument
from topicrawl.documents.worker import DocumentWorker
from topicrawl.models import Failure, Link, ReadableDocument, Response, UnpackedResponse
from topicrawl.urls import make_member_url

log = logging.getLogger("topicrawl")

_ARCHIVE_TIME_FACTOR = 5  # time limit of an archive, as a multiple of that of one document
_TEXT_TYPES = {"html": "text/html", "plain": "text/plain"}
_ROBOTS_HEADER = "x-robots-tag"


# An archive itself is an empty page; its members have the content.
_EMPTY_PAGE = ReadableDocument("text/html; charset=utf-8", b"<!DOCTYPE html>")


class ExtractedMember(NamedTuple):
    """Archive member: the link from the archive to it, and the member as a response of its own."""

    link: Link
    response: Response


class SubprocessDocumentReader:
    """Convert documents in child processes, which are started on demand. `processes` is their number."""

    def __init__(self, limits: ConversionLimits | None = None, *, processes: int = 2) -> None:
        self.limits = limits or ConversionLimits()
        self._workers = [DocumentWorker(self.limits) for _ in range(processes)]
        self._idle_workers: SimpleQueue[DocumentWorker] = SimpleQueue()
        for worker in self._workers:
            self._idle_workers.put(worker)
        self._threads = ThreadPoolExecutor(processes, "documents")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @staticmethod
    def is_document(response: Response) -> bool:
        """Return whether a response is a document that needs conversion. Fast, because it runs for every response."""
        if response.body.startswith(b"<") and response.headers.get("content-type", "").startswith("text/html"):
            return False
        if response.failure is not None or not response.body:
            return False
        if response.readable is not None and response.readable != _EMPTY_PAGE:
            return False
        return detect_type(response.body, response.content_type) in CONVERTED_TYPES

    async def unpack_document(self, response: Response, link: Link) -> UnpackedResponse:
        """Convert the document in a response without blocking the event loop."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, self.unpack_blocking, response, link)

    def unpack_blocking(self, response: Response, link: Link) -> UnpackedResponse:
        """Convert the document in a response (blocking); `link` is the link that led to it.

        A failed conversion gives a response with a failure. An archive gives an empty page and its members.
        """
        converted = self._convert_body(response.body)
        if converted.failure is not None or converted.media_type:
            return UnpackedResponse(_attach_result(response, converted))
        log.info("%s: %s", link.url, converted.detail)
        return UnpackedResponse(
            replace(response, readable=_EMPTY_PAGE), tuple(self._extract_members(converted.members, response, link))
        )

    def close(self) -> None:
        """Stop all child processes; running conversions are aborted."""
        for worker in self._workers:
            worker.stop()
        self._threads.shutdown(cancel_futures=True)
        for worker in self._workers:
            worker.close()

    def _convert_body(self, body: bytes) -> ConvertedDocument:
        """Wait for an idle worker and convert a document with it."""
        worker = self._idle_workers.get()
        try:
            return worker.convert(body)
        finally:
            self._idle_workers.put(worker)

    def _extract_members(
        self, members: Sequence[ArchiveMember], response: Response, link: Link
    ) -> Iterator[ExtractedMember]:
        """Yield the members of an archive as responses; documents among them are converted."""
        deadline = time.monotonic() + _ARCHIVE_TIME_FACTOR * self.limits.cpu_seconds
        urls: set[str] = set()
        for number, item in enumerate(members):
            url = make_member_url(link.url, item.name)
            if url in urls:
                # Two members may have the same name, or names that give the same URL.
                url = make_member_url(link.url, f"{item.name}/{number}")
            urls.add(url)
            kind = detect_magic(item.body) or sniff_text(item.body)
            headers = {
                "content-type": CONVERTED_TYPES.get(kind) or _TEXT_TYPES.get(kind, ""),
                **_inherit_robots_header(response),
            }
            file = Response(url, url, response.status, headers, item.body, response.at, archive_url=link.url)
            inner = Link(url, link.url, item.name, depth=link.depth)
            if item.failure is not None:
                file = replace(file, failure=item.failure, detail=item.detail)
            elif kind in CONVERTED_TYPES and time.monotonic() > deadline:
                file = replace(file, failure=Failure.READING_LIMIT, detail="the archive took too long to convert")
            elif kind in CONVERTED_TYPES:
                file = _attach_result(file, self._convert_body(item.body))
            yield ExtractedMember(inner, file)


def _attach_result(response: Response, result: ConvertedDocument) -> Response:
    """Return the response with the converted text, or with the failure of the conversion."""
    if result.failure is not None:
        return replace(response, failure=result.failure, detail=result.detail)
    if not result.media_type:
        return replace(response, failure=Failure.NESTED, detail="nested archives are not unpacked")
    return replace(response, readable=ReadableDocument(result.media_type, result.body))


def _inherit_robots_header(response: Response) -> Mapping[str, str]:
    """Return the X-Robots-Tag header of an archive, which applies to all its members."""
    return {_ROBOTS_HEADER: response.headers[_ROBOTS_HEADER]} if _ROBOTS_HEADER in response.headers else {}
