"""What all pages share: the collections, the crawls, the templates; and how requests are read and errors are told."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import wraps
from time import time
from typing import Any
from urllib.parse import parse_qs, quote, urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from topicrawl import __version__
from topicrawl.errors import CollectionError, TopicrawlError, UsageError
from topicrawl.urls import canonical
from topicrawl.web.crawls import Crawls
from topicrawl.web.finder import Finder
from topicrawl.web.jobs import Jobs
from topicrawl.web.safety import TooMuch
from topicrawl.web.shelves import Shelves, Unknown

_FIELDS = 200  # of a form


def _templates() -> Environment:
    made = Environment(
        loader=PackageLoader("topicrawl.web"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    made.filters.update(
        query=query,
        ago=ago,
        number=lambda value: f"{value:,}",
        short=short,
        outside=outside,
        bare=bare,
        plain=lambda name: str(name).replace("_", " "),
        sentence=sentence,
        www=lambda name: name.removeprefix("www."),
    )
    made.globals["version"] = __version__
    return made


@dataclass
class Site:
    """What the pages of one server share."""

    shelves: Shelves
    crawls: Crawls
    finder: Finder
    jobs: Jobs = field(default_factory=Jobs)

    def __post_init__(self) -> None:
        self.templates = _templates()

    def close(self) -> None:
        """End what was started from here."""
        self.jobs.close()
        self.crawls.close()

    def page(self, template: str, *, code: int = 200, **values: Any) -> HTMLResponse:
        """A page made from a template, in which every value is escaped."""
        return HTMLResponse(self.templates.get_template(template).render(**values), code)


class Form:
    """The fields of a form or a query, each with a bound."""

    def __init__(self, text: str) -> None:
        try:
            self._fields = parse_qs(text, keep_blank_values=True, max_num_fields=_FIELDS, errors="replace")
        except ValueError as error:
            raise UsageError("too many fields") from error

    def text(self, name: str, default: str = "", *, most: int = 2000) -> str:
        value = self._fields.get(name, [default])[0].strip()
        if len(value) > most:
            raise UsageError(f"{name} is too long: {most} characters are the most")
        return value

    def texts(self, name: str) -> list[str]:
        """All values of a field that may be given several times."""
        return [value.strip()[:2000] for value in self._fields.get(name, [])]

    def number(self, name: str, default: int, *, least: int = 0, most: int = 1_000_000) -> int:
        text = self.text(name, str(default), most=20) or str(default)
        try:
            value = int(text)
        except ValueError as error:
            raise UsageError(f"{name} must be a whole number, not {text!r}") from error
        if not least <= value <= most:
            raise UsageError(f"{name} must be from {least} to {most}, not {value}")
        return value

    def address(self, name: str = "url") -> str:
        """A web address in canonical form."""
        text = self.text(name, most=4000)
        address = canonical(text)
        if address is None:
            raise UsageError(f"{text[:80]!r} is not a web address")
        return address


Shown = Callable[[Site, Request, Form], Response]


def shown(function: Shown) -> Callable[[Request], Awaitable[Response]]:
    """An endpoint from a plain function: run in a thread, with its fields read and its errors told in one line."""

    @wraps(function)
    async def endpoint(request: Request) -> Response:
        site: Site = request.app.state.site
        try:
            body = await request.body() if request.method == "POST" else request.url.query.encode()
            return await run_in_threadpool(function, site, request, Form(body.decode("utf-8", "replace")))
        except (TopicrawlError, TooMuch) as error:
            return told(site, request, error)

    return endpoint


def told(site: Site, request: Request, error: TopicrawlError | TooMuch) -> Response:
    """An error as a page, or as JSON where a program asked."""
    status = status_of(error)
    if request.url.path.startswith("/api/"):
        return JSONResponse({"error": str(error)}, status)
    return site.page("error.html", code=status, status=status, message=str(error))


def status_of(error: TopicrawlError | TooMuch) -> int:
    """The status of HTTP for an error of ours."""
    kinds = {Unknown: 404, TooMuch: 413, UsageError: 400, CollectionError: 409, TopicrawlError: 502}
    return next((status for kind, status in kinds.items() if isinstance(error, kind)), 500)


def go(path: str, **fields: object) -> RedirectResponse:
    """After a change: on to a page, so that loading it again changes nothing."""
    return RedirectResponse(path + (f"?{urlencode(fields)}" if fields else ""), 303)


def home_of(name: str) -> str:
    """The path of a collection's page."""
    return f"/c/{quote(name, safe='')}"


# For templates


def query(values: Mapping[str, object]) -> str:
    return urlencode(values)


def ago(at: float) -> str:
    """
    >>> ago(time() - 7), ago(0.0)
    ('7 s ago', '1970-01-01')
    """
    seconds = time() - at
    if seconds < 90:
        return f"{max(0, round(seconds))} s ago"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min ago"
    return datetime.fromtimestamp(max(0.0, at), UTC).strftime("%Y-%m-%d")


def short(text: str, most: int = 80) -> str:
    """
    >>> short("abcdef", 4)
    'abc…'
    """
    return text if len(text) <= most else f"{text[: most - 1]}…"


def sentence(text: str) -> str:
    """
    >>> sentence("there is no such page here"), sentence("What?")
    ('There is no such page here.', 'What?')
    """
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "!", "?", "…")) else ".") if text else ""


def bare(url: str) -> str:
    """
    >>> bare("https://a.example/b")
    'a.example/b'
    """
    return url.partition("://")[2] or url


def outside(url: str) -> str:
    """An address that may stand in a link to the web: no other scheme gets there.

    >>> outside("https://a.example/"), outside("javascript:alert(1)")
    ('https://a.example/', '#')
    """
    return url if url.startswith(("http://", "https://")) else "#"
