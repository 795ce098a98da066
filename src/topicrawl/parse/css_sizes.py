"""Parse CSS lengths and font sizes to pixels."""

from __future__ import annotations

import re
from functools import lru_cache

_SIZE_KEYWORDS = {
    "xx-small": 9.0,
    "x-small": 10.0,
    "small": 13.0,
    "medium": 16.0,
    "large": 18.0,
    "x-large": 24.0,
    "xx-large": 32.0,
    "xxx-large": 48.0,
    "initial": 16.0,
}
_PIXELS_PER_UNIT = {
    "px": 1.0,
    "": 1.0,
    "pt": 4 / 3,
    "pc": 16.0,
    "in": 96.0,
    "cm": 96 / 2.54,
    "mm": 9.6 / 2.54,
    "rem": 16.0,
}
_LENGTH = re.compile(r"([+-]?(?:\d{1,9}(?:\.\d{0,9})?|\.\d{1,9}))([a-z%]*)")
_MAX_SIZE = 10_000.0

#: Pixels of `<font size=1>` to `<font size=7>`.
FONT_ELEMENT_SIZES = (10.0, 13.0, 16.0, 18.0, 24.0, 32.0, 48.0)
#: Font size of elements relative to their parent, as in browser style sheets.
TAG_SIZE_FACTORS = {
    "h1": 2.0,
    "h2": 1.5,
    "h3": 1.17,
    "h4": 1.0,
    "h5": 0.83,
    "h6": 0.67,
    "small": 1 / 1.2,
    "big": 1.2,
    "sub": 1 / 1.2,
    "sup": 1 / 1.2,
}


@lru_cache(maxsize=4096)
def parse_font_size(text: str, parent: float) -> float | None:
    """Parse a font size to pixels, given the font size of the parent; None if the text is not a size.

    >>> (
    ...     parse_font_size("12pt", 16),
    ...     parse_font_size("50%", 20),
    ...     parse_font_size("1.5em", 10),
    ...     parse_font_size("xx-small", 16),
    ... )
    (16.0, 10.0, 15.0, 9.0)
    >>> parse_font_size("smaller", 12), parse_font_size("auto", 16)
    (10.0, None)
    """
    text = text.strip().lower()
    if text in _SIZE_KEYWORDS:
        return _SIZE_KEYWORDS[text]
    if text in ("smaller", "larger"):
        return clamp_size(parent / 1.2 if text == "smaller" else parent * 1.2)
    size = parse_length(text, parent)
    return None if size is None or size < 0 else clamp_size(size)


def parse_length(text: str, parent: float) -> float | None:
    """Parse a length to pixels; "em" and "%" are relative to the font size `parent`.

    >>> parse_length("-9999px", 16), parse_length("2in", 16), parse_length("calc(1px)", 16)
    (-9999.0, 192.0, None)
    """
    match = _LENGTH.fullmatch(text.strip())
    if not match:
        return None
    number, unit = float(match[1]), match[2]
    if unit in _PIXELS_PER_UNIT:
        return number * _PIXELS_PER_UNIT[unit]
    relative = {"em": 1.0, "%": 0.01, "ex": 0.5, "ch": 0.5}.get(unit)
    return None if relative is None else number * relative * parent


def parse_font_element_size(text: str) -> float | None:
    """Parse the value of `<font size>` to pixels; signed values are relative to size 3.

    >>> (
    ...     parse_font_element_size("1"),
    ...     parse_font_element_size("+1"),
    ...     parse_font_element_size("-9"),
    ...     parse_font_element_size("x"),
    ... )
    (10.0, 18.0, 10.0, None)
    """
    match = re.match(r"\s*([+-]?)(\d{1,3})", text)
    if not match:
        return None
    number = int(match[2])
    size = 3 + number if match[1] == "+" else 3 - number if match[1] == "-" else number
    return FONT_ELEMENT_SIZES[min(7, max(1, size)) - 1]


def clamp_size(size: float) -> float:
    """Limit a font size, because relative sizes multiply down the tree."""
    return min(size, _MAX_SIZE)
