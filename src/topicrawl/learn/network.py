"""A small feed-forward network of sigmoid units with one output, as Mohammadi's 6-5-1 and a guide for links.

Fitted by resilient propagation (Riedmiller and Braun 1993, without backtracking) on the cross-entropy of all rows at
once: every weight has a step of its own that grows while its gradient keeps its sign and shrinks when it turns, so
that there is no learning rate to choose. Same rows, same seed: same network.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import exp
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray

    Array = NDArray[float64]

_GROW, _SHRINK = 1.2, 0.5
_FIRST, _LEAST, _MOST = 0.05, 1e-6, 1.0  # sizes of the steps
_DECAY = 1e-3  # pulls weights to 0: rows that can be told apart perfectly would drive them to infinity

#: A layer: for each unit the weights of its inputs, and behind them its bias.
Layer = Sequence[Sequence[float]]


@dataclass(frozen=True)
class Network:
    """Layers of sigmoid units over inputs that were shifted and scaled as the training rows ask for.

        unit(x) = 1 / (1 + exp(−(b + Σᵢ wᵢ·(xᵢ − centreᵢ) / scaleᵢ)))

    "One or the other, not both" needs a hidden layer:

    >>> rows, labels = [(0, 0), (0, 1), (1, 0), (1, 1)], [0, 1, 1, 0]
    >>> network = Network.fit(rows, labels, hidden=(4,), seed=1, epochs=200)
    >>> [round(network.predict(row)) for row in rows]
    [0, 1, 1, 0]
    """

    centre: Sequence[float]
    scale: Sequence[float]
    layers: Sequence[Layer]

    @classmethod
    def fit(
        cls,
        rows: Sequence[Sequence[float]],
        labels: Sequence[float],
        *,
        hidden: Sequence[int] = (5,),
        seed: int = 0,
        epochs: int = 300,
    ) -> Network:
        """A network with `hidden` units a layer that gives each row its label, 0 to 1, as nearly as it can."""
        import numpy as np

        if not rows or len(rows) != len(labels):
            raise ValueError(f"{len(rows)} rows and {len(labels)} labels: there must be as many, and at least one")
        inputs = np.asarray(rows, dtype=float)
        centre = inputs.mean(axis=0)
        scale = inputs.std(axis=0)
        scale[scale < 1e-9] = 1.0  # a column that never changes says nothing, and must not be divided by 0
        sizes = [inputs.shape[1], *hidden, 1]
        random = np.random.default_rng(seed)
        weights = [random.normal(0.0, 1.0 / (below + 1) ** 0.5, (above, below + 1)) for below, above in pairwise(sizes)]
        _descend(weights, (inputs - centre) / scale, np.asarray(labels, dtype=float), epochs)
        return cls(centre.tolist(), scale.tolist(), [layer.tolist() for layer in weights])

    def predict(self, row: Sequence[float]) -> float:
        """The output for one row, 0 to 1. Plain numbers: for so few units an array would cost more."""
        values = [(x - c) / s for x, c, s in zip(row, self.centre, self.scale, strict=True)]
        for layer in self.layers:
            values = [_sigmoid(unit[-1] + sum(w * x for w, x in zip(unit, values, strict=False))) for unit in layer]
        return values[0]

    def state(self) -> list[Any]:
        """The network as plain lists."""
        return [list(self.centre), list(self.scale), [[list(unit) for unit in layer] for layer in self.layers]]

    @classmethod
    def of(cls, state: Sequence[Any]) -> Network:
        """The network that gave this state."""
        centre, scale, layers = state
        return cls(centre, scale, layers)


def _sigmoid(x: float) -> float:
    return 1.0 / (1.0 + exp(-x)) if x > -700 else 0.0


def _descend(weights: list[Array], inputs: Array, labels: Array, epochs: int) -> None:
    """Change the weights in place, epoch by epoch."""
    import numpy as np

    steps = [np.full_like(layer, _FIRST) for layer in weights]
    before = [np.zeros_like(layer) for layer in weights]
    for _ in range(epochs):
        for index, slope in enumerate(_slopes(weights, inputs, labels)):
            turn = np.sign(slope * before[index])
            step = steps[index]
            step[turn > 0] = np.minimum(step[turn > 0] * _GROW, _MOST)
            step[turn < 0] = np.maximum(step[turn < 0] * _SHRINK, _LEAST)
            slope[turn < 0] = 0.0  # a turn counts once: the next step follows the new direction
            weights[index] -= np.sign(slope) * step
            before[index] = slope


def _slopes(weights: Sequence[Array], inputs: Array, labels: Array) -> list[Array]:
    """The gradient of mean cross-entropy and decay, layer by layer, by propagating the error back."""
    import numpy as np

    one = np.ones((len(inputs), 1))
    values = [inputs]
    for layer in weights:
        sums = np.hstack([values[-1], one]) @ layer.T
        values.append(1.0 / (1.0 + np.exp(-np.clip(sums, -500, 500))))
    error = (values[-1] - labels[:, None]) / len(inputs)
    slopes: list[Array] = []
    for layer, below in zip(reversed(weights), reversed(values[:-1]), strict=True):
        slopes.append(error.T @ np.hstack([below, one]) + _DECAY * layer)
        error = (error @ layer[:, :-1]) * below * (1.0 - below)
    return slopes[::-1]
