"""Paired bootstrap: confidence intervals of figures over tasks.

The bootstrap resamples the tasks with replacement many times and computes a figure for each sample. The middle 95 % of
these values is the confidence interval. All strategies use the same samples, so that the difficulty of a task cancels
out of a difference. The samples depend only on a random seed: the same figures give the same intervals on every
machine.

Tasks of one topic with different seeds are not independent. Tasks with the same name in `groups` are resampled
together, so that the width of the intervals follows the number of topics. With fewer than about ten groups, percentile
intervals are too narrow; the true uncertainty is then larger.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import floor, fsum, isnan, nan
from random import Random
from typing import NamedTuple

from topicrawl.lab.measures import nauc, nauc_of_means


class ConfidenceInterval(NamedTuple):
    """A figure over all tasks with the limits of its 95 % confidence interval. Unknown limits are NaN."""

    value: float
    low: float
    high: float

    @property
    def has_limits(self) -> bool:
        """Whether the limits are known."""
        return not (isnan(self.low) or isnan(self.high))

    @property
    def excludes_zero(self) -> bool:
        """Whether the interval lies entirely above or below 0."""
        return self.low > 0 or self.high < 0


class Bootstrap:
    """Bootstrap samples of tasks, drawn once and used for every figure.

        interval = the 2.5 % and 97.5 % quantiles of f(sample 1), f(sample 2), …

    With fewer than `min_groups` groups, the limits of every interval are NaN.

    Example with four tasks: one crawler is always better by 0.1 or 0.2, although the tasks differ far more than that.

    >>> drawn = Bootstrap(4)
    >>> better, worse = [0.9, 0.5, 0.3, 0.7], [0.8, 0.3, 0.2, 0.5]
    >>> [round(value, 2) for value in drawn.mean_interval(better)]
    [0.6, 0.4, 0.8]
    >>> [round(value, 2) for value in drawn.difference_interval(better, worse)]
    [0.15, 0.1, 0.2]
    >>> drawn.difference_interval(better, worse).excludes_zero
    True
    """

    def __init__(
        self,
        tasks: int,
        *,
        groups: Sequence[str] | None = None,
        min_groups: int = 1,
        samples: int = 2000,
        seed: int = 0,
        level: float = 0.95,
    ) -> None:
        if groups is not None and len(groups) != tasks:
            raise ValueError(f"{len(groups)} group names for {tasks} tasks: there must be one per task")
        if tasks < 1:
            raise ValueError("no tasks to sample: there must be at least one")
        self.tasks = tasks
        self._tail = (1 - level) / 2
        members: dict[str, list[int]] = {}
        for task in range(tasks):
            members.setdefault(groups[task] if groups is not None else str(task), []).append(task)
        member_lists = list(members.values())
        self.groups = len(member_lists)
        self.has_limits = self.groups >= min_groups
        random = Random(seed)
        self._samples = [
            [task for group in random.choices(member_lists, k=len(member_lists)) for task in group]
            for _ in range(samples if self.has_limits else 0)
        ]

    def mean_interval(self, values: Sequence[float]) -> ConfidenceInterval:
        """Return the mean over the tasks with its interval."""
        return self._build_interval(fsum(values) / self.tasks, self._resample_means(values))

    def difference_interval(self, a: Sequence[float], b: Sequence[float]) -> ConfidenceInterval:
        """Return the mean of the paired differences `a` − `b` with its interval."""
        return self.mean_interval([left - right for left, right in zip(a, b, strict=True)])

    def nauc_interval(
        self, aucs: Sequence[float], breadth_first: Sequence[float], oracles: Sequence[float]
    ) -> ConfidenceInterval:
        """Return the nAUC as a ratio of means, with its interval."""
        resampled = self._resample_naucs(aucs, self._resample_means(breadth_first), self._resample_means(oracles))
        return self._build_interval(nauc_of_means(aucs, breadth_first, oracles), resampled)

    def nauc_difference_interval(
        self, a: Sequence[float], b: Sequence[float], breadth_first: Sequence[float], oracles: Sequence[float]
    ) -> ConfidenceInterval:
        """Return the nAUC of `a` minus the nAUC of `b`, with its interval."""
        baseline, optimum = self._resample_means(breadth_first), self._resample_means(oracles)
        pairs = zip(self._resample_naucs(a, baseline, optimum), self._resample_naucs(b, baseline, optimum), strict=True)
        value = nauc_of_means(a, breadth_first, oracles) - nauc_of_means(b, breadth_first, oracles)
        return self._build_interval(value, [left - right for left, right in pairs])

    def _resample_means(self, values: Sequence[float]) -> list[float]:
        if len(values) != self.tasks:
            raise ValueError(f"{len(values)} values for {self.tasks} tasks: there must be one per task")
        return [sum(map(values.__getitem__, draw)) / len(draw) for draw in self._samples]

    def _resample_naucs(self, aucs: Sequence[float], baseline: list[float], optimum: list[float]) -> list[float]:
        return [nauc(*means) for means in zip(self._resample_means(aucs), baseline, optimum, strict=True)]

    def _build_interval(self, value: float, resampled: Sequence[float]) -> ConfidenceInterval:
        # The nAUC is NaN for a sample in which breadth-first and the oracle have the same AUC.
        if not self.has_limits:
            return ConfidenceInterval(value, nan, nan)
        finite = sorted(number for number in resampled if not isnan(number))
        if not finite:
            return ConfidenceInterval(value, value, value)
        return ConfidenceInterval(value, quantile(finite, self._tail), quantile(finite, 1 - self._tail))


def quantile(ordered: Sequence[float], share: float) -> float:
    """Return the quantile of sorted values, with linear interpolation.

    >>> quantile([1.0, 2.0, 3.0, 4.0, 5.0], 0.5), quantile([0.0, 10.0], 0.25)
    (3.0, 2.5)
    """
    position = share * (len(ordered) - 1)
    below = floor(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (position - below)
