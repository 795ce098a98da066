"""Rank correlation of two orders of the same items: Spearman's ρ and Kendall's τ-b, both with ties.

Both are 1 for the same order, −1 for the reverse order and near 0 for unrelated orders. They are 0 if all items are
tied in one of the orders.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from math import fsum, sqrt


def ranks(values: Sequence[float]) -> list[float]:
    """Return the rank of each value, 1 for the smallest. Equal values share the mean of their ranks.

    >>> ranks([10, 30, 20, 30])
    [1.0, 3.5, 2.0, 3.5]
    """
    ordered = sorted(values)
    counts = Counter(values)
    return [bisect_left(ordered, value) + (counts[value] + 1) / 2 for value in values]


def spearman(a: Sequence[float], b: Sequence[float]) -> float:
    """Return Spearman's rank correlation: Pearson's correlation of the ranks.

        ρ = Σ (rᵢ − r̄)(sᵢ − s̄) / √(Σ (rᵢ − r̄)² · Σ (sᵢ − s̄)²),   without ties 1 − 6 Σ (rᵢ − sᵢ)² / (n³ − n)

    a and b contain one value per item, in the same order of items; r and s are their ranks. Example with one swap of
    neighbours among four items:

    >>> round(spearman([1, 2, 3, 4], [1, 2, 4, 3]), 6)
    0.8
    >>> spearman([1, 2, 3], [30, 20, 10]), spearman([1, 2, 3], [5, 5, 5])
    (-1.0, 0.0)
    """
    _check_lengths(a, b)
    middle = (len(a) + 1) / 2
    left = [rank - middle for rank in ranks(a)]
    right = [rank - middle for rank in ranks(b)]
    spread = sqrt(fsum(x * x for x in left) * fsum(y * y for y in right))
    return _bounded_ratio(fsum(x * y for x, y in zip(left, right, strict=True)), spread)


def kendall(a: Sequence[float], b: Sequence[float]) -> float:
    """Return Kendall's τ-b: the share of concordant pairs minus the share of discordant pairs, corrected for ties.

        τ = (C − D) / √((P − Tₐ)(P − T_b))

    P is the number of pairs; C and D are the numbers of concordant and discordant pairs; T is the number of pairs tied
    in one of the orders. Example with one of six pairs reversed, (5 − 1) / 6:

    >>> round(kendall([1, 2, 3, 4], [1, 2, 4, 3]), 6)
    0.666667
    >>> kendall([1, 2, 3], [30, 20, 10]), round(kendall([1, 1, 2], [1, 2, 3]), 6)
    (-1.0, 0.816497)
    """
    _check_lengths(a, b)
    concordance = sum(_sign(a[i] - a[j]) * _sign(b[i] - b[j]) for i in range(len(a)) for j in range(i))
    pairs = len(a) * (len(a) - 1) // 2
    return _bounded_ratio(concordance, sqrt((pairs - _count_tied_pairs(a)) * (pairs - _count_tied_pairs(b))))


def count_equal_ranks(a: Sequence[float], b: Sequence[float]) -> int:
    """Return the number of items with the same rank in both orders.

    >>> count_equal_ranks([1, 2, 3, 4], [10, 20, 40, 30])
    2
    """
    _check_lengths(a, b)
    return sum(x == y for x, y in zip(ranks(a), ranks(b), strict=True))


def _check_lengths(a: Sequence[float], b: Sequence[float]) -> None:
    if len(a) != len(b):
        raise ValueError(f"{len(a)} and {len(b)} values: both orders must contain the same items")


def _count_tied_pairs(values: Iterable[float]) -> int:
    return sum(count * (count - 1) // 2 for count in Counter(values).values())


def _sign(number: float) -> int:
    return (number > 0) - (number < 0)


def _bounded_ratio(product: float, spread: float) -> float:
    return max(-1.0, min(1.0, product / spread)) if spread else 0.0
