"""Client of a SearXNG metasearch server through its JSON API.

Each named engine is queried separately, so that its ranking and its failures are its own. Without names, one query goes
to the default engines of the server, whose results list the engines that found them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from urllib.parse import urlencode

from topicrawl.models import Failure, Response
from topicrawl.seeds.provider import EngineAnswer, HttpGet, clean_text, parse_hits, parse_json

_MAX_PAGES = 5  # maximum number of result pages


class SearxngProvider:
    """Query the engines of a SearXNG server. The operator must have enabled the format `json`."""

    def __init__(self, get: HttpGet, url: str, engines: Sequence[str] = ()) -> None:
        self._get = get
        self._url = url.rstrip("/")
        self._engines = tuple(engines)

    @property
    def name(self) -> str:
        """Name of the provider, with its engines or its URL."""
        return f"searxng ({', '.join(self._engines) or self._url})"

    async def search(self, query: str, count: int) -> Sequence[EngineAnswer]:
        """Return one answer per engine."""
        if not self._engines:
            return await self._search_default_engines(query, count)
        return await asyncio.gather(*(self._search_engine(engine, query, count) for engine in self._engines))

    async def _search_engine(self, engine: str, query: str, count: int) -> EngineAnswer:
        """Query one engine, page by page, until there are `count` hits or no more results.

        If a later page fails, the hits so far are the answer. If the first one fails, the answer contains the reason.
        """
        rows: list[object] = []
        for number in range(1, _MAX_PAGES + 1):
            try:
                page = _parse_page(
                    await self._request_page({"q": query, "format": "json", "engines": engine, "pageno": number})
                )
            except ValueError as error:
                # The results of earlier pages stay valid.
                return EngineAnswer(engine, parse_hits(rows, count), "" if rows else str(error))
            matching = [row for row in page[0] if engine in _get_engines(row)]
            if not rows and not matching:
                return EngineAnswer(engine, trouble=page[1].get(engine, "") or _describe_empty_answer(page[0]))
            rows += matching
            if len(parse_hits(rows, count)) >= count or not matching:
                break
        return EngineAnswer(engine, parse_hits(rows, count))

    async def _search_default_engines(self, query: str, count: int) -> list[EngineAnswer]:
        """Query the default engines of the server in one request."""
        try:
            rows, failures = _parse_page(await self._request_page({"q": query, "format": "json"}))
        except ValueError as error:
            return [EngineAnswer(f"searxng {self._url}", trouble=str(error))]
        by_engine: dict[str, list[object]] = {}
        for row in rows:
            for engine in sorted(_get_engines(row)):
                by_engine.setdefault(engine, []).append(row)
        answers = [
            EngineAnswer(engine, parse_hits(engine_rows, count)) for engine, engine_rows in sorted(by_engine.items())
        ]
        return answers + [
            EngineAnswer(name, trouble=reason) for name, reason in failures.items() if name not in by_engine
        ]

    async def _request_page(self, fields: Mapping[str, object]) -> Response:
        """Request a result page."""
        return await self._get(f"{self._url}/search?{urlencode(fields)}", {"Accept": "application/json"})


def _parse_page(response: Response) -> tuple[list[object], dict[str, str]]:
    """Parse a result page: the results, and engine → reason for engines that failed.

    Raise a one-line ValueError if the response is not a SearXNG result.
    """
    if response.failure == Failure.FORBIDDEN:
        raise ValueError(f"{response.failure}: the server does not return JSON (search.formats in its settings.yml)")
    table = parse_json(response)
    if not isinstance(table, Mapping) or not isinstance(table.get("results"), list):
        raise ValueError("the JSON is not a SearXNG response: there is no list of results")
    unresponsive = table.get("unresponsive_engines")
    rows = unresponsive if isinstance(unresponsive, list) else []
    pairs = [row for row in rows if isinstance(row, list) and len(row) > 1]
    return table["results"], {clean_text(row[0])[:50]: clean_text(row[1])[:200] or "no reason given" for row in pairs}


def _get_engines(row: object) -> set[str]:
    """Return the engines that found a result."""
    if not isinstance(row, Mapping):
        return set()
    several = row.get("engines")
    names = [*(several if isinstance(several, list) else []), row.get("engine")]
    return {name for word in names if (name := clean_text(word)[:50])}


def _describe_empty_answer(rows: Sequence[object]) -> str:
    """Return the reason for an empty answer of a named engine."""
    # A server replaces an unknown engine by its default engines.
    return "the server has no engine of this name" if rows else "no results"
