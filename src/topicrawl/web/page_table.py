"""The table of pages: filters, sorting, numbered pages, selection, verdicts on many pages, and downloads."""

from __future__ import annotations

import dataclasses
import json
from array import array
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from time import time
from typing import Any, NamedTuple

from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import FileResponse, Response

from topicrawl.collection import annotations as annotation_log
from topicrawl.collection import notes
from topicrawl.collection.annotations import BULK_ORIGIN
from topicrawl.collection.export.rows import ExportPages
from topicrawl.collection.export.run import FORMATS, ExportJob, choose_text_kind, run_export
from topicrawl.collection.page_filter import VERDICTS, ExportFilter
from topicrawl.collection.review import find_page_urls
from topicrawl.collection.store import HOST_OF_URL, CollectionStore
from topicrawl.errors import UsageError
from topicrawl.web import crawl_figures
from topicrawl.web.actions import parse_label
from topicrawl.web.collections import OpenCollection
from topicrawl.web.site import (
    RequestForm,
    Site,
    encode_query,
    get_annotator,
    get_collection_path,
    page_endpoint,
    redirect_to,
)

ROWS_PER_PAGE = 50
_ALL_PAGES = ExportFilter(includes_irrelevant=True)
_MAX_SORTED = 5000  # selected pages that are sorted alone
_MAX_OPTIONS = 40  # languages, types and tags to choose from
_MAX_HOST_ROWS = 20  # pages of a host
_DOWNLOADS = ("csv", "jsonl", "parquet", "warc")
#: Sort orders: name → SQL expression and whether it is descending by default.
SORTS = {
    "at": ("visits.step", True),
    "relevance": ("visits.relevance", True),
    "title": ("pages.title COLLATE NOCASE", False),
    "host": (HOST_OF_URL.replace("url", "pages.url"), False),
    "language": ("pages.language", False),
    "type": ("pages.type", False),
    "words": ("pages.words", True),
}
_SHOWN = ("all", "relevant", "reviewed", "failed")
_FIELDS = ("show", "text", "host", "language", "type", "verdict", "tag", "from", "to", "since", "until", "sort")


class PageRow(NamedTuple):
    """A row of the table."""

    step: int
    url: str
    title: str
    relevance: float | None
    at: float
    language: str
    type: str
    words: int
    label: str  # current verdict, or ""
    origin: str  # of the verdict
    annotator: str  # of the verdict


def parse_filter(form: RequestForm) -> ExportFilter:
    """Convert the fields of the filter form. Raise `UsageError` for an invalid value."""
    show = form.get_text("show") if form.get_text("show") in _SHOWN else "all"
    verdict = form.get_text("verdict")
    verdicts = (verdict,) if verdict else tuple(VERDICTS[:3]) if show == "reviewed" else ()
    return ExportFilter(
        relevance=_parse_share(form, "from"),
        max_relevance=_parse_share(form, "to"),
        verdicts=verdicts,
        includes_irrelevant=show != "relevant",
        languages=_split_field(form, "language"),
        hosts=_split_field(form, "host"),
        types=_split_field(form, "type"),
        tags=_split_field(form, "tag"),
        text=form.get_text("text", max_length=300),
        since=_parse_day(form, "since") or 0.0,
        until=(_parse_day(form, "until") or float("inf")) + 86_400,
    )


def _split_field(form: RequestForm, name: str) -> tuple[str, ...]:
    return tuple(part.strip().lower() for part in form.get_text(name).split(",") if part.strip())


def _parse_share(form: RequestForm, name: str) -> float | None:
    text = form.get_text(name, max_length=20)
    try:
        value = float(text) if text else None
    except ValueError as error:
        raise UsageError(f"the relevance must be a number from 0 to 1, not {text!r}") from error
    if value is not None and not 0 <= value <= 1:
        raise UsageError(f"the relevance must be a number from 0 to 1, not {text!r}")
    return value


def _parse_day(form: RequestForm, name: str) -> float | None:
    text = form.get_text(name, max_length=20)
    try:
        return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() if text else None
    except ValueError as error:
        raise UsageError(f"a date must have the form 2026-01-31, not {text!r}") from error


