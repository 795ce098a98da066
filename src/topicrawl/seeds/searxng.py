"""SearXNG: a metasearch server of one's own or of a friend, asked for JSON.

Each engine is asked by itself, so that its order is its own and its failure is its own. Without names, the server asks
its usual engines at once and says of each result who found it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from urllib.parse import urlencode

from topicrawl.records import Failure, Response
from topicrawl.seeds.provider import Answer, Get, hits, plain, told

_PAGES = 5  # of results that are turned, at the most


class Searxng:
    """The engines of a SearXNG server; its operator must have allowed the format `json`."""

    def __init__(self, get: Get, url: str, engines: Sequence[str] = ()) -> None:
        self._get = get
        self._url = url.rstrip("/")
        self._engines = tuple(engines)

    @property
    def name(self) -> str:
        return f"searxng ({', '.join(self._engines) or self._url})"

    async def search(self, query: str, count: int) -> Sequence[Answer]:
        if not self._engines:
            return await self._all(query, count)
        return await asyncio.gather(*(self._one(engine, query, count) for engine in self._engines))

    async def _one(self, engine: str, query: str, count: int) -> Answer:
        """One engine's results, page by page."""
        rows: list[object] = []
        for number in range(1, _PAGES + 1):
            try:
                page = _page(await self._asked({"q": query, "format": "json", "engines": engine, "pageno": number}))
            except ValueError as error:
                # What the first pages said stands.
                return Answer(engine, hits(rows, count), "" if rows else str(error))
            own = [row for row in page[0] if engine in _finders(row)]
            if not rows and not own:
                return Answer(engine, trouble=page[1].get(engine, "") or _unknown(page[0]))
            rows += own
            if len(hits(rows, count)) >= count or not own:
                break
        return Answer(engine, hits(rows, count))

    async def _all(self, query: str, count: int) -> list[Answer]:
        """Whatever the server asks, shared out to the engines that found it."""
        try:
            rows, silent = _page(await self._asked({"q": query, "format": "json"}))
        except ValueError as error:
            return [Answer(f"searxng {self._url}", trouble=str(error))]
        found: dict[str, list[object]] = {}
        for row in rows:
            for engine in sorted(_finders(row)):
                found.setdefault(engine, []).append(row)
        answers = [Answer(engine, hits(own, count)) for engine, own in sorted(found.items())]
        return answers + [Answer(name, trouble=why) for name, why in silent.items() if name not in found]

    async def _asked(self, fields: Mapping[str, object]) -> Response:
        return await self._get(f"{self._url}/search?{urlencode(fields)}", {"Accept": "application/json"})


def _page(response: Response) -> tuple[list[object], dict[str, str]]:
    """The results of a page, and which engines said nothing, with the reason."""
    if response.failure == Failure.FORBIDDEN:
        raise ValueError(f"{response.failure}: the server does not give JSON (search.formats in its settings.yml)")
    table = told(response)
    if not isinstance(table, Mapping) or not isinstance(table.get("results"), list):
        raise ValueError("JSON, but not SearXNG's: there is no list of results")
    silent = table.get("unresponsive_engines")
    pairs = [row for row in silent if isinstance(row, list) and len(row) > 1] if isinstance(silent, list) else []
    return table["results"], {plain(row[0])[:50]: plain(row[1])[:200] or "no reason given" for row in pairs}


def _finders(row: object) -> set[str]:
    """The engines that found a result."""
    if not isinstance(row, Mapping):
        return set()
    several = row.get("engines")
    names = [*(several if isinstance(several, list) else []), row.get("engine")]
    return {name for word in names if (name := plain(word)[:50])}


def _unknown(rows: Sequence[object]) -> str:
    # A server that does not know a name asks its usual engines instead.
    return "the server has no engine of this name" if rows else "no results"
