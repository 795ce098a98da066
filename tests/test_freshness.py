"""How often to look again: golden values, laws, and a simulation over the real choice of pages."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topicrawl.collection.due import Round, due
from topicrawl.collection.history import Known
from topicrawl.freshness import (
    POLICIES,
    Array,
    Looks,
    balanced,
    binary,
    change_rates,
    freshness,
    harmonic,
    proportional,
    uniform,
    usual_rate,
)

IMPORTANCE, CHANGE = np.array([0.5, 0.3, 0.2]), np.array([1.0, 4.0, 0.25])
DAY = 86_400.0


@pytest.mark.parametrize(
    ("policy", "rates"),
    [
        (binary, (1.879158, 0.460372, 0.660470)),
        (harmonic, (1.269743, 1.304055, 0.426202)),
        (balanced, (1.5744505, 0.8822135, 0.543336)),
        (uniform, (1.0, 1.0, 1.0)),
        (proportional, (0.571429, 2.285714, 0.142857)),
    ],
)
def test_golden_rates(policy: Callable[[Array, Array, float], Array], rates: tuple[float, ...]) -> None:
    assert policy(IMPORTANCE, CHANGE, 3.0) == pytest.approx(rates, abs=1e-6)


def test_golden_freshness() -> None:
    assert freshness(IMPORTANCE, CHANGE, binary(IMPORTANCE, CHANGE, 3.0)) == pytest.approx(0.502386, abs=1e-6)


webs = st.lists(st.tuples(st.floats(0.01, 1), st.floats(0.001, 20)), min_size=1, max_size=12)


@settings(max_examples=15, deadline=None)
@given(webs, st.floats(0.01, 500), st.sampled_from(sorted(POLICIES)))
def test_every_policy_spends_its_budget_and_no_more(web: list[tuple[float, float]], budget: float, name: str) -> None:
    importance, change = np.array(web).T
    rates = POLICIES[name](importance, change, budget)
    assert (rates >= 0).all()
    assert rates.sum() == pytest.approx(budget, rel=1e-6)


@settings(max_examples=15, deadline=None)
@given(webs, st.floats(0.01, 500))
def test_no_policy_keeps_more_pages_up_to_date_than_binary(web: list[tuple[float, float]], budget: float) -> None:
    importance, change = np.array(web).T
    best = freshness(importance, change, binary(importance, change, budget))
    for policy in POLICIES.values():
        assert freshness(importance, change, policy(importance, change, budget)) <= best + 1e-9


@settings(max_examples=15, deadline=None)
@given(webs, st.floats(0.01, 500), st.sampled_from([harmonic, balanced]))
def test_no_page_is_given_up(
    web: list[tuple[float, float]], budget: float, policy: Callable[[Array, Array, float], Array]
) -> None:
    importance, change = np.array(web).T
    assert (policy(importance, change, budget) > 0).all()


@pytest.mark.parametrize("name", POLICIES)
def test_pages_that_never_change_and_no_pages_at_all_are_no_error(name: str) -> None:
    assert np.isfinite(POLICIES[name](np.ones(3), np.zeros(3), 2.0)).all()
    assert len(POLICIES[name](np.zeros(0), np.zeros(0), 2.0)) == 0


def looks(*rows: tuple[int, float, bool]) -> Looks:
    page, days, changed = zip(*rows, strict=True) if rows else ((), (), ())
    return Looks(np.array(page, np.int64), np.array(days, np.float64), np.array(changed, np.bool_))


@pytest.mark.parametrize(
    ("seen", "rate"),
    [
        (looks(), 0.1),
        # One change in two looks of a day: 1 − e^(−r) = 1/2, as long as the expectation weighs nothing.
        (looks((0, 1.0, True), (0, 1.0, False)), np.log(2)),
        # Two changes in three looks: e^(−r) = 1/3.
        (looks((0, 2.0, True), (0, 2.0, False), (0, 2.0, True)), np.log(3) / 2),
    ],
    ids=["no looks", "half", "two of three"],
)
def test_change_rates_are_the_most_likely_ones(seen: Looks, rate: float) -> None:
    assert change_rates(seen, 1, rate=0.1, weight=1e-9)[0] == pytest.approx(rate, rel=1e-4)


def test_a_page_that_changed_every_time_has_no_endless_rate_and_one_that_never_did_has_some() -> None:
    seen = looks(*[(0, 1.0, True)] * 5, *[(1, 1.0, False)] * 5)
    fast, slow = change_rates(seen, 2, rate=0.1)
    assert 0.4 < fast < 10
    assert 0.01 < slow < 0.1


@pytest.mark.parametrize("rate", [0.05, 0.4, 2.0])
def test_a_rate_is_recovered_from_looks_at_odd_times(rate: float) -> None:
    random = Random(1)
    rows = [
        (0, days, random.random() < 1 - np.exp(-rate * days)) for days in (random.uniform(0.1, 3) for _ in range(2000))
    ]
    assert change_rates(looks(*rows), 1, rate=0.1)[0] == pytest.approx(rate, rel=0.15)
    assert usual_rate(looks(*rows), rate=0.1) == pytest.approx(rate, rel=0.15)


def test_what_was_looked_at_in_this_round_is_not_due_again() -> None:
    known = Known(np.array([7, 8, 9]), np.ones(3), np.array([0.0, 50 * DAY, 101 * DAY]), looks())
    assert [page for page, _ in due(known, Round(100 * DAY, 3, DAY, done=1), 102 * DAY, "balanced")] == [7, 8]


# A simulation over the real choice


def simulated(policy: str, rates: Array, importance: Array, *, days: int, a_day: int) -> float:
    """The share of pages, by importance, that are up to date over the last two thirds of the days."""
    random = Random(7)
    changes = [np.cumsum([random.expovariate(rate) for _ in range(int(rate * days * 3) + 20)]) for rate in rates]
    version = lambda page, day: int(np.searchsorted(changes[page], day))  # noqa: E731
    count = len(rates)
    last, rows, fresh = np.zeros(count), [], []
    for day in range(1, days + 1):
        known = Known(np.arange(count), importance, last * DAY, looks(*rows))
        for page, _ in due(known, Round(day * DAY, a_day, DAY), day * DAY, policy):
            rows.append((page, day - last[page], version(page, day) != version(page, last[page])))
            last[page] = day
        if day > days // 3:
            current = [version(page, day + 0.5) == version(page, last[page]) for page in range(count)]
            fresh.append(float((importance * current).sum() / importance.sum()))
    return float(np.mean(fresh))


@pytest.fixture(scope="module")
def reached() -> dict[str, float]:
    """The freshness that each policy reaches on a hundred pages, most of which change seldom and some all the time."""
    random = Random(3)
    rates = np.array([random.lognormvariate(-2, 1.5) for _ in range(100)])
    importance = np.array([random.uniform(0.05, 1) for _ in rates])
    return {name: simulated(name, rates, importance, days=40, a_day=16) for name in POLICIES}


@pytest.mark.parametrize("policy", ["balanced", "binary", "harmonic"])
def test_relevance_and_change_rate_beat_uniform_and_proportional_looks(policy: str, reached: dict[str, float]) -> None:
    assert reached[policy] > 0.02 + max(reached["uniform"], reached["proportional"]), reached
