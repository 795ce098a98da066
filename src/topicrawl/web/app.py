"""The Starlette application and its routes."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from threading import Event
from typing import Any

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import PathLike, StaticFiles
from starlette.types import ExceptionHandler, Scope

from topicrawl.search import LocalServer, SearchServer
from topicrawl.web import (
    actions,
    api,
    collection_settings,
    compare,
    crawl_api,
    home,
    page_table,
    pages,
    review,
    review_api,
    search,
    teach,
    url_sharing_api,
    warm_up,
    watch,
)
from topicrawl.web.collections import CollectionRegistry
from topicrawl.web.crawl_processes import CrawlProcesses
from topicrawl.web.search_service import SearchService
from topicrawl.web.security import AsgiApp, SecurityMiddleware
from topicrawl.web.site import STATIC_FOLDER, Site, hash_static_file

_CACHE_FOREVER = "public, max-age=31536000, immutable"


class CachedStaticFiles(StaticFiles):
    """Static files that browsers cache forever if the request contains the hash of the file."""

    def file_response(
        self, full_path: PathLike, stat_result: os.stat_result, scope: Scope, status_code: int = 200
    ) -> Response:
        """Return a file with a cache header."""
        response = super().file_response(full_path, stat_result, scope, status_code)
        name = os.path.basename(full_path)
        is_current = scope["query_string"].decode("latin-1") == f"v={hash_static_file(name)}"
        response.headers["cache-control"] = _CACHE_FOREVER if is_current else "no-cache"
        return response


def _build_routes() -> list[BaseRoute]:
    """Return all routes."""
    one = "/c/{name}"
    post = ["POST"]
    return [
        Route("/", home.show_home),
        Route("/events", watch.stream_collections),
        Route("/crawls", home.start_crawl, methods=post),
        Route(one, pages.show_collection),
        Route(f"{one}/events", watch.stream_changes),
        Route(f"{one}/pages", page_table.show_pages),
        Route(f"{one}/pages/download", page_table.download_pages, methods=post),
        Route(f"{one}/pages/verdict", page_table.judge_pages, methods=post),
        Route(f"{one}/host", page_table.show_host),
        Route(f"{one}/why", pages.show_why),
        Route(f"{one}/page", pages.show_page),
        Route(f"{one}/map", pages.show_map),
        Route(f"{one}/settings", collection_settings.show_settings),
        Route(f"{one}/settings", collection_settings.save_settings, methods=post),
        Route(f"{one}/rename", collection_settings.rename, methods=post),
        Route(f"{one}/remove", collection_settings.confirm_removal),
        Route(f"{one}/remove", collection_settings.remove, methods=post),
        Route(f"{one}/start", actions.resume_crawl, methods=post),
        Route(f"{one}/order", actions.send_command, methods=post),
        Route(f"{one}/verdict", actions.add_verdict, methods=post),
        Route("/reviewer", review.set_annotator, methods=post),
        Route(f"{one}/undo", review.undo_verdict, methods=post),
        Route(f"{one}/review", review.show_queue),
        Route(f"{one}/review", review.judge_page, methods=post),
        Route(f"{one}/review/page", review.show_item),
        Route(f"{one}/review/queue", review.list_waiting),
        Route(f"{one}/review/groups", review.show_groups),
        Route(f"{one}/review/groups", review.label_group, methods=post),
        Route(f"{one}/review/agreement", review.show_agreement),
        Route(f"{one}/notes", review.edit_notes, methods=post),
        Route(f"{one}/followed", review.show_feedback_state),
        Route(f"{one}/teach", teach.show_training),
        Route(f"{one}/teach", teach.open_page, methods=post),
        Route(f"{one}/teach/back", teach.go_back, methods=post),
        Route(f"{one}/teach/label", teach.label_page, methods=post),
        Route(f"{one}/teach/train", teach.train_model, methods=post),
        Route(f"{one}/teach/crawl", teach.crawl_with_model, methods=post),
        Route(f"{one}/history", teach.import_history, methods=post),
        Route("/compare", compare.show_comparison),
        Route("/compare", compare.start_comparison, methods=post),
        Route("/reports/{name}", compare.show_report),
        Route("/search", search.show_search),
        Route("/search", search.give_feedback, methods=post),
        *_build_api_routes(),
        Mount("/static", CachedStaticFiles(directory=STATIC_FOLDER)),
    ]


def _build_api_routes() -> list[BaseRoute]:
    """Return the routes of the JSON API."""
    one = "/api/collections/{name}"
    return [
        Route("/api/openapi.json", api.get_schema),
        Route("/api/collections", api.list_collections),
        Route("/api/crawls", crawl_api.start_crawl, methods=["POST"]),
        Route("/api/search", search.search_as_json),
        Route("/api/feedback", search.give_feedback_as_json, methods=["POST"]),
        Route("/api/peer/{operation}", search.handle_peer_request, methods=["POST"]),
        Route(one, api.get_collection),
        Route(f"{one}/start", crawl_api.resume_crawl, methods=["POST"]),
        Route(f"{one}/export", crawl_api.export_pages),
        Route(f"{one}/next", api.list_next_links),
        Route(f"{one}/pages", api.list_pages),
        Route(f"{one}/page", api.get_page),
        Route(f"{one}/verdicts", api.add_verdict, methods=["POST"]),
        Route(f"{one}/undo", api.undo_verdict, methods=["POST"]),
        Route(f"{one}/review", review_api.get_review),
        Route(f"{one}/review", review_api.add_review, methods=["POST"]),
        Route(f"{one}/agreement", review_api.get_agreement),
        Route(f"{one}/review.csv", review_api.get_sheet),
        Route(f"{one}/review.csv", review_api.read_sheet, methods=["POST"]),
        Route(f"{one}/orders", api.send_command, methods=["POST"]),
        Route(f"{one}/shared-urls", url_sharing_api.add_shared_urls, methods=["POST"]),
    ]


async def _handle_http_error(request: Request, error: Exception) -> Response:
    """Return an HTML page or a JSON object for an HTTP error."""
    site: Site = request.app.state.site
    status = getattr(error, "status_code", 500)
    messages = {404: "page not found", 405: "this address does not support the request method"}
    message = messages.get(status, "internal server error")
    if request.url.path.startswith("/api/"):
        return JSONResponse({"error": message}, status)
    return site.render_page("error.html", code=status, status=status, message=message)


async def _handle_disconnect(request: Request, error: Exception) -> Response:
    """Return an empty response for a client that has closed the connection before its request was complete."""
    return Response(status_code=400)


@asynccontextmanager
async def _run_lifespan(app: Starlette) -> AsyncIterator[None]:
    site: Site = app.state.site
    stopped = Event()
    async with site.search.run():
        preparation = asyncio.create_task(warm_up.prepare_pages(app, site.collections, stopped.is_set))
        try:
            yield
        finally:
            stopped.set()
            await preparation


def create_app(
    directories: Sequence[Path],
    *,
    config: Path | None = None,
    crawl_options: Sequence[str] = (),
    peers: Sequence[SearchServer] = (),
    use_subprocess: bool = False,
) -> Starlette:
    """Create the application, without the security middleware.

    `directories` are crawls or directories that contain crawls. `config` is the settings file and `crawl_options` are
    options of crawls started by the server. `peers` are remote servers to search. With `use_subprocess`, a separate
    process updates the indexes.
    """
    handlers: dict[Any, ExceptionHandler] = {
        404: _handle_http_error,
        405: _handle_http_error,
        500: _handle_http_error,
        ClientDisconnect: _handle_disconnect,
    }
    app = Starlette(
        routes=_build_routes(),
        exception_handlers=handlers,
        lifespan=_run_lifespan,
        middleware=[Middleware(GZipMiddleware, minimum_size=1000, compresslevel=5)],
    )
    registry = CollectionRegistry(directories)
    app.state.site = Site(
        registry,
        CrawlProcesses(config, tuple(crawl_options)),
        SearchService(registry, peers, LocalServer([], use_subprocess=use_subprocess)),
    )
    return app


def secure_app(app: AsgiApp, *, host_names: Sequence[str], token: str = "") -> SecurityMiddleware:
    """Wrap the application in the security middleware.

    `host_names` are the accepted names in the Host header. With a `token`, every request must present it.
    """
    return SecurityMiddleware(app, frozenset(host_names), token)
