"""Handlers of user actions: resume and steer crawls, annotate pages. All are POST requests."""

from __future__ import annotations

from time import time

from starlette.requests import Request
from starlette.responses import Response

from topicrawl.collection import annotations as annotation_log
from topicrawl.collection import commands
from topicrawl.collection.annotations import AnnotationLabel
from topicrawl.collection.commands import CommandKind
from topicrawl.collection.directory import is_crawling
from topicrawl.collection.review import find_page_urls
from topicrawl.errors import UsageError
from topicrawl.settings import parse_seed_urls
from topicrawl.text.tokenizer import tokenise
from topicrawl.web.site import (
    RequestForm,
    Site,
    get_annotator,
    get_collection_path,
    page_endpoint,
    redirect_to,
)

_MAX_AMOUNT = 10


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
