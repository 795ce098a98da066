"""Client of the Brave search API, which has its own index and requires a key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import urlencode

from topicrawl.seeds.provider import EngineAnswer, HttpGet, parse_hits, parse_json

API_URL = "https://api.search.brave.com/res/v1/web/search"
_PAGE_SIZE = 20  # results per page, the maximum of the API
_MAX_PAGES = 5  # maximum number of result pages


class BraveProvider:
    """Query the Brave API. The key is sent only in a request header."""

    name = "brave"

    def __init__(self, get: HttpGet, key: str, url: str = API_URL) -> None:
        self._get = get
        self._headers = {"Accept": "application/json", "X-Subscription-Token": key}
        self._url = url

    async def search(self, query: str, count: int) -> Sequence[EngineAnswer]:
        """Return the first results of a query."""
        rows: list[object] = []
        for number in range(_MAX_PAGES):
            fields = {"q": query, "count": min(count, _PAGE_SIZE), "offset": number}
            try:
                page = _parse_results(parse_json(await self._get(f"{self._url}?{urlencode(fields)}", self._headers)))
            except ValueError as error:
                return [EngineAnswer(self.name, parse_hits(rows, count, _FIELDS), "" if rows else str(error))]
            rows += page
            if not page or len(rows) >= count:
                break
        results = parse_hits(rows, count, _FIELDS)
        return [EngineAnswer(self.name, results, "" if results else "no results")]


_FIELDS = ("url", "title", "description")


def _parse_results(table: object) -> list[object]:
    if not isinstance(table, Mapping):
        raise ValueError("the JSON is not a Brave response: not an object")
    web = table.get("web", {"results": []})
    rows = web.get("results") if isinstance(web, Mapping) else None
    if not isinstance(rows, list):
        raise ValueError("the JSON is not a Brave response: there is no list of results")
    return rows
