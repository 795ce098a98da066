"""Which pages are to be looked at again, and in which order; a refresh that was interrupted is gone on with."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from topicrawl.collection.history import Known
from topicrawl.collection.store import Store
from topicrawl.freshness import POLICIES, change_rates, usual_rate
from topicrawl.records import Carry

_DAY = 86_400.0
_SHORTEST_PERIOD = 3600.0  # seconds between two refreshes, for reckoning what a day's budget is
_EXPECTED_RATE = 1 / 30  # changes a day of a page, as long as none was looked at twice


@dataclass(frozen=True, slots=True)
class Round:
    """One refresh, from its first look to its last, in one run or several."""

    begun: float
    pages: int  # looks, at the most; 0: every page once
    period: float  # seconds since the refresh before
    done: int = 0  # looks so far

    @property
    def resumed(self) -> bool:
        return self.done > 0

    @property
    def left(self) -> int:
        """Looks that are left; 0: as many as there are pages."""
        return max(1, self.pages - self.done) if self.pages else 0

    @property
    def is_complete(self) -> bool:
        return bool(self.pages) and self.done >= self.pages


def round_of(store: Store, known: Known, pages: int, now: float) -> Round:
    """The refresh that was interrupted, or else a new one."""
    fact = store.fact("refresh")
    before = fact if isinstance(fact, dict) else {}
    begun = before.get("begun")
    if isinstance(begun, float) and before.get("ended") is None:
        period = before.get("period")
        ((done,),) = store.rows("SELECT count(*) FROM revisits WHERE at >= ?", (begun,))
        return Round(begun, pages, period if isinstance(period, float) else _DAY, int(str(done)))
    earlier = begun if isinstance(begun, float) else float(np.median(known.last)) if len(known.last) else now
    return Round(now, pages, max(_SHORTEST_PERIOD, now - earlier))


def noted(round_: Round, ended: float | None) -> dict[str, Carry]:
    """What is written down of a refresh: when it begins, and when it has ended."""
    return {"refresh": {"begun": round_.begun, "pages": round_.pages, "period": round_.period, "ended": ended}}


def due(known: Known, round_: Round, now: float, policy: str) -> list[tuple[int, float]]:
    """Ids of pages with how overdue they are (1: exactly now), the most overdue first; none that this round has seen.

    A page is due when 1/ρ days have passed since it was last asked for, where ρ is how often the policy wants it
    looked at when every period has as many looks as this one.
    """
    count = len(known.ids)
    usual = usual_rate(known.looks, rate=_EXPECTED_RATE)
    change = change_rates(known.looks, count, rate=usual)
    looks = min(round_.pages or count, count)
    rates = POLICIES[policy](known.importance, change, looks / (round_.period / _DAY))
    overdue = rates * np.maximum(now - known.last, 0.0) / _DAY
    order = np.argsort(-overdue, kind="stable")
    order = order[known.last[order] < round_.begun]
    chosen = order[: round_.left] if round_.left else order
    return [(int(known.ids[index]), float(overdue[index])) for index in chosen]
