"""Shared state of all request handlers, form parsing, error responses and template filters."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache, wraps
from hashlib import blake2b
from pathlib import Path
from threading import Semaphore
from time import time
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from topicrawl import __version__
from topicrawl.collection.annotations import clean_annotator
from topicrawl.errors import CollectionError, TopicrawlError, UsageError
from topicrawl.urls import canonicalize_url, get_host
from topicrawl.web.collections import CollectionRegistry, NotFoundError
from topicrawl.web.crawl_processes import CrawlProcesses
from topicrawl.web.jobs import JobRunner
from topicrawl.web.search_service import SearchService
from topicrawl.web.security import BodyTooLargeError

_MAX_FIELDS = 300  # fields of one form
STATIC_FOLDER = Path(__file__).parent / "static"
#: Cookie with the name of the user who reviews pages.
ANNOTATOR_COOKIE = "topicrawl-reviewer"
_MAX_EXPORTS = 2  # exports that run at the same time


def _create_environment() -> Environment:
    """Create the template environment with the filters of this module."""
    environment = Environment(
        loader=PackageLoader("topicrawl.web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        query=encode_query,
        ago=format_age,
        number=lambda value: f"{value:,}",
        short=shorten,
        outside=sanitize_link,
        bare=strip_scheme,
        plain=lambda name: str(name).replace("_", " "),
        sentence=format_sentence,
        verdict=format_verdict,
        duration=format_duration,
        day=lambda at: datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d"),
        host=get_host,
        static=get_static_path,
        bytes=format_bytes,
        www=lambda name: name.removeprefix("www."),
    )
    environment.globals["version"] = __version__
    return environment


@dataclass
class Site:
    """State that all request handlers of one server share."""

    collections: CollectionRegistry
    crawls: CrawlProcesses
    search: SearchService
    jobs: JobRunner = field(default_factory=JobRunner)
    export_slots: Semaphore = field(default_factory=lambda: Semaphore(_MAX_EXPORTS))

    def __post_init__(self) -> None:
        self.templates = _create_environment()

    def close(self) -> None:
        """Stop the jobs and crawls that the server has started."""
        self.jobs.close()
        self.crawls.close()

    def render_page(self, template: str, *, code: int = 200, **values: Any) -> HTMLResponse:
        """Render a template as a response with status `code`; the template escapes all values."""
        return HTMLResponse(self.templates.get_template(template).render(**values), code)


class RequestForm:
    """Fields of a form or a query string, with limits on their number and size."""

    def __init__(self, text: str) -> None:
        try:
            self._fields = parse_qs(text, keep_blank_values=True, max_num_fields=_MAX_FIELDS, errors="replace")
        except ValueError as error:
            raise UsageError("too many fields") from error

    def get_text(self, name: str, default: str = "", *, max_length: int = 2000) -> str:
        """Return the stripped value of a field, or the default. Raise `UsageError` if it is too long."""
        value = self._fields.get(name, [default])[0].strip()
        if len(value) > max_length:
            raise UsageError(f"{name} is too long: the maximum is {max_length} characters")
        return value

    def get_texts(self, name: str) -> list[str]:
        """Return all values of a field that may occur several times."""
        return [value.strip()[:2000] for value in self._fields.get(name, [])]

    def get_integer(self, name: str, default: int, *, minimum: int = 0, maximum: int = 1_000_000) -> int:
        """Return the value of a field as an integer. Raise `UsageError` if it is none or outside the given limits."""
        text = self.get_text(name, str(default), max_length=20) or str(default)
        try:
            value = int(text)
        except ValueError as error:
            raise UsageError(f"{name} must be an integer, not {text!r}") from error
        if not minimum <= value <= maximum:
            raise UsageError(f"{name} must be from {minimum} to {maximum}, not {value}")
        return value

    def get_url(self, name: str = "url") -> str:
        """Return the value of a field as a canonical URL. Raise `UsageError` if it is not a web address."""
        text = self.get_text(name, max_length=4000)
        address = canonicalize_url(text)
        if address is None:
            raise UsageError(f"{text[:80]!r} is not a web address")
        return address


PageHandler = Callable[[Site, Request, RequestForm], Response]


def page_endpoint(function: PageHandler) -> Callable[[Request], Awaitable[Response]]:
    """Make an endpoint of a function: parse the form, run the function in a thread, convert errors to responses."""

    @wraps(function)
    async def endpoint(request: Request) -> Response:
        site: Site = request.app.state.site
        try:
            body = await request.body() if request.method == "POST" else request.url.query.encode()
            return await run_in_threadpool(function, site, request, RequestForm(body.decode("utf-8", "replace")))
        except (TopicrawlError, BodyTooLargeError) as error:
            return build_error_response(site, request, error)

    return endpoint


def build_error_response(site: Site, request: Request, error: TopicrawlError | BodyTooLargeError) -> Response:
    """Return the response for an error: JSON for API requests, else an HTML page."""
    status = get_error_status(error)
    if request.url.path.startswith("/api/"):
        return JSONResponse({"error": str(error)}, status)
    return site.render_page("error.html", code=status, status=status, message=str(error))


def get_error_status(error: TopicrawlError | BodyTooLargeError) -> int:
    """Return the HTTP status of an error."""
    kinds = {NotFoundError: 404, BodyTooLargeError: 413, UsageError: 400, CollectionError: 409, TopicrawlError: 502}
    return next((status for kind, status in kinds.items() if isinstance(error, kind)), 500)


def get_annotator(request: Request) -> str:
    """Return the name that the user has entered in this browser, or ""."""
    return clean_annotator(unquote(request.cookies.get(ANNOTATOR_COOKIE, ""))[:200])


def is_inline(request: Request) -> bool:
    """Whether a script of the page sent the request, and replaces a part of the page with the response."""
    return request.headers.get("x-inline", "") == "1"


def redirect_to(path: str, **fields: object) -> RedirectResponse:
    """Redirect to a page after a POST (status 303), so that reloading the page does not repeat the change."""
    return RedirectResponse(path + (f"?{urlencode(fields)}" if fields else ""), 303)


def get_collection_path(name: str) -> str:
    """Return the path of the page of a collection."""
    return f"/c/{quote(name, safe='')}"


# Template filters


def format_duration(seconds: float) -> str:
    """Format a duration in one unit.

    >>> format_duration(40), format_duration(600), format_duration(9000), format_duration(400_000)
    ('40 s', '10 min', '2.5 h', '4.6 days')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h" if seconds < 172_800 else f"{seconds / 86_400:.1f} days"


