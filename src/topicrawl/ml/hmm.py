"""Hidden Markov model with the forward algorithm: Batsakis 2007, section 2.5, equations 5 and 6.

The thesis names Viterbi's algorithm, but its recursion sums over the previous states, so it is the forward algorithm.
As printed, the values shrink with every step, so a page far from the seeds would always have a low score. Here, each
step normalises the values. They are the probabilities of the states, given all observations.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

Distribution = tuple[float, ...]


@dataclass(frozen=True)
class HiddenMarkovModel:
    """Hidden Markov model: hidden states (levels) that emit observations (clusters).

        a(Lⱼ, t) = b(j, cₜ) · Σᵢ a(Lᵢ, t-1)·aᵢⱼ, then divided by Σⱼ a(Lⱼ, t)                        (5)
        a(Lⱼ, t+1) = Σᵢ a(Lᵢ, t)·aᵢⱼ                                                                (6)

    π: `initial`, the states at t = 0 before any observation, so the first page is one transition later; A = (aᵢⱼ):
    `transition`; B = (bⱼ꜀): `emission`; cₜ: the cluster observed at t.

    >>> model = HiddenMarkovModel(
    ...     (0.2, 0.3, 0.5),
    ...     ((0.5, 0.3, 0.2), (0.6, 0.2, 0.2), (0.1, 0.4, 0.5)),
    ...     ((0.7, 0.2, 0.1), (0.2, 0.6, 0.2), (0.1, 0.3, 0.6)),
    ... )
    >>> first = model.observe(model.initial, 1)
    >>> (
    ...     [round(share, 6) for share in first],
    ...     round(model.predict_target(first), 6),
    ...     round(model.predict_target(first, 2), 6),
    ... )
    ([0.181818, 0.528926, 0.289256], 0.43719, 0.412893)
    """

    initial: Distribution
    transition: tuple[Distribution, ...]
    emission: tuple[Distribution, ...]

    @property
    def state_count(self) -> int:
        """Number of states."""
        return len(self.initial)

    @property
    def cluster_count(self) -> int:
        """Number of observations."""
        return len(self.emission[0])

    def advance(self, shares: Sequence[float]) -> Distribution:
        """Return the state probabilities one step later (6)."""
        columns = range(self.state_count)
        return tuple(sum(share * row[j] for share, row in zip(shares, self.transition, strict=True)) for j in columns)

    def observe(self, shares: Sequence[float], cluster: int | None) -> Distribution:
        """Return the state probabilities after one step and an observation (5). None means no observation.

        An observation that is impossible in the model counts as no observation.
        """
        expected = self.advance(shares)
        if cluster is None:
            return _normalize(expected)
        joint = [share * row[cluster] for share, row in zip(expected, self.emission, strict=True)]
        return _normalize(joint if sum(joint) > 0.0 else expected)

    def predict_target(self, shares: Sequence[float], steps: int = 1) -> float:
        """Return the probability of state 0 after a number of steps."""
        for _ in range(steps):
            shares = self.advance(shares)
        return shares[0]


def estimate_hmm(
    sequences: Iterable[Sequence[tuple[int, int]]], states: int, clusters: int, *, smoothing: float = 1.0
) -> HiddenMarkovModel:
    """Estimate a model from sequences of (state, cluster) by counting. `smoothing` is added to every count.

    π: the shares of the states among all pages; aᵢⱼ: the share of transitions to j among those from i; bⱼ꜀: the share
    of cluster c among the pages of state j. Without smoothing, a state that never occurs has equal shares.

    >>> model = estimate_hmm([[(1, 0), (0, 1), (0, 1)]], states=2, clusters=2, smoothing=0.0)
    >>> model.transition, model.emission, [round(share, 3) for share in model.initial]
    (((1.0, 0.0), (1.0, 0.0)), ((0.0, 1.0), (1.0, 0.0)), [0.667, 0.333])
    """
    initial = [smoothing] * states
    transition = [[smoothing] * states for _ in range(states)]
    emission = [[smoothing] * clusters for _ in range(states)]
    for sequence in sequences:
        for state, cluster in sequence:
            initial[state] += 1.0
            emission[state][cluster] += 1.0
        for (state, _), (following, _) in pairwise(sequence):
            transition[state][following] += 1.0
    return HiddenMarkovModel(_normalize(initial), tuple(map(_normalize, transition)), tuple(map(_normalize, emission)))


def _normalize(counts: Sequence[float]) -> Distribution:
    """Return counts divided by their sum, or equal shares if the sum is 0."""
    total = sum(counts)
    return tuple(count / total for count in counts) if total > 0.0 else (1.0 / len(counts),) * len(counts)
