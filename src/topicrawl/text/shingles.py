"""Resemblance of two texts by their shingles: Kluev 2000, after Broder 1997."""

from __future__ import annotations

from collections.abc import Sequence

SHINGLE_WIDTH = 5  # words in a shingle


def get_shingles(words: Sequence[str], width: int = SHINGLE_WIDTH) -> frozenset[tuple[str, ...]]:
    """Return all sequences of `width` adjacent words. A shorter text is one shingle.

    >>> sorted(get_shingles("to be or not to be".split()))
    [('be', 'or', 'not', 'to', 'be'), ('to', 'be', 'or', 'not', 'to')]
    """
    if not words:
        return frozenset()
    return frozenset(tuple(words[start : start + width]) for start in range(max(1, len(words) - width + 1)))


def resemblance(one: Sequence[str], two: Sequence[str], width: int = SHINGLE_WIDTH) -> float:
    """Return the resemblance of two texts: the share of all their shingles that both contain.

        r(A, B) = |S(A) ∩ S(B)| / |S(A) ∪ S(B)|

    S: the shingles of a text. Two texts without words have resemblance 1.

    >>> resemblance("a b c d e f".split(), "a b c d e g".split())
    0.3333333333333333
    """
    first, second = get_shingles(one, width), get_shingles(two, width)
    return len(first & second) / len(first | second) if first or second else 1.0
