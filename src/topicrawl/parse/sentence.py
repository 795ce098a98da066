"""The sentence around a link, found from the link's place outward.

Cutting whole paragraphs into sentences to keep those with links costs several times as much as this.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..text.sentences import sentences

LONGEST_SENTENCE = 1000
#: How far from its place a sentence may begin and end.
REACH = LONGEST_SENTENCE // 2

# Scripts whose sentences end in another way are cut by the book.
_FOREIGN_LANGUAGES = frozenset(["zh", "ja", "ar", "fa", "ur", "hi", "mr", "ne", "bn", "sa", "pa", "am", "ti", "my"])
_STOP = re.compile("[.?!] ")
# What stands before a full stop that ends nothing: an initial, letters with dots, a title.
_SHORTENED = re.compile(r"(?:^|[\s(\[\"'“.])(?:[^\W\d_]|[A-Z][a-z]|Mrs|Prof|Gen|Col|Rev|Gov|Sen|vs|cf|pp|ca)$")


def sentences_at(text: str, places: Sequence[int], *, language: str = "") -> list[str]:
    """For each place in a text, in rising order, the sentence that it is in, cut where it is too long.

    >>> sentences_at("It rained. Dr. Owl slept.", [3, 15, 19])
    ['It rained.', 'Dr. Owl slept.', 'Dr. Owl slept.']
    """
    found: list[str] = []
    start = end = -1
    sentence = ""
    is_foreign = language in _FOREIGN_LANGUAGES
    for place in places:
        # Several links of one sentence are one search, unless it is so long that each sees a part of its own.
        if not start <= place < end or end - start >= REACH:
            start, end = _bounds(text, place, is_foreign=is_foreign)
            sentence = text[start:end].strip()
        found.append(sentence)
    return found


def _bounds(text: str, place: int, *, is_foreign: bool) -> tuple[int, int]:
    low, high = max(0, place - REACH), place + REACH
    start = text.rfind("\n", low, place) + 1 or low
    end = text.find("\n", place, high)
    end = min(high, len(text)) if end < 0 else end
    line = text[start:end]
    if is_foreign:
        return _foreign_bounds(line, start, place)
    # Menus, lists and tables have no stops at all.
    if ". " not in line and "? " not in line and "! " not in line:
        return start, end
    # The blank in "<a> owl</a>" belongs to what follows.
    before = place - start + line.startswith(" ", place - start)
    while (before := max(line.rfind(". ", 0, before), line.rfind("? ", 0, before), line.rfind("! ", 0, before))) >= 0:
        if _ends(line, before):
            start += before + 2
            line = line[before + 2 :]
            break
    for stop in _STOP.finditer(line, place - start):
        if _ends(line, stop.start()):
            return start, start + stop.start() + 1
    return start, end


def _ends(line: str, stop: int) -> bool:
    """Does the mark at `stop` end a sentence?"""
    if line[stop + 2 : stop + 3].islower():
        return False
    # Three small letters are a word like any other: the usual case, and the cheapest to see.
    if line[stop] != "." or line[max(0, stop - 3) : stop].islower():
        return True
    return not _SHORTENED.search(line, max(0, stop - 8), stop)


def _foreign_bounds(line: str, start: int, place: int) -> tuple[int, int]:
    position = 0
    for sentence in sentences(line):
        position = line.index(sentence, position)
        if start + position + len(sentence) > place:
            return start + position, start + position + len(sentence)
        position += len(sentence)
    return start + position, start + len(line)
