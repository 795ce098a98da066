"""The metasearch library `ddgs`: several engines without a key, read from the pages that they show to people.

It has an HTTP client of its own, which looks like a browser to the engines; they may refuse it at any time. It is an
extra (`pip install topicrawl[search]`), and it blocks, so that each question is asked on a thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from threading import Thread

from topicrawl.errors import SeedError
from topicrawl.seeds.provider import Answer, hits, plain

# These search one site, or something other than the web.
_NOT_THE_WEB = frozenset({"wikipedia", "grokipedia", "annasarchive"})
_NAMES = ("href", "title", "body")

#: engine, query, count → rows; raises whatever the library raises.
Ask = Callable[[str, str, int], Sequence[Mapping[str, object]]]


class Metasearch:
    """Engines by name, each asked by itself."""

    def __init__(self, ask: Ask, engines: Sequence[str], errors: tuple[type[Exception], ...] = ()) -> None:
        self._ask = ask
        self._engines = tuple(engines)
        self._errors: tuple[type[Exception], ...] = (
            *errors,
            OSError,
            ValueError,
            KeyError,
            TypeError,
            AttributeError,
            RuntimeError,
        )

    @property
    def name(self) -> str:
        return f"ddgs ({', '.join(self._engines)})"

    async def search(self, query: str, count: int) -> Sequence[Answer]:
        return await asyncio.gather(*(self._one(engine, query, count) for engine in self._engines))

    async def _one(self, engine: str, query: str, count: int) -> Answer:
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Answer] = loop.create_future()

        def settle(found: Answer) -> None:
            if not answer.done():
                answer.set_result(found)

        def work() -> None:
            found = self._told(engine, query, count)
            # Whoever asked may have gone by now, and its loop with it.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(settle, found)

        Thread(target=work, daemon=True, name=f"search {engine}").start()
        return await answer

    def _told(self, engine: str, query: str, count: int) -> Answer:
        try:
            found = hits(self._ask(engine, query, count), count, _NAMES)
        except self._errors as error:
            return Answer(engine, trouble=plain(str(error))[:200] or type(error).__name__)
        return Answer(engine, found, "" if found else "no results")


def installed() -> bool:
    """Whether the library is there; it is not loaded for that."""
    from importlib.util import find_spec

    return find_spec("ddgs") is not None


def ddgs(engines: Sequence[str] = (), *, seconds: float = 10.0, proxy: str = "") -> Metasearch:
    """The library's engines of these names; without names one engine of each index that it can read."""
    if not installed():
        raise SeedError("the engine ddgs needs a library: pip install 'topicrawl[search]'")
    from ddgs import DDGS
    from ddgs.engines import ENGINES
    from ddgs.exceptions import DDGSException

    known = {name: str(kind.provider) for name, kind in ENGINES["text"].items()}
    for name in engines:
        if name not in known:
            # The library itself would ask other engines instead.
            raise SeedError(f"ddgs has no engine {name!r}: it has {', '.join(sorted(known))}")

    def ask(engine: str, query: str, count: int) -> Sequence[Mapping[str, object]]:
        library = DDGS(proxy=proxy or None, timeout=max(1, int(seconds)))
        found: Sequence[Mapping[str, object]] = library.text(query, backend=engine, max_results=count)
        return found

    return Metasearch(ask, engines or independent(known), (DDGSException,))


def independent(indexes: Mapping[str, str]) -> list[str]:
    """One engine for each index of the web: two that show the same index are one opinion.

    >>> independent({"duckduckgo": "bing", "yahoo": "bing", "mojeek": "mojeek", "wikipedia": "wikipedia"})
    ['duckduckgo', 'mojeek']
    """
    first: dict[str, str] = {}
    for engine, index in sorted(indexes.items(), key=lambda item: (item[0] != item[1], item[0])):
        if index not in _NOT_THE_WEB:
            first.setdefault(index, engine)
    return sorted(first.values())