def format_bytes(size: int) -> str:
    """Format a size in one unit.

    >>> format_bytes(900), format_bytes(2_500_000)
    ('900 bytes', '2.5 MB')
    """
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= factor:
            return f"{size / factor:.1f} {unit}"
    return f"{size} bytes"


def format_verdict(label: str) -> str:
    """Return a verdict in the words of the pages.

    >>> format_verdict("irrelevant"), format_verdict("relevant")
    ('not relevant', 'relevant')
    """
    return {"irrelevant": "not relevant"}.get(str(label), str(label))


def get_static_path(name: str) -> str:
    """Return the path of a static file with a hash of its content, so that browsers can cache it forever."""
    return f"/static/{name}?v={hash_static_file(name)}"


@cache
def hash_static_file(name: str) -> str:
    """Return a short hash of a static file."""
    return blake2b((STATIC_FOLDER / name).read_bytes(), digest_size=6).hexdigest()


def encode_query(values: Mapping[str, object]) -> str:
    """Encode values as a query string."""
    return urlencode(values)


def format_age(at: float) -> str:
    """Format the time since a timestamp, or the date if it is long ago.

    >>> format_age(time() - 7), format_age(0.0)
    ('7 s ago', '1970-01-01')
    """
    seconds = time() - at
    if seconds < 90:
        return f"{max(0, round(seconds))} s ago"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min ago"
    return datetime.fromtimestamp(max(0.0, at), UTC).strftime("%Y-%m-%d")


def shorten(text: str, max_length: int = 80) -> str:
    """Shorten a text to at most `max_length` characters.

    >>> shorten("abcdef", 4)
    'abc…'
    """
    return text if len(text) <= max_length else f"{text[: max_length - 1]}…"


def format_sentence(text: str) -> str:
    """Capitalize a text and end it with a full stop if it has no closing punctuation.

    >>> format_sentence("there is no such page here"), format_sentence("What?")
    ('There is no such page here.', 'What?')
    """
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "!", "?", "…")) else ".") if text else ""


def strip_scheme(url: str) -> str:
    """Return a URL without its scheme.

    >>> strip_scheme("https://a.example/b")
    'a.example/b'
    """
    return url.partition("://")[2] or url


def sanitize_link(url: str) -> str:
    """Return an HTTP or HTTPS URL for a link to the web, or "#" for any other scheme.

    >>> sanitize_link("https://a.example/"), sanitize_link("javascript:alert(1)")
    ('https://a.example/', '#')
    """
    return url if url.startswith(("http://", "https://")) else "#"
