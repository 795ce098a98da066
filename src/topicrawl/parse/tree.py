"""Build the tree of an HTML source, with a bound on the number of nodes.

The HTML standard opens formatting elements again in every block in which they are not closed, so 1,000 `<font>` and
60,000 `<p>` make 30 million nodes. It also adds the attributes of every further `<body>` to the first one. Both are
quadratic in the size of the page. `build_tree` renames the elements that cause this before a page exceeds the bound.
"""

from __future__ import annotations

import re
from itertools import count

import numpy as np
import turbohtml
from numpy.typing import NDArray
from turbohtml import Document

#: Bound on the nodes that open again, about 130 MB and a seventh of a second.
MAX_REPEATED_NODES = 1_000_000

# turbohtml nests at most so many elements, so one block cannot contain more elements that are opened again.
_MAX_NESTING = 512
_MAX_SAFE_TAGS = MAX_REPEATED_NODES // _MAX_NESTING
_MAX_ROOT_TAGS = 4
_MIN_TAG_LENGTH = 3  # of a formatting element: "<b>"; the functions below read as many characters after "<"
# In a shorter source, the attributes of repeated `<body>` tags need at most 34 MB.
_MAX_SAFE_LENGTH = 16_000
# First two characters of the names of formatting elements, or a name of one character and the character after it.
_FORMATTING_STARTS = [
    *("bi", "co", "fo", "no", "em", "sm", "st", "tt"),
    *(name + end for name in "bisu" for end in " \t\n\r\f/>"),
]
_FORMATTING_NAMES = r"(?:b|big|code|em|font|i|nobr|s|small|strike|strong|tt|u)(?=[\s/>])"
# Two patterns with constant replacements take 1.4 ms for a page of 160 KB, and one with a group 1.9 ms.
_FORMATTING_START_TAG = re.compile(f"<{_FORMATTING_NAMES}", re.IGNORECASE | re.ASCII)
_FORMATTING_END_TAG = re.compile(f"</{_FORMATTING_NAMES}", re.IGNORECASE | re.ASCII)
_LOWER_CASE = 0x20  # the bit that distinguishes lower-case letters in ASCII
_FORMATTING_TABLE = np.zeros((256, 256), np.bool_)  # whether two characters after "<" begin a formatting element
for _start in _FORMATTING_STARTS:
    _FORMATTING_TABLE[ord(_start[0]), ord(_start[1])] = True
_ROOT_START = re.compile(r"<[bBhH][oOtT][dDmM][yYlL]")


def build_tree(source: str, encoded: bytes = b"") -> Document:
    """Parse HTML source to a tree. Time and memory are linear in the length of the source.

    `encoded` is the source in UTF-8, for callers that have it.
    """
    return turbohtml.parse(bound_repetition(source, encoded), positions=False, allow_declarative_shadow_roots=False)


def bound_repetition(source: str, encoded: bytes = b"") -> str:
    """Return the source, changed if its tree could contain more than `MAX_REPEATED_NODES` repeated nodes.

    In a changed source, formatting elements are `<span>` elements, except for `<a>`, which does not nest. A source of
    38 KB with 1,100 tags takes 14 µs, 1.5 % of the time to parse the page; without numpy, it takes twice as long.

    >>> bound_repetition("<p><b>x</b>")
    '<p><b>x</b>'
    >>> bound_repetition("<p>" + "<FONT size=1>" * 500 + "<p>x" * 3000)[:30]
    '<p><span size=1><span size=1><'
    """
    data = np.frombuffer(encoded or source.encode("utf-8", "replace"), np.uint8)
    tags = np.flatnonzero(data == ord("<"))
    tags = tags[: tags.searchsorted(len(data) - _MIN_TAG_LENGTH)]
    if len(source) > _MAX_SAFE_LENGTH and _count_root_tags(data, tags) > _MAX_ROOT_TAGS:
        numbers = count(1)
        source = _ROOT_START.sub(
            lambda match: match[0] if next(numbers) <= _MAX_ROOT_TAGS else f"<x-{match[0][1:]}", source
        )
    if len(tags) > _MAX_SAFE_TAGS:
        formatting_elements = min(_MAX_NESTING, _count_formatting_tags(data, tags))
        if len(tags) * formatting_elements > MAX_REPEATED_NODES:
            # A tag is renamed and not removed, because the characters around a removed tag could form a new one.
            return _FORMATTING_END_TAG.sub("</span", _FORMATTING_START_TAG.sub("<span", source))
    return source


def _count_root_tags(data: NDArray[np.uint8], tags: NDArray[np.int64]) -> int:
    """Return the number of `<body>` and `<html>` tags, and of a few others. `tags` are the positions of all tags."""
    third = data[tags + 3] | _LOWER_CASE
    tags = tags[(third == ord("d")) | (third == ord("m"))]
    first = data[tags + 1] | _LOWER_CASE
    return int(np.count_nonzero((first == ord("b")) | (first == ord("h"))))


def _count_formatting_tags(data: NDArray[np.uint8], tags: NDArray[np.int64]) -> int:
    """Return the number of start tags of formatting elements and of a few others. `tags`: positions of all tags.

    This takes a tenth of the time of a pattern.
    """
    first, second = data[tags + 1] | _LOWER_CASE, data[tags + 2]
    # The second character may be white space, which has no lower case.
    return int(np.count_nonzero(_FORMATTING_TABLE[first, second] | _FORMATTING_TABLE[first, second | _LOWER_CASE]))
