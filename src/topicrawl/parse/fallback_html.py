"""HTML parser without turbohtml: title, text, words, language and links, with the standard library only.

The crawl does not use it. It shows that the parser can be replaced: `parse_html_fallback` has the signature of
`parse_html`, so that one import in `parse/__init__.py` selects it if turbohtml must be withdrawn. It does not repair
the structure of a page as browsers do, and it extracts no headings, styles and link contexts.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from html.parser import HTMLParser

import xxhash

from topicrawl.models import Link, LinkContextLevel, Page, Response
from topicrawl.parse.charset import decode_text
from topicrawl.parse.head import INLINE_SELECTOR, parse_refresh_target
from topicrawl.parse.html import MAX_TEXT_LENGTH, MAX_TITLE_LENGTH
from topicrawl.parse.language import detect_language
from topicrawl.parse.links import MAX_ANCHOR_LENGTH, MAX_LINKS, MAX_NAME_LENGTH
from topicrawl.parse.parser_cache import ParserCache
from topicrawl.parse.robots_directives import parse_directives
from topicrawl.parse.text_blocks import RESERVED_CHARACTERS, join_blocks
from topicrawl.text.tokenizer import tokenise_to_bytes
from topicrawl.text.word_sequence import WordSequence
from topicrawl.urls import LinkResolver

_INLINE_TAGS = frozenset(INLINE_SELECTOR.split(","))
_HIDDEN_TAGS = frozenset({"script", "style", "template", "noframes", "noscript"})
_LINK_ATTRIBUTES = {"a": "href", "area": "href", "iframe": "src", "frame": "src"}
_ROBOTS_META_NAMES = frozenset({"robots", "topicrawl"})


def parse_html_fallback(
    response: Response,
    link: Link,
    *,
    styles: bool = False,
    context: LinkContextLevel | bool = True,
    cache: ParserCache | None = None,
) -> Page:
    """Parse an HTML response to a page. `styles` and `context` have no effect.

    >>> body = b"<title>Owls</title><p>Most <b>owl</b>s <a href=/mice>hunt</a>.<script>x</script><p>At night."
    >>> page = parse_html_fallback(Response("http://a/", "http://a/", body=body), Link("http://a/"))
    >>> page.title, page.text, [(link.url, link.anchor) for link in page.links]
    ('Owls', 'Most owls hunt.\\nAt night.', [('http://a/mice', 'hunt')])
    """
    source, charset = decode_text(response.body, response.headers.get("content-type", ""))
    reader = _PageReader()
    # The parser raises AssertionError for an unknown marked section; the text before it is used.
    with suppress(AssertionError):
        reader.feed(source.replace("\0", ""))
        reader.close()
    url = response.final_url
    base = (LinkResolver(url)(reader.base) or url) if reader.base else url
    resolver = LinkResolver(base) if cache is None else LinkResolver(base, cache.links)
    links: list[Link] = []
    for href, anchor_parts, rel in reader.links:
        target = resolver(href)
        if target is not None and target != url and len(links) < MAX_LINKS:
            anchor = _fold_text(anchor_parts)[:MAX_ANCHOR_LENGTH].rstrip()
            links.append(Link(target, url, anchor, position=len(links), rel=rel, depth=link.depth + 1))
    blocks = (RESERVED_CHARACTERS.sub("", "".join(block)) for block in reader.blocks)
    text = join_blocks(blocks)[:MAX_TEXT_LENGTH].strip()
    encoded = text.encode("utf-8", "replace")
    return Page(
        url=url,
        title=_fold_text(reader.title)[:MAX_TITLE_LENGTH],
        text=text,
        words=WordSequence(tokenise_to_bytes(text)),
        language=detect_language(text, reader.language),
        charset=charset,
        canonical=(resolver(reader.canonical) or "") if reader.canonical else "",
        directives=parse_directives(response.headers.get("x-robots-tag", ""), reader.robots_metas),
        links=tuple(links),
        digest=xxhash.xxh3_128_hexdigest(encoded) if encoded else "",
    )


def _fold_text(parts: Iterable[str]) -> str:
    """Join parts of a text to one line, without reserved characters."""
    return " ".join(RESERVED_CHARACTERS.sub("", "".join(parts)).split())


class _PageReader(HTMLParser):
    """Collect the text blocks, links and head metadata of a page from its tags, without a tree."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.title: list[str] = []
        self.blocks: list[list[str]] = [[]]
        self.links: list[tuple[str, list[str], str]] = []  # URL as written, parts of the anchor text, rel
        self.robots_metas: list[str] = []
        self.base = self.canonical = self.language = ""
        self._hidden_depth = 0
        self._is_in_title = False
        self._anchor: list[str] | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in reversed(attrs)}
        self._is_in_title = tag == "title" and not self.title
        if tag in _HIDDEN_TAGS:
            self._hidden_depth += 1
        if tag not in _INLINE_TAGS:
            self.blocks.append([])
        if tag in _LINK_ATTRIBUTES and (href := values.get(_LINK_ATTRIBUTES[tag])) is not None:
            rel = tag if tag.endswith("frame") else " ".join(values.get("rel", "")[:MAX_NAME_LENGTH].lower().split())
            self._add_link(href, rel)
            self._anchor = self.links[-1][1] if tag == "a" else self._anchor
        elif tag == "html":
            self.language = values.get("lang", "")
        elif tag == "base":
            self.base = self.base or values.get("href", "")
        elif tag == "link" and "canonical" in values.get("rel", "").lower().split():
            self.canonical = self.canonical or values.get("href", "")
        elif tag == "meta":
            self._read_meta(values)

    def handle_endtag(self, tag: str) -> None:
        self._is_in_title = False
        if tag in _HIDDEN_TAGS:
            self._hidden_depth = max(0, self._hidden_depth - 1)
        if tag not in _INLINE_TAGS:
            self.blocks.append([])
        if tag == "a":
            self._anchor = None

    def handle_data(self, data: str) -> None:
        if self._is_in_title:
            self.title.append(data)
        elif not self._hidden_depth:
            self.blocks[-1].append(data)
            if self._anchor is not None:
                self._anchor.append(data)

    def _read_meta(self, values: dict[str, str]) -> None:
        content = values.get("content", "")
        if values.get("name", "").strip().lower() in _ROBOTS_META_NAMES:
            self.robots_metas.append(content)
        elif values.get("http-equiv", "").strip().lower() == "refresh":
            self._add_link(parse_refresh_target(content), "refresh")

    def _add_link(self, href: str, rel: str) -> None:
        self.links.append((href, [], rel))
