"""Recrawl schedule: select the pages to revisit, most overdue first. An interrupted recrawl is resumed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from topicrawl.collection.history import RevisitCandidates
from topicrawl.collection.store import CollectionStore
from topicrawl.models import JsonValue
from topicrawl.recrawl.policies import POLICIES, estimate_average_rate, estimate_change_rates

_DAY = 86_400.0
_MIN_PERIOD = 3600.0  # minimum seconds between two recrawls, for the computation of the daily budget
_EXPECTED_RATE = 1 / 30  # changes per day of a page, until revisits provide an estimate


@dataclass(frozen=True, slots=True)
class RecrawlRound:
    """One recrawl, which may take several runs."""

    started_at: float
    pages: int  # maximum number of visits; 0: every page once
    period: float  # seconds since the previous recrawl
    done: int = 0  # visits so far

    @property
    def is_resumed(self) -> bool:
        """Whether an earlier run has already made visits."""
        return self.done > 0

    @property
    def remaining(self) -> int:
        """Number of remaining visits; 0: no limit."""
        return max(1, self.pages - self.done) if self.pages else 0

    @property
    def is_complete(self) -> bool:
        """Whether all visits have been made."""
        return bool(self.pages) and self.done >= self.pages


def load_round(store: CollectionStore, candidates: RevisitCandidates, pages: int, now: float) -> RecrawlRound:
    """Return the interrupted recrawl with the number of its visits, or a new one if the last recrawl has ended.

    The period of a new one begins at the start of the last recrawl, or at the median fetch of the pages.
    """
    fact = store.get_fact("refresh")
    previous = fact if isinstance(fact, dict) else {}
    begun = previous.get("begun")
    if isinstance(begun, float) and previous.get("ended") is None:
        period = previous.get("period")
        done = store.query_value(int, "SELECT count(*) FROM revisits WHERE at >= ?", (begun,))
        return RecrawlRound(begun, pages, period if isinstance(period, float) else _DAY, done)
    earlier = (
        begun
        if isinstance(begun, float)
        else float(np.median(candidates.last_requested))
        if len(candidates.last_requested)
        else now
    )
    return RecrawlRound(now, pages, max(_MIN_PERIOD, now - earlier))


def build_round_fact(round_: RecrawlRound, ended: float | None) -> dict[str, JsonValue]:
    """Return the fact that records the start and the end of a recrawl."""
    return {"refresh": {"begun": round_.started_at, "pages": round_.pages, "period": round_.period, "ended": ended}}


def select_due_pages(
    candidates: RevisitCandidates, round_: RecrawlRound, now: float, policy: str
) -> list[tuple[int, float]]:
    """Return the ids of the pages to visit and how overdue they are (1: exactly due), most overdue first.

    A page is due when 1/ρ days have passed since its last visit. ρ is its visit rate under the policy, if every period
    has as many visits as this one. Pages that this round has already visited are excluded.
    """
    count = len(candidates.ids)
    average = estimate_average_rate(candidates.revisits, rate=_EXPECTED_RATE)
    change = estimate_change_rates(candidates.revisits, count, rate=average)
    visits = min(round_.pages or count, count)
    rates = POLICIES[policy](candidates.importance, change, visits / (round_.period / _DAY))
    overdue = rates * np.maximum(now - candidates.last_requested, 0.0) / _DAY
    order = np.argsort(-overdue, kind="stable")
    order = order[candidates.last_requested[order] < round_.started_at]
    chosen = order[: round_.remaining] if round_.remaining else order
    return [(int(candidates.ids[index]), float(overdue[index])) for index in chosen]
