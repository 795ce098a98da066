"""Handlers of the HTML pages: all collections, one collection, its pages, one page, the link map."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response

from topicrawl import strategies
from topicrawl.collection import annotations as annotation_log
from topicrawl.collection import commands, queries
from topicrawl.collection.commands import CommandKind
from topicrawl.collection.page_relevance import IS_RELEVANT
from topicrawl.errors import CollectionError
from topicrawl.strategies.base import Strategy
from topicrawl.urls import fingerprint
from topicrawl.web import charts, crawl_figures, link_map
from topicrawl.web.collections import OpenCollection
from topicrawl.web.crawl_processes import hide_path
from topicrawl.web.page_context import build_page_context
from topicrawl.web.site import RequestForm, Site, format_verdict, page_endpoint

_MAX_NEXT_LINKS = 12  # waiting links
_ROWS_PER_PAGE = 50  # rows of the list of pages
_MAX_HOSTS = 12
_MAX_LINKS = 100  # links of a page
_MAX_HOST_LINKS = 25  # rows of the table below the map
#: Filters of the list of pages: name → SQL condition. The parameter of each condition is the relevance threshold.
_PAGE_FILTERS = {
    "all": "failure IS NULL AND ? >= 0",
    "relevant": f"failure IS NULL AND {IS_RELEVANT}",
    "reviewed": "failure IS NULL AND ? >= 0 AND step IN"
    " (SELECT p.step FROM pages p JOIN annotations a ON a.page = p.id)",
    "failed": "failure IS NOT NULL AND ? >= 0",
}


@page_endpoint
def show_home(site: Site, request: Request, form: RequestForm) -> Response:
    """Show all collections and a form for a new crawl."""
    return render_home(site, {"words": "", "seeds": "", "strategy": "", "pages": ""})


def render_home(site: Site, form_values: Mapping[str, str], *, message: str = "") -> Response:
    """Render the home page, with the given values in the form and an error message."""
    collections, broken = [], list(site.collections.find_damaged())
    for name in site.collections.list_directories():
        try:
            with site.collections.open_readonly(name) as opened:
                collections.append(crawl_figures.get_figures(opened))
        except CollectionError as error:
            broken.append((name, str(error)))
    existing = {directory for directory in site.collections.list_directories().values()}
    started = [
        (directory.name, process.is_running, hide_path(directory, process.read_output()))
        for directory, process in site.crawls.get_processes().items()
        if directory not in existing
    ]
    return site.render_page(
        "home.html",
        code=400 if message else 200,
        given=form_values,
        trouble=message,
        collections=collections,
        broken=broken,
        started=started,
        home=site.collections.crawl_home,
        strategies=[
            (name, strategies.describe_strategy(kind))
            for name, kind in strategies.list_strategies().items()
            if _needs_no_examples(kind)
        ],
        usual=strategies.DEFAULT_STRATEGY,
    )


def _needs_no_examples(kind: type[Strategy]) -> bool:
    """Whether a strategy needs no examples; the form for a new crawl has no field for them."""
    return "examples" not in kind.required_inputs


@page_endpoint
def show_collection(site: Site, request: Request, form: RequestForm) -> Response:
    """Show one collection: figures, harvest curve, hosts, failures and the next links."""
    with site.collections.open_readonly(request.path_params["name"]) as opened:
        return site.render_page("collection.html", **_build_collection_values(site, opened))


def _build_collection_values(site: Site, opened: OpenCollection) -> dict[str, Any]:
    blocked = commands.get_current_amounts(opened.store, CommandKind.BLOCK)
    boosts = commands.get_current_amounts(opened.store, CommandKind.BOOST)
    hosts = crawl_figures.list_hosts(opened, _MAX_HOSTS)
    hosts += [(host, 0) for host in {**blocked, **boosts} if host not in dict(hosts)]
    return {
        "it": crawl_figures.get_figures(opened),
        "curve": Markup(
            charts.render_curve(crawl_figures.compute_harvest_curve(opened))
        ),  # contains no text of pages, so it is safe
        "failures": queries.count_failures(opened.store),
        "hosts": hosts,
        "blocked": blocked,
        "boosts": boosts,
        "next": crawl_figures.list_next_links(opened, _MAX_NEXT_LINKS),
        "heeded": crawl_figures.get_feedback_state(opened),
        "pending": crawl_figures.count_pending(opened),
        "words": list(opened.topic.all_words),
        "trouble": site.crawls.get_error(opened.directory),
        "added": commands.get_current_amounts(opened.store, CommandKind.WORD),
        "settings": crawl_figures.list_settings(opened),
    }


@page_endpoint
def show_pages(site: Site, request: Request, form: RequestForm) -> Response:
    """Show the pages of a collection, newest first, `_ROWS_PER_PAGE` at a time."""
    before = form.get_integer("before", 0, maximum=1 << 40)
    show = form.get_text("show") if form.get_text("show") in _PAGE_FILTERS else "all"
    with site.collections.open_readonly(request.path_params["name"]) as opened:
        visits = list(
            opened.store.iterate_rows(
                f"SELECT step, url, relevance, failure, detail FROM visits "
                f"WHERE {_PAGE_FILTERS[show]} AND (? = 0 OR step < ?)"
                " ORDER BY step DESC LIMIT ?",
                (opened.topic.threshold, before, before, _ROWS_PER_PAGE),
            )
        )
        rows = [(step, str(url), _get_title(opened, str(url)), *rest) for step, url, *rest in visits]
        verdicts = {
            row.url: f"{format_verdict(row.label)}{' (reviewer)' if row.is_by_reviewer else ''}"
            for row in annotation_log.list_current_annotations(opened.store).values()
        }
        figures = crawl_figures.get_figures(opened)
        counts = (figures.pages, figures.relevant, figures.judged, sum(queries.count_failures(opened.store).values()))
        return site.render_page(
            "pages.html",
            it=figures,
            rows=rows,
            verdicts=verdicts,
            more=len(rows) == _ROWS_PER_PAGE,
            last=rows[-1][0] if rows else 0,
            before=before,
            show=show,
            choices=dict(zip(_PAGE_FILTERS, counts, strict=True)),
        )


def _get_title(opened: OpenCollection, url: str) -> str:
    rows = opened.store.query_rows("SELECT title FROM pages WHERE id=?", (fingerprint(url),))
    return str(rows[0][0]) if rows else ""


@page_endpoint
def show_page(site: Site, request: Request, form: RequestForm) -> Response:
    """Show one page as text with the words of the topic marked, the path to it, and its verdict."""
    url = form.get_url()
    with site.collections.open_readonly(request.path_params["name"]) as opened:
        visit = opened.store.find_visit(url)
        figures = crawl_figures.get_figures(opened)
        if visit is None:
            return site.render_page("unknown.html", code=404, it=figures, url=url)
        verdict = annotation_log.list_current_annotations(opened.store).get(fingerprint(visit.url))
        context = build_page_context(opened, visit)
        links = [link.url for link in context["view"].links[:_MAX_LINKS]]
        return site.render_page(
            "reader.html",
            it=figures,
            **context,
            verdict=str(verdict.label) if verdict and not verdict.is_by_reviewer else "",
            back=f"page?{request.url.query}",
            fetched={url for url in links if opened.store.find_visit(url) is not None},
        )


@page_endpoint
def show_map(site: Site, request: Request, form: RequestForm) -> Response:
    """Show which hosts link to which, and the communities that they form."""
    with site.collections.open_readonly(request.path_params["name"]) as opened:
        drawn = link_map.build_link_map(opened.store)
        rows = [(one, other, count) for (one, other), count in drawn.links.most_common(_MAX_HOST_LINKS)]
        return site.render_page(
            "map.html",
            it=crawl_figures.get_figures(opened),
            drawn=drawn,
            picture=Markup(link_map.render_map(drawn)),
            ways=rows,
        )
