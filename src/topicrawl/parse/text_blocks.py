"""Text of a page, split at its links: words, anchor texts, context windows and offsets of links.

The parser inserts marker characters around each link before it extracts the whole text. Splitting the text at the
markers gives the text between links and the anchor texts alternately, so the position of every link is known at no
extra cost.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from topicrawl.parse.language import FALLBACK_LANGUAGE
from topicrawl.text.bag_of_words import VocabularyCache
from topicrawl.text.lexicon import load_lexicon
from topicrawl.text.word_sequence import WordSequence, WordWindow, tokenise_together

LINK_START, LINK_END = "\ue000", "\ue001"
#: Characters reserved for markers; they are removed from the text of pages.
RESERVED_CHARACTERS = re.compile("[\ue000-\ue00f]")
# First two bytes of all reserved characters in UTF-8.
_RESERVED_PREFIX = b"\xee\x80"
#: Words on each side of a link that form its context.
WINDOW_WORDS = 20
MAX_WORD_LENGTH = 100

#: Text, anchor text, text, anchor text, …, text.
TextPieces: TypeAlias = list[str]
#: For each link, the words before it; and for each link, the words after it.
LinkWindows: TypeAlias = tuple[Sequence[Sequence[str]], Sequence[Sequence[str]]]

# The rest of a word split by a link; scripts without spaces are excluded.
_WORD_REST = re.compile(r"[^\W\u0e00-\u109f\u1100-\u11ff\u1780-\u17d3\u2e80-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff]+")


def contains_markers(raw: bytes) -> bool:
    """Return whether a text in UTF-8 may contain reserved characters. Also true for U+E010 to U+E03F."""
    # Searching for one byte, absent in most texts, is many times faster than searching for two or for a pattern.
    return _RESERVED_PREFIX[:1] in raw and _RESERVED_PREFIX in raw


def join_blocks(blocks: Iterable[str]) -> str:
    r"""Join blocks of text as lines, with white space collapsed.

    >>> join_blocks(["A\n  b", "\xa0", "c\xa0d\x85e"])
    'A b\nc d e'
    """
    # A null character can serve as separator, because the HTML parser removes them.
    text = "\0".join(filter(None, map(str.strip, blocks)))
    for blank in "\n\t\r\f\xa0\x85":
        text = text.replace(blank, " ")
    # Searching for double spaces is faster than a pattern, which would stop at every single space.
    parts = text.split("  ")
    if len(parts) > 1:
        text = " ".join(filter(None, map(str.strip, parts)))
    return text.replace("\0", "\n")


def split_at_links(marked: str) -> TextPieces:
    r"""Split a marked text into pieces. Adjacent links are separated by a space; empty links leave no gap.

    >>> split_at_links(f"See {LINK_START}a{LINK_END}{LINK_START} b{LINK_END}.\n{LINK_START}{LINK_END}\nEnd")
    ['See ', 'a', ' ', 'b', '.\n', '', 'End']
    """
    first, *others = marked.split(LINK_START)
    pieces = [first]
    for part in others:
        anchor, _, rest = part.partition(LINK_END)
        if anchor and anchor == anchor.strip():
            pieces.append(anchor)
            pieces.append(rest or " ")
        else:
            _append_piece(pieces, anchor)
            _append_piece(pieces, rest or " ")
    return pieces


def _append_piece(pieces: TextPieces, piece: str) -> None:
    """Append a piece without doubling white space: two spaces become one, a space and a newline become a newline."""
    previous, limit = len(pieces) - 1, max(-1, len(pieces) - 50)
    while previous > limit and not pieces[previous]:
        previous -= 1
    last, first = pieces[previous][-1:] if previous > limit else "\n", piece[:1]
    if first in (" ", "\n") and last in (" ", "\n"):
        if first == "\n" and last == " ":
            pieces[previous] = pieces[previous][:-1]
        else:
            piece = piece[1:]
    pieces.append(piece)


def get_anchors(pieces: TextPieces) -> list[str]:
    r"""Return the anchor texts of the links.

    >>> get_anchors(["See ", " the\nowl", " and ", "", ""])
    ['the owl', '']
    """
    return [" ".join(piece.split()) if "\n" in piece else piece.strip() for piece in pieces[1::2]]


def join_split_words(pieces: TextPieces) -> TextPieces:
    """Rejoin words that a link boundary splits: "<a>bird</a>s" becomes the word "birds" and belongs to the link.

    >>> join_split_words(["Rare ", "bird", "s and un", "kind", " ones"])
    ['Rare ', 'birds', ' and unkind', '', ' ones']
    >>> join_split_words(["", "H", "₂", "O", "."])
    ['', 'H₂O', '', '', '.']
    """
    whole = pieces
    last = 0  # index of the last piece that is not empty
    for i in range(1, len(pieces)):
        piece = pieces[i]
        if piece[:1].isalnum() and whole[last][-1:].isalnum() and (rest := _WORD_REST.match(piece)):
            # Change a copy, because the original pieces are the anchor texts.
            whole = pieces.copy() if whole is pieces else whole
            whole[last] += rest[0]
            piece = whole[i] = piece[rest.end() :]
        if piece:
            last = i
    return whole


def find_content_words(words: WordSequence, language: str, vocabularies: VocabularyCache) -> NDArray[np.int64]:
    """Return the positions of the words that are not stop words.

    >>> find_content_words(WordSequence(b"a red owl is asleep"), "en", VocabularyCache()).tolist()
    [1, 2, 4]
    """
    # The relevance model needs the same term numbers later.
    vocabulary = vocabularies.get_vocabulary(load_lexicon(language or FALLBACK_LANGUAGE), words)
    return vocabulary.get_term_ids(words).nonzero()[0]


def build_words_and_windows(
    pieces: TextPieces, language: str, vocabularies: VocabularyCache
) -> tuple[WordSequence, LinkWindows]:
    """Return all words, and for each link the nearest words before and after it that are not stop words.

    >>> build_words_and_windows(["A red ", "owl", " is asleep"], "en", VocabularyCache())
    (('a', 'red', 'owl', 'is', 'asleep'), ([('red',)], [('asleep',)]))
    """
    # Tokenising the pieces one by one would take half as long again.
    tokenised = tokenise_together(pieces)
    # Links without text may be inside a word too.
    if (tokenised.has_split_word or "" in pieces[1:-1]) and (whole := join_split_words(pieces)) is not pieces:
        tokenised = tokenise_together(whole)
    words = tokenised.words
    content = find_content_words(words, language, vocabularies)
    bounds = content.searchsorted(tokenised.ends).tolist()
    starts, stops = bounds[0:-1:2], bounds[1::2]
    if words.max_size <= MAX_WORD_LENGTH:
        return words, (
            WordWindow.build_before(words, content, starts, WINDOW_WORDS),
            WordWindow.build_after(words, content, stops, WINDOW_WORDS),
        )
    # Windows of neighbouring links repeat the same words, and a hostile page may contain a word of a million letters.
    short = tuple([word[:MAX_WORD_LENGTH] for word in words.get_words(content)])
    return words, (
        [short[max(0, start - WINDOW_WORDS) : start] for start in starts],
        [short[stop : stop + WINDOW_WORDS] for stop in stops],
    )


def get_link_offsets(pieces: Sequence[str]) -> list[int]:
    """Return the offset of each anchor text in the joined pieces.

    >>> get_link_offsets(["See ", "owl", " and ", "bat", ""])
    [4, 12]
    """
    return list(accumulate(map(len, pieces)))[0:-1:2]
