"""Sizes as pages write them, in CSS pixels."""

from __future__ import annotations

import re
from functools import lru_cache

_KEYWORDS = {
    "xx-small": 9.0, "x-small": 10.0, "small": 13.0, "medium": 16.0,
    "large": 18.0, "x-large": 24.0, "xx-large": 32.0, "xxx-large": 48.0, "initial": 16.0,
}  # fmt: skip
_UNITS = {"px": 1.0, "": 1.0, "pt": 4 / 3, "pc": 16.0, "in": 96.0, "cm": 96 / 2.54, "mm": 9.6 / 2.54, "rem": 16.0}
_LENGTH = re.compile(r"([+-]?(?:\d{1,9}(?:\.\d{0,9})?|\.\d{1,9}))([a-z%]*)")
_LARGEST = 10_000.0

#: `<font size=1>` to `<font size=7>`.
FONT_SIZES = (10.0, 13.0, 16.0, 18.0, 24.0, 32.0, 48.0)
#: What browsers make of headings, and of elements that change the size around them.
TAG_FACTORS = {
    "h1": 2.0, "h2": 1.5, "h3": 1.17, "h4": 1.0, "h5": 0.83, "h6": 0.67,
    "small": 1 / 1.2, "big": 1.2, "sub": 1 / 1.2, "sup": 1 / 1.2,
}  # fmt: skip


@lru_cache(maxsize=4096)
def font_size(text: str, parent: float) -> float | None:
    """A font size in pixels, given the size around; None when the text gives none.

    >>> font_size("12pt", 16), font_size("50%", 20), font_size("1.5em", 10), font_size("xx-small", 16)
    (16.0, 10.0, 15.0, 9.0)
    >>> font_size("smaller", 12), font_size("auto", 16)
    (10.0, None)
    """
    text = text.strip().lower()
    if text in _KEYWORDS:
        return _KEYWORDS[text]
    if text in ("smaller", "larger"):
        return bounded(parent / 1.2 if text == "smaller" else parent * 1.2)
    size = length(text, parent)
    return None if size is None or size < 0 else bounded(size)


def length(text: str, parent: float) -> float | None:
    """A length in pixels; `parent` is the font size that "em" and "%" refer to.

    >>> length("-9999px", 16), length("2in", 16), length("calc(1px)", 16)
    (-9999.0, 192.0, None)
    """
    found = _LENGTH.fullmatch(text.strip())
    if not found:
        return None
    number, unit = float(found[1]), found[2]
    if unit in _UNITS:
        return number * _UNITS[unit]
    relative = {"em": 1.0, "%": 0.01, "ex": 0.5, "ch": 0.5}.get(unit)
    return None if relative is None else number * relative * parent


def font_element_size(text: str) -> float | None:
    """What `<font size>` means; signs count from the size of plain text.

    >>> font_element_size("1"), font_element_size("+1"), font_element_size("-9"), font_element_size("x")
    (10.0, 18.0, 10.0, None)
    """
    found = re.match(r"\s*([+-]?)(\d{1,3})", text)
    if not found:
        return None
    number = int(found[2])
    place = 3 + number if found[1] == "+" else 3 - number if found[1] == "-" else number
    return FONT_SIZES[min(7, max(1, place)) - 1]


def bounded(size: float) -> float:
    """Sizes multiply down the tree; this keeps them numbers."""
    return min(size, _LARGEST)
