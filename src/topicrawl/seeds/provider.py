"""Interface of search engine providers: a query returns URLs, the best first.

Search engines are external servers. Their failures are a line of text in the answer, never an exception.
"""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import unescape
from typing import Any, Protocol, TypeAlias

from topicrawl.models import Failure, Response
from topicrawl.urls import canonicalize_url

MAX_TEXT_LENGTH = 500  # maximum length of a title or a snippet

#: Requests a URL with additional headers. The caller decides which HTTP client is used.
HttpGet: TypeAlias = Callable[[str, Mapping[str, str]], Awaitable[Response]]

_TAG = re.compile(r"<[^<>]{1,100}>")  # engines highlight the query words


@dataclass(frozen=True, slots=True)
class EngineHit:
    """One result of one engine."""

    url: str  # canonical
    rank: int  # 1 is the best
    title: str = ""
    snippet: str = ""  # the engine's excerpt of the page


@dataclass(frozen=True, slots=True)
class EngineAnswer:
    """Answer of one engine. An answer with `trouble` has no vote."""

    engine: str
    hits: tuple[EngineHit, ...] = ()
    trouble: str = ""  # reason of a failure, one line


class SearchProvider(Protocol):
    """Access to one or several search engines."""

    @property
    def name(self) -> str:
        """Display name."""

    async def search(self, query: str, count: int) -> Sequence[EngineAnswer]:
        """Return the first results of each engine. The answer of a failed engine contains the reason."""


def parse_hits(
    rows: Iterable[object], count: int, fields: Sequence[str] = ("url", "title", "content")
) -> tuple[EngineHit, ...]:
    """Parse at most `count` result rows of an engine, in their order. Invalid rows and repeated URLs are skipped.

    `fields` are the keys of the URL, the title and the snippet.

    >>> parse_hits([{"url": "http://a.example/#x", "title": "A <b>page</b>"}, {"url": "javascript:1"}, None], 9)
    (EngineHit(url='http://a.example/', rank=1, title='A page', snippet=''),)
    """
    results: dict[str, EngineHit] = {}
    for row in rows:
        if len(results) >= count:
            break
        if not isinstance(row, Mapping):
            continue
        address, title, snippet = (row.get(name) for name in fields)
        url = canonicalize_url(address) if isinstance(address, str) else None
        if url is not None and url not in results:
            results[url] = EngineHit(url, len(results) + 1, clean_text(title), clean_text(snippet))
    return tuple(results.values())


def clean_text(text: object) -> str:
    """Return a title or snippet as one line of text, without tags and control characters.

    >>> clean_text("<strong>Dengue</strong> &amp; more\\n"), clean_text("\\x1b[31mred")
    ('Dengue & more', '[31mred')
    """
    if not isinstance(text, str):
        return ""
    words = " ".join(unescape(_TAG.sub("", text[: 8 * MAX_TEXT_LENGTH])).split())[:MAX_TEXT_LENGTH]
    return "".join(character for character in words if character.isprintable())


def parse_json(response: Response) -> Any:
    """Parse the JSON of a response. Raise a one-line `ValueError` if there is none."""
    if response.failure is not None:
        raise ValueError(_describe_failure(response))
    if response.status >= 300:
        target = response.headers.get("location", "")
        raise ValueError(
            f"redirects to {clean_text(target)[:200]}: use that address" if target else f"status {response.status}"
        )
    try:
        return json.loads(response.body)
    except (ValueError, RecursionError) as error:
        raise ValueError(
            f"not JSON, but {response.content_type or 'no content type'} ({len(response.body)} bytes)"
        ) from error


def _describe_failure(response: Response) -> str:
    """Return the reason of a failed request in one line."""
    reason = f"{response.failure}: {response.detail}" if response.detail else str(response.failure)
    if response.failure == Failure.ADDRESS:
        return f"{reason}; allow the network with --allow-net if it is yours"
    return reason
