"""How much two orders of the same things agree: Spearman's ρ and Kendall's τ-b, with ties.

Both are 1 for the same order, −1 for the reverse, near 0 for orders that have nothing to do with each other, and 0
where one of the orders ties everything and so is none.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from math import fsum, sqrt


def ranks(values: Sequence[float]) -> list[float]:
    """The rank of each value, 1 for the smallest; equal values share the mean of their ranks.

    >>> ranks([10, 30, 20, 30])
    [1.0, 3.5, 2.0, 3.5]
    """
    ordered = sorted(values)
    counts = Counter(values)
    return [bisect_left(ordered, value) + (counts[value] + 1) / 2 for value in values]


def spearman(a: Sequence[float], b: Sequence[float]) -> float:
    """Spearman's rank correlation: Pearson's correlation of the ranks.

        ρ = Σ (rᵢ − r̄)(sᵢ − s̄) / √(Σ (rᵢ − r̄)² · Σ (sᵢ − s̄)²),   without ties 1 − 6 Σ (rᵢ − sᵢ)² / (n³ − n)

    a, b: a value for each thing, in the same order of things; r, s: their ranks. One swap of neighbours in four:

    >>> round(spearman([1, 2, 3, 4], [1, 2, 4, 3]), 6)
    0.8
    >>> spearman([1, 2, 3], [30, 20, 10]), spearman([1, 2, 3], [5, 5, 5])
    (-1.0, 0.0)
    """
    _check(a, b)
    middle = (len(a) + 1) / 2
    left = [rank - middle for rank in ranks(a)]
    right = [rank - middle for rank in ranks(b)]
    spread = sqrt(fsum(x * x for x in left) * fsum(y * y for y in right))
    return _bounded(fsum(x * y for x, y in zip(left, right, strict=True)), spread)


def kendall(a: Sequence[float], b: Sequence[float]) -> float:
    """Kendall's τ-b: the share of pairs in the same order, less the share in the reverse, corrected for ties.

        τ = (C − D) / √((P − Tₐ)(P − T_b))

    P: all pairs; C, D: pairs that both order alike, or in reverse; T: pairs that one of the orders ties. One of six
    pairs is reversed, so (5 − 1) / 6:

    >>> round(kendall([1, 2, 3, 4], [1, 2, 4, 3]), 6)
    0.666667
    >>> kendall([1, 2, 3], [30, 20, 10]), round(kendall([1, 1, 2], [1, 2, 3]), 6)
    (-1.0, 0.816497)
    """
    _check(a, b)
    alike = sum(_sign(a[i] - a[j]) * _sign(b[i] - b[j]) for i in range(len(a)) for j in range(i))
    pairs = len(a) * (len(a) - 1) // 2
    return _bounded(alike, sqrt((pairs - _tied(a)) * (pairs - _tied(b))))


def exact_ranks(a: Sequence[float], b: Sequence[float]) -> int:
    """How many things have the same rank in both orders.

    >>> exact_ranks([1, 2, 3, 4], [10, 20, 40, 30])
    2
    """
    _check(a, b)
    return sum(x == y for x, y in zip(ranks(a), ranks(b), strict=True))


def _check(a: Sequence[float], b: Sequence[float]) -> None:
    if len(a) != len(b):
        raise ValueError(f"{len(a)} and {len(b)} values: both orders are of the same things")


def _tied(values: Iterable[float]) -> int:
    return sum(count * (count - 1) // 2 for count in Counter(values).values())


def _sign(number: float) -> int:
    return (number > 0) - (number < 0)


def _bounded(product: float, spread: float) -> float:
    return max(-1.0, min(1.0, product / spread)) if spread else 0.0
