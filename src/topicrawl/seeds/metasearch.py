"""Search with the metasearch library `ddgs`: several engines without a key, read from their HTML result pages.

The library has its own HTTP client, which imitates a browser; the engines may refuse it at any time. It is an extra
(`pip install topicrawl[search]`). Its calls block, so each query runs in a thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from threading import Thread

from topicrawl.errors import SeedError
from topicrawl.seeds.provider import EngineAnswer, clean_text, parse_hits

# These engines search a single site, or not the web.
_EXCLUDED_INDEXES = frozenset({"wikipedia", "grokipedia", "annasarchive"})
_FIELDS = ("href", "title", "body")

#: (engine, query, count) → result rows. It may raise any error of the library.
QueryFunction = Callable[[str, str, int], Sequence[Mapping[str, object]]]


class MetasearchProvider:
    """Search provider that queries several engines through the library `ddgs`, each in a thread of its own.

    An error of one engine is its answer; the other engines are still queried.
    """

    def __init__(
        self, run_query: QueryFunction, engines: Sequence[str], errors: tuple[type[Exception], ...] = ()
    ) -> None:
        self._run_query = run_query
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
        """Name of the provider, with its engines."""
        return f"ddgs ({', '.join(self._engines)})"

    async def search(self, query: str, count: int) -> Sequence[EngineAnswer]:
        """Query all engines at the same time. Return one answer per engine; a failed one contains the reason."""
        return await asyncio.gather(*(self._search_engine(engine, query, count) for engine in self._engines))

    async def _search_engine(self, engine: str, query: str, count: int) -> EngineAnswer:
        """Query one engine in a daemon thread."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[EngineAnswer] = loop.create_future()

        def set_answer(result: EngineAnswer) -> None:
            if not answer.done():
                answer.set_result(result)

        def run_query() -> None:
            result = self._query_engine(engine, query, count)
            # The event loop of the caller may be closed by now.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(set_answer, result)

        Thread(target=run_query, daemon=True, name=f"search {engine}").start()
        return await answer

    def _query_engine(self, engine: str, query: str, count: int) -> EngineAnswer:
        """Query one engine (blocking). An error becomes part of the answer."""
        try:
            results = parse_hits(self._run_query(engine, query, count), count, _FIELDS)
        except self._errors as error:
            return EngineAnswer(engine, trouble=clean_text(str(error))[:200] or type(error).__name__)
        return EngineAnswer(engine, results, "" if results else "no results")


def is_installed() -> bool:
    """Return whether the library is installed, without importing it."""
    from importlib.util import find_spec

    return find_spec("ddgs") is not None


def build_ddgs_provider(engines: Sequence[str] = (), *, timeout: float = 10.0, proxy: str = "") -> MetasearchProvider:
    """Create a provider for some engines of the library, or without names for one engine of each index.

    Raise `SeedError` if the library is not installed or has no engine of that name.
    """
    if not is_installed():
        raise SeedError("the engine ddgs needs a library: pip install 'topicrawl[search]'")
    from ddgs import DDGS
    from ddgs.engines import ENGINES
    from ddgs.exceptions import DDGSException

    indexes = {name: str(kind.provider) for name, kind in ENGINES["text"].items()}
    for name in engines:
        if name not in indexes:
            # The library would silently query other engines.
            raise SeedError(f"ddgs has no engine {name!r}: it has {', '.join(sorted(indexes))}")

    def run_query(engine: str, query: str, count: int) -> Sequence[Mapping[str, object]]:
        library = DDGS(proxy=proxy or None, timeout=max(1, int(timeout)))
        rows: Sequence[Mapping[str, object]] = library.text(query, backend=engine, max_results=count)
        return rows

    return MetasearchProvider(run_query, engines or select_independent_engines(indexes), (DDGSException,))


def select_independent_engines(indexes: Mapping[str, str]) -> list[str]:
    """Return one engine of each web index. Two engines with the same index would count as one vote.

    >>> select_independent_engines(
    ...     {"duckduckgo": "bing", "yahoo": "bing", "mojeek": "mojeek", "wikipedia": "wikipedia"}
    ... )
    ['duckduckgo', 'mojeek']
    """
    first: dict[str, str] = {}
    for engine, index in sorted(indexes.items(), key=lambda item: (item[0] != item[1], item[0])):
        if index not in _EXCLUDED_INDEXES:
            first.setdefault(index, engine)
    return sorted(first.values())
