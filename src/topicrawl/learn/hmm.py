"""A hidden Markov model that is followed forward: Batsakis 2007, section 2.5, equations 5 and 6.

The thesis speaks of Viterbi's algorithm, but its recursion sums over the earlier states: it is the forward algorithm.
As printed the numbers shrink with every step, so that a page far from the seeds could never win; here they are
divided by their sum at each step and are the probabilities of the states, given all that was seen.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

Row = tuple[float, ...]


@dataclass(frozen=True)
class Hmm:
    """States that cannot be seen (levels), and what each of them shows (clusters).

        a(Lⱼ, t) = b(j, cₜ) · Σᵢ a(Lᵢ, t-1)·aᵢⱼ, then divided by Σⱼ a(Lⱼ, t)                        (5)
        a(Lⱼ, t+1) = Σᵢ a(Lᵢ, t)·aᵢⱼ                                                                (6)

    π: `initial`, the states at t = 0, before anything was seen (so the first page is one transition after it);
    A = (aᵢⱼ): `transition`; B = (bⱼ꜀): `emission`; cₜ: the cluster seen at t.

    >>> model = Hmm((0.2, 0.3, 0.5), ((0.5, 0.3, 0.2), (0.6, 0.2, 0.2), (0.1, 0.4, 0.5)),
    ...             ((0.7, 0.2, 0.1), (0.2, 0.6, 0.2), (0.1, 0.3, 0.6)))
    >>> first = model.seen(model.initial, 1)
    >>> [round(share, 6) for share in first], round(model.ahead(first), 6), round(model.ahead(first, 2), 6)
    ([0.181818, 0.528926, 0.289256], 0.43719, 0.412893)
    """

    initial: Row
    transition: tuple[Row, ...]
    emission: tuple[Row, ...]

    @property
    def states(self) -> int:
        return len(self.initial)

    @property
    def clusters(self) -> int:
        return len(self.emission[0])

    def moved(self, shares: Sequence[float]) -> Row:
        """The states one step later (6)."""
        columns = range(self.states)
        return tuple(sum(share * row[j] for share, row in zip(shares, self.transition, strict=True)) for j in columns)

    def seen(self, before: Sequence[float], cluster: int | None) -> Row:
        """The states after one step and a look at the page there (5); None: the page said nothing.

        What the model holds for impossible and yet was seen is passed over, as if it had said nothing.
        """
        expected = self.moved(before)
        if cluster is None:
            return _shares(expected)
        found = [share * row[cluster] for share, row in zip(expected, self.emission, strict=True)]
        return _shares(found if sum(found) > 0.0 else expected)

    def ahead(self, shares: Sequence[float], steps: int = 1) -> float:
        """The probability of state 0 in so many steps."""
        for _ in range(steps):
            shares = self.moved(shares)
        return shares[0]


def estimated(walks: Iterable[Sequence[tuple[int, int]]], states: int, clusters: int, *, smoothing: float = 1.0) -> Hmm:
    """The model of walks, each a row of (state, cluster), by counting; `smoothing` is added to every count.

    π: shares of the states among all pages; aᵢⱼ: transitions from i to j among those from i; bⱼ꜀: pages of state j in
    cluster c among those of state j. Without smoothing a state that never occurs has equal shares.

    >>> model = estimated([[(1, 0), (0, 1), (0, 1)]], states=2, clusters=2, smoothing=0.0)
    >>> model.transition, model.emission, [round(share, 3) for share in model.initial]
    (((1.0, 0.0), (1.0, 0.0)), ((0.0, 1.0), (1.0, 0.0)), [0.667, 0.333])
    """
    initial = [smoothing] * states
    transition = [[smoothing] * states for _ in range(states)]
    emission = [[smoothing] * clusters for _ in range(states)]
    for walk in walks:
        for state, cluster in walk:
            initial[state] += 1.0
            emission[state][cluster] += 1.0
        for (state, _), (following, _) in pairwise(walk):
            transition[state][following] += 1.0
    return Hmm(_shares(initial), tuple(map(_shares, transition)), tuple(map(_shares, emission)))


def _shares(counts: Sequence[float]) -> Row:
    total = sum(counts)
    return tuple(count / total for count in counts) if total > 0.0 else (1.0 / len(counts),) * len(counts)
