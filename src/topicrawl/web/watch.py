"""Live updates of the home page and of the page of a collection: server-sent events with the changed parts."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from topicrawl.errors import TopicrawlError
from topicrawl.web.home import build_home_values
from topicrawl.web.pages import build_collection_values
from topicrawl.web.site import Site, build_error_response

_INTERVAL = 1.5  # seconds between two checks
_SHORT_INTERVAL = 0.4  # while a command or verdict of the user is pending
_KEEP_ALIVE_CHECKS = 10  # checks without a change until a comment keeps the connection open
#: Changing parts: id of the element → block of the template.
_PARTS = {"now": "now", "coming": "coming", "asked": "asked_hosts", "failed": "failed"}


def _build_parts(site: Site, name: str) -> dict[str, Any]:
    """Return the changing parts of the page: HTML by element id, the curve, and the state for the title."""
    with site.collections.open_readonly(name) as opened:
        values = build_collection_values(site, opened)
    template = site.templates.get_template("collection.html")
    context = template.new_context(values)
    parts = {part: "".join(template.blocks[block](context)) for part, block in _PARTS.items()}
    followed = site.templates.get_template("followed.html").render(**values)
    figures = values["it"]
    return {
        "parts": {**parts, "heeded": followed},
        "curve": values["curve"],
        "state": {"words": figures.words, "on": figures.crawling and not figures.paused, "pages": figures.pages},
        "pending": figures.changing or bool(figures.crawling and values["pending"]),
    }


def _select_changes(sent: dict[str, Any], built: dict[str, Any]) -> dict[str, Any]:
    """Return what differs from the values that were sent, and remember it."""
    parts = {part: html for part, html in built["parts"].items() if sent.get(part) != html}
    changes: dict[str, Any] = {"parts": parts} if parts else {}
    sent.update(parts)
    for name in ("curve", "state"):
        if name in built and sent.get(name) != built[name]:
            sent[name] = changes[name] = built[name]
    return changes


def _build_home_parts(site: Site) -> dict[str, Any]:
    """Return the changing part of the home page."""
    template = site.templates.get_template("collections.html")
    return {"parts": {"collections": template.render(**build_home_values(site))}, "pending": False}


async def stream_changes(request: Request) -> Response:
    """Send the changed parts of the page of a collection as server-sent events, until the browser closes the page."""
    site: Site = request.app.state.site
    name = str(request.path_params["name"])
    return await _stream(site, request, lambda: _build_parts(site, name))


async def stream_collections(request: Request) -> Response:
    """Send the changed parts of the home page as server-sent events, until the browser closes the page."""
    site: Site = request.app.state.site
    return await _stream(site, request, lambda: _build_home_parts(site))


async def _stream(site: Site, request: Request, build: Callable[[], dict[str, Any]]) -> Response:
    """Send what changes in the parts that `build` returns."""
    try:
        first = await run_in_threadpool(build)
    except TopicrawlError as error:
        return build_error_response(site, request, error)

    async def generate() -> AsyncIterator[str]:
        sent: dict[str, Any] = {}
        built, quiet = first, 0
        while True:
            changes = _select_changes(sent, built)
            quiet = 0 if changes else quiet + 1
            if changes:
                yield f"data: {json.dumps(changes)}\n\n"
            elif quiet % _KEEP_ALIVE_CHECKS == 0:
                yield ": alive\n\n"
            await asyncio.sleep(_SHORT_INTERVAL if built["pending"] else _INTERVAL)
            try:
                built = await run_in_threadpool(build)
            except TopicrawlError:
                return  # the collection was removed or cannot be read; the browser asks again

    return StreamingResponse(generate(), media_type="text/event-stream")
