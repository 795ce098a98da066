"""Recrawl policies: golden values, properties, and a simulation with the real page selection."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topicrawl.collection.history import FloatArray, RevisitCandidates, RevisitLog
from topicrawl.recrawl.policies import (
    POLICIES,
    balanced_policy,
    binary_policy,
    estimate_average_rate,
    estimate_change_rates,
    freshness,
    harmonic_policy,
    proportional_policy,
    uniform_policy,
)
from topicrawl.recrawl.schedule import RecrawlRound, select_due_pages

IMPORTANCE, CHANGE = np.array([0.5, 0.3, 0.2]), np.array([1.0, 4.0, 0.25])
DAY = 86_400.0


@pytest.mark.parametrize(
    ("policy", "rates"),
    [
        (binary_policy, (1.879158, 0.460372, 0.660470)),
        (harmonic_policy, (1.269743, 1.304055, 0.426202)),
        (balanced_policy, (1.5744505, 0.8822135, 0.543336)),
        (uniform_policy, (1.0, 1.0, 1.0)),
        (proportional_policy, (0.571429, 2.285714, 0.142857)),
    ],
)
def test_golden_rates(policy: Callable[[FloatArray, FloatArray, float], FloatArray], rates: tuple[float, ...]) -> None:
    assert policy(IMPORTANCE, CHANGE, 3.0) == pytest.approx(rates, abs=1e-6)


def test_golden_freshness() -> None:
    assert freshness(IMPORTANCE, CHANGE, binary_policy(IMPORTANCE, CHANGE, 3.0)) == pytest.approx(0.502386, abs=1e-6)


webs = st.lists(st.tuples(st.floats(0.01, 1), st.floats(0.001, 20)), min_size=1, max_size=12)


@settings(max_examples=15, deadline=None)
@given(webs, st.floats(0.01, 500), st.sampled_from(sorted(POLICIES)))
def test_every_policy_spends_exactly_its_budget(web: list[tuple[float, float]], budget: float, name: str) -> None:
    importance, change = np.array(web).T
    rates = POLICIES[name](importance, change, budget)
    assert (rates >= 0).all()
    assert rates.sum() == pytest.approx(budget, rel=1e-6)


@settings(max_examples=15, deadline=None)
@given(webs, st.floats(0.01, 500))
def test_no_policy_is_fresher_than_binary(web: list[tuple[float, float]], budget: float) -> None:
    importance, change = np.array(web).T
    best = freshness(importance, change, binary_policy(importance, change, budget))
    for policy in POLICIES.values():
        assert freshness(importance, change, policy(importance, change, budget)) <= best + 1e-9


@settings(max_examples=15, deadline=None)
@given(webs, st.floats(0.01, 500), st.sampled_from([harmonic_policy, balanced_policy]))
def test_no_page_is_abandoned(
    web: list[tuple[float, float]], budget: float, policy: Callable[[FloatArray, FloatArray, float], FloatArray]
) -> None:
    importance, change = np.array(web).T
    assert (policy(importance, change, budget) > 0).all()


@pytest.mark.parametrize("name", POLICIES)
def test_static_pages_and_empty_input_are_accepted(name: str) -> None:
    assert np.isfinite(POLICIES[name](np.ones(3), np.zeros(3), 2.0)).all()
    assert len(POLICIES[name](np.zeros(0), np.zeros(0), 2.0)) == 0


def revisits(*rows: tuple[int, float, bool]) -> RevisitLog:
    page, days, changed = zip(*rows, strict=True) if rows else ((), (), ())
    return RevisitLog(np.array(page, np.int64), np.array(days, np.float64), np.array(changed, np.bool_))


@pytest.mark.parametrize(
    ("history", "rate"),
    [
        (revisits(), 0.1),
        # One change in two visits after a day each: 1 − e^(−r) = 1/2, if the prior has no weight.
        (revisits((0, 1.0, True), (0, 1.0, False)), np.log(2)),
        # Two changes in three visits: e^(−r) = 1/3.
        (revisits((0, 2.0, True), (0, 2.0, False), (0, 2.0, True)), np.log(3) / 2),
    ],
    ids=["no visits", "half", "two of three"],
)
def test_change_rates_maximise_the_likelihood(history: RevisitLog, rate: float) -> None:
    assert estimate_change_rates(history, 1, rate=0.1, weight=1e-9)[0] == pytest.approx(rate, rel=1e-4)


def test_the_prior_keeps_change_rates_finite_and_positive() -> None:
    history = revisits(*[(0, 1.0, True)] * 5, *[(1, 1.0, False)] * 5)
    fast, slow = estimate_change_rates(history, 2, rate=0.1)
    assert 0.4 < fast < 10
    assert 0.01 < slow < 0.1


@pytest.mark.parametrize("rate", [0.05, 0.4, 2.0])
def test_a_rate_is_recovered_from_visits_at_irregular_times(rate: float) -> None:
    random = Random(1)
    rows = [
        (0, days, random.random() < 1 - np.exp(-rate * days)) for days in (random.uniform(0.1, 3) for _ in range(2000))
    ]
    assert estimate_change_rates(revisits(*rows), 1, rate=0.1)[0] == pytest.approx(rate, rel=0.15)
    assert estimate_average_rate(revisits(*rows), rate=0.1) == pytest.approx(rate, rel=0.15)


def test_pages_visited_in_this_round_are_not_due_again() -> None:
    known = RevisitCandidates(np.array([7, 8, 9]), np.ones(3), np.array([0.0, 50 * DAY, 101 * DAY]), revisits())
    assert [
        page for page, _ in select_due_pages(known, RecrawlRound(100 * DAY, 3, DAY, done=1), 102 * DAY, "balanced")
    ] == [7, 8]


# Simulation with the real page selection


def simulate(policy: str, rates: FloatArray, importance: FloatArray, *, days: int, a_day: int) -> float:
    """Return the share of fresh pages, weighted by importance, over the last two thirds of the days."""
    random = Random(7)
    changes = [np.cumsum([random.expovariate(rate) for _ in range(int(rate * days * 3) + 20)]) for rate in rates]
    version = lambda page, day: int(np.searchsorted(changes[page], day))  # noqa: E731
    count = len(rates)
    last, rows, fresh = np.zeros(count), [], []
    for day in range(1, days + 1):
        known = RevisitCandidates(np.arange(count), importance, last * DAY, revisits(*rows))
        for page, _ in select_due_pages(known, RecrawlRound(day * DAY, a_day, DAY), day * DAY, policy):
            rows.append((page, day - last[page], version(page, day) != version(page, last[page])))
            last[page] = day
        if day > days // 3:
            current = [version(page, day + 0.5) == version(page, last[page]) for page in range(count)]
            fresh.append(float((importance * current).sum() / importance.sum()))
    return float(np.mean(fresh))


@pytest.fixture(scope="module")
def freshness_by_policy() -> dict[str, float]:
    """Return the freshness of each policy on a hundred pages, most of which change rarely and some constantly."""
    random = Random(3)
    rates = np.array([random.lognormvariate(-2, 1.5) for _ in range(100)])
    importance = np.array([random.uniform(0.05, 1) for _ in rates])
    return {name: simulate(name, rates, importance, days=40, a_day=16) for name in POLICIES}


@pytest.mark.parametrize("policy", ["balanced", "binary", "harmonic"])
def test_relevance_and_change_rate_beat_uniform_and_proportional_visits(
    policy: str, freshness_by_policy: dict[str, float]
) -> None:
    baseline = max(freshness_by_policy["uniform"], freshness_by_policy["proportional"])
    assert freshness_by_policy[policy] > 0.02 + baseline, freshness_by_policy
