"""Fetch example pages and their backlinks from the live web before a crawl, as a recorded web.

Safran et al. 2012, III D: a crawler that is trained on links to example pages needs the first five pages that link to
each. Search engines return pages that mention the URL of an example. These pages are fetched politely; parsing them
shows whether they contain the link. The pages stay in the crawl's directory, so that a second start fetches only the
missing ones.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from pathlib import Path

from topicrawl import parse
from topicrawl.collection.archive import WarcArchive
from topicrawl.documents.reader import SubprocessDocumentReader
from topicrawl.errors import RecordingError
from topicrawl.fetch.replay import Recording, list_warc_files
from topicrawl.models import STORAGE_DIRECTIVES, FetchFunction, Link, Page, Response
from topicrawl.seeds import page_queries
from topicrawl.seeds.provider import EngineAnswer
from topicrawl.seeds.search_engine_cache import BACKLINKS, SearchEngineCache

EXAMPLES_FOLDER = "examples"
_MAX_EXAMPLES = 50  # maximum number of each kind
_CONCURRENT_FETCHES = 8  # concurrent fetches
_MAX_REDIRECTS = 5  # maximum number of redirects that the polite fetcher returned because the host was busy


@dataclass
class ExampleFetcher:
    """Fetch example pages and their backlinks into a folder of the crawl's directory."""

    directory: Path
    fetch: FetchFunction
    query_engines: Callable[[str], Awaitable[Sequence[EngineAnswer]]]  # query → answers of the engines
    cache: SearchEngineCache
    max_queries: int  # maximum number of examples whose backlinks are queried, including earlier starts
    documents: SubprocessDocumentReader | None = None  # converts PDF and other documents

    async def fetch_examples(self, relevant: Sequence[str], irrelevant: Sequence[str]) -> Path | None:
        """Fetch the examples and their backlinks. Return the folder, or None if no page could be fetched."""
        folder = self.directory / EXAMPLES_FOLDER
        pairs = zip_longest(relevant[:_MAX_EXAMPLES], irrelevant[:_MAX_EXAMPLES])
        urls = list(dict.fromkeys(url for url in chain.from_iterable(pairs) if url is not None))
        archive = _open_archive(folder)
        try:
            await self._fetch_missing(urls, folder, archive)
            for url in urls:
                if self.cache.get_backlinks(url) is None and self.cache.count_queries(BACKLINKS) < self.max_queries:
                    backlinks = page_queries.extract_backlinks(
                        await self.query_engines(page_queries.build_backlink_query(url)), url
                    )
                    self.cache.store_answer(BACKLINKS, url, backlinks)
            await self._fetch_missing(
                [parent for url in urls for parent in self.cache.get_backlinks(url) or ()], folder, archive
            )
        finally:
            archive.close()
        return folder if (folder / "warc").exists() else None

    async def _fetch_missing(self, urls: Iterable[str], folder: Path, archive: WarcArchive) -> None:
        """Fetch and archive the pages that are not in the archive yet.

        Pages that cannot be fetched or parsed, or that have a noindex or noarchive directive, are not archived.
        """
        recorded = _get_recorded_urls(folder)
        semaphore = asyncio.Semaphore(_CONCURRENT_FETCHES)

        async def fetch_one(url: str) -> None:
            async with semaphore:
                response = await self._fetch_page(url)
                if self.documents is not None and self.documents.is_document(response):
                    response, _ = await self.documents.unpack_document(response, Link(url))
            page = parse.parse_response(response, Link(url), context=False)
            if isinstance(page, Page) and page.directives.isdisjoint(STORAGE_DIRECTIVES):
                archive.write_fetch(response)

        await asyncio.gather(*(fetch_one(url) for url in dict.fromkeys(urls) if url not in recorded))

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
