"""Common Crawl's index: the pages of a domain that were crawled lately, as far as their addresses say the words.

It knows addresses and no texts: a result is an address on the domain with at least one of the words in it, and those
with more of them come first.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from urllib.parse import urlencode

from topicrawl.records import Failure, Response
from topicrawl.seeds.provider import Answer, Get, hits, told
from topicrawl.text.tokens import words
from topicrawl.urls import canonical, host, origin

URL = "https://index.commoncrawl.org/collinfo.json"
_LINES = 2000  # of the index that are read


class CommonCrawl:
    """The newest index of the list, asked for one domain and the domains below it."""

    def __init__(self, get: Get, domain: str, url: str = URL) -> None:
        self._get = get
        self._domain = domain
        self._url = url

    @property
    def name(self) -> str:
        return f"commoncrawl:{self._domain}"

    async def search(self, query: str, count: int) -> Sequence[Answer]:
        terms = list(dict.fromkeys(words(query)))
        if not terms:
            return [Answer(self.name, trouble="the query has no words")]
        try:
            index = _newest(told(await self._get(self._url, {})), self._url)
            response = await self._get(f"{index}?{self._fields(terms)}", {})
            found = [] if _is_nothing(response) else _lines(response)
        except ValueError as error:
            return [Answer(self.name, trouble=str(error))]
        scores = {url: sum(term in words(url) for term in terms) for url in found if self._has(url)}
        best = sorted((url for url, score in scores.items() if score), key=lambda url: -scores[url])
        return [Answer(self.name, hits(({"url": url} for url in best), count), "" if best else "no such addresses")]

    def _fields(self, terms: Sequence[str]) -> str:
        pattern = "|".join(map(re.escape, terms))
        asked = [("url", self._domain), ("matchType", "domain"), ("output", "json"), ("fl", "url"), ("limit", _LINES)]
        return urlencode([*asked, ("filter", "=status:200"), ("filter", f"~url:(?i).*({pattern}).*")])

    def _has(self, url: str) -> bool:
        name = host(url).partition(":")[0]
        return name == self._domain or name.endswith(f".{self._domain}")


def _newest(listed: object, asked: str) -> str:
    """The address of the newest index; the list names the newest first."""
    first = listed[0] if isinstance(listed, list) and listed else None
    index = first.get("cdx-api") if isinstance(first, Mapping) else None
    url = canonical(index) if isinstance(index, str) else None
    if url is None or origin(url) != origin(asked):
        raise ValueError("the list of indexes names none on its own host")
    return url


def _is_nothing(response: Response) -> bool:
    # No page of this kind is a 404 there.
    return response.failure == Failure.NOT_FOUND


def _lines(response: Response) -> list[str]:
    """The addresses in an answer of one JSON object a line."""
    if response.failure is not None:
        told(response)
    found: dict[str, None] = {}
    for line in response.body.decode("utf-8", "replace").splitlines()[:_LINES]:
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise ValueError("no lines of JSON, as an index answers") from error
        url = canonical(row["url"]) if isinstance(row, Mapping) and isinstance(row.get("url"), str) else None
        if url is not None:
            found[url] = None
    return list(found)
