"""A linear support vector machine for few columns and few thousand rows, in plain Python.

The soft margin problem is solved in its dual, one row at a time (Hsieh et al. 2008, algorithm 1), in orders that
are drawn alike each time, so that the same rows give the same machine. Safran et al. 2012 name it as a guide to try.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, sqrt
from random import Random
from typing import Any

_ROUNDS = 60
_STILL = 1e-3  # when no row moves the machine further than this, it is done


@dataclass(frozen=True)
class LinearSvm:
    """A plane with the widest margin between two classes.

        margin(x) = b + Σᵢ wᵢ·(xᵢ − centreᵢ) / scaleᵢ,      minimise ½·(|w|² + b²) + C·Σ max(0, 1 − y·margin(x))

    x: a row; y: 1 for relevant, −1 for the others; C: what a row on the wrong side costs. `predict` is the logistic
    function of the margin: above one half on the side of the relevant, and no probability.

    The widest margin between 0 and 1 lies halfway:

    >>> machine = LinearSvm.fit([(0.0,), (1.0,)], [False, True])
    >>> machine.predict((0.5,)), machine.predict((0.6,)) > 0.5
    (0.5, True)
    """

    centre: Sequence[float]
    scale: Sequence[float]
    weights: Sequence[float]  # the last is the bias

    @classmethod
    def fit(cls, rows: Sequence[Sequence[float]], labels: Sequence[bool], *, cost: float = 1.0) -> LinearSvm:
        """The machine for rows, one label each. Both classes cost the same in all, however many rows they have."""
        if not rows or len(rows) != len(labels):
            raise ValueError(f"{len(rows)} rows and {len(labels)} labels: there must be as many, and at least one")
        columns = list(zip(*rows, strict=True))
        centre = [sum(column) / len(rows) for column in columns]
        spread = [
            sqrt(sum((x - mean) ** 2 for x in column) / len(rows))
            for column, mean in zip(columns, centre, strict=True)
        ]  # fmt: skip
        scale = [s if s > 1e-9 else 1.0 for s in spread]
        points = [[*((x - c) / s for x, c, s in zip(row, centre, scale, strict=True)), 1.0] for row in rows]
        relevant = sum(map(bool, labels))
        costs = [cost * len(rows) / 2 / (relevant if label else len(rows) - relevant) for label in labels]
        return cls(centre, scale, _weights(points, [1.0 if label else -1.0 for label in labels], costs))

    def margin(self, row: Sequence[float]) -> float:
        """How far a row is on the side of the relevant."""
        scaled = zip(self.weights, row, self.centre, self.scale, strict=False)
        return self.weights[-1] + sum(w * (x - c) / s for w, x, c, s in scaled)

    def predict(self, row: Sequence[float]) -> float:
        """The margin as a number from 0 to 1."""
        return 1.0 / (1.0 + exp(-max(-500.0, min(500.0, self.margin(row)))))

    def state(self) -> list[Any]:
        """The machine as plain lists."""
        return [list(self.centre), list(self.scale), list(self.weights)]

    @classmethod
    def of(cls, state: Sequence[Any]) -> LinearSvm:
        """The machine that gave this state."""
        return cls(*state)


def _weights(points: Sequence[Sequence[float]], signs: Sequence[float], costs: Sequence[float]) -> list[float]:
    """Coordinate descent in the dual: each row's multiplier in turn is set to its best value, from 0 to its cost."""
    weights = [0.0] * len(points[0])
    multipliers = [0.0] * len(points)
    lengths = [sum(x * x for x in point) for point in points]
    # Another order each round comes to rest sooner; it is always the same ones.
    random = Random(0)
    order = list(range(len(points)))
    for _ in range(_ROUNDS):
        moved = 0.0
        random.shuffle(order)
        for index in order:
            point, sign = points[index], signs[index]
            slope = sign * sum(w * x for w, x in zip(weights, point, strict=True)) - 1.0
            new = min(max(multipliers[index] - slope / lengths[index], 0.0), costs[index])
            change = (new - multipliers[index]) * sign
            if change:
                multipliers[index] = new
                weights = [w + change * x for w, x in zip(weights, point, strict=True)]
                moved = max(moved, abs(change))
        if moved < _STILL:
            break
    return weights
