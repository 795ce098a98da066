"""Example pages and the pages that link to them, read from the live web before a crawl, as a recorded web.

Safran et al. 2012, III D: a crawler that is trained on links to example pages needs the first five pages that link to
each. Engines are asked who names an example, and what they name is read with all manners; whether it does link there
shows when it is read. Pages stay in the crawl's directory, so that a second start reads only what is missing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from pathlib import Path

from topicrawl import parse
from topicrawl.collection.archive import Archive
from topicrawl.collection.told import PARENTS, Told
from topicrawl.documents.reading import Documents
from topicrawl.errors import RecordingError
from topicrawl.fetch.replay import Recording, warc_files
from topicrawl.fetch.status import REDIRECTS
from topicrawl.records import Fetch, Link, Page, Response
from topicrawl.seeds import questions
from topicrawl.seeds.provider import Answer

FOLDER = "examples"
_EXAMPLES = 50  # of each kind
_AT_ONCE = 8  # pages
_MOVED = 5  # times that a page may lead on to a host that was asked a moment ago


@dataclass
class Gathering:
    """Reads pages and who links to them into a folder of the crawl's directory."""

    directory: Path
    fetch: Fetch
    ask: Callable[[str], Awaitable[Sequence[Answer]]]  # a query → what engines answer
    told: Told
    most: int  # examples that engines are asked about, those of earlier starts included
    documents: Documents | None = None  # who makes PDF and the like readable

    async def read(self, relevant: Sequence[str], irrelevant: Sequence[str]) -> Path | None:
        """The folder that holds what could be read; None: nothing could."""
        place = self.directory / FOLDER
        pairs = zip_longest(relevant[:_EXAMPLES], irrelevant[:_EXAMPLES])
        urls = list(dict.fromkeys(url for url in chain.from_iterable(pairs) if url is not None))
        archive = _archive(place)
        try:
            await self._take(urls, place, archive)
            for url in urls:
                if self.told.parents(url) is None and self.told.asked(PARENTS) < self.most:
                    found = questions.parents(await self.ask(questions.who_links_to(url)), url)
                    self.told.keep(PARENTS, url, found)
            await self._take([parent for url in urls for parent in self.told.parents(url) or ()], place, archive)
        finally:
            archive.close()
        return place if (place / "warc").exists() else None

    async def _take(self, urls: Iterable[str], place: Path, archive: Archive) -> None:
        """Fetch and archive the pages that are not there yet."""
        known = _recorded(place)
        free = asyncio.Semaphore(_AT_ONCE)

        async def one(url: str) -> None:
            async with free:
                response = await self._answer(url)
                if self.documents is not None and self.documents.wanted(response):
                    response, _ = await self.documents.unfolded(response, Link(url))
            page = parse.read(response, Link(url), context=False)
            if isinstance(page, Page) and "noindex" not in page.directives:
                archive.write(response)

        await asyncio.gather(*(one(url) for url in dict.fromkeys(urls) if url not in known))

    async def _answer(self, url: str) -> Response:
        response = await self.fetch(Link(url))
        for _ in range(_MOVED):
            if response.failure is not None or response.status not in REDIRECTS:
                break
            response = await self.fetch(Link(response.final_url))
        return response


def _archive(place: Path) -> Archive:
    """The folder's archive; one that a kill has torn begins anew."""
    archive = Archive(place)
    try:
        is_torn = bool(Recording(place).torn)
    except RecordingError:
        is_torn = place.exists() and bool(_files(place))
    if is_torn:
        archive.cut(None)
    return archive


def _recorded(place: Path) -> frozenset[str]:
    return frozenset(Recording(place)) if _files(place) else frozenset()


def _files(place: Path) -> list[Path]:
    try:
        return warc_files(place)
    except RecordingError:
        return []
