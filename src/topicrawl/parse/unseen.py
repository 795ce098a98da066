"""The ways in which a style takes an element, and all that is in it, out of sight."""

from __future__ import annotations

import re
from collections.abc import Mapping

from .sizes import length

#: So many pixels outside the window is out of sight.
FAR = -300.0
#: Columns were once laid out with margins below zero; those that hide go farther. So do those that hide to the right.
VERY_FAR = 1000.0
#: A box that shows less than this of its text shows none.
_SLIT = 1.0
_FAINT = 0.05

_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)")
_CLIPPED_AWAY = re.compile(r"inset\(\s*(?:[5-9]\d|\d{3,})(?:\.\d*)?%|circle\(\s*0")
_SHRUNK = re.compile(r"scale[xy]?\(\s*0?(?:\.0*)?\s*[,)]")
_MOVED = re.compile(r"translate[xy]?\(\s*([^,()]+)")
_FILTERED = re.compile(r"opacity\s*[(=]\s*0*(?:\.0*)?\s*%?\s*\)")
_LOOSE = ("absolute", "fixed")
_CUT = ("hidden", "clip")

#: Elements whose text browsers show only where they cannot show the element itself, or never.
NEVER_SHOWN = frozenset({"noscript", "noembed", "datalist", "canvas", "audio", "video"})

#: The properties that are asked for here.
PROPERTIES = frozenset(
    {"display", "content-visibility", "opacity", "filter", "text-indent", "white-space", "position", "left", "top"}
    | {"right", "bottom", "margin-left", "margin-top", "height", "max-height", "width", "max-width", "overflow"}
    | {"clip", "clip-path", "transform"}
)


def is_gone(said: Mapping[str, str], size: float) -> bool:
    """Do these properties hide what is inside, whatever its own say? `size` is the font's, for "em".

    >>> is_gone({"display": "none"}, 16), is_gone({"position": "absolute", "left": "-999em"}, 16)
    (True, True)
    >>> is_gone({"height": "0", "overflow": "hidden"}, 16), is_gone({"height": "0"}, 16)
    (True, False)
    """
    if said.get("display") == "none" or said.get("content-visibility") == "hidden":
        return True
    opacity = length(said.get("opacity", "1"), 1.0)
    if (opacity is not None and opacity < _FAINT) or _FILTERED.search(said.get("filter", "")):
        return True
    return _is_aside(said, size) or _is_shut(said, size)


def _is_aside(said: Mapping[str, str], size: float) -> bool:
    """Is it moved out of the window?"""
    indent = _pixels(said, "text-indent", size)
    if indent is not None and (indent <= FAR or indent >= VERY_FAR):
        return True
    if any((_pixels(said, side, size) or 0.0) <= -VERY_FAR for side in ("margin-left", "margin-top")):
        return True
    moved = _MOVED.match(said.get("transform", ""))
    if moved and (length(moved[1], size) or 0.0) <= FAR:
        return True
    if said.get("position") not in _LOOSE:
        return False
    sides = [_pixels(said, side, size) or 0.0 for side in ("left", "top", "right", "bottom")]
    return min(sides) <= FAR or sides[0] >= 5 * VERY_FAR


def _is_shut(said: Mapping[str, str], size: float) -> bool:
    """Is it there, in a box that shows nothing?"""
    if _CLIPPED_AWAY.match(said.get("clip-path", "")) or _SHRUNK.match(said.get("transform", "")):
        return True
    if said.get("position") in _LOOSE and said.get("clip", "").startswith("rect("):
        edges = [float(number) for number in _NUMBER.findall(said["clip"][:80])]
        if len(edges) == 4 and (edges[1] - edges[3] <= _SLIT or edges[2] - edges[0] <= _SLIT):
            return True
    if said.get("overflow") not in _CUT:
        return False
    boxes = [_pixels(said, side, size) for side in ("height", "max-height", "width", "max-width")]
    if any(box is not None and box <= _SLIT for box in boxes):
        return True
    # The letters stand beside their box, in one line that is cut off.
    return said.get("text-indent") == "100%" and said.get("white-space") == "nowrap"


def _pixels(said: Mapping[str, str], name: str, size: float) -> float | None:
    text = said.get(name)
    return length(text, size) if text else None
