"""The text of a page, cut at its links, and what is read off the pieces.

Marks that the parser puts around each link travel through one extraction of the whole text. Cutting there
gives the text between links and the links' own texts by turns, so every link knows its place for nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..text.bag import vocabulary_for
from ..text.lexicon import lexicon
from ..text.wording import Stretch, Wording, wordings
from .language import UNKNOWN

START, END = "\ue000", "\ue001"
#: Characters of a page that could be taken for marks are removed from it.
FORGED = re.compile("[\ue000-\ue00f]")
# How all of them begin in UTF-8.
_PRIVATE = b"\xee\x80"
#: How many words on each side of a link are its surroundings.
WINDOW = 20
LONGEST_WORD = 100

#: Text, link, text, link, ..., text.
Pieces: TypeAlias = list[str]
#: The words before each link, and those after each.
Windows: TypeAlias = tuple[Sequence[Sequence[str]], Sequence[Sequence[str]]]

# The rest of a torn word; scripts without spaces have no words to tear.
_REST = re.compile(r"[^\W\u0e00-\u109f\u1100-\u11ff\u1780-\u17d3\u2e80-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff]+")


def is_marked(raw: bytes) -> bool:
    """Does a text in UTF-8 hold marks, or what could be taken for them?"""
    # To look for one byte, which most texts do not have, is many times as fast as for two or for an expression.
    return _PRIVATE[:1] in raw and _PRIVATE in raw


def flat(blocks: Iterable[str]) -> str:
    r"""Blocks of text as lines, white space inside them folded.

    >>> flat(["A\n  b", "\xa0", "c\xa0d\x85e"])
    'A b\nc d e'
    """
    # No text holds a zero: the parser takes them out.
    text = "\0".join(filter(None, map(str.strip, blocks)))
    for blank in "\n\t\r\f\xa0\x85":
        text = text.replace(blank, " ")
    # One search for two blanks: an expression would stop at each single one.
    parts = text.split("  ")
    if len(parts) > 1:
        text = " ".join(filter(None, map(str.strip, parts)))
    return text.replace("\0", "\n")


def cut(marked: str) -> Pieces:
    r"""A marked text as its pieces. Neighbouring links do not glue; links without text leave no gap.

    >>> cut(f"See {START}a{END}{START} b{END}.\n{START}{END}\nEnd")
    ['See ', 'a', ' ', 'b', '.\n', '', 'End']
    """
    first, *others = marked.split(START)
    pieces = [first]
    for part in others:
        anchor, _, rest = part.partition(END)
        if anchor and anchor == anchor.strip():
            pieces.append(anchor)
            pieces.append(rest or " ")
        else:
            _fit(pieces, anchor)
            _fit(pieces, rest or " ")
    return pieces


def _fit(pieces: Pieces, piece: str) -> None:
    """Add a piece so that no white space doubles: of two blanks one stays, of blank and new line the line."""
    filled, furthest = len(pieces) - 1, max(-1, len(pieces) - 50)
    while filled > furthest and not pieces[filled]:
        filled -= 1
    last, first = pieces[filled][-1:] if filled > furthest else "\n", piece[:1]
    if first in (" ", "\n") and last in (" ", "\n"):
        if first == "\n" and last == " ":
            pieces[filled] = pieces[filled][:-1]
        else:
            piece = piece[1:]
    pieces.append(piece)


def anchors(pieces: Pieces) -> list[str]:
    r"""The links' own texts.

    >>> anchors(["See ", " the\nowl", " and ", "", ""])
    ['the owl', '']
    """
    return [" ".join(piece.split()) if "\n" in piece else piece.strip() for piece in pieces[1::2]]


def mended(pieces: Pieces) -> Pieces:
    """The pieces with no word torn: "<a>bird</a>s" is the word "birds" and belongs to the link.

    >>> mended(["Rare ", "bird", "s and un", "kind", " ones"])
    ['Rare ', 'birds', ' and unkind', '', ' ones']
    >>> mended(["", "H", "₂", "O", "."])
    ['', 'H₂O', '', '', '.']
    """
    whole = pieces
    last = 0  # the piece before that is not empty
    for i in range(1, len(pieces)):
        piece = pieces[i]
        if piece[:1].isalnum() and whole[last][-1:].isalnum() and (rest := _REST.match(piece)):
            # Changed in a copy: the links' own texts stay as they are.
            whole = pieces.copy() if whole is pieces else whole
            whole[last] += rest[0]
            piece = whole[i] = piece[rest.end() :]
        if piece:
            last = i
    return whole


def spoken(words: Wording, language: str) -> NDArray[np.int64]:
    """Where words stand that are no stop words.

    >>> spoken(Wording(b"a red owl is asleep"), "en").tolist()
    [1, 2, 4]
    """
    # A judge of the page will ask for the same numbers.
    return vocabulary_for(words, lexicon(language or UNKNOWN)).numbers(words).nonzero()[0]


def words_and_windows(pieces: Pieces, language: str) -> tuple[Wording, Windows]:
    """All words, and for each link the nearest words before and after it that are no stop words.

    >>> words_and_windows(["A red ", "owl", " is asleep"], "en")
    (('a', 'red', 'owl', 'is', 'asleep'), ([('red',)], [('asleep',)]))
    """
    # All pieces at once: cutting them into words one by one takes half as long again.
    said = wordings(pieces)
    # Links without text may stand inside a word, too.
    if (said.is_torn or "" in pieces[1:-1]) and (whole := mended(pieces)) is not pieces:
        said = wordings(whole)
    words = said.words
    kept = spoken(words, language)
    places = kept.searchsorted(said.ends).tolist()
    starts, stops = places[0:-1:2], places[1::2]
    if words.longest <= LONGEST_WORD:
        return words, (Stretch.before(words, kept, starts, WINDOW), Stretch.after(words, kept, stops, WINDOW))
    # A page repeats a word in the windows of all links near it, and may have made one of a million letters.
    short = tuple([word[:LONGEST_WORD] for word in words.at(kept)])
    return words, (
        [short[max(0, start - WINDOW) : start] for start in starts],
        [short[stop : stop + WINDOW] for stop in stops],
    )


def offsets(pieces: Sequence[str]) -> list[int]:
    """Where each link's text begins in the pieces put together.

    >>> offsets(["See ", "owl", " and ", "bat", ""])
    [4, 12]
    """
    return list(accumulate(map(len, pieces)))[0:-1:2]
