"""Search service of the web application: local collections with updated indexes, and remote servers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from topicrawl.search import LocalServer, SearchServer
from topicrawl.search.index_file import has_index
from topicrawl.search.servers import CollectionSearcher
from topicrawl.web.collections import CollectionRegistry

_OPEN_TIMEOUT = 3.0  # seconds to wait for large indexes to open when the server starts
_REFRESH_INTERVAL = 0.5  # seconds between two checks for new collections, because a check opens every collection


@dataclass
class SearchService:
    """The servers to search: the local server, which adds new collections, and the configured peers."""

    collections: CollectionRegistry
    peers: Sequence[SearchServer] = ()
    local_server: LocalServer = field(default_factory=lambda: LocalServer([]))
    _refreshed_at: float = float("-inf")

    async def get_servers(self) -> list[SearchServer]:
        """Return the servers for a query; check for new collections in a thread, but not for every query."""
        if time.monotonic() - self._refreshed_at > _REFRESH_INTERVAL:
            await asyncio.to_thread(self._add_new_collections)
        return [self.local_server, *self.peers]

    def refresh_servers(self) -> list[SearchServer]:
        """Check for new collections and return all servers."""
        self._add_new_collections()
        return [self.local_server, *self.peers]

    def _add_new_collections(self) -> None:
        """Add the collections that were created since the last call to the local server."""
        self._refreshed_at = time.monotonic()
        for name, directory in self.collections.list_directories().items():
            if name not in self.local_server.searchers:
                self.local_server.searchers[name] = CollectionSearcher(directory, name)

    @asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        """Open the existing indexes, with a time limit, and keep all indexes updated while the context is active."""
        await asyncio.to_thread(self._add_new_collections)
        indexed = [searcher for searcher in self.local_server.searchers.values() if has_index(searcher.index_directory)]
        with suppress(TimeoutError):
            async with asyncio.timeout(_OPEN_TIMEOUT):
                # Queries report the errors of an index, so they are ignored here.
                openings = (searcher.run_on_index(lambda index: index.page_count) for searcher in indexed)
                await asyncio.gather(*openings, return_exceptions=True)
        task = asyncio.create_task(self.local_server.keep_updated(self._add_new_collections))
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await self.local_server.close()
