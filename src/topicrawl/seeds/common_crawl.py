"""Common Crawl index: recently crawled pages of a domain whose URLs contain words of the query.

The index contains URLs, but no text. A result is a URL on the domain with at least one word of the query. URLs with
more words rank higher.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from urllib.parse import urlencode

from topicrawl.models import Failure, Response
from topicrawl.seeds.provider import EngineAnswer, HttpGet, parse_hits, parse_json
from topicrawl.text.tokenizer import tokenise
from topicrawl.urls import canonicalize_url, get_host, get_origin

INDEX_LIST_URL = "https://index.commoncrawl.org/collinfo.json"
_MAX_LINES = 2000  # maximum number of index lines


class CommonCrawlProvider:
    """Search the newest Common Crawl index for URLs of one domain and its subdomains."""

    def __init__(self, get: HttpGet, domain: str, url: str = INDEX_LIST_URL) -> None:
        self._get = get
        self._domain = domain
        self._url = url

    @property
    def name(self) -> str:
        """Name of the provider, with the domain."""
        return f"commoncrawl:{self._domain}"

    async def search(self, query: str, count: int) -> Sequence[EngineAnswer]:
        """Return the URLs of the domain that contain most words of the query."""
        terms = list(dict.fromkeys(tokenise(query)))
        if not terms:
            return [EngineAnswer(self.name, trouble="the query has no words")]
        try:
            index = _get_newest_index(parse_json(await self._get(self._url, {})), self._url)
            response = await self._get(f"{index}?{self._build_query(terms)}", {})
            urls = [] if _is_empty_result(response) else _parse_urls(response)
        except ValueError as error:
            return [EngineAnswer(self.name, trouble=str(error))]
        scores = {url: sum(term in tokenise(url) for term in terms) for url in urls if self._is_in_domain(url)}
        best = sorted((url for url, score in scores.items() if score), key=lambda url: -scores[url])
        return [
            EngineAnswer(
                self.name, parse_hits(({"url": url} for url in best), count), "" if best else "no matching URLs"
            )
        ]

    def _build_query(self, terms: Sequence[str]) -> str:
        """Build the query string of an index request."""
        pattern = "|".join(map(re.escape, terms))
        fields = [
            ("url", self._domain),
            ("matchType", "domain"),
            ("output", "json"),
            ("fl", "url"),
            ("limit", _MAX_LINES),
        ]
        return urlencode([*fields, ("filter", "=status:200"), ("filter", f"~url:(?i).*({pattern}).*")])

    def _is_in_domain(self, url: str) -> bool:
        name = get_host(url).partition(":")[0]
        return name == self._domain or name.endswith(f".{self._domain}")


def _get_newest_index(indexes: object, list_url: str) -> str:
    """Return the URL of the newest index, which is the first in the list."""
    first = indexes[0] if isinstance(indexes, list) and indexes else None
    index = first.get("cdx-api") if isinstance(first, Mapping) else None
    url = canonicalize_url(index) if isinstance(index, str) else None
    if url is None or get_origin(url) != get_origin(list_url):
        raise ValueError("the list of indexes has no index on its own host")
    return url


def _is_empty_result(response: Response) -> bool:
    # The index server answers 404 if no page matches.
    return response.failure == Failure.NOT_FOUND


def _parse_urls(response: Response) -> list[str]:
    """Parse the URLs from a response with one JSON object per line."""
    if response.failure is not None:
        parse_json(response)
    urls: dict[str, None] = {}
    for line in response.body.decode("utf-8", "replace").splitlines()[:_MAX_LINES]:
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise ValueError("the response is not lines of JSON") from error
        url = canonicalize_url(row["url"]) if isinstance(row, Mapping) and isinstance(row.get("url"), str) else None
        if url is not None:
            urls[url] = None
    return list(urls)
