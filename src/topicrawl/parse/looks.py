"""How an element shows the text inside it, given how the element around it does."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from turbohtml import Element

from ..records import Style
from .colours import TRANSPARENT, colour
from .css import Declarations, Sheet, declarations
from .sizes import TAG_FACTORS, bounded, font_element_size, font_size, length

#: So many pixels outside the window is out of sight.
FAR = -300.0
#: Smaller letters than this are dots.
SMALLEST = 1.0
_FAINT = 0.05

_TELLING = frozenset({"style", "class", "id", "hidden", "color", "size", "bgcolor", "text", "link", "href"})
_MANY = 200
_TOKEN = re.compile(r"[\w-]+\([^()]*\)|[^\s,]+")
_PAINTED = frozenset({"body", "table", "tr", "td", "th", "thead", "tbody", "tfoot"})
#: Pages that hide themselves are shown by their scripts.
_ALWAYS_SHOWN = frozenset({"html", "body"})


#: Text on a page that says nothing about it.
PLAIN = Style()


@dataclass(frozen=True, slots=True)
class Look:
    """What an element hands down to its children."""

    style: Style = PLAIN
    gone: bool = False  # nothing inside can be seen again
    link: str = "#0000ee"

    @property
    def is_visible(self) -> bool:
        """Can a reader see letters here?"""
        return not self.style.hidden and self.style.colour != self.style.background


class Wardrobe:
    """Looks of a page's elements; equal elements in equal places share one."""

    def __init__(self, sheet: Sheet) -> None:
        self._sheet = sheet
        self._known: dict[tuple[object, ...], Look] = {}
        self._looks: dict[Look, Look] = {}

    def look(self, element: Element, around: Look) -> Look:
        """The look of an element inside another look."""
        tag = element.tag
        attributes = {
            name: element.attr(name) or ""
            for name in (element.attrs if len(element.attrs) < _MANY else ())
            if name in _TELLING
        }
        # All looks are kept, so their addresses tell them apart, and faster than their values.
        key = (id(around), tag, *attributes.items())
        found = self._known.get(key)
        if found is None:
            made = self._made(tag, attributes, around)
            found = self._known[key] = self._looks.setdefault(made, made)
        return found

    def _made(self, tag: str, attributes: Mapping[str, str], around: Look) -> Look:
        look = _from_markup(tag, attributes, around)
        names = {f".{name}" for name in attributes.get("class", "").split()[:20]}
        if attributes.get("id"):
            names.add(f"#{attributes['id']}")
        said = _merged(self._sheet.matching(tag, frozenset(names)), attributes.get("style", ""))
        look = _from_style(said, look, around) if said else look
        if tag in _ALWAYS_SHOWN and look.gone:
            look = replace(look, gone=False, style=replace(look.style, hidden=False))
        return look


def _from_markup(tag: str, attributes: Mapping[str, str], around: Look) -> Look:
    """What elements and attributes say without any style."""
    style, link = around.style, around.link
    if tag in TAG_FACTORS:
        style = replace(style, font_size=bounded(style.font_size * TAG_FACTORS[tag]))
    if tag == "font":
        size = font_element_size(attributes["size"]) if "size" in attributes else None
        ink = colour(attributes["color"]) if "color" in attributes else None
        style = replace(style, font_size=size or style.font_size, colour=_painted(ink, style.colour))
    elif tag == "a" and "href" in attributes:
        style = replace(style, colour=link)
    elif tag in _PAINTED:
        paint = colour(attributes["bgcolor"]) if "bgcolor" in attributes else None
        ink = colour(attributes["text"]) if tag == "body" and "text" in attributes else None
        style = replace(style, background=_painted(paint, style.background), colour=_painted(ink, style.colour))
        link = _painted(colour(attributes["link"]) if tag == "body" and "link" in attributes else None, link)
    if "hidden" in attributes or tag == "noscript":
        return Look(replace(style, hidden=True), gone=True, link=link)
    return Look(style, around.gone, link)


def _merged(rules: list[Declarations], own: str) -> dict[str, str]:
    """The properties that count: later and own ones over earlier, important ones over all."""
    styles = [*rules, declarations(own)] if own else rules
    said = {name: value for style in styles for name, (value, important) in style.items() if not important}
    said.update({name: value for style in styles for name, (value, important) in style.items() if important})
    return said


def _from_style(said: Mapping[str, str], look: Look, around: Look) -> Look:
    style = look.style
    size = _size(said, around.style.font_size)
    ink = colour(said.get("color", ""))
    paint = _paint(said)
    visibility = said.get("visibility", "")
    gone = look.gone or _is_gone(said, style.font_size if size is None else size) or ink == TRANSPARENT
    hidden = gone or visibility in ("hidden", "collapse") or (style.hidden and visibility != "visible")
    style = Style(
        hidden=hidden,
        font_size=style.font_size if size is None else size,
        colour=_painted(ink, style.colour),
        background=_painted(paint, style.background),
    )
    return Look(style, gone, look.link)


def _size(said: Mapping[str, str], parent: float) -> float | None:
    if "font-size" in said:
        return font_size(said["font-size"], parent)
    for token in said.get("font", "").split():
        size = font_size(token.partition("/")[0], parent)
        # In the short form a bare number is a weight, not a size.
        if size is not None and not token.isdecimal():
            return size
    return None


def _paint(said: Mapping[str, str]) -> str | None:
    if "background-color" in said:
        return colour(said["background-color"])
    return next(filter(None, map(colour, _TOKEN.findall(said.get("background", "")[:500]))), None)


def _is_gone(said: Mapping[str, str], size: float) -> bool:
    """Is what is inside taken out of sight, so that no child can come back?"""
    if said.get("display") == "none" or size < SMALLEST:
        return True
    opacity = length(said.get("opacity", "1"), 1.0)
    if opacity is not None and opacity < _FAINT:
        return True
    if _is_far(said.get("text-indent"), size):
        return True
    is_loose = said.get("position") in ("absolute", "fixed")
    return is_loose and any(_is_far(said.get(side), size) for side in ("left", "top", "right"))


def _is_far(text: str | None, size: float) -> bool:
    distance = length(text, size) if text else None
    return distance is not None and distance <= FAR


def _painted(new: str | None, old: str) -> str:
    """A colour over another: nothing and transparent ones leave what was there."""
    return old if new is None or new == TRANSPARENT else new
