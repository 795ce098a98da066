"""Read the links of sitemaps (XML, index, text) and feeds (RSS, Atom, JSON Feed).

The XML parser expands no entities and reads no other files. Frequent errors in XML are repaired. A file that is
malformed in other ways or too long gives the links before the damage or the limit.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from urllib.parse import urljoin
from xml.parsers import expat

from topicrawl.models import Link, Page, Response
from topicrawl.parse.charset import decode_text
from topicrawl.parse.links import MAX_ANCHOR_LENGTH, MAX_LINKS
from topicrawl.parse.robots_directives import parse_directives
from topicrawl.urls import LinkResolver, get_host

#: Only this part of a file is read; a file with `MAX_LINKS` links has about half a megabyte.
MAX_FEED_BYTES = 2 * 1024 * 1024
#: Largest number of files that one sitemap index adds.
MAX_INDEX_FILES = 10
#: Values of `Link.rel` of links to link lists: from robots.txt, from a sitemap index, and from the head of a page.
SITEMAP_REL = "sitemap"
INDEXED_SITEMAP_REL = "indexed-sitemap"
FEED_REL = "feed"

_SITEMAP_RELS = frozenset({SITEMAP_REL, INDEXED_SITEMAP_REL})
_MAX_TEXT_LENGTH = 2000  # of one element
_TAGS = re.compile(r"<[^<>]{0,1000}>")
_CONTROL_CHARACTERS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
#: CDATA sections, which stay as they are, and ampersands that start none of the entities of XML.
_BARE_AMPERSANDS = re.compile(
    r"<!\[CDATA\[.*?(?:\]\]>|\Z)|&(?!(?:amp|lt|gt|quot|apos|#[0-9]{1,7}|#x[0-9A-Fa-f]{1,6});)", re.S
)
_ITEM_NAMES = frozenset({"url", "sitemap", "item", "entry"})
_FIELDS = {
    "loc": "url",
    "link": "url",
    "guid": "id",
    "id": "id",
    "title": "title",
    "lastmod": "date",
    "pubdate": "date",
    "updated": "date",
    "published": "date",
    "publication_date": "date",
    "date": "date",
    "description": "summary",
    "summary": "summary",
}
#: Prefixes of elements of other vocabularies whose fields count: news sitemaps, Dublin Core, Atom in RSS.
_FIELD_PREFIXES = frozenset({"news", "dc", "atom"})


@dataclass(slots=True)
class FeedItem:
    """One entry of a sitemap or feed, with its texts as written."""

    url: str = ""
    id: str = ""
    title: str = ""
    date: str = ""
    summary: str = ""
    is_sitemap: bool = False  # an entry of a sitemap index


@dataclass(slots=True)
class FeedContent:
    """Entries of a sitemap or feed in the order of the file."""

    kind: str = ""  # name of the root element in lower case, "json" or "text"
    title: str = ""
    items: list[FeedItem] = field(default_factory=list)


def parse_feed(response: Response, link: Link) -> Page:
    """Return a page with the links of a sitemap or feed, and without text. `link` is the link that led to the file.

    The anchor text of a link is the title of its entry; the sentence has its date and its summary. Links of a sitemap
    lead to the host of the file or of the page that named it; other links are dropped, as the standard demands. A
    sitemap index inside a sitemap index gives no links.
    """
    readable = response.readable
    body = readable.body if readable is not None else response.body
    content = read_feed_content(
        body, readable.type if readable is not None else response.headers.get("content-type", "")
    )
    url = response.final_url
    resolver = LinkResolver(url)
    is_sitemap = content.kind in ("urlset", "sitemapindex", "text")
    hosts = {get_host(url), get_host(link.url), get_host(link.source) if link.source else ""}
    links: dict[str, Link] = {}
    sitemap_count = 0
    for item in content.items:
        target = resolver(item.url or item.id) if item.url or item.id.startswith(("http://", "https://")) else None
        if target is None or target == url or target in links or (is_sitemap and get_host(target) not in hosts):
            continue
        if item.is_sitemap:
            if link.rel == INDEXED_SITEMAP_REL or sitemap_count >= MAX_INDEX_FILES:
                continue
            sitemap_count += 1
        links[target] = _build_link(target, item, content, source=url, depth=link.depth + 1, position=len(links))
        if len(links) >= MAX_LINKS:
            break
    directives = parse_directives(response.headers.get("x-robots-tag", ""), [])
    return Page(
        url,
        title=clean_feed_text(content.title),
        directives=directives,
        links=tuple(links.values()),
        is_link_list=True,
    )


def list_named_sitemaps(links: Iterable[Link]) -> dict[str, str]:
    """Return the relations of the links to sitemaps by URL. Feeds are recognised by their content alone."""
    return {link.url: link.rel for link in links if link.rel and link.rel in _SITEMAP_RELS}


def is_text_sitemap(body: bytes) -> bool:
    """Return whether a body is a text file with one URL per line.

    >>> is_text_sitemap(b"http://a.org/1\\r\\nhttp://a.org/2\\r\\n"), is_text_sitemap(b"See http://a.org/")
    (True, False)
    """
    start = body[:4096].removeprefix(b"\xef\xbb\xbf").lstrip()
    if not start.startswith(b"http"):
        return False  # this test runs for every page
    lines = start.split()
    # The last line may be cut off.
    return bool(lines) and all(line.startswith((b"http://", b"https://")) for line in lines[: max(1, len(lines) - 1)])


def _build_link(url: str, item: FeedItem, content: FeedContent, *, source: str, depth: int, position: int) -> Link:
    summary = f"{item.date.strip()[:40]} {clean_feed_text(item.summary)}".strip()
    return Link(
        url,
        source,
        anchor=clean_feed_text(item.title),
        sentence=summary[:MAX_ANCHOR_LENGTH],
        heading=clean_feed_text(content.title),
        tag_path=content.kind,
        position=position,
        rel=INDEXED_SITEMAP_REL if item.is_sitemap else "",
        depth=depth,
    )


def clean_feed_text(text: str) -> str:
    """Return a text of a feed in one line, without HTML tags.

    >>> clean_feed_text("Owls &amp;amp; <b>bats</b>")
    'Owls & bats'
    """
    text = html.unescape(_TAGS.sub(" ", html.unescape(text)))
    return " ".join(text.split())[:MAX_ANCHOR_LENGTH]


def read_feed_content(body: bytes, content_type: str) -> FeedContent:
    """Read the entries of a file by its first character: XML, JSON, or one URL per line."""
    body = body[:MAX_FEED_BYTES]
    start = body[:64].removeprefix(b"\xef\xbb\xbf").lstrip()
    if start.startswith(b"{"):
        return _read_json(body)
    if start.startswith((b"<", b"\xff\xfe<", b"\xfe\xff\0<")):
        return _read_xml(body, content_type)
    lines = decode_text(body, content_type)[0].split()
    urls = [line for line in lines[:MAX_LINKS] if line.startswith(("http://", "https://"))]
    return FeedContent("text", items=list(map(FeedItem, urls)))


def _read_xml(body: bytes, content_type: str) -> FeedContent:
    """Read a sitemap, RSS or Atom. If it is not well-formed, repair it and read it again."""
    reader = _XmlFeedReader()
    if reader.read(body.removeprefix(b"\xef\xbb\xbf").lstrip()):
        return reader.content
    text = repair_xml(decode_text(body, content_type)[0])
    repaired = _XmlFeedReader()
    repaired.read(text.encode("utf-8", "replace")[:MAX_FEED_BYTES], encoding="utf-8")
    return max(reader.content, repaired.content, key=lambda content: len(content.items))


def repair_xml(text: str) -> str:
    """Escape single ampersands and the entities of HTML, and remove control characters and leading white space.

    >>> repair_xml(" <a>x&y &nbsp; <![CDATA[&]]> &amp;\x0b</a>")
    '<a>x&amp;y &amp;nbsp; <![CDATA[&]]> &amp;</a>'
    """
    text = _CONTROL_CHARACTERS.sub("", text).lstrip("\ufeff \t\r\n")
    return _BARE_AMPERSANDS.sub(lambda match: "&amp;" if match[0] == "&" else match[0], text)


def _read_json(body: bytes) -> FeedContent:
    """Read a JSON Feed; an invalid one has no entries."""
    try:
        feed = json.loads(body)
    except (ValueError, RecursionError):
        feed = None
    if not isinstance(feed, dict):
        return FeedContent("json")
    return FeedContent("json", _get_string(feed, "title"), list(_iterate_json_items(feed.get("items"))))


def _iterate_json_items(items: object) -> Iterator[FeedItem]:
    for entry in items[:MAX_LINKS] if isinstance(items, list) else ():
        if isinstance(entry, dict):
            yield FeedItem(
                _get_string(entry, "url") or _get_string(entry, "external_url"),
                _get_string(entry, "id"),
                _get_string(entry, "title"),
                _get_string(entry, "date_published") or _get_string(entry, "date_modified"),
                _get_string(entry, "summary") or _get_string(entry, "content_text"),
            )


def _get_string(table: dict[str, object], name: str) -> str:
    value = table.get(name)
    return value[:_MAX_TEXT_LENGTH] if isinstance(value, str) else ""


class _LimitReached(Exception):
    """The file has more entries than are used, or declares entities."""


def _join_base(base: str, url: str) -> str:
    """Return a URL relative to the base of an element; unchanged if one of them is invalid."""
    try:
        return urljoin(base, url)
    except ValueError:
        return url


class _XmlFeedReader:
    """Reader of sitemaps, RSS and Atom with the event parser expat."""

    def __init__(self) -> None:
        self.content = FeedContent()
        self._base = ""  # xml:base of the root element
        self._item_base = ""  # xml:base of the open entry
        self._prefix = ""  # namespace prefix of the root element, with its colon
        self._item: FeedItem | None = None
        self._item_name = ""
        self._open_field = ""  # name of the element whose text is being read
        self._text: list[str] = []
        self._length = 0

    def read(self, body: bytes, encoding: str | None = None) -> bool:
        """Read the entries up to the limit or the first error. Return whether the body is well-formed up to there.

        `encoding` replaces the one that the body declares.
        """
        parser = expat.ParserCreate(encoding)
        parser.StartElementHandler = self._start_element
        parser.EndElementHandler = self._end_element
        parser.CharacterDataHandler = self._add_text
        parser.EntityDeclHandler = self._refuse_entities
        try:
            parser.Parse(body, True)
        except _LimitReached:
            return True
        except (expat.ExpatError, LookupError, ValueError):
            return False
        return True

    def _refuse_entities(self, *declaration: object) -> None:
        raise _LimitReached

    def _start_element(self, name: str, attributes: dict[str, str]) -> None:
        prefix, _, local = name.lower().rpartition(":")
        if not self.content.kind:
            self.content.kind, self._prefix = local, prefix
            self._base = attributes.get("xml:base", "")[:_MAX_TEXT_LENGTH]
            return
        if self.content.kind == "rdf" and self._item is None and local in _ITEM_NAMES:
            self._prefix = prefix  # RSS 1.0: only the root element has the prefix of RDF
        is_own = prefix in (self._prefix, "")
        if self._item is None and is_own and local in _ITEM_NAMES:
            self._item, self._item_name = FeedItem(is_sitemap=local == "sitemap"), name
            self._item_base = _join_base(self._base, attributes.get("xml:base", "")[:_MAX_TEXT_LENGTH])
        elif local == "link" and "href" in attributes:
            if self._item is not None and attributes.get("rel", "alternate") == "alternate":
                target = attributes["href"][:_MAX_TEXT_LENGTH]
                if self.content.kind == "urlset":  # the page in another language
                    self._add_item(FeedItem(target))
                else:
                    self._item.url = self._item.url or target
        elif local in _FIELDS and (is_own or prefix in _FIELD_PREFIXES) and not self._open_field:
            self._open_field, self._text, self._length = name, [], 0

    def _add_text(self, text: str) -> None:
        if self._open_field and self._length < _MAX_TEXT_LENGTH:
            self._text.append(text)
            self._length += len(text)

    def _end_element(self, name: str) -> None:
        if name == self._open_field:
            self._open_field = ""
            self._store_field(_FIELDS[name.lower().rpartition(":")[2]], "".join(self._text).strip())
        elif self._item is not None and name == self._item_name:
            if self._item_base and self._item.url:
                self._item.url = _join_base(self._item_base, self._item.url)
            self._add_item(self._item)
            self._item = None

    def _add_item(self, item: FeedItem) -> None:
        self.content.items.append(item)
        if len(self.content.items) >= MAX_LINKS:
            raise _LimitReached

    def _store_field(self, name: str, text: str) -> None:
        """Store the text of an element in the open entry, or the title of the feed. The first text counts."""
        if self._item is not None:
            setattr(self._item, name, getattr(self._item, name) or text[:_MAX_TEXT_LENGTH])
        elif name == "title":
            self.content.title = self.content.title or text[:_MAX_TEXT_LENGTH]
