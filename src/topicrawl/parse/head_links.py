"""Find links outside the text of an HTML page.

The head of a page and the HTTP header `Link` name feeds, sitemaps, translations, and the next and previous page. The
options of a menu may be URLs, which a script opens.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from topicrawl.models import Link, Page
from topicrawl.parse.charset import get_query_codec
from topicrawl.parse.feeds import FEED_REL, SITEMAP_REL
from topicrawl.urls import LinkResolver

#: Only these parts of a page are searched.
_HEAD_BYTES = 32 * 1024
_MENU_BYTES = 256 * 1024  # from the first option
MAX_HEAD_LINKS = 20
MAX_OPTION_LINKS = 50
_MAX_ANCHOR_LENGTH = 500
_ELEMENT = re.compile(rb"<(?:link|base)\s[^<>]{0,2000}>|<!--(?:.*?-->|.*)", re.I | re.S)
_ATTRIBUTE = re.compile(r"""([a-z]{1,20})\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""", re.I)
# Only values that are certainly URLs: an absolute URL, or a path from the root of the site.
# Possessive quantifiers keep the search of a hostile page linear.
_OPTION = re.compile(
    rb"""<option\s(?:[^<>]{0,500}?\s)??value\s*+=\s*+["']?+"""
    rb"""((?:https?:/)?/[^"'<>\s]{1,2000}+)[^<>]{0,500}+>([^<]{0,500}+)""",
    re.I,
)
# A search for an element in all of a page takes 30 µs. Pages with tags in upper case have one near the start.
_CASE_BYTES = 4 * 1024
_UPPER_CASE_TAG = re.compile(rb"<[A-Z]")
_FEED_TYPES = frozenset({"application/rss+xml", "application/atom+xml", "application/feed+json"})
#: Types of feeds and of other data: the title tells them apart.
_XML_TYPES = frozenset({"text/xml", "application/xml", "application/rdf+xml"})
_FEED_TITLE = re.compile(r"\b(?:rss|atom)\b", re.I)
_MAX_HEADER_LENGTH = 16 * 1024
#: One link of a `Link` header (RFC 8288): its target and its parameters.
_HEADER_LINK = re.compile(r"""<([^<>]{1,2000})>((?:\s*;\s*[^\s;,="<>]{1,50}(?:\s*=\s*(?:"[^"<>]*"|[^\s;,"<>]*))?)*+)""")


class FoundLink(NamedTuple):
    """A link with its canonical URL, or with None if it does not lead to a web page."""

    url: str | None
    text: str
    rel: str = ""


def find_head_links(body: bytes, page: Page, depth: int) -> tuple[Link, ...]:
    """Return the links in the head of a page that are not among its links: at most `MAX_HEAD_LINKS`.

    A link to a feed has the relation `feed`, one to a sitemap `sitemap`, one to a translation of the page `alternate`,
    and one to the next or previous page `next` or `prev`. The anchor text is the `title` of the element.

    >>> head = b'<link rel="alternate" type="application/rss+xml" title="Owls" href="/feed"><link rel=next href="?p=2">'
    >>> [(link.url, link.rel, link.anchor) for link in find_head_links(head, Page("http://a.org/"), 1)]
    [('http://a.org/feed', 'feed', 'Owls'), ('http://a.org/?p=2', 'next', '')]
    """
    head = body[:_HEAD_BYTES]
    end = head.find(b"</head")
    head = head[:end] if end >= 0 else head
    lower = head.lower()
    if not any(word in lower for word in (b"alternate", b"next", b"prev", b"sitemap")):
        return ()
    return _build_links(_iterate_head_links(head, page), page, depth, tag_path="head", limit=MAX_HEAD_LINKS)


def _iterate_head_links(head: bytes, page: Page) -> Iterator[FoundLink]:
    base = page.url
    for tag, attributes in _iterate_elements(head, page.charset):
        href = attributes.get("href", "").strip()
        resolver = LinkResolver(base, query_codec=get_query_codec(page.charset or "utf-8"))
        if tag == "base":
            base = resolver(href) or base
        elif (rel := _get_relation(attributes)) and href:
            yield FoundLink(resolver(href), attributes.get("title", ""), rel)


