"""What a visitor can do: start and steer crawls, judge pages, take that back. Every change is a POST."""

from __future__ import annotations

from time import time

from starlette.requests import Request
from starlette.responses import Response

from topicrawl import strategies
from topicrawl.collection import orders, verdicts
from topicrawl.collection.directory import crawling
from topicrawl.collection.orders import Order
from topicrawl.collection.verdicts import Ruling
from topicrawl.errors import UsageError
from topicrawl.settings import seed_urls
from topicrawl.text.tokens import words as tokenise
from topicrawl.topic import Topic
from topicrawl.web.crawls import new_directory
from topicrawl.web.pages import front
from topicrawl.web.site import Form, Site, go, home_of, shown

_SEEDS = 200
_HEAVIEST = 10


@shown
def start(site: Site, request: Request, form: Form) -> Response:
    """A new crawl. After a mistake the form comes back as it was filled in."""
    try:
        return _started(site, form)
    except UsageError as error:
        given = {name: form.text(name, most=100_000)[:10_000] for name in ("words", "seeds", "strategy", "pages")}
        return front(site, given, trouble=str(error))


def _started(site: Site, form: Form) -> Response:
    words = form.text("words", most=300)
    topic = Topic.of(words)
    seeds = seed_urls(form.text("seeds", most=100_000).split())
    if not seeds or len(seeds) > _SEEDS:
        raise UsageError(f"name at least one page to start from, and {_SEEDS} at the most")
    strategy = form.text("strategy", strategies.USUAL)
    if strategy not in strategies.available():
        # A name with a module in it would load code that a visitor chose.
        raise UsageError(f"unknown strategy {strategy!r}")
    pages = form.number("pages", 1000, least=1)
    directory = new_directory(site.shelves.home, topic.name)
    # Behind `--` nothing is an option, whatever a visitor wrote.
    site.crawls.start(
        directory, [f"--strategy={strategy}", f"--pages={pages}", *(f"--seed={url}" for url in seeds), "--", words]
    )
    return go("/")


@shown
def go_on(site: Site, request: Request, form: Form) -> Response:
    """Go on with a crawl that has stopped."""
    name = request.path_params["name"]
    more = form.number("pages", 0)
    site.crawls.start(site.shelves.directory(name), [f"--pages={more}"] if more else [])
    return go(home_of(name))


@shown
def order(site: Site, request: Request, form: Form) -> Response:
    """Tell a crawl something; if none is going on, it is followed when the next one starts."""
    name = request.path_params["name"]
    obeyed(site, name, form.text("kind"), form.text("target", most=4000), form.text("amount", "1"))
    return go(home_of(name))


def obeyed(site: Site, name: str, kind: str, target: str, amount: str) -> list[int]:
    """Write orders down; what is written with blanks or lines between are several seeds or words."""
    try:
        asked, much = Order(kind), float(amount)
    except ValueError as error:
        raise UsageError(f"{kind!r} with {amount!r} is no order") from error
    if not -_HEAVIEST <= much <= _HEAVIEST:
        raise UsageError(f"{amount} is too much")
    if asked in (Order.PAUSE, Order.RESUME, Order.STOP):
        if not crawling(site.shelves.directory(name)):
            raise UsageError(f"{name} is not being crawled: there is nothing to {asked}")
        targets = [""]
    elif asked == Order.SEED:
        targets = seed_urls(target.split())
    elif asked == Order.WORD:
        targets = tokenise(target)
        much = max(0.0, much)
    else:
        targets, much = [_host(target)], max(-1.0, min(1.0, much))
    if not targets:
        raise UsageError(f"{asked} what? write at least one")
    with site.shelves.written(name) as store:
        return [orders.give(store, asked, each, much, at=time()) for each in targets]


def _host(text: str) -> str:
    name = text.strip().lower()
    if not name or "/" in name or any(character.isspace() for character in name):
        raise UsageError(f"{text[:80]!r} is not the name of a host")
    return name


@shown
def verdict(site: Site, request: Request, form: Form) -> Response:
    """What a reader says of one page."""
    name = request.path_params["name"]
    ruled(site, name, [form.address()], form.text("verdict"), "read")
    return go(_back(form, name))


def ruled(site: Site, name: str, urls: list[str], said: str, how: str) -> int:
    """Write a verdict down; pages that are not in the collection cannot have one."""
    try:
        ruling = Ruling(said)
    except ValueError as error:
        raise UsageError(f"a verdict is relevant, irrelevant or unsure, not {said[:20]!r}") from error
    with site.shelves.written(name) as store:
        found = []
        for url in urls:
            row = store.visit_of(url)
            if row is None or row.failure is not None:
                raise UsageError(f"{url} is not in {name}")
            found.append(row.url)
        return verdicts.rule(store, found, ruling, how=how, at=time())


@shown
def undo(site: Site, request: Request, form: Form) -> Response:
    """Take the last verdict back."""
    name = request.path_params["name"]
    with site.shelves.written(name) as store:
        verdicts.undo(store, at=time())
    return go(_back(form, name))


def _back(form: Form, name: str) -> str:
    """Where to go on: a page of the same collection, whatever the form says."""
    rest = form.text("back", most=8000)
    return f"{home_of(name)}/{rest}" if rest.startswith(("review", "page?", "pages", "teach")) else home_of(name)
