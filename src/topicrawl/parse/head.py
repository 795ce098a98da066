"""Collect the title, headings, links and head metadata of an HTML tree in one pass."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from turbohtml import Document, Element

# Inline elements; all other elements begin and end a text block. Searching for absent elements costs as much as
# unwrapping present ones, so the collecting pass notes which of the rare ones occur.
_FREQUENT_INLINE = "span,a,b,i,em,strong,img,code,font"
_RARE_INLINE_NAMES = (
    "sub sup small tt u s big cite q abbr acronym kbd label var nobr ins del mark wbr time strike samp dfn input"
)
_RARE_INLINE = _RARE_INLINE_NAMES.split()
INLINE_SELECTOR = ",".join([_FREQUENT_INLINE, *_RARE_INLINE])
_COLLECTED_TAGS = [
    "a",
    "area",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "iframe",
    "frame",
    "meta",
    "link",
    "title",
    "base",
    *_RARE_INLINE,
]
#: Largest number of headings and of link elements per page; only generated pages have more.
MAX_HEADINGS = 2000
MAX_LINK_ELEMENTS = 20_000
_REFRESH = re.compile(r"""\s*[\d.]*\s*[;,]?\s*(?:url\s*=)?\s*["']?([^"']*)""", re.I)
_ROBOTS_META_NAMES = frozenset({"robots", "topicrawl"})

#: A link element, its URL as written, its relation (`rel`), and the number of headings before it.
LinkElement: TypeAlias = tuple[Element, str, str | None, int]


@dataclass(slots=True)
class PageElements:
    """Elements of a page beyond its text, in document order."""

    title: Element | None = None
    base: str = ""
    canonical: str = ""
    refreshes: list[LinkElement] = field(default_factory=list)
    robots_metas: list[str] = field(default_factory=list)
    headings: list[Element] = field(default_factory=list)
    frames: list[LinkElement] = field(default_factory=list)
    links: list[LinkElement] = field(default_factory=list)
    rare_inline: set[str] = field(default_factory=set)  # names of the rare inline elements in the page

    @property
    def inline_selector(self) -> str:
        """CSS selector for all inline elements of the page."""
        return ",".join([_FREQUENT_INLINE, *sorted(self.rare_inline)])


def collect_elements(tree: Document) -> PageElements:
    """Collect all relevant elements of a tree in one pass."""
    elements = PageElements()
    links, headings = elements.links, elements.headings
    for element in tree.iter_elements(_COLLECTED_TAGS):
        tag = element.tag
        if tag == "a":
            href = element.attr("href")
            if href is None:
                href = element.attr("xlink:href")  # a link in an SVG image
            # An anchor without href is a link target, not a link.
            if href is not None and len(links) < MAX_LINK_ELEMENTS:
                links.append((element, href, element.attr("rel"), len(headings)))
        elif tag[0] == "h":
            if len(headings) < MAX_HEADINGS:
                headings.append(element)
        else:
            _HANDLERS[tag](elements, element)
    return elements


def _handle_area(elements: PageElements, element: Element) -> None:
    if (href := element.attr("href")) is not None:
        elements.links.append((element, href, element.attr("rel"), len(elements.headings)))


def _handle_iframe(elements: PageElements, element: Element) -> None:
    if (source := element.attr("src")) is not None:
        elements.links.append((element, source, "iframe", len(elements.headings)))


def _handle_frame(elements: PageElements, element: Element) -> None:
    if (source := element.attr("src")) is not None:
        elements.frames.append((element, source, "frame", 0))


def _handle_inline(elements: PageElements, element: Element) -> None:
    elements.rare_inline.add(element.tag)


def _handle_title(elements: PageElements, element: Element) -> None:
    # SVG images have titles too.
    if elements.title is None and getattr(element.parent, "tag", "") != "svg":
        elements.title = element


def _handle_base(elements: PageElements, element: Element) -> None:
    elements.base = elements.base or element.attr("href") or ""


def _handle_link(elements: PageElements, element: Element) -> None:
    if not elements.canonical and "canonical" in (element.attr("rel") or "").lower().split():
        elements.canonical = element.attr("href") or ""


def _handle_meta(elements: PageElements, element: Element) -> None:
    content = element.attr("content") or ""
    name = (element.attr("name") or "").strip().lower()
    if name in _ROBOTS_META_NAMES:
        elements.robots_metas.append(content)
    elif (element.attr("http-equiv") or "").strip().lower() == "refresh":
        elements.refreshes.append((element, parse_refresh_target(content), "refresh", 0))


def parse_refresh_target(content: str) -> str:
    """Return the URL in the content of a meta refresh, "" if it reloads the page itself.

    >>> parse_refresh_target("5; URL='next.html'"), parse_refresh_target("30")
    ('next.html', '')
    """
    match = _REFRESH.match(content)
    return match[1].strip() if match else ""


_HANDLERS: dict[str, Callable[[PageElements, Element], None]] = {
    "area": _handle_area,
    "iframe": _handle_iframe,
    "frame": _handle_frame,
    "title": _handle_title,
    "base": _handle_base,
    "link": _handle_link,
    "meta": _handle_meta,
    **dict.fromkeys(_RARE_INLINE, _handle_inline),
}