def _get_fields(form: RequestForm) -> dict[str, str]:
    """Return the fields of the filter form that are not empty, for links to the same selection."""
    return {name: value for name in _FIELDS if (value := form.get_text(name))}


def _parse_sort(form: RequestForm) -> tuple[str, bool]:
    """Return the sort order and whether it is descending; a minus sign before the name reverses its direction."""
    text = form.get_text("sort") or "at"
    name = text.removeprefix("-")
    if name not in SORTS:
        raise UsageError(f"pages cannot be sorted by {name[:40]!r}")
    return name, SORTS[name][1] != text.startswith("-")


def select_steps(opened: OpenCollection, selection: ExportFilter, sort: tuple[str, bool]) -> array[int]:
    """Return the steps of the selected pages in their order. They are kept, so that any page of the table is quick."""
    steps, values = selection.build_step_query(opened.topic.threshold)
    order = f"ORDER BY {SORTS[sort[0]][0]} {'DESC' if sort[1] else 'ASC'}, visits.step DESC"

    def select() -> array[int]:
        if sort[0] == "at" or selection == _ALL_PAGES:
            return _read_steps(opened.store, f"{steps} {order}", values)
        # In the order of the steps, SQLite reads the tables in order, not by the index of relevance.
        chosen = _read_steps(opened.store, f"{steps} ORDER BY pages.step", values)
        if len(chosen) < _MAX_SORTED:
            sql = "SELECT pages.step FROM json_each(?) JOIN pages ON pages.step = value"
            sql += f" JOIN visits ON visits.step = pages.step {order}"
            return _read_steps(opened.store, sql, [json.dumps(list(chosen))])
        # Sorting many pages takes longer than finding them, and the order of all pages is kept.
        return array("I", filter(set(chosen).__contains__, select_steps(opened, _ALL_PAGES, sort)))

    return opened.cache.compute(f"steps {sort} {selection}", opened.store, select)


def _read_steps(store: CollectionStore, sql: str, values: Sequence[object]) -> array[int]:
    return array("I", (step for (step,) in store.iterate_typed_rows(tuple[int], sql, values)))


def load_rows(opened: OpenCollection, steps: Sequence[int]) -> list[PageRow]:
    """Return the rows of the pages with given steps, in the same order; pages that were removed are left out."""
    sql = (
        "SELECT visits.step, pages.url, title, visits.relevance, visits.at, language, type, words, coalesce(label, ''),"
        " coalesce(origin, ''), coalesce(annotator, '') FROM visits"
        " JOIN pages ON pages.step = visits.step"
        " LEFT JOIN annotations ON number = (SELECT max(number) FROM annotations WHERE page = pages.id)"
        f" WHERE visits.step IN ({','.join('?' * len(steps))})"
    )
    rows = {row.step: row for row in opened.store.query_typed_rows(PageRow, sql, list(steps))}
    return [rows[step] for step in steps if step in rows]


def list_page_numbers(current: int, last: int) -> list[int]:
    """Return the numbers of the pages to link to: the first, the last and those around the current one. 0 is a gap.

    >>> list_page_numbers(6, 12), list_page_numbers(1, 2)
    ([1, 0, 4, 5, 6, 7, 8, 0, 12], [1, 2])
    """
    shown = sorted({1, last, *range(max(1, current - 2), min(last, current + 2) + 1)})
    result: list[int] = []
    for number in shown:
        if result and number - result[-1] > 1:
            result.append(0)
        result.append(number)
    return result


def _list_options(opened: OpenCollection) -> dict[str, list[str]]:
    """Return the languages, types and tags of the collection, most frequent first."""
    sql = "SELECT {0} FROM pages WHERE {0} <> '' GROUP BY 1 ORDER BY count(*) DESC LIMIT ?"

    def load() -> dict[str, list[str]]:
        store = opened.store
        return {
            name: [str(value) for (value,) in store.query_rows(sql.format(name), (_MAX_OPTIONS,))]
            for name in ("language", "type")
        }

    return {**opened.cache.compute("options", opened.store, load), "tag": list(notes.count_tags(opened.store))}


