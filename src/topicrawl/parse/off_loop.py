"""Parse costly pages outside the event loop, in a child process with limits on time and memory.

A page of 256 KB takes up to 60 ms, and blocks all other fetches for that time, so larger pages are parsed in the child
process. So are pages with many tags: the limits of the process also bound defects of the parser that only malformed
markup reveals.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Self

import msgspec
from msgspec.structs import replace

from topicrawl.documents.messages import ConversionLimits, ConvertedDocument
from topicrawl.documents.worker import MAX_REQUESTS, DocumentWorker
from topicrawl.models import Failure, Link, Page, ParsedResponse, ReadableDocument, Response
from topicrawl.parse.charset import MAX_SOURCE_BYTES
from topicrawl.parse.child_process import ParseOptions, ParseRequest
from topicrawl.parse.page_serialization import UNPACK_ERRORS, decode_page
from topicrawl.text.bag_of_words import VocabularyCache

#: A larger body is parsed in the child process.
MAX_BODY_BYTES = 256 << 10
#: A body with more tags is parsed in the child process, unless it is short: 64 KB of tags take less than 20 ms.
MAX_TAGS = 4_000
SHORT_BODY_BYTES = 64 << 10
#: CPU time for one page. The slowest page takes a second.
MAX_CPU_SECONDS = 10.0


class SubprocessPageParser:
    """Parse pages in a child process, which is started on demand and replaced after `max_requests` pages."""

    def __init__(
        self,
        vocabularies: VocabularyCache,
        options: ParseOptions | None = None,
        limits: ConversionLimits | None = None,
        *,
        max_requests: int = MAX_REQUESTS,
    ) -> None:
        self._vocabularies = vocabularies
        self.options = options or ParseOptions()
        limits = limits or ConversionLimits(cpu_seconds=MAX_CPU_SECONDS)
        self._worker = DocumentWorker(limits, "topicrawl.parse.child_process", max_requests=max_requests)
        self._thread = ThreadPoolExecutor(1, "parser")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop the child process; a running request is aborted."""
        self._worker.stop()
        self._thread.shutdown(cancel_futures=True)
        self._worker.close()

    @staticmethod
    def is_costly(response: Response) -> bool:
        """Return whether a response must be parsed outside the event loop."""
        if response.failure is not None:
            return False
        body = response.body if response.readable is None else response.readable.body
        if len(body) <= SHORT_BODY_BYTES:
            return False
        return len(body) > MAX_BODY_BYTES or body.count(b"<") > MAX_TAGS

    async def parse_page(self, response: Response, link: Link) -> ParsedResponse:
        """Parse a response without blocking the event loop. A page that exceeds the limits gives a failure.

        `link` is the link that led to the response.
        """
        loop = asyncio.get_running_loop()
        result = await loop.run_in_executor(self._thread, self._request_page, response)
        # The vocabularies belong to the thread of the event loop. Decoding the largest page takes 40 ms.
        return self._decode_result(result, response, link)

    def _request_page(self, response: Response) -> ConvertedDocument:
        """Send a response to the child process and wait for the result."""
        # The rest of the response, such as its redirects, has no influence on the page.
        readable = response.readable
        essential = Response(
            response.url,
            response.final_url,
            response.status,
            response.headers,
            response.body[:MAX_SOURCE_BYTES] if readable is None else b"",
            archive_url=response.archive_url,
            readable=ReadableDocument(readable.type, readable.body[:MAX_SOURCE_BYTES]) if readable else None,
        )
        return self._worker.convert(msgspec.msgpack.encode(ParseRequest(essential, self.options)))

    def _decode_result(self, result: ConvertedDocument, response: Response, link: Link) -> ParsedResponse:
        """Return the page in a result, or the response with the failure."""
        failure, detail = result.failure, result.detail
        if failure is None:
            try:
                page = decode_page(result.body, link.depth + 1, self._vocabularies)
            except UNPACK_ERRORS as error:
                failure, detail = Failure.UNPARSED, f"the parser process sent an invalid page ({type(error).__name__})"
            else:
                if isinstance(page, Page):
                    return ParsedResponse(response, page)
                failure, detail = page, f"content type {response.content_type or 'unknown'}"
        return ParsedResponse(replace(response, failure=failure, detail=detail))
