"""Fetch example pages and their backlinks from the live web before a crawl, as a recorded web.

Safran et al. 2012, III D: a crawler that is trained on links to example pages needs the first five pages that link to
each. Search engines return pages that mention the URL of an example. These pages are fetched politely; parsing them
shows whether they contain the link. The pages stay in the crawl's directory, so that a second start fetches only the
missing ones.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from pathlib import Path

from topicrawl.documents.reader import SubprocessDocumentReader
from topicrawl.models import FetchFunction
from topicrawl.seeds import page_queries
from topicrawl.seeds.page_archiver import PageArchiver
from topicrawl.seeds.provider import EngineAnswer
from topicrawl.seeds.search_engine_cache import BACKLINKS, SearchEngineCache

EXAMPLES_FOLDER = "examples"
_MAX_EXAMPLES = 50  # maximum number of each kind


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
        archiver = PageArchiver(folder, self.fetch, self.documents)
        await archiver.fetch_missing(urls)
        for url in urls:
            if self.cache.get_backlinks(url) is None and self.cache.count_queries(BACKLINKS) < self.max_queries:
                backlinks = page_queries.extract_backlinks(
                    await self.query_engines(page_queries.build_backlink_query(url)), url
                )
                self.cache.store_answer(BACKLINKS, url, backlinks)
        await archiver.fetch_missing(parent for url in urls for parent in self.cache.get_backlinks(url) or ())
        return folder if (folder / "warc").exists() else None
