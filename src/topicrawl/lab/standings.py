"""From the rows of a comparison to figures: how good each strategy is on all tasks, how sure that is, and its price."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import fsum, isnan
from statistics import median
from typing import Any

from topicrawl.lab.bootstrap import Bootstrap, Interval
from topicrawl.lab.compare import BASELINE
from topicrawl.lab.measures import auc_of
from topicrawl.lab.results import Row
from topicrawl.lab.run import ORACLE

_CURVE = 40  # points of a mean curve
_BAND = 400  # drawings for the band around a curve: it is looked at, not read off


def recall_at(row: Row, fetches: int) -> float:
    """The share of the targets that the first fetches of a run found.

    >>> recall_at({"found": [2, 5, 90], "targets": 4}, 5)
    0.5
    """
    return bisect_right(row["found"], fetches) / int(row["targets"])


def auc(row: Row) -> float:
    """The mean recall over the fetches of a run."""
    counts = [0] * (int(row["budget"]) + 1)
    for step in row["found"]:
        if step < len(counts):
            counts[step] += 1
    for step in range(1, len(counts)):
        counts[step] += counts[step - 1]
    return auc_of(counts[1:], int(row["targets"]), int(row["budget"]))


def fetches_to(row: Row, share: float) -> int | None:
    """Fetches until a share of the targets was found; None: never.

    >>> fetches_to({"found": [2, 5, 90], "targets": 4}, 0.5), fetches_to({"found": [2], "targets": 4}, 0.8)
    (5, None)
    """
    wanted = max(1, -int(-share * row["targets"] // 1))
    return int(row["found"][wanted - 1]) if len(row["found"]) >= wanted else None


@dataclass(frozen=True)
class Standing:
    """One strategy over all tasks that it ran."""

    strategy: str
    tasks: int
    recall: tuple[Interval, ...]  # at the points of the standings
    auc: Interval
    nauc: Interval
    cpu: float  # milliseconds a page, without training; the median task
    training: float  # seconds, the median task
    memory: float  # MB at most, the median task
    curve: tuple[Interval, ...]  # mean recall with its band, at `Standings.places`


class Standings:
    """All strategies, the best first. The oracle is among the rows and not among the strategies."""

    def __init__(self, rows: Sequence[Row], fetches: int) -> None:
        self.fetches = fetches
        self._all = rows
        self.points = tuple(dict.fromkeys(max(1, fetches * part // 4) for part in (1, 2, 4)))
        self.places = tuple(dict.fromkeys(max(1, fetches * part // _CURVE) for part in range(1, _CURVE + 1)))
        self.tasks = list(dict.fromkeys(row["task"] for row in rows))
        self._rows: dict[str, dict[str, Row]] = {}  # strategy → task → row
        for row in rows:
            self._rows.setdefault(row["strategy"], {})[row["task"]] = row
        self._aucs = {name: {task: auc(row) for task, row in of.items()} for name, of in self._rows.items()}
        self._drawn: dict[tuple[tuple[str, ...], int], Bootstrap] = {}

    @property
    def names(self) -> list[str]:
        """The strategies that ran on a task that breadth-first and the oracle ran on too, in the order of the rows."""
        return [name for name in self._rows if name != ORACLE and self._common(name)]

    def row(self, strategy: str, task: str) -> Row | None:
        return self._rows.get(strategy, {}).get(task)

    def rows(self, strategy: str) -> list[Row]:
        """The runs of a strategy."""
        return list(self._rows.get(strategy, {}).values())

    def auc(self, strategy: str, task: str) -> float | None:
        return self._aucs.get(strategy, {}).get(task)

    @cached_property
    def webs(self) -> dict[str, Standings]:
        """Web → the standings on its tasks alone."""
        names = dict.fromkeys(row["web"] for row in self._all)
        return {name: Standings([row for row in self._all if row["web"] == name], self.fetches) for name in names}

    @cached_property
    def ranked(self) -> list[Standing]:
        """The best first, by nAUC, then AUC, then name."""
        found = [self._standing(name) for name in self.names]
        return sorted(found, key=lambda it: (isnan(it.nauc.value), -it.nauc.value, -it.auc.value, it.strategy))

    @cached_property
    def oracle(self) -> Standing | None:
        return self._standing(ORACLE) if self._common(ORACLE) else None

    @cached_property
    def duels(self) -> dict[tuple[str, str], Interval]:
        """How much more AUC the first of two strategies has, on the tasks that both ran."""
        found: dict[tuple[str, str], Interval] = {}
        for number, one in enumerate(self.names):
            for two in self.names[number + 1 :]:
                if tasks := self._common(one, two):
                    lead = self._bootstrap(tasks).difference(self._of(one, tasks), self._of(two, tasks))
                    found[one, two] = lead
                    found[two, one] = Interval(-lead.value, -lead.high, -lead.low)
        return found

    def curve(self, strategy: str, tasks: Sequence[str]) -> list[float]:
        """The mean recall of a strategy on some tasks, at `places`."""
        rows = [row for task in tasks if (row := self.row(strategy, task)) is not None]
        return [fsum(recall_at(row, place) for row in rows) / len(rows) for place in self.places] if rows else []

    def topics(self) -> dict[str, list[str]]:
        """Topic → its tasks, with the web's name before it where there are several."""
        rows = [next(of[task] for of in self._rows.values() if task in of) for task in self.tasks]
        several = len({row["web"] for row in rows}) > 1
        found: dict[str, list[str]] = {}
        for task, row in zip(self.tasks, rows, strict=True):
            found.setdefault(f"{row['web']}: {row['topic']}" if several else row["topic"], []).append(task)
        return found

    def _standing(self, name: str) -> Standing:
        tasks = self._common(name)
        rows = [self._rows[name][task] for task in tasks]
        drawn = self._bootstrap(tasks)
        aucs = self._of(name, tasks)
        at = {place: [recall_at(row, place) for row in rows] for place in (*self.points, *self.places)}
        rough = self._bootstrap(tasks, _BAND)
        return Standing(
            strategy=name,
            tasks=len(tasks),
            recall=tuple(drawn.mean(at[place]) for place in self.points),
            auc=drawn.mean(aucs),
            nauc=drawn.nauc(aucs, self._of(BASELINE, tasks), self._of(ORACLE, tasks)),
            cpu=median(1000 * row["cpu"] / max(1, row["fetches"]) for row in rows),
            training=median(row["training"] for row in rows),
            memory=median(row.get("memory", 0.0) for row in rows),
            curve=tuple(rough.mean(at[place]) for place in self.places),
        )

    def _common(self, *names: str) -> tuple[str, ...]:
        """The tasks that these, breadth-first and the oracle all ran."""
        wanted = [self._rows.get(name, {}) for name in (*names, BASELINE, ORACLE)]
        return tuple(task for task in self.tasks if all(task in of for of in wanted))

    def _of(self, name: str, tasks: Iterable[str]) -> list[float]:
        return [self._aucs[name][task] for task in tasks]

    def _bootstrap(self, tasks: tuple[str, ...], samples: int = 2000) -> Bootstrap:
        """The drawings for these tasks; tasks of one topic are no independent witnesses, so they go together."""
        if (tasks, samples) not in self._drawn:
            of = self._rows[BASELINE]
            groups = [f"{of[task]['web']}: {of[task]['topic']}" for task in tasks]
            drawn = Bootstrap(len(tasks), groups=groups, samples=samples)
            self._drawn[tasks, samples] = drawn
        return self._drawn[tasks, samples]


def figures(standings: Standings) -> list[dict[str, Any]]:
    """The standings as plain values, for files; the oracle stands first."""
    every = [standings.oracle] if standings.oracle is not None else []
    return [_plain(standing, standings.points) for standing in (*every, *standings.ranked)]


def _plain(standing: Standing, points: Sequence[int]) -> dict[str, Any]:
    found: dict[str, Any] = {"strategy": standing.strategy, "tasks": standing.tasks}
    named = {f"recall_{point}": value for point, value in zip(points, standing.recall, strict=True)}
    for name, value in {**named, "auc": standing.auc, "nauc": standing.nauc}.items():
        found |= {name: _rounded(value.value), f"{name}_low": _rounded(value.low), f"{name}_high": _rounded(value.high)}
    cost: Mapping[str, float] = {"cpu_ms": standing.cpu, "training_s": standing.training, "memory_mb": standing.memory}
    return found | {name: round(value, 3) for name, value in cost.items()}


def _rounded(value: float) -> float | None:
    return None if isnan(value) else round(value, 4)
