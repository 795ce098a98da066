"""Measures of the papers for the runs of a comparison: harvest ratio, average similarity and precision rate.

The runs have the similarity of each fetched page to the pages judged relevant if the comparison has such pages
(`ComparisonConfig.judged`). Batsakis 2007, section 4.2, and Safran et al. 2012, equation 6, define the measures.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from topicrawl.lab.bootstrap import Bootstrap, ConfidenceInterval
from topicrawl.lab.results import ResultRow

HARVEST_THRESHOLD = 0.75  # a page with a larger cosine with a judged page is relevant (Batsakis 2007, section 4.2)

#: A measure of a run after a number of fetches.
RunMeasure = Callable[[ResultRow, int], float]


def count_similar_pages(row: ResultRow, fetches: int) -> int:
    """Return the number of pages similar to a judged page, as in the figures 12, 14 and 16 of Batsakis 2007.

    >>> row = {"similarities": [1.0, 0.76, None, 0.75], "judged_steps": [1], "found": [2], "fetches": 4}
    >>> count_similar_pages(row, 4), count_similar_pages(row, 1)
    (2, 1)
    """
    values: list[float | None] = row["similarities"][:fetches]
    return sum(value is not None and value > HARVEST_THRESHOLD for value in values)


def count_similar_unjudged_pages(row: ResultRow, fetches: int) -> int:
    """Return the number of pages similar to a judged page that are not judged pages themselves.

    >>> row = {"similarities": [1.0, 0.76, None, 0.75], "judged_steps": [1], "found": [2], "fetches": 4}
    >>> count_similar_unjudged_pages(row, 4)
    1
    """
    return count_similar_pages(row, fetches) - bisect_right(row["judged_steps"], fetches)


def measure_harvest_ratio(row: ResultRow, fetches: int) -> float:
    """Return the share of the fetches that found a page similar to a judged page."""
    return count_similar_pages(row, fetches) / _count_fetches(row, fetches)


def measure_average_similarity(row: ResultRow, fetches: int) -> float:
    """Return the mean similarity of the fetched pages to the judged pages. Failed fetches have no similarity.

    >>> row = {"similarities": [1.0, 0.5, None, 0.3], "judged_steps": [1], "found": [2], "fetches": 4}
    >>> round(measure_average_similarity(row, 4), 6)
    0.6
    """
    values: list[float] = [value for value in row["similarities"][:fetches] if value is not None]
    return sum(values) / max(1, len(values))


def count_relevant_pages(row: ResultRow, fetches: int) -> int:
    """Return the number of fetched pages with the label of the topic, including judged pages.

    >>> row = {"similarities": [1.0, 0.5, None, 0.3], "judged_steps": [1], "found": [2], "fetches": 4}
    >>> count_relevant_pages(row, 4), count_relevant_pages(row, 1)
    (2, 1)
    """
    return len({*_steps_until(row["found"], fetches), *_steps_until(row.get("judged_steps", ()), fetches)})


def measure_precision_rate(row: ResultRow, fetches: int) -> float:
    """Return the share of the fetched pages with the label of the topic (Safran et al. 2012, equation 6)."""
    return count_relevant_pages(row, fetches) / _count_fetches(row, fetches)


def measure_unjudged_precision_rate(row: ResultRow, fetches: int) -> float:
    """Return the precision rate without judged pages, neither among the relevant nor among the fetched pages.

    >>> row = {"similarities": [1.0, 0.5, None, 0.3], "judged_steps": [1], "found": [2], "fetches": 4}
    >>> round(measure_unjudged_precision_rate(row, 4), 6)
    0.333333
    """
    judged = set(_steps_until(row.get("judged_steps", ()), fetches))
    found = set(_steps_until(row["found"], fetches)) - judged
    return len(found) / max(1, _count_fetches(row, fetches) - len(judged))


def _count_fetches(row: ResultRow, fetches: int) -> int:
    return max(1, min(fetches, int(row["fetches"])))


def _steps_until(steps: Sequence[int], fetches: int) -> Sequence[int]:
    return steps[: bisect_right(steps, fetches)]


#: Measures in the tables of `topicrawl lab compare` and `topicrawl lab repeat`.
PAPER_MEASURES: Mapping[str, RunMeasure] = {
    "similar": count_similar_pages,
    "unjudged": count_similar_unjudged_pages,
    "harvest ratio": measure_harvest_ratio,
    "average similarity": measure_average_similarity,
    "precision rate": measure_precision_rate,
}


@dataclass(frozen=True)
class RunTable:
    """Runs of several strategies on the same tasks. Figures are means over the tasks, with paired intervals."""

    rows: Mapping[str, Mapping[str, ResultRow]]  # strategy → task → run
    tasks: Sequence[str]  # tasks that all strategies have run
    bootstrap: Bootstrap

    @classmethod
    def of(cls, rows: Iterable[ResultRow], strategies: Sequence[str], *, min_groups: int = 5) -> RunTable:
        """Select the runs of these strategies on the tasks that all of them have run.

        Raise `ValueError` if there is no such task.
        """
        by_strategy: dict[str, dict[str, ResultRow]] = {name: {} for name in strategies}
        for row in rows:
            if row["strategy"] in by_strategy:
                by_strategy[row["strategy"]][row["task"]] = row
        first = by_strategy[strategies[0]]
        tasks = [task for task in first if all(task in runs for runs in by_strategy.values())]
        if not tasks:
            raise ValueError(f"no task was run by all of {', '.join(strategies)}")
        groups = [str(first[task]["group"]) for task in tasks]
        return cls(by_strategy, tasks, Bootstrap(len(tasks), groups=groups, min_groups=min_groups))

    def list_values(self, strategy: str, measure: RunMeasure, fetches: int) -> list[float]:
        """Return a measure of each run of a strategy, in the order of `tasks`."""
        return [measure(self.rows[strategy][task], fetches) for task in self.tasks]

    def compute_mean(self, strategy: str, measure: RunMeasure, fetches: int) -> ConfidenceInterval:
        """Return the mean of a measure over the tasks."""
        return self.bootstrap.mean_interval(self.list_values(strategy, measure, fetches))

    def compute_difference(self, first: str, second: str, measure: RunMeasure, fetches: int) -> ConfidenceInterval:
        """Return the mean difference of a measure between two strategies on the same tasks."""
        values = (self.list_values(name, measure, fetches) for name in (first, second))
        return self.bootstrap.difference_interval(*values)

    def compute_curve(self, strategy: str, measure: RunMeasure, points: Sequence[int]) -> list[float]:
        """Return the mean of a measure after each number of fetches."""
        return [sum(self.list_values(strategy, measure, point)) / len(self.tasks) for point in points]


def list_points(fetches: int, count: int = 40) -> list[int]:
    """Return `count` numbers of fetches at equal distances, up to `fetches`.

    >>> list_points(1000, 4)
    [250, 500, 750, 1000]
    """
    return list(dict.fromkeys(max(1, fetches * part // count) for part in range(1, count + 1)))
