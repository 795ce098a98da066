"""Linear support vector machine for few columns and up to a few thousand rows, in plain Python.

Dual coordinate descent solves the soft-margin problem one row at a time (Hsieh et al. 2008, algorithm 1). The random
order has a fixed seed, so the same rows give the same model. Safran et al. 2012 name it as a classifier to try.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, sqrt
from random import Random
from typing import Any

_MAX_EPOCHS = 60
_TOLERANCE = 1e-3  # stop if no multiplier changes by more than this


@dataclass(frozen=True)
class LinearSvm:
    """Hyperplane with the widest margin between two classes.

        margin(x) = b + Σᵢ wᵢ·(xᵢ − centreᵢ) / scaleᵢ,      minimise ½·(|w|² + b²) + C·Σ max(0, 1 − y·margin(x))

    x: a row; y: 1 for relevant rows, −1 for the others; C: the cost of a row on the wrong side. `predict` is the
    logistic function of the margin: above one half for relevant rows, but not a probability.

    The widest margin between 0 and 1 is in the middle:

    >>> machine = LinearSvm.fit([(0.0,), (1.0,)], [False, True])
    >>> machine.predict((0.5,)), machine.predict((0.6,)) > 0.5
    (0.5, True)
    """

    centre: Sequence[float]
    scale: Sequence[float]
    weights: Sequence[float]  # the last weight is the bias

    @classmethod
    def fit(cls, rows: Sequence[Sequence[float]], labels: Sequence[bool], *, cost: float = 1.0) -> LinearSvm:
        """Train on rows with one label each. Both classes have the same total cost, independent of their sizes."""
        if not rows or len(rows) != len(labels):
            raise ValueError(f"{len(rows)} rows and {len(labels)} labels: expected equal numbers, and at least one")
        columns = list(zip(*rows, strict=True))
        centre = [sum(column) / len(rows) for column in columns]
        spread = [
            sqrt(sum((x - mean) ** 2 for x in column) / len(rows)) for column, mean in zip(columns, centre, strict=True)
        ]
        scale = [s if s > 1e-9 else 1.0 for s in spread]
        points = [[*((x - c) / s for x, c, s in zip(row, centre, scale, strict=True)), 1.0] for row in rows]
        relevant = sum(map(bool, labels))
        costs = [cost * len(rows) / 2 / (relevant if label else len(rows) - relevant) for label in labels]
        return cls(centre, scale, _solve_dual(points, [1.0 if label else -1.0 for label in labels], costs))

    def margin(self, row: Sequence[float]) -> float:
        """Return the signed margin of a row, positive on the relevant side."""
        scaled = zip(self.weights, row, self.centre, self.scale, strict=False)
        return self.weights[-1] + sum(w * (x - c) / s for w, x, c, s in scaled)

    def predict(self, row: Sequence[float]) -> float:
        """Return the margin mapped to a number from 0 to 1."""
        return 1.0 / (1.0 + exp(-max(-500.0, min(500.0, self.margin(row)))))

    def get_state(self) -> list[Any]:
        """Return the model as plain lists."""
        return [list(self.centre), list(self.scale), list(self.weights)]

    @classmethod
    def from_state(cls, state: Sequence[Any]) -> LinearSvm:
        """Create the model from the lists of `get_state`."""
        return cls(*state)


def _solve_dual(points: Sequence[Sequence[float]], signs: Sequence[float], costs: Sequence[float]) -> list[float]:
    """Solve the dual by coordinate descent: set each row's multiplier to its best value, from 0 to its cost."""
    weights = [0.0] * len(points[0])
    multipliers = [0.0] * len(points)
    lengths = [sum(x * x for x in point) for point in points]
    # A new order in each round converges faster. The fixed seed makes the orders reproducible.
    random = Random(0)
    order = list(range(len(points)))
    for _ in range(_MAX_EPOCHS):
        largest_change = 0.0
        random.shuffle(order)
        for index in order:
            point, sign = points[index], signs[index]
            gradient = sign * sum(w * x for w, x in zip(weights, point, strict=True)) - 1.0
            new = min(max(multipliers[index] - gradient / lengths[index], 0.0), costs[index])
            change = (new - multipliers[index]) * sign
            if change:
                multipliers[index] = new
                weights = [w + change * x for w, x in zip(weights, point, strict=True)]
                largest_change = max(largest_change, abs(change))
        if largest_change < _TOLERANCE:
            break
    return weights
