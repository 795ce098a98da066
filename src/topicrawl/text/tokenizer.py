r"""Split text into lower-case words, for every script, with a few passes over bytes.

Rules:
- A word is a run of letters, combining marks and digits. All other characters, even hyphens, separate words.
- An apostrophe separates: "don't" is "don", "t" and "l'homme" is "l", "homme". The fragments are stop words of their
  languages or single letters, and the rest can be searched for ("Newton's" finds "Newton").
- Accents stay. Composed and decomposed spelling give the same word. Ligatures, full-width and superscript characters
  become plain ones ("ﬁ" is "fi", "m²" is "m2"). Soft hyphens and joiners are removed.
- Scripts without spaces (Han, kana, Hangul, Thai, ...) give overlapping pairs of characters, so that any two adjacent
  characters can be searched for.
- The private characters U+E000 to U+E00F are separate words: the parser marks positions in a text with them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import cache
from itertools import chain

#: Separates texts that are tokenised together. It is not a word of any language.
TEXT_SEPARATOR = "qxzjvkwq"
_TEXT_JOINER = f" {TEXT_SEPARATOR} "
MARKERS = "".join(map(chr, range(0xE000, 0xE010)))

_ASCII = bytes(range(128))
#: Translation table: ASCII in lower case, ASCII separators as spaces, the bytes of other characters unchanged.
_LOWER_TABLE = bytes(
    byte if byte > 127 else ord(chr(byte).lower()) if chr(byte).isalnum() else ord(" ") for byte in range(256)
)
#: The same, but the zero byte, which separates texts, stays.
_LOWER_PARTS_TABLE = b"\0" + _LOWER_TABLE[1:]
# Thai, Lao, Tibetan, Burmese; Hangul; Khmer; kana; Han; the planes of rare Han characters.
_UNSPACED_RANGES = "\u0e01-\u0eff\u0f40-\u0fbc\u1000-\u109f\u1100-\u11ff\u1780-\u17d3\u3005-\u3007\u3040-\u30ff"
_UNSPACED_RANGES += "\u3130-\u318f\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff"
_FIXED_LOWER_CASE = {"İ": "i", "Σ": "σ", "ς": "σ"}
_UNSPACED = re.compile(f"[{_UNSPACED_RANGES}]+")


def tokenise(text: str) -> list[str]:
    """Return the words of a text in lower case and in reading order.

    >>> tokenise("Newton's laws: F = m·a, state-of-the-art (1687)")
    ['newton', 's', 'laws', 'f', 'm', 'a', 'state', 'of', 'the', 'art', '1687']
    >>> tokenise("Élan vital — Война и мир, 東京都")
    ['élan', 'vital', 'война', 'и', 'мир', '東京', '京都']
    """
    plain, is_unspaced = _normalise(text, _LOWER_TABLE)
    tokens = plain.decode().split()
    return _split_unspaced(tokens) if is_unspaced else tokens


def tokenise_to_bytes(text: str) -> bytes:
    """Return the words of a text as UTF-8, separated by blanks. For callers that do not need a list.

    >>> tokenise_to_bytes("Élan vital!").decode().split()
    ['élan', 'vital']
    """
    plain, is_unspaced = _normalise(text, _LOWER_TABLE)
    return " ".join(_split_unspaced(plain.decode().split())).encode() if is_unspaced else plain


def _normalise(text: str, table: bytes) -> tuple[bytes, bool]:
    """Return a text in lower case with blanks between words, and whether some of it is in a script without spaces."""
    if text.isascii():
        return text.encode().translate(table), False
    data = text.encode("utf-8", "replace")
    non_ascii = _get_non_ascii(data)
    if any(map(_may_compose, non_ascii)):
        text = unicodedata.normalize("NFC", data.decode())
        data = text.encode()
        non_ascii = _get_non_ascii(data)
    changes = [(character, folded) for character in non_ascii if (folded := _fold_character(character)) != character]
    if changes:
        # Replacing a character in a string is many times as fast as replacing its bytes.
        for character, folded in changes:
            text = text.replace(character, folded)
        data = text.encode("utf-8", "replace")
    return data.translate(table), any(map(_is_unspaced, non_ascii))


def tokenise_texts_to_bytes(texts: Sequence[str]) -> bytes:
    r"""Return the words of all texts like `tokenise_to_bytes`, with a zero byte after each text.

    Zero bytes within a text are kept.

    >>> tokenise_texts_to_bytes(["Rare owls", "", "bats"])
    b'rare owls\x00\x00bats\x00'
    """
    plain, is_unspaced = _normalise("\0".join([*texts, ""]), _LOWER_PARTS_TABLE)
    return b"".join([tokenise_to_bytes(text) + b"\0" for text in texts]) if is_unspaced else plain


def tokenise_texts(texts: Sequence[str]) -> list[str]:
    """Return the words of all texts with `TEXT_SEPARATOR` between texts. Many times as fast as one call for each text.

    >>> tokenise_texts(["Rare owls", "", "bats"])
    ['rare', 'owls', 'qxzjvkwq', 'qxzjvkwq', 'bats']
    """
    tokens = tokenise(_TEXT_JOINER.join(texts))
    if tokens.count(TEXT_SEPARATOR) == len(texts) - 1:
        return tokens
    # A text contains the separator (which is replaced by another unknown word), or there is no text.
    lines = [
        [*(f"{word}x" if word == TEXT_SEPARATOR else word for word in tokenise(text)), TEXT_SEPARATOR] for text in texts
    ]
    return list(chain.from_iterable(lines))[:-1]


def _get_non_ascii(data: bytes) -> list[str]:
    """Return the distinct non-ASCII characters of a UTF-8 text, sorted."""
    # Deleting ASCII is one fast pass; the rest is short.
    return sorted(set(data.translate(None, _ASCII).decode()))


def _split_unspaced(tokens: list[str]) -> list[str]:
    """Split words of scripts without spaces into pairs of characters."""
    spaced: list[str] = []
    for word in tokens:
        if word.isascii() or not _UNSPACED.search(word):
            spaced.append(word)
        else:
            spaced += _UNSPACED.sub(_make_pairs, word).split()
    return spaced


@cache
def _is_unspaced(character: str) -> bool:
    """Return whether a character belongs to a script without spaces."""
    return _UNSPACED.match(character) is not None


@cache
def _may_compose(character: str) -> bool:
    """Return whether a character may combine with the one before it: combining marks and parts of Hangul syllables."""
    return unicodedata.category(character)[0] == "M" or "\u1100" <= character <= "\u11ff"


@cache
def _fold_character(character: str) -> str:
    """Return the replacement of a non-ASCII character.

    >>> _fold_character("é"), _fold_character("É"), _fold_character("—"), _fold_character("ﬁ"), _fold_character("½")
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
    # The lower case of these letters depends on the language or on the following letter. The table makes it fixed.
    lower = _FIXED_LOWER_CASE.get(character) or character.lower()
    # Each character is tested again, because a compatibility form may contain a separator.
    plain = unicodedata.normalize("NFKC", lower).lower()
    return "".join(letter if unicodedata.category(letter)[0] in "LMN" else " " for letter in plain)


def _make_pairs(run: re.Match[str]) -> str:
    """Return the overlapping pairs of a run of characters, or the single character."""
    characters = run[0]
    pairs = [characters[i : i + 2] for i in range(max(1, len(characters) - 1))]
    return f" {' '.join(pairs)} "
