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
from topicrawl.search import Query, SearchResults, SearchScope
from topicrawl.search.models import MAX_OFFSET, MAX_QUERY_CHARS
from topicrawl.web.api import JsonBody
from topicrawl.web.search_facets import build_facet_links
from topicrawl.web.security import BodyTooLargeError
from topicrawl.web.site import RequestForm, Site, build_error_response, redirect_to

_DEFAULT_COUNT = 10
_ORIGIN = "feedback"  # origin of the verdicts from feedback, with the id of the feedback
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
    answer = await _run_search(site, form, facets=bool(text)) if text or like else None
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
        facets=build_facet_links(text, answer.facets) if answer else [],
        scope=form.get_text("in"),
        search_all=form.get_text("all"),
        teach=form.get_text("teach"),
        feedback_id=form.get_text("feedback", max_length=64),
        skipped=sum(not report.chosen and not report.trouble for report in answer.asked) if answer else 0,
    )


@search_endpoint
async def search_as_json(site: Site, request: Request, body: bytes) -> Response:
    """Return the results of a query as JSON."""
    form = RequestForm(body.decode("utf-8", "replace"))
    if not form.get_text("q", max_length=MAX_QUERY_CHARS) and not form.get_text("like", max_length=4000):
        raise UsageError("the search needs a query: set the parameter q or like")
    return JSONResponse(to_builtins(await _run_search(site, form)))


async def _run_search(site: Site, form: RequestForm, *, facets: bool = False) -> SearchResults:
    servers = await site.search.get_servers()
    count = form.get_integer("count", _DEFAULT_COUNT, minimum=1, maximum=100)
    scope = SearchScope(tuple(filter(None, form.get_texts("in"))), bool(form.get_text("all")))
    if form.get_text("like", max_length=4000):
        return await search.find_similar_pages(servers, form.get_url("like"), count=count, scope=scope)
    text, offset = form.get_text("q", max_length=MAX_QUERY_CHARS), form.get_integer("offset", 0, maximum=MAX_OFFSET)
    query = Query(
        text,
        count,
        offset,
        learned=not form.get_text("plain"),
        facets=facets or bool(form.get_text("facets")),
        summaries=bool(form.get_text("summaries")),
    )
    return await search.search_servers(servers, query, scope=scope, overlap=bool(form.get_text("overlap")))


@search_endpoint
async def give_feedback(site: Site, request: Request, body: bytes) -> Response:
    """Handle the feedback buttons of the search page: one hit is relevant or not, or earlier feedback is undone."""
    form = RequestForm(body.decode("utf-8", "replace"))
    query, teach = form.get_text("q", max_length=MAX_QUERY_CHARS), form.get_text("teach")
    place = {name: value for name in ("in", "all", "teach") if (value := form.get_text(name))}
    if undone := form.get_text("undo", max_length=64):
        await _undo_feedback(site, undone)
        return redirect_to("/search", q=query, **place)
    verdict, url = form.get_text("verdict"), form.get_url()
    if verdict not in _VERDICTS:
        raise UsageError(f"the verdict must be relevant or irrelevant, not {verdict[:20]!r}")
    groups = ([url], []) if verdict == "relevant" else ([], [url])
    result = await _submit_feedback(site, query, *groups, teach=bool(teach))
    return redirect_to("/search", q=query, feedback=result.id, **place)


@search_endpoint
async def give_feedback_as_json(site: Site, request: Request, body: bytes) -> Response:
    """Handle feedback on any number of hits from the API, or undo feedback with a given id."""
    data = JsonBody(body)
    if data.has_field("undo"):
        await _undo_feedback(site, data.get_text("undo")[:64])
        return JSONResponse({"id": data.get_text("undo")[:64]})
    groups = [data.get_urls(name) if data.has_field(name) else [] for name in ("relevant", "irrelevant")]
    teach = data.fields.get("teach", False)
    if not isinstance(teach, bool):
        raise UsageError("teach must be true or false")
    result = await _submit_feedback(site, data.get_text("query"), *groups, teach=teach)
    return JSONResponse(to_builtins(result))


async def _submit_feedback(
    site: Site, query: str, relevant: Sequence[str], irrelevant: Sequence[str], *, teach: bool
) -> search.Feedback:
    """Send feedback to all servers and return it. With `teach`, also annotate the pages in the local collections."""
    servers = await site.search.get_servers()
    result = await search.submit_feedback(servers, query, relevant, irrelevant, at=time.time(), teach=teach)
    if teach:
        await run_in_threadpool(_annotate_pages, site, result)
    return result


async def _undo_feedback(site: Site, feedback_id: str) -> None:
    """Undo feedback on all servers, and its verdicts in the local collections."""
    await search.undo_feedback(await site.search.get_servers(), feedback_id)
    await run_in_threadpool(_undo_annotations, site, feedback_id)


def _annotate_pages(site: Site, feedback: search.Feedback) -> None:
    """Store feedback as verdicts on the pages of the local collections, so that their crawls learn from it too."""
    groups = ((feedback.relevant, AnnotationLabel.RELEVANT), (feedback.irrelevant, AnnotationLabel.IRRELEVANT))
    for name in site.collections.list_directories():
        with site.collections.open_store(name) as store:
            for urls, ruling in groups:
                rows = [row for url in urls if (row := store.find_visit(url)) is not None and row.failure is None]
                if rows:
                    origin = f"{_ORIGIN} {feedback.id}"
                    annotation_log.annotate(store, [row.url for row in rows], ruling, origin=origin, at=time.time())


def _undo_annotations(site: Site, feedback_id: str) -> None:
    """Undo the verdicts of feedback in the local collections."""
    sql = "SELECT DISTINCT action FROM annotations WHERE origin = ?"
    for name in site.collections.list_directories():
        with site.collections.open_store(name) as store:
            for (action,) in store.query_typed_rows(tuple[int], sql, (f"{_ORIGIN} {feedback_id}",)):
                annotation_log.undo_action(store, action, at=time.time())


@search_endpoint
async def handle_peer_request(site: Site, request: Request, body: bytes) -> Response:
    """Handle a request of another server: a search, or feedback of its users."""
    message, operation = JsonBody(body).fields, str(request.path_params["operation"])
    await site.search.get_servers()
    response = await search.handle_request(site.search.local_server, operation, message)
    if operation == "feedback" and (feedback := search.parse_feedback(message)).teach:
        await run_in_threadpool(_annotate_pages, site, feedback)
    if operation == "undo":
        await run_in_threadpool(_undo_annotations, site, str(response["id"]))
    return JSONResponse(response)
