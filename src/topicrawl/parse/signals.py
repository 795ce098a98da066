"""What a page says about its use: its licence, its wishes to robots, and whether text and data mining is reserved.

Kept apart from `read`: a crawl needs none of it, so only those who hand pages on pay for the second look.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

import turbohtml
from turbohtml import Document, Element

from ..records import Response
from ..urls import join
from .charset import decoded
from .directives import addressed

_LONGEST_SOURCE = 4_000_000
_LONGEST = 300  # characters of a licence that is told in words
_MOST = 20  # wishes of one page
# Most pages say nothing of the kind, and then the body need not be parsed again.
_HINTS = (b"license", b"licence", b"creativecommons.org/", b"robots", b"topicrawl", b"tdm-")
_COMMONS = re.compile(
    r"https?://(?:[a-z]+\.)?creativecommons\.org/(?:licenses/([a-z+-]+)|publicdomain/(zero|mark))(?:/(\d\.\d))?", re.I
)
_META = frozenset({"license", "licence", "dc.rights.license", "dc.license", "dcterms.license", "dcterms.licence"})
_ROBOTS = frozenset({"robots", "topicrawl"})
_RESERVED = {"0": False, "1": True}


@dataclass(frozen=True, slots=True)
class Signals:
    """What a page says about its use; nothing said is not the same as allowed."""

    licence: str = ""  # an address, or a few words
    licence_from: str = ""  # "rel", "meta", "json-ld", or "link": an address of Creative Commons somewhere in the text
    robots: tuple[str, ...] = ()  # as written, in lower case and sorted: "noai", "noindex", "max-snippet:20"
    tdm_reserved: bool | None = None  # W3C TDM Reservation Protocol: True when mining needs the holder's consent
    tdm_policy: str = ""


def signals(response: Response) -> Signals:
    """Read the headers of a response, and its elements if it is HTML.

    >>> page = b'<meta name=robots content="NoAI, nofollow"><a rel="license" href="/terms">terms</a>'
    >>> signals(Response("u", "http://a.org/x", headers={"content-type": "text/html"}, body=page))
    Signals(licence='http://a.org/terms', licence_from='rel', robots=('noai', 'nofollow'), tdm_reserved=None, \
tdm_policy='')
    """
    headers = response.headers
    robots = set(addressed(headers.get("x-robots-tag", "")))
    found: dict[str, str] = {}
    metas: dict[str, str] = {}
    if "html" in response.content_type and _speaks(response.body):
        source, _ = decoded(response.body, headers.get("content-type", ""))
        tree = turbohtml.parse(source[:_LONGEST_SOURCE], positions=False, allow_declarative_shadow_roots=False)
        robots |= _look(tree, response.final_url, found, metas)
    # A header speaks for the host's software, an element for the page: the page has the last word.
    reserved = metas.get("tdm-reservation", headers.get("tdm-reservation", "")).strip()
    policy = metas.get("tdm-policy", headers.get("tdm-policy", ""))
    origin = next((kind for kind in ("rel", "meta", "json-ld", "link") if kind in found), "")
    return Signals(
        found.get(origin, "")[:_LONGEST],
        origin,
        tuple(sorted(robots)[:_MOST]),
        _RESERVED.get(reserved),
        (join(response.final_url, policy) or "") if policy else "",
    )


def commons_name(licence: str) -> str:
    """The short name of a licence of Creative Commons, "" for anything else.

    >>> commons_name("https://creativecommons.org/licenses/by-nc-sa/4.0/deed.de")
    'CC BY-NC-SA 4.0'
    >>> commons_name("http://creativecommons.org/publicdomain/zero/1.0/"), commons_name("all rights reserved")
    ('CC0 1.0', '')
    """
    found = _COMMONS.match(licence)
    if found is None:
        return ""
    kind = f"CC {found[1].upper()}" if found[1] else {"zero": "CC0", "mark": "Public Domain Mark"}[found[2].lower()]
    return f"{kind} {found[3]}" if found[3] else kind


def _speaks(body: bytes) -> bool:
    low = body.lower()
    return any(hint in low for hint in _HINTS)


def _look(tree: Document, url: str, found: dict[str, str], metas: dict[str, str]) -> set[str]:
    """Fill in licences by where they were found, and what the mining protocol knows; returns what robots are told."""
    robots: set[str] = set()
    for element in tree.iter_elements(["link", "a", "area", "meta", "script"]):
        if element.tag == "meta":
            name, content = (element.attr("name") or "").strip().lower(), (element.attr("content") or "").strip()
            if name in _ROBOTS:
                robots.update(word for part in content.lower().split(",") if (word := " ".join(part.split())))
            elif name.startswith("tdm-"):
                metas.setdefault(name, content)
            elif name in _META and content:
                found.setdefault("meta", join(url, content) or content if "/" in content else content)
        elif element.tag == "script":
            if (element.attr("type") or "").strip().lower() == "application/ld+json":
                for licence in _linked_data(element.text):
                    found.setdefault("json-ld", licence)
        else:
            _lead(element, url, found)
    return robots


def _lead(element: Element, url: str, found: dict[str, str]) -> None:
    href = (element.attr("href") or "").strip()
    if not href:
        return
    if "license" in (element.attr("rel") or "").lower().split():
        found.setdefault("rel", join(url, href) or href)
    elif _COMMONS.match(href):
        found.setdefault("link", href)


def _linked_data(text: str) -> Iterator[str]:
    """The licences in a block of linked data; a block that is none says nothing."""
    try:
        read = json.loads(text)
    except (ValueError, RecursionError):
        return
    entries = read if isinstance(read, list) else [read]
    for entry in [*entries, *(part for it in entries if isinstance(it, dict) for part in _graph(it))]:
        licence = entry.get("license") if isinstance(entry, dict) else None
        if isinstance(licence, dict):
            licence = licence.get("url") or licence.get("@id")
        if isinstance(licence, str) and licence.strip():
            yield " ".join(licence.split())


def _graph(entry: dict[str, object]) -> list[object]:
    graph = entry.get("@graph")
    return graph if isinstance(graph, list) else []
