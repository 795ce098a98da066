"""How much two texts have in common, by their shingles: Kluev 2000, after Broder 1997."""

from __future__ import annotations

from collections.abc import Sequence

WIDTH = 5  # words in a shingle


def shingles(words: Sequence[str], width: int = WIDTH) -> frozenset[tuple[str, ...]]:
    """Every run of so many words; a shorter text is one shingle.

    >>> sorted(shingles("to be or not to be".split()))
    [('be', 'or', 'not', 'to', 'be'), ('to', 'be', 'or', 'not', 'to')]
    """
    if not words:
        return frozenset()
    return frozenset(tuple(words[start : start + width]) for start in range(max(1, len(words) - width + 1)))


def resemblance(one: Sequence[str], two: Sequence[str], width: int = WIDTH) -> float:
    """The share of all shingles that both texts have.

        r(A, B) = |S(A) ∩ S(B)| / |S(A) ∪ S(B)|

    S: the shingles of a text. Two texts without words are the same text.

    >>> resemblance("a b c d e f".split(), "a b c d e g".split())
    0.3333333333333333
    """
    first, second = shingles(one, width), shingles(two, width)
    return len(first & second) / len(first | second) if first or second else 1.0
