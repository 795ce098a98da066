"""Accuracy of recall forecasts: compare the estimate of remaining relevant pages with what a run found later.

After 30, 50 and 70 % of the fetches of a run, `engine.recall_estimate` forecasts how many relevant pages the next
fetches will find. The horizon is the number of fetches made so far or the number of fetches left, whichever is smaller.
The stop criterion of `--stop-when-found` is also evaluated after every fetch. The number of pages found when it would
have stopped the run is compared with the number that the whole run found.

There are two kinds of discoveries: pages that the crawl judged relevant, which is all that a live crawl knows, and
targets by their labels, which is the truth.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, NamedTuple

from topicrawl.engine.recall_estimate import RecallEstimator, RecallMonitor
from topicrawl.lab.results import ResultRow

FORECAST_SHARES = (0.3, 0.5, 0.7)  # shares of a run's fetches
STOP_RECALL = 0.95
DISCOVERY_KINDS = ("judged", "labels")


class RecallForecast(NamedTuple):
    """One forecast and the number of pages that the run found within its horizon."""

    fetches: int  # fetches made
    horizon: int  # horizon in fetches
    found: int
    remaining: float
    low: float
    high: float
    found_ahead: int
    confident: bool  # whether the estimate was given without a reservation

    @property
    def within_interval(self) -> bool:
        """Whether the true number lies in the interval, with a tolerance of half a page."""
        return self.low - 0.5 <= self.found_ahead <= self.high + 0.5

    @property
    def predicted_recall(self) -> float:
        """Predicted recall at the end of the horizon."""
        return self.found / (self.found + self.remaining) if self.found else 0.0

    @property
    def true_recall(self) -> float:
        """True recall at the end of the horizon."""
        return self.found / (self.found + self.found_ahead) if self.found else 0.0


def forecast_run(steps: Sequence[int], fetches: int) -> dict[str, Any]:
    """Return the forecasts and the stop criterion of a run as plain values for a result row.

    `steps` are the fetches at which the run found a relevant page, `fetches` is the length of the run.

    >>> known = forecast_run([*range(1, 60, 2), *range(60, 160, 5)], 1000)
    >>> known["stop"], known["had"], known["found"], [answer[-2:] for answer in known["answers"]]
    (500, 50, 50, [(0, True), (0, True), (0, True)])
    """
    estimator, forecast_steps, forecasts = (
        RecallEstimator(),
        {max(1, int(share * fetches)) for share in FORECAST_SHARES},
        [],
    )
    monitor, stop = RecallMonitor(threshold=1.0, target_recall=STOP_RECALL), None
    discovered = set(steps)
    for step in range(1, fetches + 1):
        estimator.add(step in discovered)
        if stop is None:
            monitor.add_visit(float(step in discovered))
            stop = step if monitor.is_target_reached() else None
        if step in forecast_steps:
            horizon = min(step, fetches - step)
            outlook = estimator.estimate_recall(horizon)
            found_ahead = bisect_right(steps, step + horizon) - outlook.found
            remaining, low, high = (round(value, 3) for value in (outlook.remaining, outlook.low, outlook.high))
            forecasts.append(
                RecallForecast(step, horizon, outlook.found, remaining, low, high, found_ahead, not outlook.caveat)
            )
    return {
        "answers": [tuple(forecast) for forecast in forecasts],
        "found": len(steps),
        "stop": stop,
        "had": bisect_right(steps, stop) if stop is not None else None,
    }


@dataclass(frozen=True)
class ForecastAccuracy:
    """Accuracy of the forecasts over many runs."""

    runs: int
    forecasts: Sequence[RecallForecast]  # forecasts without a reservation
    forecast_count: int  # number of all forecasts
    stops: Sequence[tuple[float, float]]  # (share of the fetches made, share of the relevant pages found)

    @property
    def coverage(self) -> float:
        """Coverage of the 90 % interval: the share of forecasts whose interval contains the true number."""
        return sum(answer.within_interval for answer in self.forecasts) / len(self.forecasts) if self.forecasts else 0.0

    @property
    def errors(self) -> list[float]:
        """Absolute errors of the predicted recall, in ascending order."""
        return sorted(abs(answer.predicted_recall - answer.true_recall) for answer in self.forecasts)

    def to_dict(self) -> dict[str, Any]:
        """Return the accuracy as plain values. A value is None if there is no data for it."""
        errors, stops = self.errors, self.stops
        return {
            "runs": self.runs,
            "asked": self.forecast_count,
            "answered": len(self.forecasts),
            "held": _round_or_none(self.coverage if errors else None),
            "off_median": _round_or_none(median(errors) if errors else None),
            "off_nine_of_ten": _round_or_none(errors[int(0.9 * (len(errors) - 1))] if errors else None),
            "stopped": len(stops),
            "stopped_at": _round_or_none(median(at for at, _ in stops) if stops else None),
            "had_median": _round_or_none(median(had for _, had in stops) if stops else None),
            "had_worst": _round_or_none(min(had for _, had in stops) if stops else None),
        }


def measure_accuracy(rows: Iterable[ResultRow], kind: str) -> ForecastAccuracy:
    """Return the accuracy of the forecasts in result rows. Rows without forecasts, such as the oracle's, are ignored.

    `kind` is one of `DISCOVERY_KINDS`.
    """
    forecast_rows: list[tuple[ResultRow, Mapping[str, Any]]] = [
        (row, row["foresight"][kind]) for row in rows if "foresight" in row
    ]
    forecasts = [RecallForecast(*values) for _, values_of_run in forecast_rows for values in values_of_run["answers"]]
    stops = [
        (values_of_run["stop"] / row["fetches"], values_of_run["had"] / values_of_run["found"])
        for row, values_of_run in forecast_rows
        if values_of_run["stop"] is not None and values_of_run["found"]
    ]
    return ForecastAccuracy(
        len(forecast_rows), [forecast for forecast in forecasts if forecast.confident], len(forecasts), stops
    )


def _round_or_none(value: float | None) -> float | None:
    return None if value is None else round(value, 3)
