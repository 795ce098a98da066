r"""From text to words: lower case, in order, for every script, at the price of a few passes over bytes.

What is a word:
- a run of letters, combining marks and digits; everything else separates, hyphen and underscore too;
- an apostrophe separates: "don't" is "don", "t" and "l'homme" is "l", "homme". The fragments are stop words
  of their languages or single letters, and what is left is what one looks for ("Newton's" finds "Newton");
- accents stay, composed and decomposed spelling give the same word; ligatures, full-width and raised
  characters become plain ones ("ﬁ" is "fi", "m²" is "m2"); soft hyphens and joiners vanish;
- scripts that are written without spaces (Han, kana, Hangul, Thai, ...) give overlapping pairs of characters,
  so that any two neighbours can be searched;
- the private characters U+E000 to U+E00F are words of their own: a parser marks places in a text with them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import cache
from itertools import chain

#: Stands between texts that are cut into words together; no word of any language.
FENCE = "qxzjvkwq"
_BETWEEN = f" {FENCE} "
MARKERS = "".join(map(chr, range(0xE000, 0xE010)))

_ASCII = bytes(range(128))
#: Bytes of ASCII in lower case, its separators as spaces; the bytes of other characters as they are.
_LOWER = bytes(
    byte if byte > 127 else ord(chr(byte).lower()) if chr(byte).isalnum() else ord(" ") for byte in range(256)
)
#: The same, but for the zero byte, which parts texts.
_LOWER_PARTS = b"\0" + _LOWER[1:]
# Thai, Lao, Tibetan, Burmese; Hangul; Khmer; kana; Han; the planes of rare Han characters.
_UNSPACED_RANGES = "\u0e01-\u0eff\u0f40-\u0fbc\u1000-\u109f\u1100-\u11ff\u1780-\u17d3\u3005-\u3007\u3040-\u30ff"
_UNSPACED_RANGES += "\u3130-\u318f\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff"
_ALWAYS = {"İ": "i", "Σ": "σ", "ς": "σ"}
_UNSPACED = re.compile(f"[{_UNSPACED_RANGES}]+")


def words(text: str) -> list[str]:
    """The words of a text, lower case, in reading order.

    >>> words("Newton's laws: F = m·a, state-of-the-art (1687)")
    ['newton', 's', 'laws', 'f', 'm', 'a', 'state', 'of', 'the', 'art', '1687']
    >>> words("Élan vital — Война и мир, 東京都")
    ['élan', 'vital', 'война', 'и', 'мир', '東京', '京都']
    """
    plain, is_unspaced = _plain(text, _LOWER)
    found = plain.decode().split()
    return _spaced(found) if is_unspaced else found


def spelled(text: str) -> bytes:
    """The same words in UTF-8 with blanks between them, for whoever can do without a list.

    >>> spelled("Élan vital!").decode().split()
    ['élan', 'vital']
    """
    plain, is_unspaced = _plain(text, _LOWER)
    return " ".join(_spaced(plain.decode().split())).encode() if is_unspaced else plain


def _plain(text: str, table: bytes) -> tuple[bytes, bool]:
    """A text in lower case with blanks between its words, and whether some of it is written without."""
    if text.isascii():
        return text.encode().translate(table), False
    data = text.encode("utf-8", "replace")
    odd = _beyond_ascii(data)
    if any(map(_may_compose, odd)):
        text = unicodedata.normalize("NFC", data.decode())
        data = text.encode()
        odd = _beyond_ascii(data)
    changes = [(character, folded) for character in odd if (folded := _folded(character)) != character]
    if changes:
        # One character is found many times as fast as its several bytes.
        for character, folded in changes:
            text = text.replace(character, folded)
        data = text.encode("utf-8", "replace")
    return data.translate(table), any(map(_is_unspaced, odd))


def parted(texts: Sequence[str]) -> bytes:
    r"""The words of all texts as `spelled` has them, in one go, with a zero byte after each text and for each in it.

    >>> parted(["Rare owls", "", "bats"])
    b'rare owls\x00\x00bats\x00'
    """
    plain, is_unspaced = _plain("\0".join([*texts, ""]), _LOWER_PARTS)
    return b"".join([spelled(text) + b"\0" for text in texts]) if is_unspaced else plain


def fenced(texts: Sequence[str]) -> list[str]:
    """The words of texts one after the other, with FENCE between them: many times as fast as one by one.

    >>> fenced(["Rare owls", "", "bats"])
    ['rare', 'owls', 'qxzjvkwq', 'qxzjvkwq', 'bats']
    """
    found = words(_BETWEEN.join(texts))
    if found.count(FENCE) == len(texts) - 1:
        return found
    # A text holds the fence itself, which becomes another word that nobody knows; or there is no text.
    lines = [[*(f"{word}x" if word == FENCE else word for word in words(text)), FENCE] for text in texts]
    return list(chain.from_iterable(lines))[:-1]


def _beyond_ascii(data: bytes) -> list[str]:
    """The different characters of a text in UTF-8 that are not ASCII, sorted."""
    # Deleting ASCII is one pass in C; what is left is short, and its set shorter.
    return sorted(set(data.translate(None, _ASCII).decode()))


def _spaced(found: list[str]) -> list[str]:
    """Words, with those of unspaced scripts cut into pairs."""
    spaced: list[str] = []
    for word in found:
        if word.isascii() or not _UNSPACED.search(word):
            spaced.append(word)
        else:
            spaced += _UNSPACED.sub(_pairs, word).split()
    return spaced


@cache
def _is_unspaced(character: str) -> bool:
    return _UNSPACED.match(character) is not None


@cache
def _may_compose(character: str) -> bool:
    """May it melt into the character before it? Combining marks do, and the parts of Hangul syllables."""
    return unicodedata.category(character)[0] == "M" or "\u1100" <= character <= "\u11ff"


@cache
def _folded(character: str) -> str:
    """What stands for a character beyond ASCII.

    >>> _folded("é"), _folded("É"), _folded("—"), _folded("ﬁ"), _folded("½")
    ('é', 'é', ' ', 'fi', '1 2')
    """
    category = unicodedata.category(character)
    if character in MARKERS:
        return f" {character} "
    if category == "Cf" and character != "\u200b":
        return ""
    if category[0] == "M":
        return character
    if category[0] not in "LN":
        return " "
    # Two letters whose lower case depends on the language or on what follows get one that does not.
    lower = _ALWAYS.get(character) or character.lower()
    # Letter by letter, as a compatibility form may hold a sign that separates.
    plain = unicodedata.normalize("NFKC", lower).lower()
    return "".join(letter if unicodedata.category(letter)[0] in "LMN" else " " for letter in plain)


def _pairs(run: re.Match[str]) -> str:
    """Overlapping pairs of a run of characters, or the character that stands alone."""
    characters = run[0]
    pairs = [characters[i : i + 2] for i in range(max(1, len(characters) - 1))]
    return f" {' '.join(pairs)} "
