"""Handlers of the JSON API, which `openapi.py` describes."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from functools import wraps
from time import time
from typing import Any

from msgspec import to_builtins
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from topicrawl.collection import annotations as annotation_log
from topicrawl.collection.annotations import clean_annotator
from topicrawl.errors import CollectionError, TopicrawlError, UsageError
from topicrawl.urls import canonicalize_url
from topicrawl.web import crawl_figures, page_view
from topicrawl.web.actions import save_commands, save_verdict
from topicrawl.web.collections import NotFoundError
from topicrawl.web.openapi import build_schema
from topicrawl.web.security import BodyTooLargeError
from topicrawl.web.site import RequestForm, Site, build_error_response, page_endpoint

_MAX_ROWS = 200  # rows of a response
_MAX_URLS = 1000  # URLs of a request


class JsonBody:
    """A JSON request body whose fields are validated when they are read."""

    def __init__(self, raw: bytes) -> None:
        try:
            value = json.loads(raw or b"{}")
        except (ValueError, RecursionError) as error:
            raise UsageError("the body is not JSON") from error
        if not isinstance(value, dict):
            raise UsageError("the body must be a JSON object")
        self._fields: dict[str, Any] = value

    @property
    def fields(self) -> dict[str, Any]:
        """All fields, not validated."""
        return self._fields

    def has_field(self, name: str) -> bool:
        """Whether a field is present and not empty."""
        return bool(self._fields.get(name))

    def get_text(self, name: str, default: str = "") -> str:
        """Return a string field, or the default. Raise `UsageError` if it is no string or too long."""
        value = self._fields.get(name, default)
        if not isinstance(value, str) or len(value) > 4000:
            raise UsageError(f"{name} must be a string of at most 4000 characters")
        return value

    def get_names(self, name: str) -> list[str]:
        """Return a field that is a string or a list of strings. Raise `UsageError` if it is neither or too long."""
        value = self._fields[name]
        names = [value] if isinstance(value, str) else value
        if not isinstance(names, list) or not 0 < len(names) <= _MAX_URLS:
            raise UsageError(f"{name} must be a string, or a list of 1 to {_MAX_URLS} strings")
        if not all(isinstance(item, str) and len(item) <= 4000 for item in names):
            raise UsageError(f"{name} must contain strings of at most 4000 characters")
        return names

    def get_number(self, name: str, default: float) -> float:
        """Return a numeric field, or the default. Raise `UsageError` if it is not a number or too large."""
        value = self._fields.get(name, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 1e9:
            raise UsageError(f"{name} must be a number")
        return float(value)

    def get_urls(self, name: str) -> list[str]:
        """Return a field that is a list of URLs, in canonical form. Raise `UsageError` if it is missing or invalid."""
        values = self._fields.get(name)
        if not isinstance(values, list) or not 0 < len(values) <= _MAX_URLS:
            raise UsageError(f"{name} must be a list of 1 to {_MAX_URLS} web addresses")
        urls = [canonicalize_url(value) if isinstance(value, str) else None for value in values]
        if None in urls:
            raise UsageError(f"{str(values[urls.index(None)])[:80]!r} is not a web address")
        return [url for url in urls if url is not None]


def json_endpoint(function: Callable[[Site, Request, JsonBody], Response]) -> Callable[[Request], Any]:
    """Make an endpoint of a function that takes a JSON body; run it in a thread and convert errors to responses."""

    @wraps(function)
    async def endpoint(request: Request) -> Response:
        site: Site = request.app.state.site
        try:
            body = JsonBody(await request.body())
            return await run_in_threadpool(function, site, request, body)
        except (TopicrawlError, BodyTooLargeError) as error:
            return build_error_response(site, request, error)

    return endpoint


@page_endpoint
def get_schema(site: Site, request: Request, form: RequestForm) -> Response:
    """Return the OpenAPI description of the API."""
    return JSONResponse(build_schema())


@page_endpoint
def list_collections(site: Site, request: Request, form: RequestForm) -> Response:
    """Return the figures of all collections."""
    rows = []
    for name in site.collections.list_directories():
        try:
            with site.collections.open_readonly(name) as opened:
                rows.append(_figures_to_dict(opened))
        except CollectionError as error:
            rows.append({"name": name, "error": str(error)})
    return JSONResponse({"collections": rows})


@page_endpoint
def get_collection(site: Site, request: Request, form: RequestForm) -> Response:
    """Return the figures, failures, hosts and feedback state of one collection."""
    with site.collections.open_readonly(request.path_params["name"]) as opened:
        return JSONResponse(
            {
                **_figures_to_dict(opened),
                "failures": crawl_figures.count_failures(opened),
                "hosts": dict(crawl_figures.list_hosts(opened, 50)),
                "heeded": crawl_figures.get_feedback_state(opened) or None,
                "pending": crawl_figures.count_pending(opened),
            }
        )


def _figures_to_dict(opened: Any) -> dict[str, Any]:
    figures = crawl_figures.get_figures(opened)
    return {**asdict(figures), "harvest": figures.harvest}


@page_endpoint
def list_next_links(site: Site, request: Request, form: RequestForm) -> Response:
    """Return the best waiting links with the parts of their scores."""
    with site.collections.open_readonly(request.path_params["name"]) as opened:
        count = form.get_integer("count", 20, minimum=1, maximum=_MAX_ROWS)
        return JSONResponse(to_builtins(crawl_figures.NextLinks(crawl_figures.list_next_links(opened, count))))


@page_endpoint
def list_pages(site: Site, request: Request, form: RequestForm) -> Response:
    """Return pages, newest first."""
    before, count = (
        form.get_integer("before", 0, maximum=1 << 40),
        form.get_integer("count", 50, minimum=1, maximum=_MAX_ROWS),
    )
    with site.collections.open_readonly(request.path_params["name"]) as opened:
        rows = opened.store.query_rows(
            "SELECT step, url, relevance, at FROM visits WHERE failure IS NULL AND (? = 0 OR step < ?)"
            " ORDER BY step DESC LIMIT ?",
            (before, before, count),
        )
        return JSONResponse(
            {"pages": [dict(zip(("step", "url", "relevance", "at"), row, strict=True)) for row in rows]}
        )


@page_endpoint
def get_page(site: Site, request: Request, form: RequestForm) -> Response:
    """Return the text of a page and the path from a seed to it."""
    url = form.get_url()
    with site.collections.open_readonly(request.path_params["name"]) as opened:
        visit = opened.store.find_visit(url)
        if visit is None:
            raise NotFoundError(f"{url} is not in {opened.name}")
        view = page_view.build_stored_view(opened.archive, visit, opened.topic)
        steps = crawl_figures.trace_path(opened, visit)
        return JSONResponse(
            {
                "url": visit.url,
                "title": view.title,
                "language": view.language,
                "relevance": visit.relevance,
                "failure": visit.failure,
                "text": "\n".join("".join(text for text, _ in paragraph) for paragraph in view.paragraphs),
                "path": [{"url": step.url, "anchor": step.anchor, "score": step.score} for step in steps],
            }
        )


@json_endpoint
def add_verdict(site: Site, request: Request, body: JsonBody) -> Response:
    """Add a verdict on pages. Return the number of the action. Unknown pages are an error (400)."""
    name, urls, by = request.path_params["name"], body.get_urls("urls"), clean_annotator(body.get_text("by"))
    return JSONResponse({"act": save_verdict(site, name, urls, body.get_text("verdict"), annotator=by)})


@json_endpoint
def undo_verdict(site: Site, request: Request, body: JsonBody) -> Response:
    """Undo an action, or the last one. Return its pages with the restored verdicts; empty if nothing was undone."""
    number = int(body.get_number("action", 0))
    with site.collections.open_store(request.path_params["name"]) as store:
        if number:
            rows = annotation_log.undo_action(store, number, at=time())
        else:
            rows = annotation_log.undo_last_action(store, at=time())
    return JSONResponse({"pages": [{"url": row.url, "verdict": row.label} for row in rows]})


@json_endpoint
def send_command(site: Site, request: Request, body: JsonBody) -> Response:
    """Send a command to a crawl. Return the numbers of the stored commands."""
    name = request.path_params["name"]
    numbers = save_commands(
        site, name, body.get_text("kind"), body.get_text("target"), str(body.get_number("amount", 1.0))
    )
    return JSONResponse({"orders": numbers})
