"""Train `hmm` and its hybrids by browsing: record sessions of opened pages and labels, and learn an HMM from them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import NamedTemporaryFile
from threading import Lock
from time import strftime

from msgspec.structs import replace
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.responses import Response as Reply

from topicrawl import sessions
from topicrawl.builder.stored_settings import load_topic_and_settings
from topicrawl.collection.annotations import AnnotationLabel
from topicrawl.collection.browsing_sessions import BACK, PAGES_FOLDER, BrowsingLog, BrowsingStep
from topicrawl.errors import DamagedError, TopicrawlError, UsageError
from topicrawl.models import Link, Response
from topicrawl.web import crawl_figures, page_view
from topicrawl.web.actions import save_verdict
from topicrawl.web.collections import OpenCollection
from topicrawl.web.crawl_processes import choose_directory, hide_path
from topicrawl.web.page_fetching import load_page
from topicrawl.web.security import BodyTooLargeError
from topicrawl.web.site import (
    RequestForm,
    Site,
    get_annotator,
    get_collection_path,
    get_error_status,
    page_endpoint,
    redirect_to,
)

log = logging.getLogger("topicrawl")
MODEL_FILE = "hmm.json"
#: Strategies that use the model, the usual choice first.
MODEL_STRATEGIES = ("hybrid_anchor", "hybrid", "hmm")
_WRITE_LOCK = Lock()  # each step rewrites the whole file of sessions
_MAX_STEPS = 20_000  # maximum number of recorded steps
# Below these numbers, the page warns: the model groups the pages into five clusters, and each needs several pages.
_FEW_STEPS = 30
_FEW_RELEVANT_PAGES = 5


@page_endpoint
def show_training(site: Site, request: Request, form: RequestForm) -> Reply:
    """Show the current page of a session with its links, and the state of the training."""
    with site.collections.open_readonly(request.path_params["name"]) as opened:
        browsing = BrowsingLog(opened.directory)
        session = form.get_text("session", max_length=80)
        url = browsing.get_open_page(session) if session else ""
        view = _load_view(opened, browsing, url) if url else None
        labels = browsing.get_labels()
        relevant = sum(label == AnnotationLabel.RELEVANT for label in labels.values())
        return site.render_page(
            "teach.html",
            it=crawl_figures.get_figures(opened),
            view=view,
            session=session,
            url=url,
            label=labels.get(url, ""),
            sessions=browsing.list_sessions()[-10:],
            steps=len(browsing.steps),
            relevant=relevant,
            irrelevant=sum(label == AnnotationLabel.IRRELEVANT for label in labels.values()),
            has_little_data=len(browsing.steps) < _FEW_STEPS or relevant < _FEW_RELEVANT_PAGES,
            enough=(_FEW_STEPS, _FEW_RELEVANT_PAGES),
            trail=[step for step in browsing.steps if step.session == session][-12:] if session else [],
            missing=len(browsing.find_missing_pages()),
            model=(opened.directory / MODEL_FILE).exists(),
            strategies=MODEL_STRATEGIES,
            now=site.jobs.describe_progress(_get_job_name(opened.directory)),
            outcomes=_format_results(site, opened.directory),
            can_crawl=site.collections.crawl_home is not None,
        )


def _format_results(site: Site, directory: Path) -> list[tuple[str, bool]]:
    """Return the messages of finished training jobs, each with a flag: the job failed."""
    messages = []
    for result in site.jobs.get_results(_get_job_name(directory)):
        # The advice on command-line options does not help users of the web page.
        text = hide_path(directory, result.said).removeprefix("hmm: ").partition(": name relevant pages with")[0]
        message = text if result.failed else f"Learned from {text.partition(': ')[2] or text}"
        messages.append((message, result.failed))
    return messages


def _load_view(opened: OpenCollection, browsing: BrowsingLog, url: str) -> page_view.PageView:
    """Load a page and return its view. If it cannot be loaded, the view contains only the reason (`trouble`)."""
    response = asyncio.run(load_page(opened, browsing, url))
    if response.failure is not None:
        return page_view.PageView(url, url, "", (), (), 0, trouble=f"{response.failure}: {response.detail}")
    return page_view.build_response_view(response, Link(url), opened.topic)


@page_endpoint
def open_page(site: Site, request: Request, form: RequestForm) -> Reply:
    """Open a page, store it for the training, and add it to the session.

    Raise `UsageError` if the page cannot be loaded, or if the limit of clicks is reached.
    """
    name, url = request.path_params["name"], form.get_url()
    session = _get_session_name(form)
    with site.collections.open_readonly(name) as opened, _WRITE_LOCK:
        browsing = BrowsingLog(opened.directory)
        if len(browsing.steps) >= _MAX_STEPS:
            raise UsageError(f"the limit of {_MAX_STEPS} clicks is reached: remove some sessions from browsing.tsv")
        if browsing.load_page(url) is None:
            response = asyncio.run(load_page(opened, browsing, url))
            if response.failure is not None:
                raise UsageError(f"{url} cannot be read: {response.failure} {response.detail}")
            browsing.store_pages([response])
        browsing.add_steps([BrowsingStep(session, url)])
    return redirect_to(f"{get_collection_path(name)}/teach", session=session)


@page_endpoint
def go_back(site: Site, request: Request, form: RequestForm) -> Reply:
    """Record that the user goes back to the previous page of the session. Without an open page, do nothing."""
    name, session = request.path_params["name"], _get_session_name(form)
    with _WRITE_LOCK:
        browsing = BrowsingLog(site.collections.get_directory(name))
        if browsing.get_open_page(session):
            browsing.add_steps([BrowsingStep(session, BACK)])
    return redirect_to(f"{get_collection_path(name)}/teach", session=session)


@page_endpoint
def label_page(site: Site, request: Request, form: RequestForm) -> Reply:
    """Label the current page as relevant or not; if it is in the collection, add the verdict there too."""
    name, session, url = request.path_params["name"], _get_session_name(form), form.get_url()
    verdict = form.get_text("verdict")
    if verdict not in (AnnotationLabel.RELEVANT, AnnotationLabel.IRRELEVANT):
        raise UsageError(f"the verdict must be relevant or irrelevant, not {verdict[:20]!r}")
    with site.collections.open_readonly(name) as opened, _WRITE_LOCK:
        BrowsingLog(opened.directory).set_label(url, verdict)
        visit = opened.store.find_visit(url)
    if visit is not None and visit.failure is None:
        save_verdict(site, name, [url], verdict, annotator=get_annotator(request))
    return redirect_to(f"{get_collection_path(name)}/teach", session=session)


@page_endpoint
def train_model(site: Site, request: Request, form: RequestForm) -> Reply:
    """Start a background job that trains an HMM on all sessions. Pages of the collection are added to them first.

    With the form field `fetch`, the job fetches the other pages of an imported history, as a crawl does.
    """
    name = request.path_params["name"]
    with site.collections.open_readonly(name) as opened, _WRITE_LOCK:
        directory, browsing = opened.directory, BrowsingLog(opened.directory)
        # Pages of an imported history were not fetched by a session; use those that the collection contains.
        browsing.store_pages(_load_responses(opened, browsing.find_missing_pages()))
    command = ["train", "hmm", str(directory / PAGES_FOLDER), "--topic", str(directory / "topic.toml")]
    command += ["--sessions", str(directory / "browsing.tsv"), "--out", str(directory / MODEL_FILE), "--force"]
    if form.get_text("fetch"):
        command += ["--fetch", *_format_request_options(directory)]
    site.jobs.start(_get_job_name(directory), {"learning": command})
    return redirect_to(f"{get_collection_path(name)}/teach")


def _format_request_options(directory: Path) -> list[str]:
    """Return the options of requests with the settings of the crawl."""
    _, settings = load_topic_and_settings(directory, {})
    options = [f"--delay={settings.delay}", f"--contact={settings.contact}", *(["--no-robots"] * (not settings.robots))]
    options += [f"--proxy={settings.proxy}"] if settings.proxy else []
    options += [f"--user-agent={settings.user_agent}"] if settings.user_agent else []
    options += [f"--allow-net={network}" for network in settings.allow_net]
    return [*options, *(f"--resolve={address}" for address in settings.resolve)]


def _load_responses(opened: OpenCollection, urls: Iterable[str]) -> Iterator[Response]:
    """Yield the archived responses of those URLs that the collection contains."""
    for url in urls:
        visit = opened.store.find_visit(url)
        if visit is not None and visit.location is not None:
            try:
                yield replace(opened.archive.read_response(visit.location), url=visit.requested, final_url=visit.url)
            except DamagedError as error:
                log.warning("cannot use page for training: %s", error)


@page_endpoint
def crawl_with_model(site: Site, request: Request, form: RequestForm) -> Reply:
    """Start a new crawl with the same topic and seeds that uses the trained model, with `hmm` or a hybrid."""
    strategy = form.get_text("strategy") or MODEL_STRATEGIES[0]
    if strategy not in MODEL_STRATEGIES:
        raise UsageError(f"the strategy must be one of {', '.join(MODEL_STRATEGIES)}, not {strategy[:20]!r}")
    with site.collections.open_readonly(request.path_params["name"]) as opened:
        if not (opened.directory / MODEL_FILE).exists():
            raise UsageError("there is no model yet: train one first")
        rows = opened.store.query_rows("SELECT requested FROM visits WHERE source = '' ORDER BY step LIMIT 200")
        pages = form.get_integer("pages", 1000, minimum=1)
        directory = choose_directory(
            site.collections.crawl_home, f"{opened.topic.name} {strategy}", site.collections.list_directories()
        )
        site.crawls.start(
            directory,
            [
                f"--strategy={strategy}:model={opened.directory / MODEL_FILE}",
                f"--topic={opened.directory / 'topic.toml'}",
                f"--pages={pages}",
                *(f"--seed={url}" for (url,) in rows),
            ],
        )
    return redirect_to(get_collection_path(directory.name))


def _get_job_name(directory: Path) -> str:
    return f"train {directory}"


async def import_history(request: Request) -> Reply:
    """Import sessions from the history of a browser, a HAR file or a TSV file."""
    site: Site = request.app.state.site
    try:
        with NamedTemporaryFile() as file:
            async for chunk in request.stream():
                file.write(chunk)
            file.flush()
            text = await run_in_threadpool(_import_sessions, site, request.path_params["name"], Path(file.name))
    except (TopicrawlError, BodyTooLargeError) as error:
        return PlainTextResponse(str(error).replace(getattr(file, "name", "?"), "the file"), get_error_status(error))
    return PlainTextResponse(text)


def _import_sessions(site: Site, name: str, path: Path) -> str:
    """Add the sessions of a file, up to the limit of clicks, and return a message for the user."""
    labelled = sessions.read_labelled_sessions(path)
    labels = {**dict.fromkeys(labelled.relevant, "relevant"), **dict.fromkeys(labelled.irrelevant, "irrelevant")}
    with _WRITE_LOCK:
        browsing = BrowsingLog(site.collections.get_directory(name))
        remaining = _MAX_STEPS - len(browsing.steps)
        steps = [
            BrowsingStep(f"imported {strftime('%Y-%m-%d %H:%M')} {number}", url, labels.get(url, ""))
            for number, walk in enumerate(labelled.click_paths)
            for url in walk
        ]
        browsing.add_steps(steps[: max(0, remaining)])
    with site.collections.open_readonly(name) as opened:
        pages = {step.url for step in steps}
        collected = sum(opened.store.find_visit(url) is not None for url in pages)
    return (
        f"{len(labelled.click_paths):,} sessions with {min(len(steps), remaining):,} clicks were added. The collection"
        f" contains {collected:,} of their {len(pages):,} pages; the training uses these, and can fetch the others."
    )


def _get_session_name(form: RequestForm) -> str:
    """Return the name of the session in a form."""
    name = " ".join(form.get_text("session", max_length=80).split())
    if not name or not name.isprintable() or name.startswith("#"):
        raise UsageError("the session needs a name")
    return name
