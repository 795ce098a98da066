"""The same for programs: JSON in, JSON out. `openapi.py` describes it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from functools import wraps
from time import time
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from topicrawl.collection import report, verdicts
from topicrawl.errors import CollectionError, TopicrawlError, UsageError
from topicrawl.urls import canonical
from topicrawl.web import figures, reader
from topicrawl.web.actions import obeyed, ruled
from topicrawl.web.openapi import described
from topicrawl.web.safety import TooMuch
from topicrawl.web.shelves import Unknown
from topicrawl.web.site import Form, Site, shown, told

_MOST = 200  # rows of an answer
_URLS = 1000  # of a request


class Body:
    """A JSON object whose fields are asked for by their kinds."""

    def __init__(self, raw: bytes) -> None:
        try:
            value = json.loads(raw or b"{}")
        except (ValueError, RecursionError) as error:
            raise UsageError("the body is not JSON") from error
        if not isinstance(value, dict):
            raise UsageError("the body must be a JSON object")
        self._fields: dict[str, Any] = value

    @property
    def table(self) -> dict[str, Any]:
        """All of it, for those who look for themselves."""
        return self._fields

    def has(self, name: str) -> bool:
        return bool(self._fields.get(name))

    def text(self, name: str, default: str = "") -> str:
        value = self._fields.get(name, default)
        if not isinstance(value, str) or len(value) > 4000:
            raise UsageError(f"{name} must be a text of at most 4000 characters")
        return value

    def number(self, name: str, default: float) -> float:
        value = self._fields.get(name, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 1e9:
            raise UsageError(f"{name} must be a number")
        return float(value)

    def addresses(self, name: str) -> list[str]:
        values = self._fields.get(name)
        if not isinstance(values, list) or not 0 < len(values) <= _URLS:
            raise UsageError(f"{name} must be a list of 1 to {_URLS} web addresses")
        found = [canonical(value) if isinstance(value, str) else None for value in values]
        if None in found:
            raise UsageError(f"{str(values[found.index(None)])[:80]!r} is not a web address")
        return [url for url in found if url is not None]


def changed(function: Callable[[Site, Request, Body], Response]) -> Callable[[Request], Any]:
    """An endpoint that takes JSON."""

    @wraps(function)
    async def endpoint(request: Request) -> Response:
        site: Site = request.app.state.site
        try:
            body = Body(await request.body())
            return await run_in_threadpool(function, site, request, body)
        except (TopicrawlError, TooMuch) as error:
            return told(site, request, error)

    return endpoint


@shown
def schema(site: Site, request: Request, form: Form) -> Response:
    """What this interface is."""
    return JSONResponse(described())


@shown
def collections(site: Site, request: Request, form: Form) -> Response:
    """All collections."""
    found = []
    for name in site.shelves.all():
        try:
            with site.shelves.opened(name) as opened:
                found.append(_figures(opened))
        except CollectionError as error:
            found.append({"name": name, "error": str(error)})
    return JSONResponse({"collections": found})


@shown
def collection(site: Site, request: Request, form: Form) -> Response:
    """One collection."""
    with site.shelves.opened(request.path_params["name"]) as opened:
        return JSONResponse({
            **_figures(opened),
            "failures": report.failures(opened.store),
            "hosts": dict(figures.hosts(opened, 50)),
            "heeded": figures.heeded(opened) or None,
            "pending": figures.pending(opened),
        })  # fmt: skip


def _figures(opened: Any) -> dict[str, Any]:
    found = figures.figures(opened)
    return {**asdict(found), "harvest": found.harvest}


@shown
def coming(site: Site, request: Request, form: Form) -> Response:
    """The best links that wait, with what their scores are made of."""
    with site.shelves.opened(request.path_params["name"]) as opened:
        count = form.number("count", 20, least=1, most=_MOST)
        return JSONResponse({"links": [asdict(link) for link in figures.coming(opened, count)]})


@shown
def pages(site: Site, request: Request, form: Form) -> Response:
    """Pages, the newest first."""
    before, count = form.number("before", 0, most=1 << 40), form.number("count", 50, least=1, most=_MOST)
    with site.shelves.opened(request.path_params["name"]) as opened:
        rows = opened.store.rows(
            "SELECT step, url, relevance, at FROM visits WHERE failure IS NULL AND (? = 0 OR step < ?)"
            " ORDER BY step DESC LIMIT ?",
            (before, before, count),
        )
        return JSONResponse(
            {"pages": [dict(zip(("step", "url", "relevance", "at"), row, strict=True)) for row in rows]}
        )


@shown
def page(site: Site, request: Request, form: Form) -> Response:
    """One page as text, and how it was reached."""
    url = form.address()
    with site.shelves.opened(request.path_params["name"]) as opened:
        visit = opened.store.visit_of(url)
        if visit is None:
            raise Unknown(f"{url} is not in {opened.name}")
        view = reader.stored_view(opened.archive, visit, opened.topic)
        steps = figures.path_to(opened, visit)
        return JSONResponse({
            "url": visit.url, "title": view.title, "language": view.language, "relevance": visit.relevance,
            "failure": visit.failure,
            "text": "\n".join("".join(text for text, _ in paragraph) for paragraph in view.paragraphs),
            "path": [{"url": step.url, "anchor": step.anchor, "score": step.score} for step in steps],
        })  # fmt: skip


@changed
def rule(site: Site, request: Request, body: Body) -> Response:
    """A verdict on pages."""
    act = ruled(site, request.path_params["name"], body.addresses("urls"), body.text("verdict"), "read")
    return JSONResponse({"act": act})


@changed
def undo(site: Site, request: Request, body: Body) -> Response:
    """Take the last act back."""
    with site.shelves.written(request.path_params["name"]) as store:
        rows = verdicts.undo(store, at=time())
    return JSONResponse({"pages": [{"url": row.url, "verdict": row.verdict} for row in rows]})


@changed
def order(site: Site, request: Request, body: Body) -> Response:
    """Tell a crawl something."""
    name = request.path_params["name"]
    numbers = obeyed(site, name, body.text("kind"), body.text("target"), str(body.number("amount", 1.0)))
    return JSONResponse({"orders": numbers})
