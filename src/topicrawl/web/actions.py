"""Handlers of user actions: start and steer crawls, annotate pages, undo annotations. All are POST requests."""

from __future__ import annotations

from pathlib import Path
from time import time

from starlette.requests import Request
from starlette.responses import Response

from topicrawl import strategies
from topicrawl.collection import annotations as annotation_log
from topicrawl.collection import commands
from topicrawl.collection.annotations import AnnotationLabel
from topicrawl.collection.commands import CommandKind
from topicrawl.collection.directory import is_crawling
from topicrawl.collection.review import find_page_urls
from topicrawl.errors import UsageError
from topicrawl.settings import parse_seed_urls
from topicrawl.text.tokenizer import tokenise
from topicrawl.topic import Topic
from topicrawl.web.crawl_processes import choose_directory
from topicrawl.web.pages import render_home
from topicrawl.web.site import (
    RequestForm,
    Site,
    get_annotator,
    get_collection_path,
    page_endpoint,
    redirect_to,
)

_MAX_SEEDS = 200
_MAX_AMOUNT = 10


@page_endpoint
def start_crawl(site: Site, request: Request, form: RequestForm) -> Response:
    """Start a new crawl in its own process. If the input is invalid, show the form again with an error message."""
    try:
        return _start_from_form(site, form)
    except UsageError as error:
        values = {
            name: form.get_text(name, max_length=100_000)[:10_000] for name in ("words", "seeds", "strategy", "pages")
        }
        return render_home(site, values, message=str(error))


def _start_from_form(site: Site, form: RequestForm) -> Response:
    start_new_crawl(
        site,
        form.get_text("words", max_length=300),
        parse_seed_urls(form.get_text("seeds", max_length=100_000).split()),
        form.get_text("strategy", strategies.DEFAULT_STRATEGY),
        form.get_integer("pages", 1000, minimum=1),
    )
    return redirect_to("/")


def start_new_crawl(site: Site, words: str, seeds: list[str], strategy: str, pages: int) -> Path:
    """Start a new crawl in its own process, and return its directory. Raise `UsageError` for invalid input."""
    if len(words) > 300:
        raise UsageError("the topic is too long: the maximum is 300 characters")
    topic = Topic.of(words)
    if not seeds or len(seeds) > _MAX_SEEDS:
        raise UsageError(f"enter at least one and at most {_MAX_SEEDS} seed URLs")
    if strategy not in strategies.list_strategies():
        # A strategy name with a module would load code that the user of the web page chooses.
        raise UsageError(f"unknown strategy {strategy!r}")
    directory = choose_directory(site.collections.crawl_home, topic.name)
    # After `--` the words of the user cannot be taken for options.
    site.crawls.start(
        directory, [f"--strategy={strategy}", f"--pages={pages}", *(f"--seed={url}" for url in seeds), "--", words]
    )
    return directory


@page_endpoint
def resume_crawl(site: Site, request: Request, form: RequestForm) -> Response:
    """Resume a stopped crawl in its own process, with a new page limit if the form contains one."""
    name = request.path_params["name"]
    more = form.get_integer("pages", 0)
    site.crawls.start(site.collections.get_directory(name), [f"--pages={more}"] if more else [])
    return redirect_to(get_collection_path(name))


@page_endpoint
def send_command(site: Site, request: Request, form: RequestForm) -> Response:
    """Send a command to a crawl; if the crawl is not running, it executes the command when it resumes."""
    name = request.path_params["name"]
    save_commands(
        site, name, form.get_text("kind"), form.get_text("target", max_length=4000), form.get_text("amount", "1")
    )
    return redirect_to(get_collection_path(name))


def save_commands(site: Site, name: str, kind: str, target: str, amount: str) -> list[int]:
    """Store commands for a crawl and return their numbers; `target` may contain several seeds or words.

    Raise `UsageError` for an invalid command, and for pause, resume and stop if the crawl is not running.
    """
    try:
        command, value = CommandKind(kind), float(amount)
    except ValueError as error:
        raise UsageError(f"{kind!r} with amount {amount!r} is not a valid command") from error
    if not -_MAX_AMOUNT <= value <= _MAX_AMOUNT:
        raise UsageError(f"the amount must be from {-_MAX_AMOUNT} to {_MAX_AMOUNT}, not {amount}")
    if command in (CommandKind.PAUSE, CommandKind.RESUME, CommandKind.STOP):
        if not is_crawling(site.collections.get_directory(name)):
            raise UsageError(f"cannot {command}: the crawl {name} is not running")
        targets = [""]
    elif command == CommandKind.SEED:
        targets = parse_seed_urls(target.split())
    elif command == CommandKind.WORD:
        targets = tokenise(target)
        value = max(0.0, value)
    else:
        targets, value = [_parse_host(target)], max(-1.0, min(1.0, value))
    if not targets:
        raise UsageError(f"the command {command} needs at least one target")
    with site.collections.open_store(name) as store:
        return [commands.add_command(store, command, each, value, at=time()) for each in targets]


def _parse_host(text: str) -> str:
    name = text.strip().lower()
    if not name or "/" in name or any(character.isspace() for character in name):
        raise UsageError(f"{text[:80]!r} is not a host name")
    return name


@page_endpoint
def add_verdict(site: Site, request: Request, form: RequestForm) -> Response:
    """Add a verdict on one page."""
    name = request.path_params["name"]
    save_verdict(site, name, [form.get_url()], form.get_text("verdict"), annotator=get_annotator(request))
    return redirect_to(get_return_path(form, name))


def save_verdict(site: Site, name: str, urls: list[str], verdict: str, *, annotator: str = "") -> int:
    """Store a verdict on pages of a collection and return its number; raise `UsageError` for unknown pages."""
    label = parse_label(verdict)
    with site.collections.open_store(name) as store:
        pages = find_page_urls(store, urls)
        return annotation_log.annotate(store, pages, label, origin="read", at=time(), annotator=annotator)


def parse_label(verdict: str) -> AnnotationLabel:
    """Return the label of a verdict. Raise `UsageError` if there is no such label."""
    try:
        return AnnotationLabel(verdict)
    except ValueError as error:
        raise UsageError(f"the verdict must be relevant, irrelevant or unsure, not {verdict[:20]!r}") from error


def get_return_path(form: RequestForm, name: str) -> str:
    """Return the path to redirect to after a form, which is always a page of the same collection."""
    rest = form.get_text("back", max_length=8000)
    return (
        f"{get_collection_path(name)}/{rest}"
        if rest.startswith(("review", "page?", "pages", "teach"))
        else get_collection_path(name)
    )
