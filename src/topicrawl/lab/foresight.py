"""Could a crawl have known how much it had found? What `remaining` foretold along a run, against what came.

A run is asked after 30, 50 and 70 % of its fetches what the next ones would find, as many as it has made (or as are
left). It is also asked all along, as a live crawl with `--stop-when-found` is, when it would have stopped; what it had
found by then is compared with all that it found.

Discoveries are told in two ways: pages that the crawl itself judged relevant, which is all that a live crawl knows, and
targets by their labels, which is what one wants to know.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, NamedTuple

from topicrawl.discoveries import Discoveries
from topicrawl.lab.results import Row
from topicrawl.remaining import Remaining

ASKED = (0.3, 0.5, 0.7)  # of a run's fetches
ENOUGH = 0.95
KINDS = ("judged", "labels")


class Answer(NamedTuple):
    """What was foretold, and what came."""

    at: int  # fetches made
    ahead: int  # fetches looked ahead
    found: int
    remaining: float
    low: float
    high: float
    came: int
    sure: bool  # whether no doubt was said

    @property
    def held(self) -> bool:
        """Whether the truth lies in the interval; half a page more or less is no mistake."""
        return self.low - 0.5 <= self.came <= self.high + 0.5

    @property
    def recall(self) -> float:
        return self.found / (self.found + self.remaining) if self.found else 0.0

    @property
    def truth(self) -> float:
        return self.found / (self.found + self.came) if self.found else 0.0


def foretold(steps: Sequence[int], fetches: int) -> dict[str, Any]:
    """What could have been known along a run that found something at these steps, as plain values for a row.

    >>> known = foretold([*range(1, 60, 2), *range(60, 160, 5)], 1000)
    >>> known["stop"], known["had"], known["found"], [answer[-2:] for answer in known["answers"]]
    (500, 50, 50, [(0, True), (0, True), (0, True)])
    """
    left, asked, answers = Remaining(), {max(1, int(share * fetches)) for share in ASKED}, []
    watch, stop = Discoveries(threshold=1.0, enough=ENOUGH), None
    discovered = set(steps)
    for step in range(1, fetches + 1):
        left.add(step in discovered)
        if stop is None:
            watch.seen(float(step in discovered))
            stop = step if watch.over() else None
        if step in asked:
            ahead = min(step, fetches - step)
            out = left.outlook(ahead)
            came = bisect_right(steps, step + ahead) - out.found
            remaining, low, high = (round(value, 3) for value in (out.remaining, out.low, out.high))
            answers.append(Answer(step, ahead, out.found, remaining, low, high, came, not out.doubt))
    return {
        "answers": [tuple(answer) for answer in answers],
        "found": len(steps),
        "stop": stop,
        "had": bisect_right(steps, stop) if stop is not None else None,
    }


@dataclass(frozen=True)
class Foresight:
    """How well something was foretold over many runs."""

    runs: int
    answers: Sequence[Answer]  # those without doubt
    asked: int
    stops: Sequence[tuple[float, float]]  # share of the fetches made, share of the discoveries had

    @property
    def held(self) -> float:
        """How often the 90 % interval held the truth."""
        return sum(answer.held for answer in self.answers) / len(self.answers) if self.answers else 0.0

    @property
    def errors(self) -> list[float]:
        """How far the recall was off, the smallest first."""
        return sorted(abs(answer.recall - answer.truth) for answer in self.answers)

    def values(self) -> dict[str, Any]:
        """All of it in a few numbers; None where there is nothing to tell."""
        errors, stops = self.errors, self.stops
        return {
            "runs": self.runs,
            "asked": self.asked,
            "answered": len(self.answers),
            "held": _rounded(self.held if errors else None),
            "off_median": _rounded(median(errors) if errors else None),
            "off_nine_of_ten": _rounded(errors[int(0.9 * (len(errors) - 1))] if errors else None),
            "stopped": len(stops),
            "stopped_at": _rounded(median(at for at, _ in stops) if stops else None),
            "had_median": _rounded(median(had for _, had in stops) if stops else None),
            "had_worst": _rounded(min(had for _, had in stops) if stops else None),
        }


def foresight(rows: Iterable[Row], kind: str) -> Foresight:
    """What the rows of runs tell; rows of older comparisons and of the oracle tell nothing."""
    told: list[tuple[Row, Mapping[str, Any]]] = [(row, row["foresight"][kind]) for row in rows if "foresight" in row]
    answers = [Answer(*values) for _, known in told for values in known["answers"]]
    stops = [
        (known["stop"] / row["fetches"], known["had"] / known["found"])
        for row, known in told
        if known["stop"] is not None and known["found"]
    ]
    return Foresight(len(told), [answer for answer in answers if answer.sure], len(answers), stops)


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)
