"""Create collections with given texts, and serve them on the loopback interface."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from aiohttp import web

from topicrawl.collection.directory import Collection
from topicrawl.errors import UsageError
from topicrawl.fetch.guard import parse_networks
from topicrawl.fetch.http_settings import HttpSettings
from topicrawl.models import Link, Page, Priority, Response, Visit
from topicrawl.search import LocalServer, handle_request
from topicrawl.topic import Topic
from topicrawl.urls import fingerprint

START = 1_700_000_000.0
LOOPBACK = HttpSettings(allowed_networks=parse_networks(["127.0.0.0/8"]))


def create_collection(
    directory: Path, texts: Iterable[tuple[str, str, str]], *, first: int = 1, is_changed: bool = False
) -> Path:
    """Create a collection of pages given as (URL, title, text), or add pages to it.

    `first` is the step of the first page. With `is_changed`, the pages are new versions of pages in the collection.
    """
    with Collection(directory, Topic.of("owls"), {"identity": {"strategy": "best_first"}}) as collection:
        rows = []
        for step, (url, title, text) in enumerate(texts, first):
            at = START + 86_400 * step + is_changed
            body = f"<title>{title}</title><p>{text}</p>".encode()
            response = Response(url, url, 200, {"content-type": "text/html"}, body, at)
            page = Page(url, title, text=text, language="en", digest=f"{abs(hash_text(text)):032x}")
            rows.append((Visit(step, Link(url), Priority(0.5), url, page, 0.5, None, at, 200), response, None))
        if is_changed:
            collection.store.add_visits([collection.archive_version(*row) for row in rows])
        else:
            collection.store_visits(rows)
    return directory


def hash_text(text: str) -> int:
    """Return a number that is the same for the same text in every process."""
    return fingerprint(text)


def make_page(number: int, *words: str) -> tuple[str, str, str]:
    """Return URL, title and text of a page with the given words."""
    return f"http://www.a.example/{number}", f"Page {number}", " ".join(words)


def create_wide_collection(directory: Path) -> Path:
    """Create a collection in whose titles six prefixes of three letters match 500 words each: baa…, bab… to baf…."""
    pages = []
    for number, prefix in enumerate(f"ba{letter}" for letter in "abcdef"):
        words = [f"{prefix}{chr(97 + at // 26)}{chr(97 + at % 26)}x" for at in range(500)]
        pages.append((f"http://www.a.example/{number}", " ".join(words), prefix))
    return create_collection(directory, pages)


@asynccontextmanager
async def serve_peer_api(server: LocalServer, log: list[str] | None = None) -> AsyncIterator[str]:
    """Serve the peer API of a server and yield its address; append the requests to `log`."""

    async def answer(request: web.Request) -> web.Response:
        operation = request.match_info["operation"]
        table = await request.json()
        if log is not None:
            log.append(f"{operation} {' '.join(table.get('names', ()))}".strip())
        try:
            return web.json_response(await handle_request(server, operation, table))
        except UsageError as error:
            return web.json_response({"error": str(error)}, status=400)

    application = web.Application()
    application.router.add_post("/api/peer/{operation}", answer)
    runner = web.AppRunner(application)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()
        await asyncio.sleep(0)


def round_trip_json(table: Mapping[str, object]) -> object:
    """Encode a value as JSON and decode it again."""
    return json.loads(json.dumps(table))
