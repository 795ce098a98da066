"""Brave's search API: an index of its own, for whoever has a key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import urlencode

from topicrawl.seeds.provider import Answer, Get, hits, told

URL = "https://api.search.brave.com/res/v1/web/search"
_MOST = 20  # results of a page, by the rules of the API
_PAGES = 5  # of results that are turned, at the most


class Brave:
    """Asks with a key, which goes into a header and nowhere else."""

    name = "brave"

    def __init__(self, get: Get, key: str, url: str = URL) -> None:
        self._get = get
        self._headers = {"Accept": "application/json", "X-Subscription-Token": key}
        self._url = url

    async def search(self, query: str, count: int) -> Sequence[Answer]:
        rows: list[object] = []
        for number in range(_PAGES):
            fields = {"q": query, "count": min(count, _MOST), "offset": number}
            try:
                page = _results(told(await self._get(f"{self._url}?{urlencode(fields)}", self._headers)))
            except ValueError as error:
                return [Answer(self.name, hits(rows, count, _NAMES), "" if rows else str(error))]
            rows += page
            if not page or len(rows) >= count:
                break
        found = hits(rows, count, _NAMES)
        return [Answer(self.name, found, "" if found else "no results")]


_NAMES = ("url", "title", "description")


def _results(table: object) -> list[object]:
    if not isinstance(table, Mapping):
        raise ValueError("JSON, but not Brave's: not a table")
    web = table.get("web", {"results": []})
    rows = web.get("results") if isinstance(web, Mapping) else None
    if not isinstance(rows, list):
        raise ValueError("JSON, but not Brave's: there is no list of results")
    return rows
