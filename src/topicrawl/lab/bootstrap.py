"""How far figures over tasks could be off: a paired bootstrap.

Tasks are drawn anew with replacement, many times, and a figure is computed for each drawing; the middle 95 % of what
comes out is its interval. All crawlers are computed on the same drawings, so that what is hard for all of them
cancels out of a difference. The drawings depend on a seed only: same figures, same intervals, on every machine.

Tasks of one topic with different seeds are no independent witnesses. Named by `groups`, such tasks are drawn together,
and the intervals become as wide as the number of topics deserves. With fewer than about ten groups every percentile
interval is too narrow; read it as a lower limit of the doubt.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import floor, fsum, isnan
from random import Random
from typing import NamedTuple

from topicrawl.lab.measures import nauc, nauc_of_means


class Interval(NamedTuple):
    """A figure over all tasks, and where it lies with 95 % confidence."""

    value: float
    low: float
    high: float

    @property
    def excludes_zero(self) -> bool:
        return self.low > 0 or self.high < 0


class Bootstrap:
    """Drawings of tasks, made once and used for every figure.

        interval = the 2.5 % and 97.5 % quantiles of f(drawing 1), f(drawing 2), …

    Four tasks where one crawler is always better by .1 or .2, although the tasks differ far more than that:

    >>> drawn = Bootstrap(4)
    >>> better, worse = [0.9, 0.5, 0.3, 0.7], [0.8, 0.3, 0.2, 0.5]
    >>> [round(value, 2) for value in drawn.mean(better)]
    [0.6, 0.4, 0.8]
    >>> [round(value, 2) for value in drawn.difference(better, worse)]
    [0.15, 0.1, 0.2]
    >>> drawn.difference(better, worse).excludes_zero
    True
    """

    def __init__(
        self,
        tasks: int,
        *,
        groups: Sequence[str] | None = None,
        samples: int = 2000,
        seed: int = 0,
        level: float = 0.95,
    ) -> None:
        if groups is not None and len(groups) != tasks:
            raise ValueError(f"{len(groups)} group names for {tasks} tasks: each task has one")
        if tasks < 1:
            raise ValueError("no tasks to draw from")
        self.tasks = tasks
        self._tail = (1 - level) / 2
        members: dict[str, list[int]] = {}
        for task in range(tasks):
            members.setdefault(groups[task] if groups is not None else str(task), []).append(task)
        kept = list(members.values())
        random = Random(seed)
        self._draws = [[task for group in random.choices(kept, k=len(kept)) for task in group] for _ in range(samples)]

    def mean(self, values: Sequence[float]) -> Interval:
        """The mean over tasks."""
        return self._interval(fsum(values) / self.tasks, self._means(values))

    def difference(self, a: Sequence[float], b: Sequence[float]) -> Interval:
        """How much greater the mean of `a` is, task by task."""
        return self.mean([left - right for left, right in zip(a, b, strict=True)])

    def nauc(self, aucs: Sequence[float], breadth_first: Sequence[float], oracles: Sequence[float]) -> Interval:
        """nAUC as a ratio of means."""
        drawn = self._ratios(aucs, self._means(breadth_first), self._means(oracles))
        return self._interval(nauc_of_means(aucs, breadth_first, oracles), drawn)

    def nauc_difference(
        self, a: Sequence[float], b: Sequence[float], breadth_first: Sequence[float], oracles: Sequence[float]
    ) -> Interval:
        """How much greater the nAUC of `a` is than that of `b`."""
        plain, best = self._means(breadth_first), self._means(oracles)
        drawn = zip(self._ratios(a, plain, best), self._ratios(b, plain, best), strict=True)
        value = nauc_of_means(a, breadth_first, oracles) - nauc_of_means(b, breadth_first, oracles)
        return self._interval(value, [left - right for left, right in drawn])

    def _means(self, values: Sequence[float]) -> list[float]:
        if len(values) != self.tasks:
            raise ValueError(f"{len(values)} values for {self.tasks} tasks: each task has one")
        return [sum(map(values.__getitem__, draw)) / len(draw) for draw in self._draws]

    def _ratios(self, aucs: Sequence[float], plain: list[float], best: list[float]) -> list[float]:
        return [nauc(*means) for means in zip(self._means(aucs), plain, best, strict=True)]

    def _interval(self, value: float, drawn: Sequence[float]) -> Interval:
        # A drawing of tasks without anything to gain has no nAUC.
        known = sorted(number for number in drawn if not isnan(number))
        if not known:
            return Interval(value, value, value)
        return Interval(value, quantile(known, self._tail), quantile(known, 1 - self._tail))


def quantile(ordered: Sequence[float], share: float) -> float:
    """The value below which a share of ordered values lies; between two of them the part between.

    >>> quantile([1.0, 2.0, 3.0, 4.0, 5.0], 0.5), quantile([0.0, 10.0], 0.25)
    (3.0, 2.5)
    """
    place = share * (len(ordered) - 1)
    below = floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)
