"""Handlers of the HTML pages: one collection, one page, why a URL was fetched, the link map."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response

from topicrawl.collection import annotations as annotation_log
from topicrawl.collection import commands
from topicrawl.collection.annotations import Annotation
from topicrawl.collection.commands import CommandKind
from topicrawl.web import crawl_figures, link_map
from topicrawl.web.collections import OpenCollection
from topicrawl.web.new_crawls import show_starting
from topicrawl.web.page_context import build_page_context
from topicrawl.web.site import RequestForm, Site, get_collection_path, page_endpoint
from topicrawl.web.url_explanation import explain_url

_MAX_NEXT_LINKS = 12  # waiting links
_MAX_HOSTS = 12
_MAX_LINKS = 100  # links of a page
_MAX_MAP_AGE = 60.0  # seconds that the map of a running crawl may be old
_MAX_HOST_LINKS = 25  # rows of the table below the map


@page_endpoint
def show_collection(site: Site, request: Request, form: RequestForm) -> Response:
    """Show one collection: figures, harvest curve, hosts, failures and the next links."""
    name = request.path_params["name"]
    if name not in site.collections.list_directories() and (starting := show_starting(site, name)) is not None:
        return starting
    with site.collections.open_readonly(name) as opened:
        return site.render_page("collection.html", **build_collection_values(site, opened))


def build_collection_values(site: Site, opened: OpenCollection) -> dict[str, Any]:
    """Return the values of the template `collection.html`."""
    blocked = commands.get_current_amounts(opened.store, CommandKind.BLOCK)
    boosts = commands.get_current_amounts(opened.store, CommandKind.BOOST)
    hosts = crawl_figures.list_hosts(opened, _MAX_HOSTS)
    hosts += [(host, 0) for host in {**blocked, **boosts} if host not in dict(hosts)]
    return {
        "it": crawl_figures.get_figures(opened),
        "at": get_collection_path(opened.name),
        "curve": crawl_figures.compute_harvest_curve(opened),
        "failures": crawl_figures.count_failures(opened),
        "hosts": hosts,
        "blocked": blocked,
        "boosts": boosts,
        "next": crawl_figures.list_next_links(opened, _MAX_NEXT_LINKS),
        "heeded": crawl_figures.get_feedback_state(opened),
        "pending": crawl_figures.count_pending(opened),
        "words": list(opened.topic.all_words),
        "trouble": site.crawls.get_error(opened.directory),
        "added": commands.get_current_amounts(opened.store, CommandKind.WORD),
    }


@page_endpoint
def show_why(site: Site, request: Request, form: RequestForm) -> Response:
    """Explain why a URL was fetched or was not fetched."""
    url = form.get_url()
    with site.collections.open_readonly(request.path_params["name"]) as opened:
        found = explain_url(opened.directory, url)
        return site.render_page("why.html", it=crawl_figures.get_figures(opened), found=found)


@page_endpoint
def show_page(site: Site, request: Request, form: RequestForm) -> Response:
    """Show one page as text with the words of the topic marked, the path to it, and its verdict."""
    url = form.get_url()
    with site.collections.open_readonly(request.path_params["name"]) as opened:
        visit = opened.store.find_visit(url)
        figures = crawl_figures.get_figures(opened)
        if visit is None:
            return site.render_page("unknown.html", code=404, it=figures, url=url)
        verdict = annotation_log.find_annotation(opened.store, visit.url)
        context = build_page_context(opened, visit)
        links = [link.url for link in context["view"].links[:_MAX_LINKS]]
        return site.render_page(
            "reader.html",
            it=figures,
            **context,
            verdict=str(verdict.label) if verdict and not verdict.is_by_reviewer else "",
            action=_get_undoable_action(verdict),
            back=f"page?{request.url.query}",
            fetched={url for url in links if opened.store.find_visit(url) is not None},
        )


def _get_undoable_action(verdict: Annotation | None) -> int:
    """Return the number of the action of a user that gave the current verdict of a page; 0 if there is none."""
    is_undo = verdict is not None and verdict.origin.startswith("undo ")
    return 0 if verdict is None or is_undo or verdict.is_by_reviewer or not verdict.label else verdict.action


@page_endpoint
def show_map(site: Site, request: Request, form: RequestForm) -> Response:
    """Show which hosts link to which, and the communities that they form."""
    with site.collections.open_readonly(request.path_params["name"]) as opened:
        store = opened.store
        drawn = opened.cache.compute("map", store, lambda: link_map.build_link_map(store), max_age=_MAX_MAP_AGE)
        rows = [(one, other, count) for (one, other), count in drawn.links.most_common(_MAX_HOST_LINKS)]
        return site.render_page(
            "map.html",
            it=crawl_figures.get_figures(opened),
            drawn=drawn,
            picture=Markup(link_map.render_map(drawn)),
            ways=rows,
            hosts=link_map.describe_hosts(drawn),
        )
