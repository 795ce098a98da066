"""What a search engine is to us: whoever answers a question with addresses, best first.

Engines are other people's servers: what they do wrong is a line of text in their answer, never an exception.
"""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import unescape
from typing import Any, Protocol, TypeAlias

from topicrawl.records import Failure, Response
from topicrawl.urls import canonical

LONGEST = 500  # characters of a title or a snippet that are kept

#: Asks for a URL with some more headers; whoever puts the parts together decides by which client.
Get: TypeAlias = Callable[[str, Mapping[str, str]], Awaitable[Response]]

_TAG = re.compile(r"<[^<>]{1,100}>")  # engines mark the words that were looked for


@dataclass(frozen=True, slots=True)
class Hit:
    """One result of one engine."""

    url: str  # canonical
    rank: int  # 1 is the best
    title: str = ""
    snippet: str = ""  # what the engine says of the page


@dataclass(frozen=True, slots=True)
class Answer:
    """What one engine answered; with `trouble` it has no vote."""

    engine: str
    hits: tuple[Hit, ...] = ()
    trouble: str = ""  # one line for people


class Provider(Protocol):
    """A way to one or several search engines."""

    @property
    def name(self) -> str:
        """For people."""

    async def search(self, query: str, count: int) -> Sequence[Answer]:
        """The first results of each engine. An engine that fails has its trouble in its answer."""


def hits(rows: Iterable[object], count: int, names: Sequence[str] = ("url", "title", "content")) -> tuple[Hit, ...]:
    """The results in an engine's list, in their order, each address once; what is not a result is passed over.

    >>> hits([{"url": "http://a.example/#x", "title": "A <b>page</b>"}, {"url": "javascript:1"}, None], 9)
    (Hit(url='http://a.example/', rank=1, title='A page', snippet=''),)
    """
    found: dict[str, Hit] = {}
    for row in rows:
        if len(found) >= count:
            break
        if not isinstance(row, Mapping):
            continue
        address, title, snippet = (row.get(name) for name in names)
        url = canonical(address) if isinstance(address, str) else None
        if url is not None and url not in found:
            found[url] = Hit(url, len(found) + 1, plain(title), plain(snippet))
    return tuple(found.values())


def plain(text: object) -> str:
    """A title or snippet as one line of text; what would steer a terminal is left out.

    >>> plain("<strong>Dengue</strong> &amp; more\\n"), plain("\\x1b[31mred")
    ('Dengue & more', '[31mred')
    """
    if not isinstance(text, str):
        return ""
    words = " ".join(unescape(_TAG.sub("", text[: 8 * LONGEST])).split())[:LONGEST]
    return "".join(character for character in words if character.isprintable())


def told(response: Response) -> Any:
    """The JSON of a response; ValueError says in one line why there is none."""
    if response.failure is not None:
        raise ValueError(_reason(response))
    if response.status >= 300:
        target = response.headers.get("location", "")
        raise ValueError(
            f"leads on to {plain(target)[:200]}: name that address" if target else f"status {response.status}"
        )
    try:
        return json.loads(response.body)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"no JSON, but {response.content_type or 'something'} ({len(response.body)} bytes)") from error


def _reason(response: Response) -> str:
    reason = f"{response.failure}: {response.detail}" if response.detail else str(response.failure)
    if response.failure == Failure.ADDRESS:
        return f"{reason}; open the network with --allow-net if it is yours"
    return reason
