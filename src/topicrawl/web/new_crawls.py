"""Start new crawls from the form of the home page or from the API, and show a crawl until its collection exists."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from starlette.responses import Response

from topicrawl import strategies
from topicrawl.errors import UsageError
from topicrawl.settings import Settings, parse_seed_urls
from topicrawl.strategies.base import Strategy
from topicrawl.topic import Topic
from topicrawl.web import crawl_figures
from topicrawl.web.collections import OpenCollection
from topicrawl.web.crawl_processes import CrawlProcess, choose_directory, hide_path
from topicrawl.web.site import RequestForm, Site

MAX_SEEDS = 200
_MAX_TOPIC_CHARS = 300
MAX_TEXT = 100_000  # characters of the seeds
#: Fields of the form with numbers: setting → largest value.
NUMBER_FIELDS = {"pages": 1_000_000, "relevant": 1_000_000, "host_pages": 1_000_000, "depth": 1000}
#: Fields of the form with one value per line.
SCOPE_FIELDS = ("only", "include", "exclude")
#: Fields of the form, all texts.
FORM_FIELDS = ("words", "seeds", "strategy", *NUMBER_FIELDS, "minutes", *SCOPE_FIELDS)


@dataclass(frozen=True)
class CrawlRequest:
    """A new crawl that a user has requested."""

    words: str
    seeds: list[str]
    strategy: str
    settings: Mapping[str, Any] = field(default_factory=dict)  # limits and scope


def get_empty_form() -> dict[str, str]:
    """Return the values of the form before the user has entered any."""
    return dict.fromkeys(FORM_FIELDS, "")


def parse_request(form: RequestForm) -> CrawlRequest:
    """Convert the fields of the form. Raise `UsageError` for invalid input."""
    words = form.get_text("words", max_length=_MAX_TOPIC_CHARS)
    settings = parse_limits(form)
    if not settings.get("relevant"):
        settings.setdefault("pages", 1000)
    seeds = parse_seed_urls(form.get_text("seeds", max_length=MAX_TEXT).split())
    strategy = form.get_text("strategy") or strategies.DEFAULT_STRATEGY
    return CrawlRequest(words, seeds, strategy, settings)


def parse_limits(form: RequestForm) -> dict[str, Any]:
    """Return the limits and the scope in a form, without those that are empty. Raise `UsageError` for invalid ones."""
    settings: dict[str, Any] = {
        name: form.get_integer(name, 0, minimum=0 if name in ("relevant", "host_pages") else 1, maximum=most)
        for name, most in NUMBER_FIELDS.items()
        if form.get_text(name)
    }
    if form.get_text("minutes"):
        settings["seconds"] = 60.0 * form.get_integer("minutes", 0)
    for name in SCOPE_FIELDS:
        if rows := tuple(form.get_text(name, max_length=10_000).split()):
            settings[name] = rows
    return settings


def start_new_crawl(site: Site, request: CrawlRequest, form_values: Mapping[str, str] | None = None) -> Path:
    """Start a new crawl in its own process, and return its directory. Raise `UsageError` for invalid input.

    `form_values` is the input of the user, which the page shows again if the crawl cannot start.
    """
    if len(request.words) > _MAX_TOPIC_CHARS:
        raise UsageError(f"the topic is too long: the maximum is {_MAX_TOPIC_CHARS} characters")
    topic = Topic.of(request.words)
    if not request.seeds or len(request.seeds) > MAX_SEEDS:
        raise UsageError(f"enter at least one and at most {MAX_SEEDS} seed URLs")
    if request.strategy not in strategies.list_strategies():
        # A strategy name with a module would load code that the user of the web page chooses.
        raise UsageError(f"unknown strategy {request.strategy!r}")
    Settings(strategy=request.strategy, **request.settings)  # raises an error that names an invalid value
    directory = choose_directory(site.collections.crawl_home, topic.name, site.collections.list_directories())
    options = [f"--strategy={request.strategy}", *_format_options(request.settings)]
    options += [f"--seed={url}" for url in request.seeds]
    # After `--` the words of the user cannot be taken for options.
    site.crawls.start(directory, [*options, "--", request.words], form_values)
    return directory


def _format_options(settings: Mapping[str, Any]) -> list[str]:
    """Return settings as options of `topicrawl crawl`; a tuple becomes a repeated option.

    >>> _format_options({"host_pages": 20, "only": ("a.org", "b.org")})
    ['--host-pages=20', '--only=a.org', '--only=b.org']
    """
    return [
        f"--{name.replace('_', '-')}={value}"
        for name, values in settings.items()
        for value in (values if isinstance(values, tuple) else (values,))
    ]


def show_starting(site: Site, name: str) -> Response | None:
    """Return the page of a crawl whose collection does not exist yet, or None if this server has not started one.

    If the crawl could not start, the page shows its error and the form with the input of the user.
    """
    found = find_starting_crawls(site).get(name)
    if found is None:
        return None
    directory, process = found
    values = {**get_empty_form(), **process.form_values}
    return site.render_page(
        "starting.html",
        name=name,
        words=values["words"] or name,
        running=process.is_running,
        said=hide_path(directory, process.read_output()),
        given=values,
        home=site.collections.crawl_home,
        **list_form_choices(site),
    )


def find_starting_crawls(site: Site) -> dict[str, tuple[Path, CrawlProcess]]:
    """Return the crawls of this server whose collections do not exist, by name: still starting, or failed."""
    existing = set(site.collections.list_directories().values())
    return {
        directory.name: (directory, process)
        for directory, process in site.crawls.get_processes().items()
        if directory not in existing
    }


def list_form_choices(site: Site) -> dict[str, Any]:
    """Return the template values of the form for a new crawl that do not depend on the input."""
    return {
        "strategies": [
            (name, strategies.describe_strategy(kind))
            for name, kind in strategies.list_strategies().items()
            if _needs_no_examples(kind)
        ],
        "usual": strategies.DEFAULT_STRATEGY,
    }


def _needs_no_examples(kind: type[Strategy]) -> bool:
    """Whether a strategy needs no examples; the form for a new crawl has no field for them."""
    return "examples" not in kind.required_inputs


def describe_crawl(opened: OpenCollection) -> dict[str, str]:
    """Return the form values for a new crawl like an existing one."""
    settings = crawl_figures.load_settings(opened)
    seeds = opened.store.get_list_fact("seeds")
    values = {
        **get_empty_form(),
        "words": " ".join(opened.topic.words),
        "seeds": "\n".join(map(str, seeds[:MAX_SEEDS])),
        "strategy": settings.strategy,
        "minutes": str(round(settings.seconds / 60)) if settings.seconds else "",
    }
    values |= {name: str(getattr(settings, name) or "") for name in NUMBER_FIELDS}
    values |= {name: "\n".join(getattr(settings, name)) for name in SCOPE_FIELDS}
    return values
