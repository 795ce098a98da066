"""CSS properties that hide an element with all its descendants."""

from __future__ import annotations

import re
from collections.abc import Mapping

from topicrawl.parse.css_sizes import parse_length

#: Offset in pixels from which an element is outside the window.
OFFSCREEN_OFFSET = -300.0
#: Larger offset for negative margins, which older column layouts use too, and for offsets to the right.
FAR_OFFSCREEN_OFFSET = 1000.0
#: A box of at most this size in pixels shows no text.
_MIN_BOX_SIZE = 1.0
_MIN_OPACITY = 0.05

_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)")
_EMPTY_CLIP_PATH = re.compile(r"inset\(\s*(?:[5-9]\d|\d{3,})(?:\.\d*)?%|circle\(\s*0")
# The quantifiers are possessive, because backtracking over a value of blanks would take minutes.
_ZERO_SCALE = re.compile(r"scale[xy]?\(\s*+0?+(?:\.0*+)?+\s*+[,)]")
_TRANSLATION = re.compile(r"translate[xy]?\(\s*([^,()]+)")
_ZERO_OPACITY_FILTER = re.compile(r"opacity\s*+[(=]\s*+0*+(?:\.0*+)?+\s*+%?+\s*+\)")
_OUT_OF_FLOW_POSITIONS = ("absolute", "fixed")
_CLIPPING_OVERFLOWS = ("hidden", "clip")

#: Elements whose text browsers show only as a fallback, or never.
NEVER_RENDERED_TAGS = frozenset({"noscript", "noembed", "datalist", "canvas", "audio", "video"})

#: The properties that this module evaluates.
HIDING_PROPERTIES = frozenset(
    {"display", "content-visibility", "opacity", "filter", "text-indent", "white-space", "position", "left", "top"}
    | {"right", "bottom", "margin-left", "margin-top", "height", "max-height", "width", "max-width", "overflow"}
    | {"clip", "clip-path", "transform"}
)


def is_hidden_by_style(properties: Mapping[str, str], size: float) -> bool:
    """Return whether CSS properties hide an element and all its descendants. `size` is the font size, for "em".

    >>> is_hidden_by_style({"display": "none"}, 16), is_hidden_by_style({"position": "absolute", "left": "-999em"}, 16)
    (True, True)
    >>> is_hidden_by_style({"height": "0", "overflow": "hidden"}, 16), is_hidden_by_style({"height": "0"}, 16)
    (True, False)
    """
    if properties.get("display") == "none" or properties.get("content-visibility") == "hidden":
        return True
    opacity = parse_length(properties.get("opacity", "1"), 1.0)
    if (opacity is not None and opacity < _MIN_OPACITY) or _ZERO_OPACITY_FILTER.search(properties.get("filter", "")):
        return True
    return _is_outside_window(properties, size) or _is_clipped(properties, size)


def _is_outside_window(properties: Mapping[str, str], size: float) -> bool:
    """Return whether the properties move an element outside the window."""
    indent = _get_pixels(properties, "text-indent", size)
    if indent is not None and (indent <= OFFSCREEN_OFFSET or indent >= FAR_OFFSCREEN_OFFSET):
        return True
    if any(
        (_get_pixels(properties, side, size) or 0.0) <= -FAR_OFFSCREEN_OFFSET for side in ("margin-left", "margin-top")
    ):
        return True
    moved = _TRANSLATION.match(properties.get("transform", ""))
    if moved and (parse_length(moved[1], size) or 0.0) <= OFFSCREEN_OFFSET:
        return True
    if properties.get("position") not in _OUT_OF_FLOW_POSITIONS:
        return False
    sides = [_get_pixels(properties, side, size) or 0.0 for side in ("left", "top", "right", "bottom")]
    return min(sides) <= OFFSCREEN_OFFSET or sides[0] >= 5 * FAR_OFFSCREEN_OFFSET


def _is_clipped(properties: Mapping[str, str], size: float) -> bool:
    """Return whether the properties clip or shrink an element so that it shows nothing."""
    if _EMPTY_CLIP_PATH.match(properties.get("clip-path", "")) or _ZERO_SCALE.match(properties.get("transform", "")):
        return True
    if properties.get("position") in _OUT_OF_FLOW_POSITIONS and properties.get("clip", "").startswith("rect("):
        edges = [float(number) for number in _NUMBER.findall(properties["clip"][:80])]
        if len(edges) == 4 and (edges[1] - edges[3] <= _MIN_BOX_SIZE or edges[2] - edges[0] <= _MIN_BOX_SIZE):
            return True
    if properties.get("overflow") not in _CLIPPING_OVERFLOWS:
        return False
    boxes = [_get_pixels(properties, side, size) for side in ("height", "max-height", "width", "max-width")]
    if any(box is not None and box <= _MIN_BOX_SIZE for box in boxes):
        return True
    # The text is indented out of its box and cannot wrap, so the box clips it.
    return properties.get("text-indent") == "100%" and properties.get("white-space") == "nowrap"


def _get_pixels(properties: Mapping[str, str], name: str, size: float) -> float | None:
    """Return the value of a length property in pixels, or None."""
    text = properties.get(name)
    return parse_length(text, size) if text else None
