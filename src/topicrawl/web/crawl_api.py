"""Handlers of the JSON API that start and resume crawls, and export collections."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response

from topicrawl import strategies
from topicrawl.collection.export.rows import ExportPages, TextKind
from topicrawl.collection.export.run import FORMATS, ExportJob, choose_text_kind, run_export
from topicrawl.collection.page_filter import ExportFilter
from topicrawl.errors import CollectionError, UsageError
from topicrawl.settings import parse_seed_urls
from topicrawl.web.api import JsonBody, json_endpoint
from topicrawl.web.new_crawls import CrawlRequest, start_new_crawl
from topicrawl.web.openapi import EXPORT_TYPES
from topicrawl.web.site import RequestForm, Site, page_endpoint

MAX_PAGES = 1_000_000


@json_endpoint
def start_crawl(site: Site, request: Request, body: JsonBody) -> Response:
    """Start a new crawl in its own process. Return the name of its collection, which exists a moment later."""
    seeds = body.fields.get("seeds")
    if not isinstance(seeds, list) or not all(isinstance(seed, str) for seed in seeds):
        raise UsageError("seeds must be a list of web addresses")
    strategy = body.get_text("strategy", strategies.DEFAULT_STRATEGY)
    limits = {"pages": _get_pages(body, 1000)}
    directory = start_new_crawl(site, CrawlRequest(body.get_text("words"), parse_seed_urls(seeds), strategy, limits))
    return JSONResponse({"name": directory.name})


@json_endpoint
def resume_crawl(site: Site, request: Request, body: JsonBody) -> Response:
    """Resume a stopped crawl in its own process, with a new page limit if the body contains one."""
    name = request.path_params["name"]
    pages = _get_pages(body, 0)
    site.crawls.start(site.collections.get_directory(name), [f"--pages={pages}"] if pages else [])
    return JSONResponse({"name": name})


def _get_pages(body: JsonBody, default: int) -> int:
    """Return the page limit in a body. Raise `UsageError` if it is not an integer or too large."""
    number = body.get_number("pages", default)
    if number != int(number) or not 0 <= number <= MAX_PAGES or (number == 0 and default):
        raise UsageError(f"pages must be an integer from 1 to {MAX_PAGES}")
    return int(number)


@page_endpoint
def export_pages(site: Site, request: Request, form: RequestForm) -> Response:
    """Export pages of a collection, and return the file. The crawl may be running."""
    to, text = form.get_text("format", "jsonl"), form.get_text("text")
    if to not in EXPORT_TYPES:
        raise UsageError(f"format must be one of {', '.join(EXPORT_TYPES)}")
    if text and text not in list(TextKind):
        raise UsageError(f"text must be one of {', '.join(TextKind)}")
    name = request.path_params["name"]
    directory = site.collections.get_directory(name)
    if not site.export_slots.acquire(blocking=False):
        raise CollectionError("too many exports are running: try again later")
    folder = Path(tempfile.mkdtemp(prefix="topicrawl-export-"))
    try:
        path = folder / f"{directory.name}{FORMATS[to][1]}"
        page_filter = ExportFilter(includes_irrelevant=form.get_text("all") in ("1", "true"))
        pages = ExportPages(directory, page_filter, choose_text_kind(to, TextKind(text) if text else None))
        try:
            run_export(pages, ExportJob(to, path, card=False), lambda: None)
        finally:
            pages.close()
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    finally:
        site.export_slots.release()
    cleanup = BackgroundTask(shutil.rmtree, folder, ignore_errors=True)
    return FileResponse(path, media_type=EXPORT_TYPES[to], filename=path.name, background=cleanup)
