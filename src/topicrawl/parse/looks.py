"""How an element shows the text inside it, given how the element around it does."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from turbohtml import Element

from ..records import Style
from .colours import TRANSPARENT, alike, colour
from .css import Declarations, Sheet, declarations
from .sizes import TAG_FACTORS, bounded, font_element_size, font_size
from .unseen import NEVER_SHOWN, is_gone

#: Smaller letters than this are dots.
SMALLEST = 1.0
#: The background of what stands on a picture.
PICTURE = ""

_TELLING = frozenset(
    {"style", "class", "id", "hidden", "color", "size", "bgcolor", "background", "text", "link", "href", "open"}
)
#: Of these it only counts that they are there, and every link has another address.
_PRESENT = frozenset({"href", "hidden", "open", "background"})
_MANY = 200
_TOKEN = re.compile(r"[\w-]+\([^()]*\)|[^\s,]+")
_PAINTED = frozenset({"body", "table", "tr", "td", "th", "thead", "tbody", "tfoot"})
#: Pages that hide themselves are shown by their scripts.
_ALWAYS_SHOWN = frozenset({"html", "body"})


#: Text on a page that says nothing about it.
PLAIN = Style()


@dataclass(frozen=True)
class Look:
    """What an element hands down to its children."""

    style: Style = PLAIN
    gone: bool = False  # nothing inside can be seen again
    link: str = "#0000ee"
    within: frozenset[int] = frozenset()  # the kinds of elements around, as the sheet numbers them

    @cached_property
    def is_visible(self) -> bool:
        """Can a reader see letters here? Colour and size hide text, but not what is inside in others."""
        style = self.style
        return not style.hidden and style.font_size >= SMALLEST and not alike(style.colour, style.background)

    @cached_property
    def shown(self) -> Style:
        """The style of the text right here."""
        return self.style if self.style.hidden or self.is_visible else replace(self.style, hidden=True)


class Wardrobe:
    """Looks of a page's elements; equal elements in equal places share one."""

    def __init__(self, sheet: Sheet) -> None:
        self._sheet = sheet
        self._known: dict[tuple[object, ...], Look] = {}
        self._looks: dict[Look, Look] = {}
        # Where no rule asks for names, elements that differ in them alone look the same.
        self._telling = _TELLING if sheet.count else _TELLING - {"class", "id"}

    def look(self, element: Element, around: Look) -> Look:
        """The look of an element inside another look."""
        # All looks are kept, so their addresses tell them apart, and faster than their values.
        told = self._told(element) if element.attrs else ()
        key = (id(around), element.tag, told)
        found = self._known.get(key)
        if found is None:
            made = self._made(element.tag, dict(told), around)
            found = self._known[key] = self._looks.setdefault(made, made)
        return found

    def _told(self, element: Element) -> tuple[tuple[str, str], ...]:
        """The attributes that say something about looks."""
        if len(element.attrs) >= _MANY:
            return ()
        names = [name for name in element.attrs if name in self._telling]
        return tuple([(name, "yes" if name in _PRESENT else element.attr(name) or "") for name in names])

    def _made(self, tag: str, attributes: Mapping[str, str], around: Look) -> Look:
        look = _from_markup(tag, attributes, around)
        names = frozenset(f".{name}" for name in attributes.get("class", "").split()[:20])
        if attributes.get("id"):
            names |= {f"#{attributes['id']}"}
        said = _merged(self._sheet.matching(tag, names, around.within), attributes.get("style", ""))
        look = _from_style(said, look, around) if said else look
        if tag in _ALWAYS_SHOWN and look.gone:
            look = replace(look, gone=False, style=replace(look.style, hidden=False))
        inside = self._sheet.inside(tag, names) if self._sheet.outer else frozenset()
        return look if inside <= around.within else replace(look, within=around.within | inside)


def _from_markup(tag: str, attributes: Mapping[str, str], around: Look) -> Look:
    """What elements and attributes say without any style."""
    style, link = around.style, around.link
    if tag in TAG_FACTORS:
        style = replace(style, font_size=bounded(style.font_size * TAG_FACTORS[tag]))
    if tag == "font":
        size = font_element_size(attributes["size"]) if "size" in attributes else None
        ink = colour(attributes["color"]) if "color" in attributes else None
        style = replace(style, font_size=size or style.font_size, colour=ink or style.colour)
    elif tag == "a" and "href" in attributes:
        style = replace(style, colour=link)
    elif tag in _PAINTED:
        paint = colour(attributes["bgcolor"]) if "bgcolor" in attributes else None
        if paint is None and "background" in attributes:
            paint = PICTURE
        ink = colour(attributes["text"]) if tag == "body" and "text" in attributes else None
        style = replace(style, background=_painted(paint, style.background), colour=ink or style.colour)
        link = (colour(attributes["link"]) if tag == "body" and "link" in attributes else None) or link
    if "hidden" in attributes or tag in NEVER_SHOWN or (tag == "dialog" and "open" not in attributes):
        return Look(replace(style, hidden=True), True, link, around.within)
    return Look(style, around.gone, link, around.within)


def _merged(rules: list[Declarations], own: str) -> dict[str, str]:
    """The properties that count: later and own ones over earlier, important ones over all."""
    styles = [*rules, declarations(own)] if own else rules
    said = {name: value for style in styles for name, (value, important) in style.items() if not important}
    said.update({name: value for style in styles for name, (value, important) in style.items() if important})
    return said


def _from_style(said: Mapping[str, str], look: Look, around: Look) -> Look:
    style = look.style
    size = _size(said, around.style.font_size)
    size = style.font_size if size is None else size
    visibility = said.get("visibility", "")
    gone = look.gone or is_gone(said, size)
    style = Style(
        hidden=gone or visibility in ("hidden", "collapse") or (style.hidden and visibility != "visible"),
        font_size=size,
        colour=colour(said.get("color", "")) or style.colour,
        background=_painted(_paint(said), style.background),
    )
    return Look(style, gone, look.link, look.within)


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
    """The colour of the background, `PICTURE` where only a picture is given, None where nothing is."""
    if "background-color" in said:
        return colour(said["background-color"])
    painted = said.get("background", "")[:500]
    found = None if "gradient(" in painted else next(filter(None, map(colour, _TOKEN.findall(painted))), None)
    is_picture = "(" in said.get("background-image", "") or "url(" in painted or "gradient(" in painted
    return PICTURE if found is None and is_picture else found


def _painted(new: str | None, old: str) -> str:
    """A colour over another: nothing and transparent ones leave what was there."""
    return old if new is None or new == TRANSPARENT else new
