"""The application: which path leads where."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from topicrawl.search import Here, Server
from topicrawl.web import actions, api, compare, pages, review_pages, searching, teach
from topicrawl.web.crawls import Crawls
from topicrawl.web.finder import Finder
from topicrawl.web.safety import Asgi, Safety
from topicrawl.web.shelves import Shelves
from topicrawl.web.site import Site

_STATIC = Path(__file__).parent / "static"


def _routes() -> list[BaseRoute]:
    one = "/c/{name}"
    post = ["POST"]
    return [
        Route("/", pages.home),
        Route("/crawls", actions.start, methods=post),
        Route(one, pages.collection),
        Route(f"{one}/pages", pages.pages),
        Route(f"{one}/page", pages.page),
        Route(f"{one}/map", pages.map_of),
        Route(f"{one}/start", actions.go_on, methods=post),
        Route(f"{one}/order", actions.order, methods=post),
        Route(f"{one}/verdict", actions.verdict, methods=post),
        Route(f"{one}/undo", actions.undo, methods=post),
        Route(f"{one}/review", review_pages.queue),
        Route(f"{one}/review", review_pages.judge, methods=post),
        Route(f"{one}/followed", review_pages.followed),
        Route(f"{one}/accept", review_pages.accept, methods=post),
        Route(f"{one}/teach", teach.room),
        Route(f"{one}/teach", teach.follow, methods=post),
        Route(f"{one}/teach/back", teach.back, methods=post),
        Route(f"{one}/teach/label", teach.label, methods=post),
        Route(f"{one}/teach/train", teach.train, methods=post),
        Route(f"{one}/teach/crawl", teach.apply, methods=post),
        Route(f"{one}/history", teach.history, methods=post),
        Route("/compare", compare.room),
        Route("/compare", compare.attempt, methods=post),
        Route("/reports/{name}", compare.report),
        Route("/search", searching.page),
        Route("/search", searching.feedback, methods=post),
        *_programs(),
        Mount("/static", StaticFiles(directory=_STATIC)),
    ]


def _programs() -> list[BaseRoute]:
    one = "/api/collections/{name}"
    return [
        Route("/api/openapi.json", api.schema),
        Route("/api/collections", api.collections),
        Route("/api/search", searching.found),
        Route("/api/feedback", searching.judge, methods=["POST"]),
        Route("/api/peer/{operation}", searching.peer, methods=["POST"]),
        Route(one, api.collection),
        Route(f"{one}/next", api.coming),
        Route(f"{one}/pages", api.pages),
        Route(f"{one}/page", api.page),
        Route(f"{one}/verdicts", api.rule, methods=["POST"]),
        Route(f"{one}/undo", api.undo, methods=["POST"]),
        Route(f"{one}/orders", api.order, methods=["POST"]),
    ]


async def _missing(request: Request, error: Exception) -> Response:
    site: Site = request.app.state.site
    status = getattr(error, "status_code", 500)
    message = {404: "there is no such page here", 405: "that cannot be done here"}.get(status, "the server has failed")
    if request.url.path.startswith("/api/"):
        return JSONResponse({"error": message}, status)
    return site.page("error.html", code=status, status=status, message=message)


@asynccontextmanager
async def _lifespan(app: Starlette) -> AsyncIterator[None]:
    site: Site = app.state.site
    async with site.finder.running():
        yield


def application(
    places: Sequence[Path], *, config: Path | None = None, peers: Sequence[Server] = (), beside: bool = False
) -> Starlette:
    """The application for directories, without its guard at the door; indexes are written here or `beside` it."""
    troubles = {404: _missing, 405: _missing, 500: _missing}
    app = Starlette(routes=_routes(), exception_handlers=troubles, lifespan=_lifespan)
    shelves = Shelves(places)
    app.state.site = Site(shelves, Crawls(config), Finder(shelves, peers, Here([], beside=beside)))
    return app


def guarded(app: Asgi, *, names: Sequence[str], token: str = "") -> Safety:
    """The application behind its guard."""
    return Safety(app, frozenset(names), token)
