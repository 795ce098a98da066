"""Link classifiers over attribute values: naive Bayes, a linear support vector machine or a neural network.

Safran et al. 2012 use naive Bayes and name the other two as future work. Naive Bayes uses each attribute as a
boolean: whether it is above its threshold. The other two use the values. All train on the same rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from topicrawl.ml.naive_bayes import BernoulliNaiveBayes
from topicrawl.ml.network import NeuralNetwork
from topicrawl.ml.svm import LinearSvm
from topicrawl.models import JsonValue

CLASSIFIER_KINDS = ("nb", "svm", "nn")
_HIDDEN_UNITS, _NETWORK_SEED, _NETWORK_EPOCHS = (5,), 0, 150


@dataclass(frozen=True)
class ClassifierConfig:
    """Configuration of a link classifier."""

    kind: str = "nb"
    thresholds: tuple[float, ...] = ()  # threshold above which an attribute is yes
    smoothing: bool = True
    tune: bool = False  # whether the thresholds are tuned on the rows


@dataclass(frozen=True)
class LinkClassifier:
    """A trained classifier: attribute values of a link → score from 0 to 1, relevant above one half.

    >>> recipe = ClassifierConfig("nb", (0.3,))
    >>> guide = LinkClassifier.fit(recipe, [(0.5,), (0.4,), (0.3,), (0.0,)], [True, True, False, False])
    >>> guide.predict((0.31,)), guide.predict((0.30,))
    (0.75, 0.25)
    """

    thresholds: tuple[float, ...]
    model: BernoulliNaiveBayes | LinearSvm | NeuralNetwork
    _predictions: dict[tuple[bool, ...], float] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def fit(cls, config: ClassifierConfig, rows: Sequence[Sequence[float]], labels: Sequence[bool]) -> LinkClassifier:
        """Train a classifier on rows and their labels."""
        thresholds = tune_thresholds(rows, labels, config.thresholds) if config.tune else config.thresholds
        if config.kind == "svm":
            return cls(thresholds, LinearSvm.fit(rows, labels))
        if config.kind == "nn":
            return cls(
                thresholds,
                NeuralNetwork.fit(rows, labels, hidden=_HIDDEN_UNITS, seed=_NETWORK_SEED, epochs=_NETWORK_EPOCHS),
            )
        binary_rows = [_binarize(row, thresholds) for row in rows]
        return cls(thresholds, BernoulliNaiveBayes.fit(binary_rows, labels, smoothing=config.smoothing))

    def predict(self, values: Sequence[float]) -> float:
        """Return the predicted relevance of a link with these attribute values."""
        if isinstance(self.model, BernoulliNaiveBayes):
            # Four binary attributes have only sixteen combinations, and every link needs a prediction.
            key = _binarize(values, self.thresholds)
            if key not in self._predictions:
                self._predictions[key] = self.model.predict(key)
            return self._predictions[key]
        return self.model.predict(values)

    def get_state(self) -> JsonValue:
        """Return the classifier as plain values."""
        model = self.model
        if isinstance(model, BernoulliNaiveBayes):
            counts: list[JsonValue] = [
                model.relevant_count,
                model.irrelevant_count,
                [list(pair) for pair in model.yes_counts],
            ]
            return ["nb", list(self.thresholds), [*counts, model.smoothing]]
        return ["svm" if isinstance(model, LinearSvm) else "nn", list(self.thresholds), model.get_state()]

    @classmethod
    def from_state(cls, state: Any) -> LinkClassifier:
        """Create the classifier from the values of `get_state`."""
        kind, thresholds, model = state
        if kind == "nb":
            relevant, irrelevant, yes, smoothing = model
            counts = [(first, second) for first, second in yes]
            return cls(tuple(thresholds), BernoulliNaiveBayes(relevant, irrelevant, counts, smoothing))
        return cls(tuple(thresholds), LinearSvm.from_state(model) if kind == "svm" else NeuralNetwork.from_state(model))


def _binarize(values: Sequence[float], thresholds: Sequence[float]) -> tuple[bool, ...]:
    """Return for each value whether it is above its threshold."""
    return tuple(value > limit for value, limit in zip(values, thresholds, strict=True))


def tune_thresholds(
    rows: Sequence[Sequence[float]], labels: Sequence[bool], defaults: Sequence[float]
) -> tuple[float, ...]:
    """Return for each attribute the threshold that separates the classes best, midway between two values.

        maximise P(value > threshold | relevant) − P(value > threshold | irrelevant)

    Among equally good thresholds, the nearest to the default is used. If no threshold favours the relevant rows, the
    result is the default.

    >>> tune_thresholds([(0.1,), (0.2,), (0.4,), (0.6,)], [False, False, True, True], (0.75,))
    (0.3,)
    """
    return tuple(
        _tune_threshold(column, labels, limit) for column, limit in zip(zip(*rows, strict=True), defaults, strict=True)
    )


def _tune_threshold(column: Sequence[float], labels: Sequence[bool], default: float) -> float:
    """Return the best threshold for one attribute."""
    values = sorted(set(column))
    cuts = [default, *(round((low + high) / 2, 6) for low, high in pairwise(values))]
    relevant = max(1, sum(labels))
    irrelevant = max(1, len(labels) - sum(labels))

    def gain(cut: float) -> float:
        """Return the difference of the shares of both classes above a threshold."""
        above = [label for value, label in zip(column, labels, strict=True) if value > cut]
        return sum(above) / relevant - (len(above) - sum(above)) / irrelevant

    best = max(cuts, key=lambda cut: (round(gain(cut), 9), -abs(cut - default)))
    return best if gain(best) > 0 else default
