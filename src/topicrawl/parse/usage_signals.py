"""Usage signals of a page: licence, robots directives, and the reservation of text and data mining.

Separate from `parse_response`, because a crawl does not need these signals; only exports extract them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from turbohtml import Document, Element

from topicrawl.documents.file_types import detect_type
from topicrawl.models import Response
from topicrawl.parse.charset import decode_text
from topicrawl.parse.robots_directives import iter_own_directives
from topicrawl.parse.tree import build_tree
from topicrawl.urls import resolve_url

_MAX_LICENCE_LENGTH = 300  # characters of a licence given as text
_MAX_ROBOTS_DIRECTIVES = 20  # robots directives of one page
# Most pages contain none of these, and then the body need not be parsed again.
_HINTS = (b"license", b"licence", b"creativecommons.org/", b"robots", b"topicrawl", b"tdm-")
_CREATIVE_COMMONS_URL = re.compile(
    r"https?://(?:[a-z]+\.)?creativecommons\.org/(?:licenses/([a-z+-]+)|publicdomain/(zero|mark))(?:/(\d\.\d))?", re.I
)
_LICENCE_META_NAMES = frozenset(
    {"license", "licence", "dc.rights.license", "dc.license", "dcterms.license", "dcterms.licence"}
)
_ROBOTS_META_NAMES = frozenset({"robots", "topicrawl"})
_TDM_RESERVATION_VALUES = {"0": False, "1": True}


@dataclass(frozen=True, slots=True)
class UsageSignals:
    """Usage signals of a page. A missing signal does not imply permission."""

    licence: str = ""  # a URL or a short text
    licence_from: str = ""  # "rel", "meta", "json-ld", or "link" (a Creative Commons URL in the text)
    robots: tuple[str, ...] = ()  # as written, in lower case and sorted: "noai", "noindex", "max-snippet:20"
    tdm_reserved: bool | None = None  # W3C TDM Reservation Protocol: True when mining needs the holder's consent
    tdm_policy: str = ""


def extract_usage_signals(response: Response) -> UsageSignals:
    """Extract the usage signals from the headers of a response and, if it is HTML, from its elements.

    >>> page = b'<meta name=robots content="NoAI, nofollow"><a rel="license" href="/terms">terms</a>'
    >>> found = extract_usage_signals(Response("u", "http://a.org/x", headers={"content-type": "text/html"}, body=page))
    >>> found.licence, found.licence_from, found.robots, found.tdm_reserved
    ('http://a.org/terms', 'rel', ('noai', 'nofollow'), None)
    """
    headers = response.headers
    robots = set(iter_own_directives(headers.get("x-robots-tag", "")))
    licences: dict[str, str] = {}
    metas: dict[str, str] = {}
    if detect_type(response.body, response.content_type) == "html" and _may_have_signals(response.body):
        source, charset = decode_text(response.body, headers.get("content-type", ""))
        tree = build_tree(source, response.body if charset == "utf-8" else b"")
        robots |= _collect_signals(tree, response.final_url, licences, metas)
    # A header is set for the whole host, an element for the page, so the element takes precedence.
    reserved = metas.get("tdm-reservation", headers.get("tdm-reservation", "")).strip()
    policy = metas.get("tdm-policy", headers.get("tdm-policy", ""))
    origin = next((kind for kind in ("rel", "meta", "json-ld", "link") if kind in licences), "")
    return UsageSignals(
        licences.get(origin, "")[:_MAX_LICENCE_LENGTH],
        origin,
        tuple(sorted(robots)[:_MAX_ROBOTS_DIRECTIVES]),
        _TDM_RESERVATION_VALUES.get(reserved),
        (resolve_url(response.final_url, policy) or "") if policy else "",
    )


def get_creative_commons_name(licence: str) -> str:
    """Return the short name of a Creative Commons licence URL, "" for any other text.

    >>> get_creative_commons_name("https://creativecommons.org/licenses/by-nc-sa/4.0/deed.de")
    'CC BY-NC-SA 4.0'
    >>> (
    ...     get_creative_commons_name("http://creativecommons.org/publicdomain/zero/1.0/"),
    ...     get_creative_commons_name("all rights reserved"),
    ... )
    ('CC0 1.0', '')
    """
    match = _CREATIVE_COMMONS_URL.match(licence)
    if match is None:
        return ""
    kind = f"CC {match[1].upper()}" if match[1] else {"zero": "CC0", "mark": "Public Domain Mark"}[match[2].lower()]
    return f"{kind} {match[3]}" if match[3] else kind


def _may_have_signals(body: bytes) -> bool:
    """Return whether a body may contain usage signals."""
    lowercase = body.lower()
    return any(hint in lowercase for hint in _HINTS)


def _collect_signals(tree: Document, url: str, licences: dict[str, str], metas: dict[str, str]) -> set[str]:
    """Add licences by source to `licences` and TDM values to `metas`; return the robots directives."""
    robots: set[str] = set()
    for element in tree.iter_elements(["link", "a", "area", "meta", "script"]):
        if element.tag == "meta":
            name, content = (element.attr("name") or "").strip().lower(), (element.attr("content") or "").strip()
            if name in _ROBOTS_META_NAMES:
                robots.update(word for part in content.lower().split(",") if (word := " ".join(part.split())))
            elif name.startswith("tdm-"):
                metas.setdefault(name, content)
            elif name in _LICENCE_META_NAMES and content:
                licences.setdefault("meta", resolve_url(url, content) or content if "/" in content else content)
        elif element.tag == "script":
            if (element.attr("type") or "").strip().lower() == "application/ld+json":
                for licence in _iter_json_ld_licences(element.text):
                    licences.setdefault("json-ld", licence)
        else:
            _collect_link_licence(element, url, licences)
    return robots


def _collect_link_licence(element: Element, url: str, licences: dict[str, str]) -> None:
    """Add the licence that a link element names."""
    href = (element.attr("href") or "").strip()
    if not href:
        return
    if "license" in (element.attr("rel") or "").lower().split():
        licences.setdefault("rel", resolve_url(url, href) or href)
    elif _CREATIVE_COMMONS_URL.match(href):
        licences.setdefault("link", href)


def _iter_json_ld_licences(text: str) -> Iterator[str]:
    """Yield the licences in a JSON-LD block; invalid JSON is ignored."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return
    entries = data if isinstance(data, list) else [data]
    nested = [part for entry in entries if isinstance(entry, dict) for part in _get_graph(entry)]
    for entry in [*entries, *nested]:
        licence = entry.get("license") if isinstance(entry, dict) else None
        if isinstance(licence, dict):
            licence = licence.get("url") or licence.get("@id")
        if isinstance(licence, str) and licence.strip():
            yield " ".join(licence.split())


def _get_graph(entry: dict[str, object]) -> list[object]:
    """Return the entries of `@graph` in a JSON-LD object."""
    graph = entry.get("@graph")
    return graph if isinstance(graph, list) else []
