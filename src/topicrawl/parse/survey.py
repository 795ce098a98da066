"""Which elements of a page say something beyond its text: title, headings, links, and what the head declares."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from turbohtml import Document, Element

# What stands in the middle of a line; all other elements begin and end one. To look for elements that a page does not
# have takes as long as to unwrap those that it has, so the rare ones are looked for by the way.
_FREQUENT = "span,a,b,i,em,strong,img,code,font"
_TAGS = "sub sup small tt u s big cite q abbr acronym kbd label var nobr ins del mark wbr time strike samp dfn input"
_RARE = _TAGS.split()
INLINE = ",".join([_FREQUENT, *_RARE])
_WANTED = ["a", "area", "h1", "h2", "h3", "h4", "h5", "h6", "iframe", "frame", "meta", "link", "title", "base", *_RARE]
_REFRESH = re.compile(r"""\s*[\d.]*\s*[;,]?\s*(?:url\s*=)?\s*["']?([^"']*)""", re.I)
_ROBOTS = frozenset({"robots", "topicrawl"})

#: An element that leads elsewhere, its address as written, how it relates, and the number of headings so far.
Lead: TypeAlias = tuple[Element, str, str | None, int]


@dataclass(slots=True)
class Survey:
    """What was found, in the order of the document."""

    title: Element | None = None
    base: str = ""
    canonical: str = ""
    refresh: list[Lead] = field(default_factory=list)
    robots: list[str] = field(default_factory=list)
    headings: list[Element] = field(default_factory=list)
    frames: list[Lead] = field(default_factory=list)
    links: list[Lead] = field(default_factory=list)
    rare: set[str] = field(default_factory=set)  # elements of the middle of a line that few pages have

    @property
    def inline(self) -> str:
        """A selector of all elements of the page that stand in the middle of a line."""
        return ",".join([_FREQUENT, *sorted(self.rare)])


def survey(tree: Document) -> Survey:
    """Ask for all elements that matter at once, and sort them out."""
    seen = Survey()
    links, headings = seen.links, seen.headings
    for element in tree.iter_elements(_WANTED):
        tag = element.tag
        if tag == "a":
            # An anchor without address is a place, not a link.
            if (href := element.attr("href")) is not None:
                links.append((element, href, element.attr("rel"), len(headings)))
        elif tag[0] == "h":
            headings.append(element)
        else:
            _SORT[tag](seen, element)
    return seen


def _area(seen: Survey, element: Element) -> None:
    if (href := element.attr("href")) is not None:
        seen.links.append((element, href, element.attr("rel"), len(seen.headings)))


def _inner_frame(seen: Survey, element: Element) -> None:
    if (source := element.attr("src")) is not None:
        seen.links.append((element, source, "iframe", len(seen.headings)))


def _frame(seen: Survey, element: Element) -> None:
    if (source := element.attr("src")) is not None:
        seen.frames.append((element, source, "frame", 0))


def _inline(seen: Survey, element: Element) -> None:
    seen.rare.add(element.tag)


def _title(seen: Survey, element: Element) -> None:
    # Drawings have titles too.
    if seen.title is None and getattr(element.parent, "tag", "") != "svg":
        seen.title = element


def _base(seen: Survey, element: Element) -> None:
    seen.base = seen.base or element.attr("href") or ""


def _link(seen: Survey, element: Element) -> None:
    if not seen.canonical and "canonical" in (element.attr("rel") or "").lower().split():
        seen.canonical = element.attr("href") or ""


def _meta(seen: Survey, element: Element) -> None:
    content = element.attr("content") or ""
    name = (element.attr("name") or "").strip().lower()
    if name in _ROBOTS:
        seen.robots.append(content)
    elif (element.attr("http-equiv") or "").strip().lower() == "refresh":
        seen.refresh.append((element, refresh_target(content), "refresh", 0))


def refresh_target(content: str) -> str:
    """Where a refresh leads, "" when it loads the page itself again.

    >>> refresh_target("5; URL='next.html'"), refresh_target("30")
    ('next.html', '')
    """
    found = _REFRESH.match(content)
    return found[1].strip() if found else ""


_SORT: dict[str, Callable[[Survey, Element], None]] = {
    "area": _area,
    "iframe": _inner_frame,
    "frame": _frame,
    "title": _title,
    "base": _base,
    "link": _link,
    "meta": _meta,
    **dict.fromkeys(_RARE, _inline),
}
