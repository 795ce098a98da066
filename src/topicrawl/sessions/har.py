"""Sessions from a HAR file (HTTP Archive 1.2), the format of browser developer tools and many proxies.

A HAR file lists all requests. A page is an HTML document that is not a frame: a request with the resource type
"document" if the file has resource types, otherwise the first document of each `pageref`. The `Referer` header
identifies the page of the click.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from topicrawl.errors import UsageError
from topicrawl.sessions.chaining import SessionVisit, build_sessions
from topicrawl.urls import canonicalize_url, get_origin

_HTML_TYPES = ("text/html", "application/xhtml+xml")


def parse_har(text: str, path: Path) -> list[tuple[str, ...]]:
    """Return the sessions of a HAR file; `path` is used in error messages."""
    try:
        file = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path}: not a HAR file, because the JSON is invalid: {error}") from error
    log = file.get("log")
    entries = log.get("entries") if isinstance(log, dict) else None
    if not isinstance(entries, list):
        raise UsageError(f"{path}: not a HAR file, because it has no list log.entries")
    return build_sessions(_link_visits(_find_documents(entries, path)))


def _find_documents(entries: list[Any], path: Path) -> Iterator[tuple[float, str, str]]:
    """Yield the time, the URL and the referrer of each request for a page."""
    seen: set[str] = set()  # pagerefs whose document has been found
    for number, entry in enumerate(entries):
        try:
            request, response = entry["request"], entry["response"]
            kind = str(response["content"].get("mimeType", "")).partition(";")[0].strip().lower()
            url, at = canonicalize_url(request["url"]), _parse_timestamp(entry["startedDateTime"])
            resource_type, page = entry.get("_resourceType", ""), str(entry.get("pageref", ""))
            is_success = 200 <= response["status"] < 300
            referer = _get_referer(request["headers"])
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise UsageError(f"{path}: log.entries[{number}] is not a valid HAR entry: {error!r}") from error
        is_document = kind in _HTML_TYPES and resource_type in ("", "document") and page not in seen
        if not is_success or url is None or not is_document:
            continue
        if page:
            seen.add(page)
        yield at, url, referer


def _link_visits(documents: Iterator[tuple[float, str, str]]) -> Iterator[SessionVisit]:
    """Convert requests to visits, and find the referring visit of each."""
    latest: dict[str, int] = {}  # URL → key of its latest visit
    previous = ""
    for key, (at, url, referer) in enumerate(sorted(documents), 1):
        parent = latest.get(referer)
        # With the referrer policy of many sites, the header contains only the origin. Then use the previous page.
        if parent is None and referer and previous and get_origin(previous) == get_origin(referer):
            parent = latest[previous]
        yield SessionVisit(key, parent, at, url)
        latest[url], previous = key, url


def _get_referer(headers: list[Mapping[str, str]]) -> str:
    values = (header["value"] for header in headers if header["name"].lower() == "referer")
    return canonicalize_url(next(values, "")) or ""


def _parse_timestamp(text: str) -> float:
    date = datetime.fromisoformat(text)
    return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()
