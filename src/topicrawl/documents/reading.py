"""Documents that are no web pages, made readable for the parsers of web pages; each file of an archive for itself.

PDF, PostScript, docx, odt and e-books become HTML; gzip gives way to what is inside; a zip file becomes its members,
each with an address of its own. All of it happens in other processes (`child.py`), a few documents at a time.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from queue import SimpleQueue
from typing import NamedTuple, Self

from topicrawl.documents.kinds import HTML, kind_of, magic, sniffed
from topicrawl.documents.message import Converted, Limits, Member
from topicrawl.documents.worker import Worker
from topicrawl.records import Failure, Link, Readable, Response, Unfolded
from topicrawl.urls import member

log = logging.getLogger("topicrawl")

_ARCHIVE = 5  # an archive may take this many times as long as one document
_TYPES = {
    "pdf": "application/pdf",
    "ps": "application/postscript",
    "gzip": "application/gzip",
    "zip": "application/zip",
}
_TEXTS = {"html": "text/html", "plain": "text/plain"}
_ROBOTS = "x-robots-tag"


# An archive is known by its name: what it says, its members say.
_SILENT = Readable("text/html; charset=utf-8", b"<!DOCTYPE html>")


class Taken(NamedTuple):
    """One file of an archive: the link from the archive to it, and the file as if it had come alone."""

    link: Link
    response: Response


class Documents:
    """Reads documents in processes of their own, which are started when the first one comes."""

    def __init__(self, limits: Limits | None = None, *, processes: int = 2) -> None:
        self.limits = limits or Limits()
        self._workers = [Worker(self.limits) for _ in range(processes)]
        self._free: SimpleQueue[Worker] = SimpleQueue()
        for worker in self._workers:
            self._free.put(worker)
        self._threads = ThreadPoolExecutor(processes, "documents")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @staticmethod
    def wanted(response: Response) -> bool:
        """Whether a response is a document that has to be made readable; quick, as every response is asked for."""
        if response.headers.get("content-type", "").startswith("text/html"):
            return False
        media_type = response.content_type
        if media_type in HTML or response.failure is not None or not response.body:
            return False
        if response.readable is not None and response.readable != _SILENT:
            return False
        return kind_of(response.body, media_type) in _TYPES

    async def unfolded(self, response: Response, link: Link) -> Unfolded:
        """The same as `unfold`, while the loop goes on."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, self.unfold, response, link)

    def unfold(self, response: Response, link: Link) -> Unfolded:
        """What the document in a response came to; `link` is what led there."""
        found = self._converted(response.body)
        if found.failure is not None or found.type:
            return Unfolded(_readable(response, found))
        log.info("%s: %s", link.url, found.detail)
        return Unfolded(replace(response, readable=_SILENT), tuple(self._members(found.members, response, link)))

    def close(self) -> None:
        """End all processes; what is being read is given up."""
        for worker in self._workers:
            worker.stop()
        self._threads.shutdown(cancel_futures=True)
        for worker in self._workers:
            worker.close()

    def _converted(self, body: bytes) -> Converted:
        worker = self._free.get()
        try:
            return worker.convert(body)
        finally:
            self._free.put(worker)

    def _members(self, found: Sequence[Member], response: Response, link: Link) -> Iterator[Taken]:
        until = time.monotonic() + _ARCHIVE * self.limits.seconds
        urls: set[str] = set()
        for number, each in enumerate(found):
            url = member(link.url, each.name)
            if url in urls:
                # Names may differ in what an address does not keep, or not at all.
                url = member(link.url, f"{each.name}/{number}")
            urls.add(url)
            kind = magic(each.body) or sniffed(each.body)
            headers = {"content-type": _TYPES.get(kind) or _TEXTS.get(kind, ""), **_robots(response)}
            file = Response(url, url, response.status, headers, each.body, response.at, taken_from=link.url)
            inner = Link(url, link.url, each.name, depth=link.depth)
            if each.failure is not None:
                file = replace(file, failure=each.failure, detail=each.detail)
            elif kind in _TYPES and time.monotonic() > until:
                file = replace(file, failure=Failure.READING_LIMIT, detail="the archive takes too long")
            elif kind in _TYPES:
                file = _readable(file, self._converted(each.body))
            yield Taken(inner, file)


def _readable(response: Response, found: Converted) -> Response:
    if found.failure is not None:
        return replace(response, failure=found.failure, detail=found.detail)
    if not found.type:
        return replace(response, failure=Failure.NESTED, detail="an archive inside an archive is not opened")
    return replace(response, readable=Readable(found.type, found.body))


def _robots(response: Response) -> Mapping[str, str]:
    """What the host asks of robots holds for all that is inside."""
    return {_ROBOTS: response.headers[_ROBOTS]} if _ROBOTS in response.headers else {}
