"""Leaderboard of a comparison: recall, AUC and nAUC of each strategy with confidence intervals, and its costs."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import fsum, isnan
from statistics import median
from typing import Any

from topicrawl.lab.bootstrap import Bootstrap, ConfidenceInterval
from topicrawl.lab.compare import BASELINE
from topicrawl.lab.measures import auc_from_hits
from topicrawl.lab.results import ResultRow
from topicrawl.lab.run import ORACLE

_CURVE_POINTS = 40  # points of a mean curve
#: With fewer independent groups of tasks, a bootstrap interval is meaningless, and the leaderboard has none.
MIN_INTERVAL_GROUPS = 5
_BAND_SAMPLES = 400  # bootstrap samples for the band around a curve; fewer suffice because the band is only drawn


def row_recall_at(row: ResultRow, fetches: int) -> float:
    """Return the recall of a run after `fetches` fetches.

    >>> row_recall_at({"found": [2, 5, 90], "targets": 4}, 5)
    0.5
    """
    return bisect_right(row["found"], fetches) / int(row["targets"])


def row_auc(row: ResultRow) -> float:
    """Return the mean recall over the fetches of a run."""
    counts = [0] * (int(row["budget"]) + 1)
    for step in row["found"]:
        if step < len(counts):
            counts[step] += 1
    for step in range(1, len(counts)):
        counts[step] += counts[step - 1]
    return auc_from_hits(counts[1:], int(row["targets"]), int(row["budget"]))


def row_fetches_to_recall(row: ResultRow, share: float) -> int | None:
    """Return the number of fetches until the recall reaches `share`, or None if it never does.

    >>> (
    ...     row_fetches_to_recall({"found": [2, 5, 90], "targets": 4}, 0.5),
    ...     row_fetches_to_recall({"found": [2], "targets": 4}, 0.8),
    ... )
    (5, None)
    """
    required = max(1, -int(-share * row["targets"] // 1))
    return int(row["found"][required - 1]) if len(row["found"]) >= required else None


@dataclass(frozen=True)
class StrategyResult:
    """Aggregated result of one strategy over all tasks that it ran."""

    strategy: str
    tasks: int
    recall: tuple[ConfidenceInterval, ...]  # at `Leaderboard.recall_points`
    auc: ConfidenceInterval
    nauc: ConfidenceInterval
    cpu: float  # milliseconds per page without training, median over tasks
    training: float  # seconds, median over tasks
    memory: float  # peak memory in MB, median over tasks
    curve: tuple[ConfidenceInterval, ...]  # mean recall with its confidence band, at `Leaderboard.curve_points`


class Leaderboard:
    """Results of all strategies by nAUC, best first.

    Strategies without a task that breadth-first and the oracle have also run are left out. `rows` contains the runs of
    the strategies and of the oracle. The oracle is not listed among the strategies.
    """

    def __init__(self, rows: Sequence[ResultRow], fetches: int) -> None:
        self.fetches = fetches
        self._all_rows = rows
        self.recall_points = tuple(dict.fromkeys(max(1, fetches * part // 4) for part in (1, 2, 4)))
        self.curve_points = tuple(
            dict.fromkeys(max(1, fetches * part // _CURVE_POINTS) for part in range(1, _CURVE_POINTS + 1))
        )
        self.tasks = list(dict.fromkeys(row["task"] for row in rows))
        self._rows_by_strategy: dict[str, dict[str, ResultRow]] = {}  # strategy → task → row
        for row in rows:
            self._rows_by_strategy.setdefault(row["strategy"], {})[row["task"]] = row
        self._aucs = {
            name: {task: row_auc(row) for task, row in by_task.items()}
            for name, by_task in self._rows_by_strategy.items()
        }
        self._bootstraps: dict[tuple[tuple[str, ...], int], Bootstrap] = {}

    @property
    def names(self) -> list[str]:
        """Strategies with at least one task that breadth-first and the oracle ran too, in row order."""
        return [name for name in self._rows_by_strategy if name != ORACLE and self._find_common_tasks(name)]

    def get_row(self, strategy: str, task: str) -> ResultRow | None:
        """Return the run of a strategy on a task, or None if there is none."""
        return self._rows_by_strategy.get(strategy, {}).get(task)

    def get_rows(self, strategy: str) -> list[ResultRow]:
        """Return all runs of a strategy."""
        return list(self._rows_by_strategy.get(strategy, {}).values())

    def get_auc(self, strategy: str, task: str) -> float | None:
        """Return the AUC of a strategy on a task, or None."""
        return self._aucs.get(strategy, {}).get(task)

    @cached_property
    def by_web(self) -> dict[str, Leaderboard]:
        """Leaderboard of each web, computed from the tasks of that web."""
        names = dict.fromkeys(row["web"] for row in self._all_rows)
        return {
            name: Leaderboard([row for row in self._all_rows if row["web"] == name], self.fetches) for name in names
        }

    @cached_property
    def ranking(self) -> list[StrategyResult]:
        """Results sorted by nAUC, then AUC, then name."""
        results = [self._summarize_strategy(name) for name in self.names]
        return sorted(
            results,
            key=lambda result: (isnan(result.nauc.value), -result.nauc.value, -result.auc.value, result.strategy),
        )

    @cached_property
    def oracle(self) -> StrategyResult | None:
        """Result of the oracle, or None if it has no task in common with breadth-first."""
        return self._summarize_strategy(ORACLE) if self._find_common_tasks(ORACLE) else None

    @cached_property
    def _groups(self) -> list[str]:
        """Groups of the tasks that breadth-first and the oracle ran."""
        tasks = self._find_common_tasks()
        return list(dict.fromkeys(_get_group(self._rows_by_strategy[BASELINE][task]) for task in tasks))

    @property
    def has_intervals(self) -> bool:
        """Whether there are enough independent groups of tasks for confidence intervals."""
        return len(self._groups) >= MIN_INTERVAL_GROUPS

    @property
    def group_noun(self) -> str:
        """Noun for a group of tasks: "task" if every task is independent of the others, else "topic"."""
        return "task" if len(self._groups) == len(self._find_common_tasks()) else "topic"

    @property
    def group_count(self) -> str:
        """Number of groups in words, such as "one task" or "11 topics"."""
        return f"one {self.group_noun}" if len(self._groups) == 1 else f"{len(self._groups)} {self.group_noun}s"

    @property
    def has_single_topic(self) -> bool:
        """Whether all tasks are about one topic. Tasks with several phrases for it are their own groups."""
        return len(self.group_tasks_by_topic()) == 1 or set(self._groups) <= set(self.tasks)

    @property
    def missing_interval_reason(self) -> str:
        """Reason why the figures have no confidence intervals, or an empty string."""
        if self.has_intervals or not self._groups:
            return ""
        return f"{self.group_count}: no interval, which needs at least {MIN_INTERVAL_GROUPS} {self.group_noun}s"

    def compute_lead(self, first: str, second: str) -> ConfidenceInterval:
        """Return the nAUC of one strategy minus that of another, over their common tasks."""
        tasks = self._find_common_tasks(first, second)
        return self._get_bootstrap(tasks).nauc_difference_interval(
            *(self._get_aucs(name, tasks) for name in (first, second, BASELINE, ORACLE))
        )

    @cached_property
    def pairwise_differences(self) -> dict[tuple[str, str], ConfidenceInterval]:
        """Difference in AUC between the first and the second strategy of each pair, over their common tasks."""
        differences: dict[tuple[str, str], ConfidenceInterval] = {}
        for number, first in enumerate(self.names):
            for second in self.names[number + 1 :]:
                if tasks := self._find_common_tasks(first, second):
                    difference = self._get_bootstrap(tasks).difference_interval(
                        self._get_aucs(first, tasks), self._get_aucs(second, tasks)
                    )
                    differences[first, second] = difference
                    differences[second, first] = ConfidenceInterval(
                        -difference.value, -difference.high, -difference.low
                    )
        return differences

    def mean_curve(self, strategy: str, tasks: Sequence[str]) -> list[float]:
        """Return the mean recall of a strategy over `tasks`, at `curve_points`; empty if it ran none of them."""
        rows = [row for task in tasks if (row := self.get_row(strategy, task)) is not None]
        return (
            [fsum(row_recall_at(row, place) for row in rows) / len(rows) for place in self.curve_points] if rows else []
        )

    def group_tasks_by_topic(self) -> dict[str, list[str]]:
        """Return the tasks of each topic. Topic names are prefixed with the web if there are several webs."""
        rows = [
            next(by_task[task] for by_task in self._rows_by_strategy.values() if task in by_task) for task in self.tasks
        ]
        several_webs = len({row["web"] for row in rows}) > 1
        tasks_by_topic: dict[str, list[str]] = {}
        for task, row in zip(self.tasks, rows, strict=True):
            tasks_by_topic.setdefault(f"{row['web']}: {row['topic']}" if several_webs else row["topic"], []).append(
                task
            )
        return tasks_by_topic

    def _summarize_strategy(self, name: str) -> StrategyResult:
        """Compute the row of a strategy over the tasks that it, breadth-first and the oracle ran."""
        tasks = self._find_common_tasks(name)
        rows = [self._rows_by_strategy[name][task] for task in tasks]
        bootstrap = self._get_bootstrap(tasks)
        aucs = self._get_aucs(name, tasks)
        recalls = {
            place: [row_recall_at(row, place) for row in rows] for place in (*self.recall_points, *self.curve_points)
        }
        band_bootstrap = self._get_bootstrap(tasks, _BAND_SAMPLES)
        return StrategyResult(
            strategy=name,
            tasks=len(tasks),
            recall=tuple(bootstrap.mean_interval(recalls[place]) for place in self.recall_points),
            auc=bootstrap.mean_interval(aucs),
            nauc=bootstrap.nauc_interval(aucs, self._get_aucs(BASELINE, tasks), self._get_aucs(ORACLE, tasks)),
            cpu=median(1000 * row["cpu"] / max(1, row["fetches"]) for row in rows),
            training=median(row["training"] for row in rows),
            memory=median(row.get("memory", 0.0) for row in rows),
            curve=tuple(band_bootstrap.mean_interval(recalls[place]) for place in self.curve_points),
        )

    def _find_common_tasks(self, *names: str) -> tuple[str, ...]:
        """Return the tasks that all of `names`, breadth-first and the oracle ran."""
        runs = [self._rows_by_strategy.get(name, {}) for name in (*names, BASELINE, ORACLE)]
        return tuple(task for task in self.tasks if all(task in by_task for by_task in runs))

    def _get_aucs(self, name: str, tasks: Iterable[str]) -> list[float]:
        return [self._aucs[name][task] for task in tasks]

    def _get_bootstrap(self, tasks: tuple[str, ...], samples: int = 2000) -> Bootstrap:
        """Return the bootstrap over these tasks.

        Tasks of the same topic are not independent, so that the bootstrap draws them as a group.
        """
        if (tasks, samples) not in self._bootstraps:
            groups = [_get_group(self._rows_by_strategy[BASELINE][task]) for task in tasks]
            bootstrap = Bootstrap(len(tasks), groups=groups, min_groups=MIN_INTERVAL_GROUPS, samples=samples)
            self._bootstraps[tasks, samples] = bootstrap
        return self._bootstraps[tasks, samples]


def _get_group(row: ResultRow) -> str:
    """Return the name of the group of tasks that the bootstrap draws together with this one."""
    return str(row.get("group") or f"{row['web']}: {row['topic']}")


def leaderboard_to_rows(leaderboard: Leaderboard) -> list[dict[str, Any]]:
    """Return the leaderboard as plain values for JSON and CSV files. The oracle comes first."""
    results = [leaderboard.oracle] if leaderboard.oracle is not None else []
    return [_result_to_row(standing, leaderboard.recall_points) for standing in (*results, *leaderboard.ranking)]


def _result_to_row(result: StrategyResult, points: Sequence[int]) -> dict[str, Any]:
    """Return the result of a strategy as columns of `standings.csv`. A value that is not defined is None."""
    row: dict[str, Any] = {"strategy": result.strategy, "tasks": result.tasks}
    recalls = {f"recall_{point}": value for point, value in zip(points, result.recall, strict=True)}
    for name, value in {**recalls, "auc": result.auc, "nauc": result.nauc}.items():
        row |= {
            name: round_or_none(value.value),
            f"{name}_low": round_or_none(value.low),
            f"{name}_high": round_or_none(value.high),
        }
    cost: Mapping[str, float] = {"cpu_ms": result.cpu, "training_s": result.training, "memory_mb": result.memory}
    return row | {name: round(value, 3) for name, value in cost.items()}


def round_or_none(value: float) -> float | None:
    """Round a figure to four digits. NaN becomes None, which JSON and CSV can express."""
    return None if isnan(value) else round(value, 4)