def find_header_links(header: str, page: Page, depth: int) -> tuple[Link, ...]:
    """Return the links in the HTTP header `Link` that are not among the links of a page: at most `MAX_HEAD_LINKS`.

    Their relations and anchor texts are those of `find_head_links`.

    >>> header = '</de>; rel="alternate"; hreflang="de", <?p=2>; rel=next, </style.css>; rel=preload'
    >>> [(link.url, link.rel) for link in find_header_links(header, Page("http://a.org/"), 1)]
    [('http://a.org/de', 'alternate'), ('http://a.org/?p=2', 'next')]
    """
    return _build_links(_iterate_header_links(header, page), page, depth, tag_path="header", limit=MAX_HEAD_LINKS)


def _iterate_header_links(header: str, page: Page) -> Iterator[FoundLink]:
    resolver = LinkResolver(page.url)
    for match in _HEADER_LINK.finditer(header[:_MAX_HEADER_LENGTH]):
        attributes = {name.lower(): a or b or c for name, a, b, c in _ATTRIBUTE.findall(match[2])}
        if rel := _get_relation(attributes):
            yield FoundLink(resolver(match[1].strip()), attributes.get("title", ""), rel)


def find_option_links(body: bytes, page: Page, depth: int) -> tuple[Link, ...]:
    """Return the URLs of options that are not among the links of a page: at most `MAX_OPTION_LINKS`.

    >>> menu = b'<select><option value="/owls" selected>Owls</option><option value="bats">Bats</option></select>'
    >>> [(link.url, link.anchor) for link in find_option_links(menu, Page("http://a.org/x/"), 1)]
    [('http://a.org/owls', 'Owls')]
    """
    first = body.find(b"<option")
    if first < 0 and _UPPER_CASE_TAG.search(body, 0, _CASE_BYTES):
        first = body.find(b"<OPTION")
    if first < 0:
        return ()
    found = _iterate_option_links(body, first, page)
    return _build_links(found, page, depth, tag_path="select/option", limit=MAX_OPTION_LINKS)


def _iterate_option_links(body: bytes, first: int, page: Page) -> Iterator[FoundLink]:
    codec = _get_codec(page.charset)
    resolver = LinkResolver(page.url, query_codec=get_query_codec(page.charset or "utf-8"))
    for match in _OPTION.finditer(body, first, first + _MENU_BYTES):
        href, anchor = (html.unescape(text.decode(codec, "replace")) for text in match.groups())
        yield FoundLink(resolver(href), anchor)


def _build_links(found: Iterable[FoundLink], page: Page, depth: int, *, tag_path: str, limit: int) -> tuple[Link, ...]:
    """Return the found links that lead to web pages and are not among the links of a page, at most `limit`."""
    known = {page.url, *(link.url for link in page.links)}
    links: list[Link] = []
    for url, text, rel in found:
        if url is not None and url not in known:
            known.add(url)
            position = len(page.links) + len(links)
            anchor = " ".join(text.split())[:_MAX_ANCHOR_LENGTH]
            links.append(Link(url, page.url, anchor, tag_path=tag_path, position=position, rel=rel, depth=depth))
            if len(links) >= limit:
                break
    return tuple(links)


def _get_codec(charset: str) -> str:
    """Return the name of the decoder of a page charset."""
    return "utf-8" if charset in ("", "utf-8") else f"whatwg-{charset}"


def _iterate_elements(head: bytes, charset: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the name and the attributes of each `link` and `base` element outside comments."""
    codec = _get_codec(charset)
    for match in _ELEMENT.finditer(head):
        if not match[0].startswith(b"<!"):
            text = match[0].decode(codec, "replace")
            values = {name.lower(): html.unescape(a or b or c) for name, a, b, c in _ATTRIBUTE.findall(text)}
            yield text[1:5].lower(), values


def _get_relation(attributes: dict[str, str]) -> str:
    """Return the relation of a link in the words of `find_head_links`, "" if it leads to no page."""
    words = attributes.get("rel", "").lower().split()
    if "alternate" in words:
        kind = attributes.get("type", "").partition(";")[0].strip().lower()
        if kind in _FEED_TYPES or (kind in _XML_TYPES and _FEED_TITLE.search(attributes.get("title", ""))):
            return FEED_REL
        return "alternate" if "hreflang" in attributes and "stylesheet" not in words else ""
    if "sitemap" in words:
        return SITEMAP_REL
    return next((word for word in ("next", "prev") if word in words), "prev" if "previous" in words else "")
