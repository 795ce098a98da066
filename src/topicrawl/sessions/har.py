"""A HAR file (HTTP Archive 1.2), as the developer tools of browsers and many proxies save it, as sessions.

It lists every request; the pages among them are the HTML documents that are no frames: where the file says what kind
a request was, by that, otherwise the first document of each `pageref`. `Referer` says which page a click was made on.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from topicrawl.errors import UsageError
from topicrawl.sessions.chains import Step, chained
from topicrawl.urls import canonical, origin

_HTML = ("text/html", "application/xhtml+xml")


def har_walks(text: str, path: Path) -> list[tuple[str, ...]]:
    """The sessions of a HAR file."""
    try:
        file = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path}: not valid JSON, so no HAR file: {error}") from error
    log = file.get("log")
    entries = log.get("entries") if isinstance(log, dict) else None
    if not isinstance(entries, list):
        raise UsageError(f"{path}: JSON, but no HAR file: there is no list log.entries in it")
    return chained(_linked(_documents(entries, path)))


def _documents(entries: list[Any], path: Path) -> Iterator[tuple[float, str, str]]:
    """When, where and from where, of each request for a page."""
    shown: set[str] = set()  # the pagerefs whose document has been seen
    for number, entry in enumerate(entries):
        try:
            request, response = entry["request"], entry["response"]
            kind = str(response["content"].get("mimeType", "")).partition(";")[0].strip().lower()
            url, at = canonical(request["url"]), _seconds(entry["startedDateTime"])
            named, page = entry.get("_resourceType", ""), str(entry.get("pageref", ""))
            fine = 200 <= response["status"] < 300
            referer = _referer(request["headers"])
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise UsageError(f"{path}: log.entries[{number}] is not as HAR has it: {error!r}") from error
        if not fine or url is None or kind not in _HTML or named not in ("", "document") or page in shown:
            continue
        if page:
            shown.add(page)
        yield at, url, referer


def _linked(documents: Iterator[tuple[float, str, str]]) -> Iterator[Step]:
    latest: dict[str, int] = {}  # page → its latest visit
    before = ""
    for key, (at, url, referer) in enumerate(sorted(documents), 1):
        parent = latest.get(referer)
        # Many sites have browsers send no more than the host's name: then it was the page before.
        if parent is None and referer and before and origin(before) == origin(referer):
            parent = latest[before]
        yield Step(key, parent, at, url)
        latest[url], before = key, url


def _referer(headers: list[Mapping[str, str]]) -> str:
    values = (header["value"] for header in headers if header["name"].lower() == "referer")
    return canonical(next(values, "")) or ""


def _seconds(text: str) -> float:
    moment = datetime.fromisoformat(text)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
