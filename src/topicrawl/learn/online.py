"""Logistic regression on hashed features, learned one example at a time: AdaGrad (Duchi, Hazan and Singer 2011)."""

from __future__ import annotations

from math import exp, sqrt

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Ids = NDArray[np.int32]

#: Features fall into so many slots, by the first bits of their 32; with some ten thousand features few share one.
SLOTS = 1 << 18
_SHIFT = np.uint32(14)
_TOGETHER = 1 << 16  # features that are summed up at once
Hashes = NDArray[np.uint32]


class Online:
    """A weight for each slot, moved by each example towards what was seen.

        z = z₀ + Σᵢ wᵢ / √n        p = 1 / (1 + e⁻ᶻ)        wᵢ ← wᵢ − rate · g / √(Gᵢ + g²),  g = (p − y) / √n

    z₀: what is known before anything is learned; n: features of the example; y: what was seen, from 0 to 1;
    Gᵢ: the sum of the squares of what slot i was moved by, from `caution` on. A weight is what was learned and what
    was given for the time being (`give`).

    One example with four features, z₀ = 0 and y = 1: g = −.25, and each weight moves by .25 / √(1 + .0625):

    >>> model = Online(rate=1.0, caution=1.0)
    >>> features = np.array([3, 5, 7, 9], np.uint32) << 14
    >>> model.learn(features, 0.0, 1.0)
    >>> round(float(model.weights[3]), 6), round(model.sum(features), 6)
    (0.242536, 0.485071)
    """

    def __init__(self, *, rate: float, caution: float) -> None:
        self.rate = rate
        self.weights: Floats = np.zeros(SLOTS, np.float32)
        self.caution = caution
        self.squares: Floats = np.full(SLOTS, caution, np.float32)
        self.given: Floats = np.zeros(SLOTS, np.float32)  # this much of the weights

    def give(self, features: Hashes, weights: Floats) -> None:
        """Weights that are known by other means, in place of those that were given before.

        >>> model = Online(rate=1.0, caution=1.0)
        >>> features = np.array([3, 5], np.uint32) << 14
        >>> for given in (2.0, 0.5):
        ...     model.give(features[:1], np.array([given], np.float32))
        >>> [round(float(share), 4) for share in model.shares(features)]
        [0.3536, 0.0]
        """
        given = np.zeros(SLOTS, np.float32)
        given[features >> _SHIFT] = weights
        self.weights += given - self.given
        self.given = given

    def sum(self, features: Hashes) -> float:
        """What was learned of one example, to be added to what was known before."""
        return float(self.shares(features).sum())

    def shares(self, features: Hashes) -> Floats:
        """What each feature of an example adds to that."""
        shares: Floats = self.weights[features >> _SHIFT] / np.sqrt(np.float32(len(features)))
        return shares

    def sums(self, flat: Hashes, starts: NDArray[np.int64], lengths: NDArray[np.int32]) -> Floats:
        """The same for many examples whose features lie one behind the other; none may be without."""
        if not len(starts):
            return np.zeros(0, np.float32)
        sums = np.empty(len(starts), np.float32)
        first = 0
        # Some at a time: they and their slots stay in the processor's cache, and need no room for all.
        while first < len(starts):
            begin = int(starts[first])
            end = int(np.searchsorted(starts, begin + _TOGETHER))
            slots = flat[begin : int(starts[end]) if end < len(starts) else len(flat)] >> _SHIFT
            # All slots are there, and numpy is a third faster where it need not look.
            np.add.reduceat(self.weights.take(slots, mode="clip"), starts[first:end] - begin, out=sums[first:end])
            first = end
        sums /= np.sqrt(lengths.astype(np.float32))
        return sums

    def learn(self, features: Hashes, before: float, seen: float) -> None:
        """Move the weights of an example's features; `before` is what was known without them."""
        slots = (features >> _SHIFT).astype(np.intp)
        weights, squares = self.weights[slots], self.squares[slots]
        root = sqrt(len(features))
        slope = (logistic(before + float(np.add.reduce(weights)) / root) - seen) / root
        squares += slope * slope
        # A feature that occurs twice is moved once: assignment takes the last.
        self.squares[slots] = squares
        # In place, as an example is small and every new array costs as much as what is done with it.
        np.sqrt(squares, out=squares)
        weights -= np.divide(self.rate * slope, squares, out=squares)
        self.weights[slots] = weights

    def learned(self) -> tuple[Ids, Floats, Floats, Floats]:
        """Slots that were ever moved or given a weight, with their weights, squares and what was given."""
        slots = np.flatnonzero((self.squares != np.float32(self.caution)) | (self.weights != 0)).astype(np.int32)
        return slots, self.weights[slots], self.squares[slots], self.given[slots]

    def take(self, slots: Ids, weights: Floats, squares: Floats, given: Floats) -> None:
        """Go on from what `learned` gave."""
        self.weights[slots] = weights
        self.squares[slots] = squares
        self.given[slots] = given


def logistic(z: float) -> float:
    """
    >>> logistic(0.0), round(logistic(2.0), 4), logistic(-1000.0)
    (0.5, 0.8808, 0.0)
    """
    return 1 / (1 + exp(-z)) if z > -500 else 0.0
