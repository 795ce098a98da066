"""Prepare the pages of large collections when the server starts, so that their first requests are fast.

The first request for a page imports modules, compiles its template, reads the databases into memory, and computes
values of the collection that are kept (`CollectionCache`). For 50,000 pages this takes up to .3 s of CPU time.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator, MutableMapping
from typing import Any

from starlette.types import ASGIApp

from topicrawl.collection import queries
from topicrawl.errors import CollectionError, UsageError
from topicrawl.web.collections import CollectionRegistry
from topicrawl.web.page_table import SORTS
from topicrawl.web.site import encode_query, get_collection_path

log = logging.getLogger("topicrawl")


async def prepare_pages(app: ASGIApp, registry: CollectionRegistry, is_stopped: Callable[[], bool]) -> None:
    """Prepare the largest collections: their caches, then their pages. `is_stopped` is checked between the steps."""
    names = await asyncio.to_thread(registry.prepare_caches, is_stopped)
    paths = [path for name in names for path in await asyncio.to_thread(list_paths, registry, name)]
    for path in ["/", "/search?q=a", *paths] if paths else []:
        if is_stopped():
            return
        if (status := await request_path(app, path)) != 200:
            log.debug("warm-up: %s has the status %d", path, status)


def list_paths(registry: CollectionRegistry, name: str) -> list[str]:
    """Return the paths of the pages of a collection that are slow at first; none if it was removed or is damaged."""
    try:
        with registry.open_readonly(name) as opened:
            hosts = queries.count_pages_by_host(opened.store).most_common(1)
            visit = opened.store.query_rows("SELECT url FROM pages ORDER BY step LIMIT 1")
    except (CollectionError, UsageError):
        return []
    return list(_list_paths(name, hosts[0][0] if hosts else "", str(visit[0][0]) if visit else ""))


def _list_paths(name: str, host: str, url: str) -> Iterator[str]:
    base = get_collection_path(name)
    # The first pages that a user opens are the first ones here.
    yield from (base, f"{base}/review", f"{base}/pages", f"{base}/map", f"{base}/review/groups")
    yield f"{base}/host?{encode_query({'name': host})}"
    yield from (f"{base}/page?{encode_query({'url': url})}", f"{base}/why?{encode_query({'url': url})}")
    yield f"/compare?{encode_query({'name': name})}"
    yield from (f"{base}/pages?sort={sort}" for sort in (*SORTS, "-relevance"))
    yield from (
        f"{base}/pages?{choice}" for choice in ("show=relevant", "show=reviewed", "show=failed", "verdict=none")
    )
    yield from (
        f"{base}/review/agreement",
        f"{base}/teach",
        f"{base}/settings",
        f"/search?{encode_query({'like': url})}",
    )


async def request_path(app: ASGIApp, path: str) -> int:
    """Send a GET request to the application itself. Return the status of the response."""
    statuses: list[int] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    place, _, query = path.partition("?")
    scope: dict[str, Any] = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": place,
        "raw_path": place.encode(),
        "root_path": "",
        "query_string": query.encode(),
        "headers": [(b"host", b"localhost")],
        "client": None,
        "server": None,
    }
    await app(scope, receive, send)
    return statuses[0] if statuses else 500
