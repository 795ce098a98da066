"""Naive Bayes over binary attributes: Hati et al. 2010, section 5.4; Safran et al. 2012, inequality 3.

Both papers count without smoothing, so a single count of 0 decides the result. Hati et al. name this as a problem to
solve.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod


@dataclass(frozen=True)
class BernoulliNaiveBayes:
    """Counts of yes for each attribute in the rows of each class.

        P(X | C) · P(C) = Πᵢ n(xᵢ, C) / n(C) · n(C) / n                                              (3, 4, 5)

    and with smoothing Πᵢ (n(xᵢ, C) + 1) / (n(C) + 2) · (n(C) + 1) / (n + 2). X: the attributes; C: relevant or not; n:
    the number of matching rows.

    Two of two relevant rows have the attribute, and none of the two others: with smoothing, (3/4) / (3/4 + 1/4) of the
    weight.

    >>> rows, labels = [(True,), (True,), (False,), (False,)], [True, True, False, False]
    >>> (
    ...     BernoulliNaiveBayes.fit(rows, labels).predict((True,)),
    ...     BernoulliNaiveBayes.fit(rows, labels, smoothing=False).predict((True,)),
    ... )
    (0.75, 1.0)
    """

    relevant_count: int  # number of rows per class
    irrelevant_count: int
    yes_counts: Sequence[tuple[int, int]]  # per attribute: number of yes in relevant and in irrelevant rows
    smoothing: bool = True

    @classmethod
    def fit(
        cls, rows: Sequence[Sequence[bool]], labels: Sequence[bool], *, smoothing: bool = True
    ) -> BernoulliNaiveBayes:
        """Create a model from the attributes of rows with one label each (True: relevant).

        Raise `ValueError` if there are no rows or the numbers differ.
        """
        if not rows or len(rows) != len(labels):
            raise ValueError(f"{len(rows)} rows and {len(labels)} labels: expected equal numbers, and at least one")
        counts = [[0, 0] for _ in rows[0]]
        for row, label in zip(rows, labels, strict=True):
            for count, value in zip(counts, row, strict=True):
                count[0 if label else 1] += bool(value)
        relevant = sum(map(bool, labels))
        return cls(relevant, len(rows) - relevant, [(a, b) for a, b in counts], smoothing)

    def compute_weights(self, row: Sequence[bool]) -> tuple[float, float]:
        """Return P(X | C) · P(C) for relevant and for irrelevant."""
        extra = 1 if self.smoothing else 0
        total = self.relevant_count + self.irrelevant_count + 2 * extra

        def weight(size: int, side: int) -> float:
            """Return the weight of one class. `side` selects its counts."""
            if not size + extra:
                return 0.0
            counts_found = (
                (counts[side] if value else size - counts[side]) + extra
                for value, counts in zip(row, self.yes_counts, strict=True)
            )
            return prod(n / (size + 2 * extra) for n in counts_found) * (size + extra) / total

        return weight(self.relevant_count, 0), weight(self.irrelevant_count, 1)

    def predict(self, row: Sequence[bool]) -> float:
        """Return the posterior probability of relevant. It is above one half if inequality 3 holds.

        A row that has the weight 0 in both classes gets one half.
        """
        relevant, irrelevant = self.compute_weights(row)
        return relevant / (relevant + irrelevant) if relevant or irrelevant else 0.5
