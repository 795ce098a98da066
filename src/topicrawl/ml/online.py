"""Online logistic regression on hashed features with AdaGrad (Duchi, Hazan and Singer 2011)."""

from __future__ import annotations

from math import exp, sqrt

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Ids = NDArray[np.int32]

#: Number of slots. The first bits of a 32-bit feature hash are its slot. Few of some ten thousand features collide.
SLOTS = 1 << 18
_SLOT_SHIFT = np.uint32(14)
_BATCH_FEATURES = 1 << 16  # number of features per batch
Hashes = NDArray[np.uint32]


class OnlineLogisticRegression:
    """Logistic regression with one weight per hash slot, updated after each example.

        z = z₀ + Σᵢ wᵢ / √n        p = 1 / (1 + e⁻ᶻ)        wᵢ ← wᵢ − rate · g / √(Gᵢ + g²),  g = (p − y) / √n

    z₀: the score before learning; n: the number of features of the example; y: the observed value, from 0 to 1; Gᵢ: the
    sum of squared gradients of slot i, starting at `initial_squares`. A weight is the sum of a learned part and a prior
    part (`set_prior_weights`). A feature is a 32-bit hash, and its first 18 bits are its slot. A repeated feature
    counts repeatedly in z and n, but its weight is updated once per example.

    One example with four features, z₀ = 0 and y = 1: g = −.25, and each weight changes by .25 / √(1 + .0625):

    >>> model = OnlineLogisticRegression(learning_rate=1.0, initial_squares=1.0)
    >>> features = np.array([3, 5, 7, 9], np.uint32) << 14
    >>> model.learn(features, 0.0, 1.0)
    >>> round(float(model.weights[3]), 6), round(float(model.score_features(features).sum()), 6)
    (0.242536, 0.485071)
    """

    def __init__(self, *, learning_rate: float, initial_squares: float) -> None:
        self.learning_rate = learning_rate
        self.weights: Floats = np.zeros(SLOTS, np.float32)
        self.initial_squares = initial_squares
        self.gradient_squares: Floats = np.full(SLOTS, initial_squares, np.float32)
        self.prior_weights: Floats = np.zeros(SLOTS, np.float32)  # prior part of the weights
        self._prior_slots: NDArray[np.intp] = np.zeros(0, np.intp)  # slots with a prior weight

    def set_prior_weights(self, features: Hashes, weights: Floats) -> None:
        """Set prior weights from another source. They replace the previous prior weights.

        >>> model = OnlineLogisticRegression(learning_rate=1.0, initial_squares=1.0)
        >>> features = np.array([3, 5], np.uint32) << 14
        >>> for given in (2.0, 0.5):
        ...     model.set_prior_weights(features[:1], np.array([given], np.float32))
        >>> [round(float(share), 4) for share in model.score_features(features)]
        [0.3536, 0.0]
        """
        slots = (features >> _SLOT_SHIFT).astype(np.intp)
        # Few slots have a prior weight. New arrays of all slots take six times as long.
        changed = np.concatenate((self._prior_slots, slots))
        before = self.prior_weights[changed]
        self.prior_weights[self._prior_slots] = 0
        self.prior_weights[slots] = weights
        self.weights[changed] += self.prior_weights[changed] - before
        self._prior_slots = slots

    def score_features(self, features: Hashes) -> Floats:
        """Return the contribution of each feature to the learned score of an example, which is their sum."""
        slots = (features >> _SLOT_SHIFT).astype(np.intp)
        shares: Floats = self.weights[slots] / np.float32(sqrt(len(features)))
        return shares

    def score_examples(self, flat: Hashes, starts: NDArray[np.int64], lengths: NDArray[np.int32]) -> Floats:
        """Return the learned scores of many examples with concatenated features, at least one per example."""
        if not len(starts):
            return np.zeros(0, np.float32)
        sums = np.empty(len(starts), np.float32)
        first = 0
        # Batches keep the features and their slots in the processor cache and need less memory.
        while first < len(starts):
            begin = int(starts[first])
            end = int(np.searchsorted(starts, begin + _BATCH_FEATURES))
            slots = flat[begin : int(starts[end]) if end < len(starts) else len(flat)] >> _SLOT_SHIFT
            # All slots are valid, and numpy is a third faster without the bounds check.
            np.add.reduceat(self.weights.take(slots, mode="clip"), starts[first:end] - begin, out=sums[first:end])
            first = end
        sums /= np.sqrt(lengths.astype(np.float32))
        return sums

    def learn(self, features: Hashes, base_score: float, target: float, *, penalty_share: float = 1.0) -> None:
        """Update the weights of an example's features.

        `base_score` is the score of the example without them, and `target` is the observed value. `penalty_share`
        scales an update that lowers the weights.
        """
        slots = (features >> _SLOT_SHIFT).astype(np.intp)
        weights, squares = self.weights[slots], self.gradient_squares[slots]
        root = sqrt(len(features))
        gradient = (logistic(base_score + float(np.add.reduce(weights)) / root) - target) / root
        if gradient > 0:
            gradient *= penalty_share
        squares += gradient * gradient
        # A repeated feature is updated once, because the assignment keeps the last value.
        self.gradient_squares[slots] = squares
        # In place, because an example is small and each new array costs as much as the computation.
        np.sqrt(squares, out=squares)
        weights -= np.divide(self.learning_rate * gradient, squares, out=squares)
        self.weights[slots] = weights

    def export_weights(self) -> tuple[Ids, Floats, Floats, Floats]:
        """Return all used slots with their weights, gradient squares and prior weights."""
        slots = np.flatnonzero(
            (self.gradient_squares != np.float32(self.initial_squares)) | (self.weights != 0)
        ).astype(np.int32)
        return slots, self.weights[slots], self.gradient_squares[slots], self.prior_weights[slots]

    def load_weights(self, slots: Ids, weights: Floats, squares: Floats, prior_weights: Floats) -> None:
        """Restore the values of `export_weights`."""
        self.weights[slots] = weights
        self.gradient_squares[slots] = squares
        self.prior_weights[slots] = prior_weights
        self._prior_slots = self.prior_weights.nonzero()[0]


def logistic(z: float) -> float:
    """Return the logistic function of a number.

    >>> logistic(0.0), round(logistic(2.0), 4), logistic(-1000.0)
    (0.5, 0.8808, 0.0)
    """
    return 1 / (1 + exp(-z)) if z > -500 else 0.0
