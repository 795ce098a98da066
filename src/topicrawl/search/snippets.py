"""The lines of a page that say best why it was found: plain text in pieces, never markup."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from topicrawl.search.index_file import tongue
from topicrawl.text.tokens import words

LENGTH = 240  # characters
_MOST = 24  # places that are looked at, shared by the words, but some of each
_LEAST = 4
_LOOKED = 20_000  # characters
_WORD = re.compile(r"\w+")
_EDGE = 25  # characters in which a word's beginning is looked for

Snippet = tuple[tuple[str, bool], ...]


class Snippets:
    """Of the pages that one query finds; what is learned about a word of one page serves the others.

    >>> Snippets({"owl"}).of("At night all owls hunt.", "en")
    (('At night all ', False), ('owls', True), (' hunt.', False))
    """

    def __init__(self, wanted: Collection[str]) -> None:
        self._wanted = frozenset(wanted)
        self._beginnings = _beginnings(wanted)
        self._most = max(_LEAST, _MOST // max(1, len(self._beginnings)))
        self._stems: dict[str, dict[str, str]] = {}  # language → word → its stem, if that is wanted

    def of(self, text: str, language: str) -> Snippet:
        """Pieces of the stretch that has most of the wanted stems, and whether each piece is one of them."""
        places = self._places(text, language)
        start, end = _stretch(text, places)
        pieces: list[tuple[str, bool]] = []
        at = start
        for begin, stop, _ in places:
            if begin >= at and stop <= end:
                pieces += [(text[at:begin], False), (text[begin:stop], True)]
                at = stop
        pieces.append((text[at:end], False))
        shown = [(piece.replace("\n", " "), marked) for piece, marked in pieces if piece]
        if shown and start > 0:
            shown.insert(0, ("… ", False))
        if shown and end < len(text):
            shown.append((" …", False))
        return tuple(shown)

    def _places(self, text: str, language: str) -> list[tuple[int, int, str]]:
        """Where words with the wanted stems stand, in their order."""
        low = text[:_LOOKED].lower()
        if len(low) != min(len(text), _LOOKED):
            low = text[:_LOOKED]  # a letter that has no single lower-case letter would move all behind it
        stems = self._stems.setdefault(language, {})
        found: dict[int, tuple[int, int, str]] = {}
        for beginning in self._beginnings:
            at = low.find(beginning)
            for _ in range(self._most):
                if at < 0:
                    break
                word = _WORD.match(low, at)
                end = word.end() if word else at + len(beginning)
                if beginning[0] > "\u0e00" or not (at and low[at - 1].isalnum()):
                    said = low[at:end] if beginning[0] < "\u0e00" else beginning
                    stem = stems.get(said)
                    if stem is None:
                        stem = stems[said] = self._stem(said, language)
                    if stem:
                        found[at] = at, at + len(said), stem
                at = low.find(beginning, end)
        return [found[at] for at in sorted(found)]

    def _stem(self, said: str, language: str) -> str:
        stem_of = tongue(language).stem
        forms = {form for part in words(said) for form in (part, stem_of(part))}
        return min(forms & self._wanted, default="")


def _beginnings(wanted: Collection[str]) -> list[str]:
    """What is looked for: whatever begins with one of these is found with it.

    >>> _beginnings(["chemic", "chemical", "owl"])
    ['chemi', 'owl']
    """
    found: list[str] = []
    for beginning in sorted({_beginning(stem) for stem in wanted if stem}):
        if not found or not beginning.startswith(found[-1]):
            found.append(beginning)
    return found


def _beginning(stem: str) -> str:
    """What all words of a stem begin with: a stemmer changes no more than the last letters.

    >>> _beginning("happi"), _beginning("owl"), _beginning("東京")
    ('happ', 'owl', '東京')
    """
    return stem[:-1] if len(stem) > 3 else stem


def _stretch(text: str, places: list[tuple[int, int, str]]) -> tuple[int, int]:
    """Where the best stretch begins and ends, at words."""
    best, start = 0, 0
    last = 0
    for first, (begin, _, _) in enumerate(places):
        last = max(last, first)
        while last < len(places) and places[last][1] <= begin + LENGTH * 3 // 4:
            last += 1
        worth = len({stem for _, _, stem in places[first:last]}) * 1000 + last - first
        if worth > best:
            best, start = worth, max(0, begin - LENGTH // 4)
    if start:
        blank = max(text.find(" ", start, start + _EDGE), text.find("\n", start, start + _EDGE))
        start = blank + 1 if blank >= 0 else start
    end = min(len(text), start + LENGTH)
    if end < len(text):
        blank = max(text.rfind(" ", end - _EDGE, end), text.rfind("\n", end - _EDGE, end))
        end = blank if blank > start else end
    return start, end


def plain(pieces: Iterable[tuple[str, bool]]) -> str:
    """A snippet without its marks."""
    return "".join(piece for piece, _ in pieces)
