"""Naive Bayes over attributes that are yes or no: Hati et al. 2010, section 5.4; Safran et al. 2012, inequality 3.

Both papers count without smoothing, so that one count of 0 decides alone; Hati et al. name that as a problem to solve.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod


@dataclass(frozen=True)
class NaiveBayes:
    """How often each attribute was yes among the rows of each class.

        P(X | C) · P(C) = Πᵢ n(xᵢ, C) / n(C) · n(C) / n                                              (3, 4, 5)

    and with smoothing Πᵢ (n(xᵢ, C) + 1) / (n(C) + 2) · (n(C) + 1) / (n + 2).
    X: the attributes; C: relevant or not; n: how many rows there are of this kind.

    Two of two relevant rows have the attribute, none of the two others: smoothed, (3/4) / (3/4 + 1/4) of the weight.

    >>> rows, labels = [(True,), (True,), (False,), (False,)], [True, True, False, False]
    >>> NaiveBayes.fit(rows, labels).predict((True,)), NaiveBayes.fit(rows, labels, smoothing=False).predict((True,))
    (0.75, 1.0)
    """

    relevant: int  # rows of each class
    irrelevant: int
    yes: Sequence[tuple[int, int]]  # for each attribute: how often it was yes in relevant and in irrelevant rows
    smoothing: bool = True

    @classmethod
    def fit(cls, rows: Sequence[Sequence[bool]], labels: Sequence[bool], *, smoothing: bool = True) -> NaiveBayes:
        """The counts of rows, one label each."""
        if not rows or len(rows) != len(labels):
            raise ValueError(f"{len(rows)} rows and {len(labels)} labels: there must be as many, and at least one")
        counts = [[0, 0] for _ in rows[0]]
        for row, label in zip(rows, labels, strict=True):
            for count, value in zip(counts, row, strict=True):
                count[0 if label else 1] += bool(value)
        relevant = sum(map(bool, labels))
        return cls(relevant, len(rows) - relevant, [(a, b) for a, b in counts], smoothing)

    def weights(self, row: Sequence[bool]) -> tuple[float, float]:
        """P(X | C) · P(C) for relevant and for irrelevant."""
        more = 1 if self.smoothing else 0
        total = self.relevant + self.irrelevant + 2 * more

        def weight(size: int, side: int) -> float:
            if not size + more:
                return 0.0
            found = (
                (counts[side] if value else size - counts[side]) + more
                for value, counts in zip(row, self.yes, strict=True)
            )
            return prod(n / (size + 2 * more) for n in found) * (size + more) / total

        return weight(self.relevant, 0), weight(self.irrelevant, 1)

    def predict(self, row: Sequence[bool]) -> float:
        """The posterior probability of relevant: above one half if inequality 3 holds.

        What was never seen in either class weighs 0 against 0, and is one half.
        """
        relevant, irrelevant = self.weights(row)
        return relevant / (relevant + irrelevant) if relevant or irrelevant else 0.5
