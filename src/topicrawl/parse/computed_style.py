"""Computed style of elements: visibility, font size and colours, inherited down the tree."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from msgspec import structs
from turbohtml import Element

from topicrawl.models import Style
from topicrawl.parse.css import Declarations, StyleSheet, parse_declarations
from topicrawl.parse.css_colours import TRANSPARENT, is_indistinguishable, parse_colour
from topicrawl.parse.css_sizes import TAG_SIZE_FACTORS, clamp_size, parse_font_element_size, parse_font_size
from topicrawl.parse.visibility import NEVER_RENDERED_TAGS, is_hidden_by_style

#: Text with a smaller font size (in pixels) is unreadable.
MIN_FONT_SIZE = 1.0
#: Background value of text on an image.
IMAGE_BACKGROUND = ""

_STYLE_ATTRIBUTES = frozenset(
    {"style", "class", "id", "hidden", "color", "size", "bgcolor", "background", "text", "link", "href", "open"}
)
#: Attributes of which only the presence matters. Their values are ignored, because every link has another href.
_BOOLEAN_ATTRIBUTES = frozenset({"href", "hidden", "open", "background"})
_MAX_ATTRIBUTES = 200
_BACKGROUND_TOKEN = re.compile(r"[\w-]+\([^()]*\)|[^\s,]+")
_BACKGROUND_TAGS = frozenset({"body", "table", "tr", "td", "th", "thead", "tbody", "tfoot"})
#: Scripts show pages that hide their root element.
_ALWAYS_VISIBLE_TAGS = frozenset({"html", "body"})


#: Style of text without any style rule.
DEFAULT_STYLE = Style()


@dataclass(frozen=True)
class ComputedStyle:
    """Style of an element that its children inherit."""

    style: Style = DEFAULT_STYLE
    hides_descendants: bool = False  # no descendant can become visible again
    link_colour: str = "#0000ee"
    ancestor_numbers: frozenset[int] = frozenset()  # ancestor selectors that match, as numbered by the style sheet

    @cached_property
    def is_visible(self) -> bool:
        """Whether text with this style can be read. Descendants with another colour or size may still be visible."""
        style = self.style
        return (
            not style.hidden
            and style.font_size >= MIN_FONT_SIZE
            and not is_indistinguishable(style.colour, style.background)
        )

    @cached_property
    def text_style(self) -> Style:
        """The style of the text in this element, with `hidden` set if it cannot be read."""
        return self.style if self.style.hidden or self.is_visible else structs.replace(self.style, hidden=True)


class StyleResolver:
    """Compute the styles of the elements of a page. Equal elements with equal parent styles share one result."""

    def __init__(self, sheet: StyleSheet) -> None:
        self._sheet = sheet
        self._cache: dict[tuple[object, ...], ComputedStyle] = {}
        self._distinct_styles: dict[ComputedStyle, ComputedStyle] = {}
        # Without rules, class and id have no effect on the style.
        self._style_attributes = _STYLE_ATTRIBUTES if sheet.rule_count else _STYLE_ATTRIBUTES - {"class", "id"}

    def resolve(self, element: Element, parent: ComputedStyle) -> ComputedStyle:
        """Return the style of an element, given the style of its parent."""
        # All styles are kept alive, so their ids identify them, and comparing ids is faster than comparing values.
        attributes = self._get_style_attributes(element) if element.attrs else ()
        key = (id(parent), element.tag, attributes)
        style = self._cache.get(key)
        if style is None:
            computed = self._compute_style(element.tag, dict(attributes), parent)
            style = self._cache[key] = self._distinct_styles.setdefault(computed, computed)
        return style

    def _get_style_attributes(self, element: Element) -> tuple[tuple[str, str], ...]:
        """Return the attributes that affect the style."""
        if len(element.attrs) >= _MAX_ATTRIBUTES:
            return ()
        names = [name for name in element.attrs if name in self._style_attributes]
        return tuple([(name, "yes" if name in _BOOLEAN_ATTRIBUTES else element.attr(name) or "") for name in names])

    def _compute_style(self, tag: str, attributes: Mapping[str, str], parent: ComputedStyle) -> ComputedStyle:
        """Compute the style of an element from its markup, the style sheet and its `style` attribute."""
        look = _apply_markup(tag, attributes, parent)
        names = frozenset(f".{name}" for name in attributes.get("class", "").split()[:20])
        if attributes.get("id"):
            names |= {f"#{attributes['id']}"}
        properties = _merge_declarations(
            self._sheet.match_rules(tag, names, parent.ancestor_numbers), attributes.get("style", "")
        )
        look = _apply_properties(properties, look, parent) if properties else look
        if tag in _ALWAYS_VISIBLE_TAGS and look.hides_descendants:
            look = replace(look, hides_descendants=False, style=structs.replace(look.style, hidden=False))
        inside = self._sheet.match_ancestors(tag, names) if self._sheet.ancestor_selectors else frozenset()
        return (
            look
            if inside <= parent.ancestor_numbers
            else replace(look, ancestor_numbers=parent.ancestor_numbers | inside)
        )


def _apply_markup(tag: str, attributes: Mapping[str, str], parent: ComputedStyle) -> ComputedStyle:
    """Apply the style of elements and presentational attributes (`<font>`, `bgcolor`, `hidden`, …)."""
    style, link = parent.style, parent.link_colour
    if tag in TAG_SIZE_FACTORS:
        style = structs.replace(style, font_size=clamp_size(style.font_size * TAG_SIZE_FACTORS[tag]))
    if tag == "font":
        size = parse_font_element_size(attributes["size"]) if "size" in attributes else None
        ink = parse_colour(attributes["color"]) if "color" in attributes else None
        style = structs.replace(style, font_size=size or style.font_size, colour=ink or style.colour)
    elif tag == "a" and "href" in attributes:
        style = structs.replace(style, colour=link)
    elif tag in _BACKGROUND_TAGS:
        paint = parse_colour(attributes["bgcolor"]) if "bgcolor" in attributes else None
        if paint is None and "background" in attributes:
            paint = IMAGE_BACKGROUND
        ink = parse_colour(attributes["text"]) if tag == "body" and "text" in attributes else None
        style = structs.replace(
            style, background=_choose_background(paint, style.background), colour=ink or style.colour
        )
        link = (parse_colour(attributes["link"]) if tag == "body" and "link" in attributes else None) or link
    if "hidden" in attributes or tag in NEVER_RENDERED_TAGS or (tag == "dialog" and "open" not in attributes):
        return ComputedStyle(structs.replace(style, hidden=True), True, link, parent.ancestor_numbers)
    return ComputedStyle(style, parent.hides_descendants, link, parent.ancestor_numbers)


def _merge_declarations(rules: list[Declarations], style_attribute: str) -> dict[str, str]:
    """Merge declarations: later rules and the `style` attribute override earlier rules, `!important` overrides all."""
    styles = [*rules, parse_declarations(style_attribute)] if style_attribute else rules
    merged = {name: value for style in styles for name, (value, important) in style.items() if not important}
    merged.update({name: value for style in styles for name, (value, important) in style.items() if important})
    return merged


def _apply_properties(properties: Mapping[str, str], look: ComputedStyle, parent: ComputedStyle) -> ComputedStyle:
    """Apply CSS properties to the style of an element."""
    style = look.style
    size = _get_font_size(properties, parent.style.font_size)
    size = style.font_size if size is None else size
    visibility = properties.get("visibility", "")
    gone = look.hides_descendants or is_hidden_by_style(properties, size)
    style = Style(
        hidden=gone or visibility in ("hidden", "collapse") or (style.hidden and visibility != "visible"),
        font_size=size,
        colour=parse_colour(properties.get("color", "")) or style.colour,
        background=_choose_background(_get_background(properties), style.background),
    )
    return ComputedStyle(style, gone, look.link_colour, look.ancestor_numbers)


def _get_font_size(properties: Mapping[str, str], parent_size: float) -> float | None:
    """Return the font size in pixels from `font-size` or `font`, or None."""
    if "font-size" in properties:
        return parse_font_size(properties["font-size"], parent_size)
    for token in properties.get("font", "").split():
        size = parse_font_size(token.partition("/")[0], parent_size)
        # In the `font` shorthand, a number without a unit is a weight.
        if size is not None and not token.isdecimal():
            return size
    return None


def _get_background(properties: Mapping[str, str]) -> str | None:
    """Return the background colour, `IMAGE_BACKGROUND` if there is only an image, None if there is neither."""
    if "background-color" in properties:
        return parse_colour(properties["background-color"])
    shorthand = properties.get("background", "")[:500]
    paint = (
        None
        if "gradient(" in shorthand
        else next(filter(None, map(parse_colour, _BACKGROUND_TOKEN.findall(shorthand))), None)
    )
    has_image = "(" in properties.get("background-image", "") or "url(" in shorthand or "gradient(" in shorthand
    return IMAGE_BACKGROUND if paint is None and has_image else paint


def _choose_background(new: str | None, old: str) -> str:
    """Return the new background colour, or the old one if the new one is missing or transparent."""
    return old if new is None or new == TRANSPARENT else new