@page_endpoint
def show_pages(site: Site, request: Request, form: RequestForm) -> Response:
    """Show the pages that match a filter, sorted, `ROWS_PER_PAGE` at a time."""
    with site.collections.open_readonly(request.path_params["name"]) as opened:
        if form.get_text("show") == "failed":
            return _show_failed(site, opened, form)
        message = ""
        try:
            selection, sort = parse_filter(form), _parse_sort(form)
        except UsageError as error:
            # The form keeps its values, and the table shows all pages.
            selection, sort, message = ExportFilter(includes_irrelevant=True), ("at", True), str(error)
        return site.render_page(
            "pages.html", code=400 if message else 200, **_build_values(opened, form, selection, sort, message=message)
        )


def _build_values(
    opened: OpenCollection, form: RequestForm, selection: ExportFilter, sort: tuple[str, bool], *, message: str = ""
) -> dict[str, Any]:
    """Return the values of the template."""
    steps = select_steps(opened, selection, sort)
    count = len(steps)
    last = max(1, -(-count // ROWS_PER_PAGE))
    number = min(last, form.get_integer("number", 1, minimum=1))
    fields = _get_fields(form)
    return {
        "it": crawl_figures.get_figures(opened),
        "rows": load_rows(opened, steps[(number - 1) * ROWS_PER_PAGE : number * ROWS_PER_PAGE]),
        "count": count,
        "number": number,
        "numbers": list_page_numbers(number, last),
        "given": {name: form.get_text(name) for name in _FIELDS},
        "fields": fields,
        "query": encode_query(fields),
        "sort": sort,
        "sorts": {name: _link_sort(name, sort) for name in SORTS},
        "options": _list_options(opened),
        "verdicts": VERDICTS,
        "downloads": _DOWNLOADS,
        "show": fields.get("show", "all"),
        "choices": _SHOWN,
        "trouble": message,
        "judged": form.get_integer("judged", 0),
        "action": form.get_integer("action", 0, maximum=1 << 40),
        "label": form.get_text("as_", max_length=20),
        "command": describe_command(opened.name, selection),
    }


def _link_sort(name: str, sort: tuple[str, bool]) -> str:
    """Return the value of the field `sort` behind a column title: a second click reverses the order."""
    is_default = sort == (name, SORTS[name][1])
    return f"-{name}" if is_default else name


def describe_command(name: str, selection: ExportFilter) -> str:
    """Return the options of `topicrawl export` that select the same pages.

    >>> describe_command("owls", ExportFilter(includes_irrelevant=True, hosts=("a.org",), text="barn owl"))
    "topicrawl export owls --to csv --all --host a.org --text-contains 'barn owl'"
    """
    parts = ["topicrawl export", name, "--to csv"]
    parts += ["--all"] if selection.includes_irrelevant and not selection.verdicts else []
    options: Mapping[str, tuple[object, ...]] = {
        "--verdict": selection.verdicts,
        "--host": selection.hosts,
        "--language": selection.languages,
        "--type": selection.types,
        "--tag": selection.tags,
        "--text-contains": (f"'{selection.text}'" if " " in selection.text else selection.text,)
        if selection.text
        else (),
        "--relevance": () if selection.relevance is None else (selection.relevance,),
        "--max-relevance": () if selection.max_relevance is None else (selection.max_relevance,),
        "--since": (_format_day(selection.since),) if selection.since else (),
        "--until": (_format_day(selection.until),) if selection.until < float("inf") else (),
    }
    parts += [f"{option} {value}" for option, values in options.items() for value in values]
    return " ".join(parts)


def _format_day(at: float) -> str:
    return (datetime.fromtimestamp(0, UTC) + timedelta(seconds=at)).strftime("%Y-%m-%d")


def _show_failed(site: Site, opened: OpenCollection, form: RequestForm) -> Response:
    """Show the URLs that could not be fetched, newest first."""
    count = sum(crawl_figures.count_failures(opened).values())
    last = max(1, -(-count // ROWS_PER_PAGE))
    number = min(last, form.get_integer("number", 1, minimum=1))
    sql = "SELECT step, url, failure, detail FROM visits WHERE failure IS NOT NULL ORDER BY step DESC LIMIT ? OFFSET ?"
    rows = opened.store.query_rows(sql, (ROWS_PER_PAGE, (number - 1) * ROWS_PER_PAGE))
    return site.render_page(
        "failed.html",
        it=crawl_figures.get_figures(opened),
        rows=rows,
        count=count,
        number=number,
        numbers=list_page_numbers(number, last),
        fields={"show": "failed"},
        choices=_SHOWN,
        show="failed",
    )


def _parse_selection(form: RequestForm) -> ExportFilter:
    """Return the selected pages of the table: the checked rows, or all pages that match the filter."""
    selection = parse_filter(RequestForm(form.get_text("query", max_length=4000)))
    if form.get_text("scope") == "all":
        return selection
    urls = tuple(url for url in form.get_texts("url") if url)
    if not urls:
        raise UsageError("no page is selected: check some pages, or choose all pages that match the filter")
    return dataclasses.replace(selection, urls=urls)


@page_endpoint
def download_pages(site: Site, request: Request, form: RequestForm) -> Response:
    """Export the selected pages, as `topicrawl export` with the same filter, and send the file."""
    to, selection = form.get_text("format"), _parse_selection(form)
    if to not in _DOWNLOADS:
        raise UsageError(f"there is no format {to[:40]!r}: choose one of {', '.join(_DOWNLOADS)}")
    directory = site.collections.get_directory(request.path_params["name"])
    folder = Path(mkdtemp(prefix="topicrawl-download-"))
    try:
        path = folder / f"{directory.name}{FORMATS[to][1]}"
        pages = ExportPages(directory, selection, choose_text_kind(to, None))
        try:
            run_export(pages, ExportJob(to, path, card=False), lambda: None)
        finally:
            pages.close()
    except BaseException:
        rmtree(folder, ignore_errors=True)
        raise
    headers = {"cache-control": "no-store"}
    return FileResponse(path, filename=path.name, headers=headers, background=BackgroundTask(rmtree, folder))


@page_endpoint
def judge_pages(site: Site, request: Request, form: RequestForm) -> Response:
    """Give one verdict on the selected pages, as one action that can be undone."""
    name, label, selection = request.path_params["name"], parse_label(form.get_text("verdict")), _parse_selection(form)
    with site.collections.open_writable(name) as opened:
        if selection.urls:
            urls, origin = find_page_urls(opened.store, selection.urls), "read"
        else:
            steps, values = selection.build_step_query(opened.topic.threshold)
            sql = f"SELECT url FROM pages WHERE step IN ({steps}) ORDER BY step"
            urls, origin = [str(url) for (url,) in opened.store.query_rows(sql, values)], BULK_ORIGIN
        action = 0
        if urls:
            annotator = get_annotator(request)
            action = annotation_log.annotate(opened.store, urls, label, origin=origin, at=time(), annotator=annotator)
    fields = _get_fields(RequestForm(form.get_text("query", max_length=4000)))
    return redirect_to(f"{get_collection_path(name)}/pages", **fields, judged=len(urls), action=action, as_=label)


@page_endpoint
def show_host(site: Site, request: Request, form: RequestForm) -> Response:
    """Show one host: its pages, relevance, failures and verdicts."""
    host = form.get_text("name", max_length=300).lower()
    with site.collections.open_readonly(request.path_params["name"]) as opened:
        selection = ExportFilter(includes_irrelevant=True, hosts=(host,))
        steps, values = selection.build_step_query(opened.topic.threshold)
        order = ("relevance", True)
        chosen, relevant = select_steps(opened, selection, order), ExportFilter(hosts=(host,))
        failures = opened.store.query_rows(
            "SELECT failure, count(*) FROM visits WHERE failure IS NOT NULL AND (url LIKE ? OR url LIKE ?)"
            " GROUP BY 1 ORDER BY 2 DESC",
            (f"http://{host}/%", f"https://{host}/%"),
        )
        span = opened.store.query_rows(f"SELECT min(at), max(at) FROM visits WHERE step IN ({steps})", values)[0]
        return site.render_page(
            "host.html",
            it=crawl_figures.get_figures(opened),
            host=host,
            pages=len(chosen),
            relevant=len(select_steps(opened, relevant, order)),
            failures=failures,
            first=span[0],
            last=span[1],
            rows=load_rows(opened, chosen[:_MAX_HOST_ROWS]),
        )
