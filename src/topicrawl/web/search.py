"""Handlers of the search page, the search API and the peer API, with relevance feedback."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from functools import wraps

from msgspec import to_builtins
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from topicrawl import search
from topicrawl.collection import annotations as annotation_log
from topicrawl.collection.annotations import AnnotationLabel
from topicrawl.errors import TopicrawlError, UsageError
from topicrawl.search import Query, SearchResults
from topicrawl.search.models import MAX_OFFSET, MAX_QUERY_CHARS
from topicrawl.web.api import JsonBody
from topicrawl.web.security import BodyTooLargeError
from topicrawl.web.site import RequestForm, Site, build_error_response, redirect_to

_DEFAULT_COUNT = 10
_VERDICTS = {"relevant": AnnotationLabel.RELEVANT, "irrelevant": AnnotationLabel.IRRELEVANT}
SearchHandler = Callable[[Site, Request, bytes], Awaitable[Response]]


def search_endpoint(function: SearchHandler) -> Callable[[Request], Awaitable[Response]]:
    """Make an endpoint of a coroutine function, and convert errors to responses."""

    @wraps(function)
    async def endpoint(request: Request) -> Response:
        site: Site = request.app.state.site
        try:
            body = await request.body() if request.method == "POST" else request.url.query.encode()
            return await function(site, request, body)
        except (TopicrawlError, BodyTooLargeError) as error:
            return build_error_response(site, request, error)

    return endpoint


@search_endpoint
async def show_search(site: Site, request: Request, body: bytes) -> Response:
    """Show the results of a query, or pages similar to a page."""
    form = RequestForm(body.decode("utf-8", "replace"))
    text, like = form.get_text("q", max_length=MAX_QUERY_CHARS), form.get_text("like", max_length=4000)
    answer = await _run_search(site, form) if text or like else None
    names = set(await run_in_threadpool(site.collections.list_directories))
    # The words with the highest positive or negative weights come first.
    learned = sorted(answer.query.weights.items(), key=lambda pair: -abs(pair[1])) if answer else []
    return site.render_page(
        "search.html",
        q=text,
        like=like,
        answer=answer,
        names=names,
        count=_DEFAULT_COUNT,
        overlap=form.get_text("overlap"),
        learned=learned,
    )


@search_endpoint
async def search_as_json(site: Site, request: Request, body: bytes) -> Response:
    """Return the results of a query as JSON."""
    form = RequestForm(body.decode("utf-8", "replace"))
    if not form.get_text("q", max_length=MAX_QUERY_CHARS) and not form.get_text("like", max_length=4000):
        raise UsageError("the search needs a query: set the parameter q or like")
    return JSONResponse(to_builtins(await _run_search(site, form)))


async def _run_search(site: Site, form: RequestForm) -> SearchResults:
    servers = await site.search.get_servers()
    count = form.get_integer("count", _DEFAULT_COUNT, minimum=1, maximum=100)
    if form.get_text("like", max_length=4000):
        return await search.find_similar_pages(servers, form.get_url("like"), count=count)
    text, offset = form.get_text("q", max_length=MAX_QUERY_CHARS), form.get_integer("offset", 0, maximum=MAX_OFFSET)
    query = Query(text, count, offset, facets=bool(form.get_text("facets")))
    return await search.search_servers(servers, query, overlap=bool(form.get_text("overlap")))


@search_endpoint
async def give_feedback(site: Site, request: Request, body: bytes) -> Response:
    """Handle the feedback buttons of the search page: one hit is relevant or not."""
    form = RequestForm(body.decode("utf-8", "replace"))
    verdict, url, query = form.get_text("verdict"), form.get_url(), form.get_text("q", max_length=MAX_QUERY_CHARS)
    if verdict not in _VERDICTS:
        raise UsageError(f"the verdict must be relevant or irrelevant, not {verdict[:20]!r}")
    await _submit_feedback(
        site, query, [url] if verdict == "relevant" else [], [url] if verdict == "irrelevant" else []
    )
    return redirect_to("/search", q=query)


@search_endpoint
async def give_feedback_as_json(site: Site, request: Request, body: bytes) -> Response:
    """Handle feedback on any number of hits from the API."""
    data = JsonBody(body)
    groups = [data.get_urls(name) if data.has_field(name) else [] for name in ("relevant", "irrelevant")]
    result = await _submit_feedback(site, data.get_text("query"), *groups)
    return JSONResponse(to_builtins(result))


async def _submit_feedback(
    site: Site, query: str, relevant: Sequence[str], irrelevant: Sequence[str]
) -> search.Feedback:
    """Send feedback to all servers, annotate the pages in the local collections, and return the feedback."""
    servers = await site.search.get_servers()
    result = await search.submit_feedback(servers, query, relevant, irrelevant, at=time.time())
    await run_in_threadpool(_annotate_pages, site, relevant, irrelevant)
    return result


def _annotate_pages(site: Site, relevant: Sequence[str], irrelevant: Sequence[str]) -> None:
    """Store feedback as verdicts on the pages of the local collections, so that their crawls learn from it too."""
    for name in site.collections.list_directories():
        with site.collections.open_store(name) as store:
            for urls, ruling in ((relevant, AnnotationLabel.RELEVANT), (irrelevant, AnnotationLabel.IRRELEVANT)):
                rows = [row for url in urls if (row := store.find_visit(url)) is not None and row.failure is None]
                if rows:
                    annotation_log.annotate(store, [row.url for row in rows], ruling, origin="feedback", at=time.time())


@search_endpoint
async def handle_peer_request(site: Site, request: Request, body: bytes) -> Response:
    """Handle a request of another server: a search, or feedback of its users."""
    message, operation = JsonBody(body).fields, str(request.path_params["operation"])
    await site.search.get_servers()
    response = await search.handle_request(site.search.local_server, operation, message)
    if operation == "feedback":
        groups = [[str(url) for url in message.get(name, ())] for name in ("relevant", "irrelevant")]
        await run_in_threadpool(_annotate_pages, site, *groups)
    return JSONResponse(response)
