"""Collections with given texts, and a server for them on loopback."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from aiohttp import web

from topicrawl.collection.directory import Collection
from topicrawl.errors import UsageError
from topicrawl.fetch.guard import networks
from topicrawl.fetch.settings import HttpSettings
from topicrawl.records import Link, Page, Place, Response, Visit
from topicrawl.search import Here, reply
from topicrawl.topic import Topic

START = 1_700_000_000.0
LOOPBACK = HttpSettings(allow=networks(["127.0.0.0/8"]))


def made(directory: Path, texts: Iterable[tuple[str, str, str]], *, first: int = 1, is_changed: bool = False) -> Path:
    """A collection, or more pages of one: (address, title, text)."""
    with Collection(directory, Topic.of("owls"), {"identity": {"strategy": "best_first"}}) as collection:
        found = []
        for step, (url, title, text) in enumerate(texts, first):
            at = START + 86_400 * step + is_changed
            body = f"<title>{title}</title><p>{text}</p>".encode()
            response = Response(url, url, 200, {"content-type": "text/html"}, body, at)
            page = Page(url, title, text=text, language="en", digest=f"{abs(hash_of(text)):032x}")
            found.append((Visit(step, Link(url), Place(0.5), url, page, 0.5, None, at, 200), response, None))
        if is_changed:
            collection.store.add([collection.version(*row) for row in found])
        else:
            collection.keep(found)
    return directory


def hash_of(text: str) -> int:
    return int.from_bytes(text.encode()[:12].ljust(12), "big") + len(text)


def owls(number: int, *words: str) -> tuple[str, str, str]:
    return f"http://www.a.example/{number}", f"Page {number}", " ".join(words)


@asynccontextmanager
async def served(here: Here, log: list[str] | None = None) -> AsyncIterator[str]:
    """What a server offers to its peers; the log tells what it was asked."""

    async def answer(request: web.Request) -> web.Response:
        operation = request.match_info["operation"]
        table = await request.json()
        if log is not None:
            log.append(f"{operation} {' '.join(table.get('names', ()))}".strip())
        try:
            return web.json_response(await reply(here, operation, table))
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


def as_json(table: Mapping[str, object]) -> object:
    return json.loads(json.dumps(table))
