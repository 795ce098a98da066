"""Search pages: one answer from all collections; what is called right or wrong changes the next one."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from functools import wraps

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from topicrawl import search
from topicrawl.collection import verdicts
from topicrawl.collection.verdicts import Ruling
from topicrawl.errors import TopicrawlError, UsageError
from topicrawl.search import Answer, Query
from topicrawl.search.answers import tabled
from topicrawl.web.api import Body
from topicrawl.web.safety import TooMuch
from topicrawl.web.site import Form, Site, go, told

_COUNT = 10
_RULINGS = {"relevant": Ruling.RELEVANT, "irrelevant": Ruling.IRRELEVANT}
Asked = Callable[[Site, Request, bytes], Awaitable[Response]]


def answered(function: Asked) -> Callable[[Request], Awaitable[Response]]:
    """An endpoint that waits for servers, with its errors told in one line."""

    @wraps(function)
    async def endpoint(request: Request) -> Response:
        site: Site = request.app.state.site
        try:
            body = await request.body() if request.method == "POST" else request.url.query.encode()
            return await function(site, request, body)
        except (TopicrawlError, TooMuch) as error:
            return told(site, request, error)

    return endpoint


@answered
async def page(site: Site, request: Request, body: bytes) -> Response:
    """The answer to a query, or pages like a page."""
    form = Form(body.decode("utf-8", "replace"))
    text, like = form.text("q", most=1000), form.text("like", most=4000)
    answer = await _answer(site, form) if text or like else None
    names = set(await run_in_threadpool(site.shelves.all))
    # What was said weighs most comes first, for or against.
    learned = sorted(answer.query.weights.items(), key=lambda pair: -abs(pair[1])) if answer else []
    return site.page(
        "search.html", q=text, like=like, answer=answer, names=names, count=_COUNT, overlap=form.text("overlap"),
        learned=learned,
    )  # fmt: skip


@answered
async def found(site: Site, request: Request, body: bytes) -> Response:
    """The same as JSON."""
    form = Form(body.decode("utf-8", "replace"))
    if not form.text("q", most=1000) and not form.text("like", most=4000):
        raise UsageError("what is looked for? give q, or like")
    return JSONResponse(tabled(await _answer(site, form)))


async def _answer(site: Site, form: Form) -> Answer:
    servers = await site.finder.asked()
    count = form.number("count", _COUNT, least=1, most=100)
    if form.text("like", most=4000):
        return await search.more_like(servers, form.address("like"), count=count)
    query = Query(form.text("q", most=1000), count, form.number("offset", 0, most=1000))
    return await search.answer(servers, query, overlap=bool(form.text("overlap")))


@answered
async def feedback(site: Site, request: Request, body: bytes) -> Response:
    """A hit was right, or wrong."""
    form = Form(body.decode("utf-8", "replace"))
    said, url, query = form.text("verdict"), form.address(), form.text("q", most=1000)
    if said not in _RULINGS:
        raise UsageError(f"a hit is relevant or irrelevant, not {said[:20]!r}")
    await _judged(site, query, [url] if said == "relevant" else [], [url] if said == "irrelevant" else [])
    return go("/search", q=query)


@answered
async def judge(site: Site, request: Request, body: bytes) -> Response:
    """The same for programs, and for many hits."""
    asked = Body(body)
    groups = [asked.addresses(name) if asked.has(name) else [] for name in ("relevant", "irrelevant")]
    learned = await _judged(site, asked.text("query"), *groups)
    return JSONResponse(tabled(learned))


async def _judged(site: Site, query: str, relevant: Sequence[str], irrelevant: Sequence[str]) -> search.Feedback:
    """Every server that answers remembers it; collections here take it as their readers' verdict too."""
    servers = await site.finder.asked()
    learned = await search.judge(servers, query, relevant, irrelevant, at=time.time())
    await run_in_threadpool(_ruled, site, relevant, irrelevant)
    return learned


def _ruled(site: Site, relevant: Sequence[str], irrelevant: Sequence[str]) -> None:
    """What was right or wrong is a verdict on the pages that are here, so that topics learn from it too."""
    for name in site.shelves.all():
        with site.shelves.written(name) as store:
            for urls, ruling in ((relevant, Ruling.RELEVANT), (irrelevant, Ruling.IRRELEVANT)):
                rows = [row for url in urls if (row := store.visit_of(url)) is not None and row.failure is None]
                if rows:
                    verdicts.rule(store, [row.url for row in rows], ruling, how="feedback", at=time.time())


@answered
async def peer(site: Site, request: Request, body: bytes) -> Response:
    """Another server asks, or passes on what its readers said."""
    table, operation = Body(body).table, str(request.path_params["operation"])
    await site.finder.asked()
    told = await search.reply(site.finder.here, operation, table)
    if operation == "feedback":
        groups = [[str(url) for url in table.get(name, ())] for name in ("relevant", "irrelevant")]
        await run_in_threadpool(_ruled, site, *groups)
    return JSONResponse(told)
