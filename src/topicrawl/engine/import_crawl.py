"""Import the captures of web archives: copy them into a recording, and visit its pages with the crawl loop."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import NamedTuple

from topicrawl.collection.warc import build_capture
from topicrawl.documents.file_types import detect_type, may_be_document
from topicrawl.engine.crawl import Crawl
from topicrawl.engine.limits import StopReason
from topicrawl.errors import RecordingError
from topicrawl.fetch.record_stream import Capture, iterate_captures
from topicrawl.fetch.replay import Recording
from topicrawl.fetch.warc_reader import CONVERSION_PREFIX, DamagedRecord, parse_fields, split_http_block
from topicrawl.frontier.base import Offer
from topicrawl.models import Link, Priority, Visit, parse_media_type
from topicrawl.urls import canonicalize_url

#: Score of the imported links. No strategy gives a link such a score, so that only imported links are leased.
IMPORT_SCORE = 1e6
_MAX_ROUNDS = 100
#: Media types of files that belong to pages and are no pages.
_ASSET_TYPES = (
    *("image/", "video/", "audio/", "font/", "application/font", "application/json", "application/wasm"),
    *("text/css", "text/javascript", "application/javascript", "application/x-javascript"),
)


class CopiedCaptures(NamedTuple):
    """Result of copying the captures of archive files."""

    pages: int  # captures that may be pages
    others: int  # captures that are no pages: errors, redirects, images, scripts
    damage: str  # one line about files that could only be read in part; "": none


def copy_captures(files: Sequence[Path], folder: Path, *, max_bytes: int) -> CopiedCaptures:
    """Copy the captures that may be pages into one WARC file in `folder`, each in its own gzip member.

    Raise `RecordingError` if no file contains a page.
    """
    pages = others = 0
    random, problems = Random(), list[str]()
    with (folder / "import.warc.gz").open("wb") as out:
        for path in files:
            try:
                for capture in iterate_captures(path, max_bytes=max_bytes):
                    if not is_page_capture(capture):
                        others += capture.kind != "conversion"
                        continue
                    pages += capture.kind != "conversion"
                    kind, content_type = capture.kind, capture.content_type
                    out.write(
                        build_capture(
                            kind, capture.url, capture.at, capture.block, content_type=content_type, random=random
                        )
                    )
            except RecordingError as error:
                problems.append(str(error))
    if not pages:
        raise RecordingError(problems[0] if problems else f"{files[0]} contains no captures of pages")
    return CopiedCaptures(pages, others, "; ".join(problems))


def is_page_capture(capture: Capture) -> bool:
    """Return whether a capture may be a page: a successful response with a URL, and no image, script or style.

    The converted text that our archives have for documents and rendered pages belongs to a page.

    >>> is_page_capture(Capture("resource", "http://a.org/", 0.0, "text/html", b"<p>"))
    True
    >>> is_page_capture(Capture("response", "http://a.org/", 0.0, "", b"HTTP/1.1 404 No"))
    False
    """
    if capture.kind == "conversion":
        return capture.url.startswith(CONVERSION_PREFIX)
    url = canonicalize_url(capture.url)
    if url is None or url.endswith("/robots.txt"):
        return False
    media_type = capture.content_type
    body, is_encoded = capture.block, False
    if capture.kind == "response":
        head, body = split_http_block(capture.block)
        words = head.partition(b"\n")[0].split(None, 2)
        if len(words) < 2 or words[1][:1] != b"2":
            return False
        try:
            fields = parse_fields(head)
        except DamagedRecord:
            return False
        media_type = fields.get("content-type", "")
        is_encoded = "content-encoding" in fields or "transfer-encoding" in fields
    media_type = parse_media_type(media_type)
    if not media_type.startswith(_ASSET_TYPES):
        return True
    # As in a live crawl, documents and pages with these labels are recognised by their first bytes.
    return not is_encoded and may_be_document(media_type) and detect_type(body, media_type) != ""


@dataclass(frozen=True)
class ImportCrawl:
    """A crawl over a recording. Iterate with `async for visit in imported.visits()`."""

    crawl: Crawl
    recording: Recording

    async def visits(self) -> AsyncIterator[Visit]:
        """Visit the pages of the recording that the crawl does not have yet."""
        crawl, frontier = self.crawl, self.crawl.context.frontier
        # The recording is finite. A demoted link would be leased again, because its score stays above the minimum.
        crawl.limits = replace(crawl.limits, min_score=IMPORT_SCORE / 2, checks_leases=False)
        urls = list(self.recording)
        await frontier.add([Offer(Link(url), Priority(IMPORT_SCORE)) for url in urls])
        for _ in range(_MAX_ROUNDS):
            waiting = [url for url in urls if (entry := await frontier.get_entry(url)) and entry.state == "waiting"]
            if not waiting:
                return
            # A link that was known before, or that the strategy has scored again meanwhile, has a lower score.
            await frontier.rescore(dict.fromkeys(waiting, IMPORT_SCORE))
            async for visit in crawl.visits():
                yield visit
            if crawl.stop_reason not in (StopReason.MIN_SCORE, StopReason.EMPTY):
                return
