"""Small feed-forward network of sigmoid units with one output: Mohammadi's 6-5-1 network and a link classifier.

Resilient propagation (Riedmiller and Braun 1993, without backtracking) minimises the cross-entropy of all rows. Every
weight has its own step size. The step grows while the gradient keeps its sign and shrinks when the sign changes, so
there is no learning rate to choose. The same rows and seed give the same network.
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

_STEP_GROWTH, _STEP_SHRINK = 1.2, 0.5
_INITIAL_STEP, _MIN_STEP, _MAX_STEP = 0.05, 1e-6, 1.0  # step sizes
_WEIGHT_DECAY = 1e-3  # weight decay, because weights of perfectly separable rows would grow without bound

#: Layer: per unit the weights of its inputs, followed by its bias.
Layer = Sequence[Sequence[float]]


@dataclass(frozen=True)
class NeuralNetwork:
    """Layers of sigmoid units. Inputs are shifted and scaled by the statistics of the training rows.

        unit(x) = 1 / (1 + exp(−(b + Σᵢ wᵢ·(xᵢ − centreᵢ) / scaleᵢ)))

    Exclusive or needs a hidden layer:

    >>> rows, labels = [(0, 0), (0, 1), (1, 0), (1, 1)], [0, 1, 1, 0]
    >>> network = NeuralNetwork.fit(rows, labels, hidden=(4,), seed=1, epochs=200)
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
    ) -> NeuralNetwork:
        """Train a network with `hidden` units per hidden layer on rows and their labels from 0 to 1."""
        import numpy as np

        if not rows or len(rows) != len(labels):
            raise ValueError(f"{len(rows)} rows and {len(labels)} labels: expected equal numbers, and at least one")
        inputs = np.asarray(rows, dtype=float)
        centre = inputs.mean(axis=0)
        scale = inputs.std(axis=0)
        scale[scale < 1e-9] = 1.0  # a constant column has no information, and must not cause a division by 0
        sizes = [inputs.shape[1], *hidden, 1]
        random = np.random.default_rng(seed)
        weights = [random.normal(0.0, 1.0 / (below + 1) ** 0.5, (above, below + 1)) for below, above in pairwise(sizes)]
        _run_rprop(weights, (inputs - centre) / scale, np.asarray(labels, dtype=float), epochs)
        return cls(centre.tolist(), scale.tolist(), [layer.tolist() for layer in weights])

    def predict(self, row: Sequence[float]) -> float:
        """Return the output for one row, from 0 to 1. For so few units, plain numbers are faster than arrays."""
        values = [(x - c) / s for x, c, s in zip(row, self.centre, self.scale, strict=True)]
        for layer in self.layers:
            values = [_sigmoid(unit[-1] + sum(w * x for w, x in zip(unit, values, strict=False))) for unit in layer]
        return values[0]

    def get_state(self) -> list[Any]:
        """Return the network as plain lists."""
        return [list(self.centre), list(self.scale), [[list(unit) for unit in layer] for layer in self.layers]]

    @classmethod
    def from_state(cls, state: Sequence[Any]) -> NeuralNetwork:
        """Create the network from the lists of `get_state`."""
        centre, scale, layers = state
        return cls(centre, scale, layers)


def _sigmoid(x: float) -> float:
    """Return the logistic function without overflow."""
    return 1.0 / (1.0 + exp(-x)) if x > -700 else 0.0


def _run_rprop(weights: list[Array], inputs: Array, labels: Array, epochs: int) -> None:
    """Train the weights in place by resilient propagation."""
    import numpy as np

    steps = [np.full_like(layer, _INITIAL_STEP) for layer in weights]
    previous = [np.zeros_like(layer) for layer in weights]
    for _ in range(epochs):
        for index, gradient in enumerate(_compute_gradients(weights, inputs, labels)):
            agreement = np.sign(gradient * previous[index])
            step = steps[index]
            step[agreement > 0] = np.minimum(step[agreement > 0] * _STEP_GROWTH, _MAX_STEP)
            step[agreement < 0] = np.maximum(step[agreement < 0] * _STEP_SHRINK, _MIN_STEP)
            gradient[agreement < 0] = 0.0  # after a sign change, the weight pauses for one step
            weights[index] -= np.sign(gradient) * step
            previous[index] = gradient


def _compute_gradients(weights: Sequence[Array], inputs: Array, labels: Array) -> list[Array]:
    """Return the gradients of mean cross-entropy and weight decay for each layer, by backpropagation."""
    import numpy as np

    one = np.ones((len(inputs), 1))
    values = [inputs]
    for layer in weights:
        sums = np.hstack([values[-1], one]) @ layer.T
        values.append(1.0 / (1.0 + np.exp(-np.clip(sums, -500, 500))))
    error = (values[-1] - labels[:, None]) / len(inputs)
    gradients: list[Array] = []
    for layer, below in zip(reversed(weights), reversed(values[:-1]), strict=True):
        gradients.append(error.T @ np.hstack([below, one]) + _WEIGHT_DECAY * layer)
        error = (error @ layer[:, :-1]) * below * (1.0 - below)
    return gradients[::-1]
