"""Resources of rendered pages: which requests of a page are sent, their limits and a cache."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias

from topicrawl.models import Failure, Response
from topicrawl.urls import canonicalize_url, get_host

#: Sends a request for a page, with additional headers: `fetch(url, page_url, headers)`.
FetchResource: TypeAlias = Callable[[str, str, Mapping[str, str]], Awaitable[Response]]

#: Types of requests that are sent. Everything else, such as images, frames and fonts, has no influence on the text.
SENT_TYPES = frozenset({"Script", "XHR", "Fetch"})
#: Limits of one page.
MAX_REQUESTS = 200
MAX_TOTAL_BYTES = 32 << 20
#: Headers of a request that the browser or the crawler sets itself, and those that would name the user.
_OWN_HEADERS = frozenset(
    {
        *("accept-charset", "accept-encoding", "accept-language", "connection", "content-length", "cookie", "date"),
        *("dnt", "expect", "host", "keep-alive", "origin", "referer", "te", "trailer", "transfer-encoding", "upgrade"),
        *("upgrade-insecure-requests", "user-agent", "via", "x-client-data"),
        *("access-control-request-headers", "access-control-request-method"),
    }
)
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
_MAX_HEADERS = 30
_MAX_HEADER_BYTES = 4096


class ResourceLimit(Exception):
    """The page has reached a limit of its requests."""


class ResourceCache:
    """Cache of the resources of all pages in a run, bounded in bytes. The oldest entries are removed first."""

    def __init__(self, max_bytes: int = 64 << 20) -> None:
        self._responses: OrderedDict[str, Response] = OrderedDict()
        self._free = max_bytes

    def get(self, key: str) -> Response | None:
        """Return a cached response, or None."""
        return self._responses.get(key)

    def add(self, key: str, response: Response) -> None:
        """Add a response, unless it failed or must not be cached."""
        control = response.headers.get("cache-control", "").lower()
        if response.failure is not None or "no-store" in control or "private" in control or key in self._responses:
            return
        self._responses[key] = response
        self._free -= len(response.body)
        while self._free < 0:
            self._free += len(self._responses.popitem(last=False)[1].body)


class PageResources:
    """Resources of one page. `fetch` sends the requests; the cache answers those without headers of their own."""

    def __init__(self, page_url: str, fetch: FetchResource, cache: ResourceCache) -> None:
        self._page_url, self._fetch, self._cache = page_url, fetch, cache
        self._requests = 0
        self._bytes = 0

    async def load(self, url: str, headers: Mapping[str, str]) -> Response:
        """Return the response for a request of the page. Raise `ResourceLimit` above a limit of the page."""
        target = canonicalize_url(url)
        if target is None:
            return Response(url, url, failure=Failure.BAD_REDIRECT, detail="not an http or https URL")
        self._requests += 1
        if self._requests > MAX_REQUESTS or self._bytes > MAX_TOTAL_BYTES:
            raise ResourceLimit
        wanted = select_headers(headers)
        is_plain = not any(name.lower() != "accept" for name in wanted)
        is_same_host = get_host(target) == get_host(self._page_url)
        # Requests for pages of the same host may have credentials, whose answers other pages must not see.
        key = f"{get_host(target) if is_same_host else ''} {target}"
        response = self._cache.get(key) if is_plain else None
        if response is None:
            origin = headers.get("Origin") or headers.get("origin")
            if origin and not is_same_host:
                wanted["Origin"] = origin
            response = await self._fetch(target, self._page_url, wanted)
            if is_plain and "origin" not in response.headers.get("vary", "").lower():
                self._cache.add(key, response)
        self._bytes += len(response.body)
        return response


def select_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the headers that a script has set, which a server may need to answer, and the accepted types.

    >>> select_headers({"Accept": "*/*", "X-App": "1", "Cookie": "a=b", "sec-ch-ua": "Chromium", "User-Agent": "x"})
    {'Accept': '*/*', 'X-App': '1'}
    """
    selected: dict[str, str] = {}
    for name, value in headers.items():
        lowered = name.lower()
        if lowered in _OWN_HEADERS or lowered.startswith(("sec-", "proxy-")) or not _HEADER_NAME.fullmatch(name):
            continue
        if len(value) <= _MAX_HEADER_BYTES and len(selected) < _MAX_HEADERS:
            selected[name] = value
    return selected
