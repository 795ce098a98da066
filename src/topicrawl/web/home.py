"""The home page: all collections, grouped by topic and updated live, and the form for a new crawl."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from typing import Any, NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from topicrawl.collection import queries
from topicrawl.errors import CollectionError, UsageError
from topicrawl.web import crawl_figures
from topicrawl.web.collections import NotFoundError, OpenCollection
from topicrawl.web.crawl_figures import CollectionFigures
from topicrawl.web.crawl_processes import hide_path
from topicrawl.web.new_crawls import (
    FORM_FIELDS,
    MAX_TEXT,
    describe_crawl,
    find_starting_crawls,
    get_empty_form,
    list_form_choices,
    parse_request,
    start_new_crawl,
)
from topicrawl.web.site import RequestForm, Site, get_collection_path, page_endpoint, redirect_to

_SPARK_WIDTH, _SPARK_HEIGHT = 100, 24


class OverviewRow(NamedTuple):
    """A row of the table of collections."""

    figures: CollectionFigures
    started: float  # timestamp of the first page; 0 without pages
    spark: str  # path of the harvest curve as SVG; "" without pages


@page_endpoint
def show_home(site: Site, request: Request, form: RequestForm) -> Response:
    """Show all collections and a form for a new crawl. With the field `like`, the form describes that crawl."""
    values = get_empty_form()
    if like := form.get_text("like", max_length=200):
        try:
            with site.collections.open_readonly(like) as opened:
                values = describe_crawl(opened)
        except NotFoundError as error:
            return render_home(site, values, message=str(error))
    return render_home(site, values, removed=form.get_text("removed", max_length=200))


@page_endpoint
def start_crawl(site: Site, request: Request, form: RequestForm) -> Response:
    """Start a new crawl and show it. If the input is invalid, show the form again with the input and the error."""
    values = {name: form.get_text(name, max_length=MAX_TEXT)[:10_000] for name in FORM_FIELDS}
    try:
        directory = start_new_crawl(site, parse_request(form), values)
    except UsageError as error:
        return render_home(site, values, message=str(error))
    return redirect_to(get_collection_path(directory.name))


def render_home(site: Site, form_values: Mapping[str, str], *, message: str = "", removed: str = "") -> Response:
    """Render the home page with the given values in the form, an error message and the name of a removed collection."""
    return site.render_page(
        "home.html",
        code=400 if message else 200,
        given=form_values,
        trouble=message,
        removed=removed,
        **list_form_choices(site),
        **build_home_values(site),
    )


def build_home_values(site: Site) -> dict[str, Any]:
    """Return the template values of the collections, which the page updates."""
    rows: list[OverviewRow] = []
    broken = list(site.collections.find_damaged())
    for name in site.collections.list_directories():
        try:
            with site.collections.open_readonly(name) as opened:
                rows.append(_build_row(opened))
        except CollectionError as error:
            broken.append((name, str(error)))
    return {
        "groups": group_rows(rows),
        "broken": broken,
        "started": _list_starting_crawls(site),
        "home": site.collections.crawl_home,
    }


def _list_starting_crawls(site: Site) -> list[tuple[str, bool, str]]:
    """List the crawls whose collection does not exist yet: name, whether the process runs, and its output."""
    return [
        (name, process.is_running, hide_path(directory, process.read_output()))
        for name, (directory, process) in find_starting_crawls(site).items()
    ]


def _build_row(opened: OpenCollection) -> OverviewRow:
    started = opened.cache.compute("started", opened.store, lambda: queries.find_first_time(opened.store))
    curve = crawl_figures.compute_harvest_curve(opened)
    return OverviewRow(crawl_figures.get_figures(opened), started, draw_spark(curve))


def draw_spark(curve: list[tuple[int, int]]) -> str:
    """Return a harvest curve as an SVG path; its slope is the harvest rate, so that rows can be compared.

    >>> draw_spark([(0, 0), (10, 5)]), draw_spark([(0, 0)])
    ('M0.0 24.0L100.0 12.0', '')
    """
    fetches = curve[-1][0] if curve else 0
    if not fetches:
        return ""
    points = [
        f"{_SPARK_WIDTH * at / fetches:.1f} {_SPARK_HEIGHT * (1 - found / fetches):.1f}"
        for at, found in curve[:: max(1, len(curve) // 40)]
    ]
    points.append(f"{_SPARK_WIDTH:.1f} {_SPARK_HEIGHT * (1 - curve[-1][1] / fetches):.1f}")
    return "M" + "L".join(dict.fromkeys(points))


def group_rows(rows: list[OverviewRow]) -> list[tuple[str, list[OverviewRow]]]:
    """Return the rows by topic: topics with a running crawl first, then those with the newest crawl first."""

    def get_rank(row: OverviewRow) -> tuple[bool, float]:
        return row.figures.crawling, row.started

    by_topic = sorted(rows, key=lambda row: row.figures.topic.casefold())
    groups = []
    for _, group in groupby(by_topic, key=lambda row: row.figures.topic.casefold()):
        members = sorted(group, key=get_rank, reverse=True)
        groups.append((members[0].figures.topic, members))
    return sorted(groups, key=lambda group: get_rank(group[1][0]), reverse=True)
