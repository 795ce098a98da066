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
    low, high = max(0, place - REACH), min(len(text), place + REACH)
    start = text.rfind("\n", low, place) + 1 or low
    end = text.find("\n", place, high)
    end = high if end < 0 else end
    if is_foreign:
        return _foreign_bounds(text, start, end, place)
    # The blank in "<a> owl</a>" belongs to what follows.
    before = place + text.startswith(" ", place)
    while (before := _last_stop(text, start, before)) >= 0:
        if _ends(text, start, before):
            start = before + 2
            break
    after = place
    while (after := _next_stop(text, after, end)) >= 0:
        if _ends(text, start, after):
            end = after + 1
            break
        after += 1
    return start, end


def _last_stop(text: str, start: int, end: int) -> int:
    return max(text.rfind(". ", start, end), text.rfind("? ", start, end), text.rfind("! ", start, end))


def _next_stop(text: str, start: int, end: int) -> int:
    for stop in (". ", "? ", "! "):
        found = text.find(stop, start, end)
        # The next mark is searched only up to the one that was found.
        if found >= 0:
            end = found + 1
    return end - 1 if text.startswith((". ", "? ", "! "), end - 1) and end > start else -1


def _ends(text: str, start: int, stop: int) -> bool:
    """Does the mark at `stop` end a sentence that began at `start` or later?"""
    if text[stop + 2 : stop + 3].islower():
        return False
    # Three small letters are a word like any other: the usual case, and the cheapest to see.
    if text[stop] != "." or text[stop - 3 : stop].islower():
        return True
    return not _SHORTENED.search(text, max(start, stop - 8), stop)


def _foreign_bounds(text: str, start: int, end: int, place: int) -> tuple[int, int]:
    for sentence in sentences(text[start:end]):
        start = text.index(sentence, start)
        if start + len(sentence) > place:
            return start, start + len(sentence)
        start += len(sentence)
    return start, end
