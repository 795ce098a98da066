"""Who answers: the collections on this machine, or another server's; one protocol for both.

Each collection has a thread of its own, so that one that is slow holds up no other; indexing has one for all.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

from topicrawl.errors import CollectionError, DamagedError, TopicrawlError, UsageError
from topicrawl.search.answers import Feedback, Query
from topicrawl.search.feedback import Remembered
from topicrawl.search.index import NOTHING, Found, Index
from topicrawl.search.index_file import remove
from topicrawl.search.keeping import SLICE, Keeping, KeepingBeside, KeepingHere
from topicrawl.search.overlap import SKETCH
from topicrawl.search.query import parsed
from topicrawl.search.scoring import World

log = logging.getLogger("topicrawl")
T = TypeVar("T")
_PAUSE, _LONGEST_PAUSE = 1.0, 15.0  # seconds between two looks for new pages
_REST = 3.0  # times what the last look took: a crawl that writes does not keep its reader busy for ever


@dataclass(frozen=True, slots=True)
class Summary:
    """What a collection says before it is asked: how much it has of each part of a query."""

    name: str
    world: World
    feedback: tuple[Feedback, ...] = ()  # on queries like this one
    trouble: str = ""  # why it cannot be searched now


class Server(Protocol):
    """Somebody with collections, perhaps none. TopicrawlError: it does not answer."""

    @property
    def address(self) -> str:
        """ "" is this machine."""

    async def summaries(self, query: Query) -> Sequence[Summary]:
        """What each collection has."""

    async def search(self, query: Query, names: Sequence[str], world: World) -> dict[str, Found]:
        """The best pages of each collection that is named."""

    async def vector(self, url: str) -> dict[str, float]:
        """The strongest words of a page; empty when it is not here."""

    async def sketches(self) -> dict[str, tuple[int, Sequence[int]]]:
        """How many pages each collection has, and its sketch (see `overlap.py`)."""

    async def learn(self, feedback: Feedback) -> None:
        """Remember what was right and what was wrong."""


class Shelf:
    """One collection with its thread."""

    def __init__(self, directory: Path, name: str) -> None:
        self.directory, self.name = directory, name
        self.remembered = Remembered(directory)
        self._thread = ThreadPoolExecutor(1, f"search {name}")
        self._index: Index | None = None

    async def ask(self, question: Callable[[Index], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._answer, question)

    def _answer(self, question: Callable[[Index], T]) -> T:
        if self._index is not None and not self._index.is_current:
            self._drop()
        if self._index is None:
            self._index = Index(self.directory)
            self._index.name = self.name
        try:
            return question(self._index)
        except DamagedError as error:
            self._drop()
            remove(self.directory)
            raise CollectionError(f"{error}; it is being made again: ask once more") from error

    def _drop(self) -> None:
        if self._index is not None:
            self._index.close()
            self._index = None

    def close(self) -> None:
        self._thread.submit(self._drop).result()
        self._thread.shutdown()


class Here:
    """The collections on this machine. `close` when done; `keep_up` is a task for a server that runs on.

    Such a one has its indexes written by a process `beside` it, so that queries need not wait for that.
    """

    address = ""

    def __init__(self, directories: Sequence[Path], *, beside: bool = False) -> None:
        self.shelves: dict[str, Shelf] = {}
        for directory in directories:
            if not (directory / "topicrawl.sqlite").exists():
                raise CollectionError(f"{directory}: there is no crawl here")
            name = stem = directory.resolve().name
            number = 1
            while name in self.shelves:
                number += 1
                name = f"{stem}-{number}"
            self.shelves[name] = Shelf(directory, name)
        self._indexing = ThreadPoolExecutor(1, "indexing")
        self._keeping: Keeping = KeepingBeside() if beside else KeepingHere()
        self._closed = False

    async def summaries(self, query: Query) -> list[Summary]:
        return await asyncio.gather(*(self._summary(shelf, query) for shelf in self.shelves.values()))

    async def _summary(self, shelf: Shelf, query: Query) -> Summary:
        feedback = tuple(shelf.remembered.like(query.text)) if query.learned else ()
        parts = parsed(query)
        try:
            return Summary(shelf.name, await shelf.ask(lambda index: index.statistics(parts)), feedback)
        except CollectionError as error:
            return Summary(shelf.name, World(), feedback, str(error))

    async def alone(self, query: Query) -> tuple[Summary, Found] | None:
        """What the only collection has and finds, in one step; None: there are others, or something was learned."""
        if len(self.shelves) != 1:
            return None
        (shelf,) = self.shelves.values()
        if query.learned and shelf.remembered.like(query.text):
            return None
        try:
            world, found = await shelf.ask(lambda index: index.alone(query))
        except CollectionError as error:
            return Summary(shelf.name, World(), trouble=str(error)), NOTHING
        return Summary(shelf.name, world), found

    async def search(self, query: Query, names: Sequence[str], world: World) -> dict[str, Found]:
        unknown = [name for name in names if name not in self.shelves]
        if unknown:
            raise UsageError(f"there is no collection {unknown[0]!r} here")
        asked = (self.shelves[name].ask(lambda index: index.search(query, world)) for name in names)
        told = await asyncio.gather(*asked, return_exceptions=True)
        found: dict[str, Found] = {}
        for name, one in zip(names, told, strict=True):
            if isinstance(one, CollectionError):
                log.warning("cannot be searched now: %s", one)
            elif isinstance(one, BaseException):
                raise one
            else:
                found[name] = one
        return found

    async def vector(self, url: str) -> dict[str, float]:
        for shelf in self.shelves.values():
            if found := await shelf.ask(lambda index: index.vector(url)):
                return found
        return {}

    async def sketches(self) -> dict[str, tuple[int, Sequence[int]]]:
        asked = [shelf.ask(lambda index: index.sketch(SKETCH)) for shelf in self.shelves.values()]
        return dict(zip(self.shelves, await asyncio.gather(*asked), strict=True))

    async def learn(self, feedback: Feedback) -> None:
        for shelf in self.shelves.values():
            await asyncio.to_thread(shelf.remembered.add, feedback)

    async def catch_up(self, tick: Callable[[str, int], None] | None = None) -> int:
        """Index what is missing everywhere; returns how many pages were added. What another process indexes is not."""
        added = 0
        troubles: list[TopicrawlError] = []
        behind = list(self.shelves)
        while behind and not self._closed:
            for name in behind.copy():
                add, directory = self._keeping.add, self.shelves[name].directory
                new = 0
                try:
                    new = await asyncio.get_running_loop().run_in_executor(self._indexing, add, directory)
                except TopicrawlError as error:
                    troubles.append(error)  # the others have their turn first
                added += new
                if tick is not None and new:
                    tick(name, added)
                if new < SLICE:
                    behind.remove(name)  # what came meanwhile is for the next time
        for trouble in troubles:
            raise trouble
        return added

    async def keep_up(self, look: Callable[[], object] | None = None) -> None:
        """Index new pages as they come, until cancelled. A collection that fails is left alone and named in the log.

        `look` is called before, in a thread, and may add shelves.
        """
        while not self._closed:
            begun = time.monotonic()
            try:
                if look is not None:
                    await asyncio.to_thread(look)
                await self.catch_up()
            except TopicrawlError as error:
                log.warning("cannot be indexed now: %s", error)
            await asyncio.sleep(min(max(_PAUSE, _REST * (time.monotonic() - begun)), _LONGEST_PAUSE))

    async def close(self) -> None:
        self._closed = True
        self._keeping.stop()
        await asyncio.get_running_loop().run_in_executor(self._indexing, self._keeping.close)
        self._indexing.shutdown()
        for shelf in self.shelves.values():
            await asyncio.to_thread(shelf.close)
