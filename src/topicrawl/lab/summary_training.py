"""Train the summary network on labelled sentences with cross-validation by page (Mohammadi, sections 6 and 8).

Whole pages are held out, because sentences of one page are similar: a network trained on some of them would score
better on the others than on the pages of a crawl. Five-fold cross-validation holds out each page once. The final
network is trained on all pages.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from random import Random

from topicrawl.errors import UsageError
from topicrawl.lab.summary_labels import SentenceRow
from topicrawl.ml.network import NeuralNetwork
from topicrawl.relevance.summary import SUMMARY_THRESHOLD
from topicrawl.relevance.summary_network import HIDDEN_LAYERS

FOLDS = 5


@dataclass(frozen=True, slots=True)
class ConfusionMatrix:
    """Confusion matrix of predictions and labels: true and false positives, false and true negatives.

    In this example six of ten predictions are correct. Four of ten labels are yes, so that always predicting no would
    be correct six times as well:

    >>> count = ConfusionMatrix(2, 2, 2, 4)
    >>> count.accuracy, count.majority_accuracy, count.precision, count.recall
    (0.6, 0.6, 0.5, 0.5)
    """

    true_positives: int = 0
    false_positives: int = 0
    false_negatives: int = 0
    true_negatives: int = 0

    @property
    def sentences(self) -> int:
        """Number of labelled sentences."""
        return self.true_positives + self.false_positives + self.false_negatives + self.true_negatives

    @property
    def positives(self) -> int:
        """Number of sentences with the label yes."""
        return self.true_positives + self.false_negatives

    @property
    def accuracy(self) -> float:
        """Share of correct predictions."""
        return _safe_ratio(self.true_positives + self.true_negatives, self.sentences)

    @property
    def majority_accuracy(self) -> float:
        """Accuracy of always predicting the more frequent label."""
        return _safe_ratio(max(self.positives, self.sentences - self.positives), self.sentences)

    @property
    def precision(self) -> float:
        """Share of chosen sentences with the label yes."""
        return _safe_ratio(self.true_positives, self.true_positives + self.false_positives)

    @property
    def recall(self) -> float:
        """Share of sentences with the label yes that were chosen."""
        return _safe_ratio(self.true_positives, self.positives)

    def __add__(self, other: ConfusionMatrix) -> ConfusionMatrix:
        return ConfusionMatrix(
            self.true_positives + other.true_positives,
            self.false_positives + other.false_positives,
            self.false_negatives + other.false_negatives,
            self.true_negatives + other.true_negatives,
        )


def train_network(
    rows: Iterable[SentenceRow], *, seed: int = 1, where: str = "the table"
) -> tuple[NeuralNetwork, ConfusionMatrix]:
    """Train a network on all labelled rows. Return it with the cross-validation result.

    Raise `UsageError` unless both labels and at least two pages occur. `where` is the name of the table in error
    messages.
    """
    labelled = [row for row in rows if row.label is not None]
    pages = sorted({row.page for row in labelled})
    yes = sum(row.label is True for row in labelled)
    if not labelled:
        raise UsageError(f"{where}: no sentence is labelled: write yes or no into the first column")
    if not yes or yes == len(labelled):
        only_label = "yes" if yes else "no"
        raise UsageError(
            f"{where}: all {len(labelled)} labels are {only_label}: training needs sentences with both labels"
        )
    if len(pages) < 2:
        raise UsageError(f"{where}: all labels are on one page: label a second page, for the evaluation")
    Random(seed).shuffle(pages)
    folds = [frozenset(pages[fold::FOLDS]) for fold in range(min(FOLDS, len(pages)))]
    count = ConfusionMatrix()
    for fold in folds:
        network = fit_network([row for row in labelled if row.page not in fold], seed=seed)
        count += evaluate_network(network, [row for row in labelled if row.page in fold])
    return fit_network(labelled, seed=seed), count


def fit_network(rows: Sequence[SentenceRow], *, seed: int = 1) -> NeuralNetwork:
    """Fit a network with six inputs, five hidden units and one output to labelled rows."""
    return NeuralNetwork.fit(
        [row.features for row in rows], [float(bool(row.label)) for row in rows], hidden=HIDDEN_LAYERS, seed=seed
    )


def evaluate_network(network: NeuralNetwork, rows: Iterable[SentenceRow]) -> ConfusionMatrix:
    """Return the confusion matrix of a network on labelled rows."""
    count = ConfusionMatrix()
    for row in rows:
        chosen = network.predict(row.features) >= SUMMARY_THRESHOLD
        if row.label:
            count += ConfusionMatrix(true_positives=chosen, false_negatives=not chosen)
        else:
            count += ConfusionMatrix(false_positives=chosen, true_negatives=not chosen)
    return count


def _safe_ratio(part: int, whole: int) -> float:
    return part / whole if whole else 0.0
