"""Fetch single pages politely into a folder that is a recorded web, such as examples or pages of browsing sessions.

Pages that the folder contains are not fetched again, so that a second start fetches only the missing ones.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from topicrawl import parse
from topicrawl.collection.archive import WarcArchive
from topicrawl.documents.reader import SubprocessDocumentReader
from topicrawl.errors import RecordingError
from topicrawl.fetch.replay import Recording, list_warc_files
from topicrawl.models import STORAGE_DIRECTIVES, FetchFunction, Link, Page, Response

_CONCURRENT_FETCHES = 8  # concurrent fetches
_MAX_REDIRECTS = 5  # maximum number of redirects that the polite fetcher returned because the host was busy


@dataclass
class PageArchiver:
    """Fetch pages and store them in the archive of a folder."""

    folder: Path
    fetch: FetchFunction
    documents: SubprocessDocumentReader | None = None  # converts PDF and other documents

    async def fetch_missing(self, urls: Iterable[str]) -> int:
        """Fetch and archive the pages that are not in the archive yet. Return the number of archived pages.

        Pages that cannot be fetched or parsed, or that have a noindex or noarchive directive, are not archived.
        """
        archive = _open_archive(self.folder)
        try:
            recorded = _get_recorded_urls(self.folder)
            semaphore = asyncio.Semaphore(_CONCURRENT_FETCHES)

            async def fetch_one(url: str) -> bool:
                async with semaphore:
                    return await self._archive_page(url, archive)

            missing = [url for url in dict.fromkeys(urls) if url not in recorded]
            return sum(await asyncio.gather(*map(fetch_one, missing)))
        finally:
            archive.close()

    async def _archive_page(self, url: str, archive: WarcArchive) -> bool:
        """Fetch a page and store it. Return whether it is stored."""
        response = await self._fetch_page(url)
        if self.documents is not None and self.documents.is_document(response):
            response, _ = await self.documents.unpack_document(response, Link(url))
        page = parse.parse_response(response, Link(url), context=False)
        if not isinstance(page, Page) or not page.directives.isdisjoint(STORAGE_DIRECTIVES):
            return False
        archive.write_fetch(response)
        return True

    async def _fetch_page(self, url: str) -> Response:
        """Fetch a page and follow redirects that the fetcher did not follow. The response may have a failure."""
        response = await self.fetch(Link(url))
        for _ in range(_MAX_REDIRECTS):
            if not response.is_unfollowed_redirect:
                break
            response = await self.fetch(Link(response.final_url))
        return response


def _open_archive(folder: Path) -> WarcArchive:
    """Open the archive of the folder. An archive damaged by a killed process is emptied."""
    archive = WarcArchive(folder)
    try:
        is_torn = bool(Recording(folder).damage)
    except RecordingError:
        is_torn = folder.exists() and bool(_list_warc_files(folder))
    if is_torn:
        archive.truncate_after(None)
    return archive


def _get_recorded_urls(folder: Path) -> frozenset[str]:
    """Return the URLs in the archive."""
    return frozenset(Recording(folder)) if _list_warc_files(folder) else frozenset()


def _list_warc_files(folder: Path) -> list[Path]:
    """Return the WARC files of the folder, or an empty list."""
    try:
        return list_warc_files(folder)
    except RecordingError:
        return []
