"""What decides about a link whose attributes are known: naive Bayes, a linear support vector machine or a network.

Safran et al. 2012 decide by naive Bayes and name the other two as work to come. Naive Bayes sees each attribute as yes
or no, above its threshold or not; the other two see the numbers themselves. All learn from the same rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from topicrawl.learn.naive_bayes import NaiveBayes
from topicrawl.learn.network import Network
from topicrawl.learn.svm import LinearSvm
from topicrawl.records import Carry

KINDS = ("nb", "svm", "nn")
_HIDDEN, _SEED, _EPOCHS = (5,), 0, 150


@dataclass(frozen=True)
class Recipe:
    """How a guide is made from rows."""

    kind: str = "nb"
    thresholds: tuple[float, ...] = ()  # above which an attribute is yes
    smoothing: bool = True
    tune: bool = False  # whether thresholds are chosen anew from the rows


@dataclass(frozen=True)
class Guide:
    """A fitted model: attributes of a link → 0 to 1, relevant above one half.

    >>> recipe = Recipe("nb", (0.3,))
    >>> guide = Guide.fit(recipe, [(0.5,), (0.4,), (0.3,), (0.0,)], [True, True, False, False])
    >>> guide.predict((0.31,)), guide.predict((0.30,))
    (0.75, 0.25)
    """

    thresholds: tuple[float, ...]
    model: NaiveBayes | LinearSvm | Network
    _known: dict[tuple[bool, ...], float] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def fit(cls, recipe: Recipe, rows: Sequence[Sequence[float]], labels: Sequence[bool]) -> Guide:
        """The guide that a recipe and rows with their labels make."""
        limits = tuned(rows, labels, recipe.thresholds) if recipe.tune else recipe.thresholds
        if recipe.kind == "svm":
            return cls(limits, LinearSvm.fit(rows, labels))
        if recipe.kind == "nn":
            return cls(limits, Network.fit(rows, labels, hidden=_HIDDEN, seed=_SEED, epochs=_EPOCHS))
        seen = [_above(row, limits) for row in rows]
        return cls(limits, NaiveBayes.fit(seen, labels, smoothing=recipe.smoothing))

    def predict(self, values: Sequence[float]) -> float:
        """How relevant the model takes a link with these attributes to be."""
        if isinstance(self.model, NaiveBayes):
            # Four times yes or no are sixteen questions, asked for every link.
            seen = _above(values, self.thresholds)
            if seen not in self._known:
                self._known[seen] = self.model.predict(seen)
            return self._known[seen]
        return self.model.predict(values)

    def state(self) -> Carry:
        """The guide as plain values."""
        model = self.model
        if isinstance(model, NaiveBayes):
            counts: list[Carry] = [model.relevant, model.irrelevant, [list(pair) for pair in model.yes]]
            return ["nb", list(self.thresholds), [*counts, model.smoothing]]
        return ["svm" if isinstance(model, LinearSvm) else "nn", list(self.thresholds), model.state()]

    @classmethod
    def of(cls, state: Any) -> Guide:
        """The guide that gave this state."""
        kind, thresholds, model = state
        if kind == "nb":
            relevant, irrelevant, yes, smoothing = model
            counts = [(first, second) for first, second in yes]
            return cls(tuple(thresholds), NaiveBayes(relevant, irrelevant, counts, smoothing))
        return cls(tuple(thresholds), LinearSvm.of(model) if kind == "svm" else Network.of(model))


def _above(values: Sequence[float], thresholds: Sequence[float]) -> tuple[bool, ...]:
    return tuple(value > limit for value, limit in zip(values, thresholds, strict=True))


def tuned(rows: Sequence[Sequence[float]], labels: Sequence[bool], usual: Sequence[float]) -> tuple[float, ...]:
    """For each attribute the threshold that tells the classes apart best, between two values that occur.

        maximise P(value > threshold | relevant) − P(value > threshold | irrelevant)

    Of equally good ones the nearest to the usual; the usual itself where no threshold favours the relevant rows.

    >>> tuned([(0.1,), (0.2,), (0.4,), (0.6,)], [False, False, True, True], (0.75,))
    (0.3,)
    """
    return tuple(_cut(column, labels, limit) for column, limit in zip(zip(*rows, strict=True), usual, strict=True))


def _cut(column: Sequence[float], labels: Sequence[bool], usual: float) -> float:
    values = sorted(set(column))
    cuts = [usual, *(round((low + high) / 2, 6) for low, high in pairwise(values))]
    relevant = max(1, sum(labels))
    irrelevant = max(1, len(labels) - sum(labels))

    def gain(cut: float) -> float:
        above = [label for value, label in zip(column, labels, strict=True) if value > cut]
        return sum(above) / relevant - (len(above) - sum(above)) / irrelevant

    best = max(cuts, key=lambda cut: (round(gain(cut), 9), -abs(cut - usual)))
    return best if gain(best) > 0 else usual
