"""Search for the web page: the collections that are served, and other servers; indexes follow the crawls."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from topicrawl.search import Here, Server
from topicrawl.search.index_file import FILE
from topicrawl.search.servers import Shelf
from topicrawl.web.shelves import Shelves

_PATIENCE = 3.0  # seconds that the first visitor may have to wait for large indexes
_SHORT = 0.5  # seconds within which queries do not look again: a look opens every collection


@dataclass
class Finder:
    """Who is asked: the collections here, as they come, and the servers that were named."""

    shelves: Shelves
    peers: Sequence[Server] = ()
    here: Here = field(default_factory=lambda: Here([]))
    _looked: float = float("-inf")

    async def asked(self) -> list[Server]:
        """The same, for a query; a look beside the others, and not for each."""
        if time.monotonic() - self._looked > _SHORT:
            await asyncio.to_thread(self._look)
        return [self.here, *self.peers]

    def servers(self) -> list[Server]:
        """All who may answer now."""
        self._look()
        return [self.here, *self.peers]

    def _look(self) -> None:
        """Take in collections that were made since."""
        self._looked = time.monotonic()
        for name, directory in self.shelves.all().items():
            if name not in self.here.shelves:
                self.here.shelves[name] = Shelf(directory, name)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Indexes are open when this begins, if that is soon done, and kept up to date for as long as it lasts."""
        await asyncio.to_thread(self._look)
        known = [shelf for shelf in self.here.shelves.values() if (shelf.directory / FILE).exists()]
        with suppress(TimeoutError):
            async with asyncio.timeout(_PATIENCE):
                # What stands against it is told to whoever asks.
                await asyncio.gather(*(shelf.ask(lambda index: index.pages) for shelf in known), return_exceptions=True)
        task = asyncio.create_task(self.here.keep_up(self._look))
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await self.here.close()
