"""Rates are shrunk means, and dropping idle groups keeps the others."""

from __future__ import annotations

import json

import numpy as np
import pytest

from topicrawl.strategies.apprentice.group_rates import GroupRates
from topicrawl.strategies.apprentice.reward import RewardFunction


def make_rates() -> GroupRates:
    rates = GroupRates()
    for name, reward in (("a", 1.0), ("b", 0.0), ("a", 1.0), ("c", 0.5)):
        rates.record_visit(reward)
        rates.learn(rates.get_numbers([name]), reward)
    return rates


def test_a_group_is_compared_with_all_visits() -> None:
    rates = make_rates()
    base = (0.05 + 2.5) / 5
    assert rates.base_rate == pytest.approx(base)
    expected = [(2 + 4 * base) / 6 - base, (0 + 4 * base) / 5 - base, 0.0]
    assert rates.compute_rates(rates.get_numbers(["a", "b", "new"])).tolist() == pytest.approx(expected, abs=1e-6)


def test_few_groups_and_many_have_the_same_rates() -> None:
    rates = make_rates()
    few, many = rates.get_numbers(["c", "a"]), rates.get_numbers(["a", "b", "c", "a", "new"])
    assert rates.compute_rates(few).tolist() == rates.compute_rates(many)[[2, 0]].tolist()
    assert rates.compute_weighted_rate(few, (1.0, 0.5)) == pytest.approx(
        float(rates.compute_rates(few) @ [1.0, 0.5]), abs=1e-6
    )


def test_the_arrays_grow_with_the_groups() -> None:
    rates = GroupRates()
    numbers = rates.get_numbers(f"group {n}" for n in range(1000))
    rates.learn(numbers[-1:], 1.0)
    assert rates.compute_rates(numbers[-1:])[0] > 0
    assert rates.compute_rates(numbers[:-1]).tolist() == pytest.approx([0.0] * 999)


def test_idle_groups_are_dropped_and_the_others_renumbered() -> None:
    rates = make_rates()
    before = rates.compute_rates(rates.get_numbers(["a", "c"]))
    new = rates.drop_idle_groups(np.array([0, 2], np.int32), keep_newest=0)
    assert len(rates) == 2
    assert rates.compute_rates(new[[0, 2]]).tolist() == before.tolist()
    assert rates.get_numbers(["a", "c"]).tolist() == new[[0, 2]].tolist()


def test_rates_survive_a_restart() -> None:
    rates, restored = make_rates(), GroupRates()
    restored.restore_state(json.loads(json.dumps(rates.get_state())))
    assert restored.base_rate == rates.base_rate
    assert (
        restored.compute_rates(restored.get_numbers("abc")).tolist()
        == rates.compute_rates(rates.get_numbers("abc")).tolist()
    )


def test_the_threshold_adapts_within_its_bounds() -> None:
    reward = RewardFunction()
    assert reward.threshold == 0.08
    for _ in range(50):
        reward(0.15)
    assert reward.threshold == 0.15
    for _ in range(500):
        reward(0.9)
    assert reward.threshold == 0.25
    again = RewardFunction()
    again.restore_state(json.loads(json.dumps(reward.get_state())))
    assert again.threshold == reward.threshold


def test_untried_hosts_are_worth_a_trial_again_when_the_good_pages_are_fetched() -> None:
    rates = GroupRates()
    known, new = (rates.get_numbers([name]) for name in ("known", "new"))
    values = []
    for similarity in (0.0, *[0.4] * 40, *[0.0] * 60):
        rates.record_visit(0.5, similarity)
        rates.learn(known, 0.5)
        values.append(float(rates.compute_novelty(new)[0]))
    assert values[0] == 2.0
    assert values[40] == 0.0
    assert values[-1] > 1.6 > 10 * float(rates.compute_novelty(known)[0])
    assert rates.compute_novelty(new, 0.0).tolist() == [0.0], "without trust, only the mean reward counts"
    restored = GroupRates()
    restored.restore_state(json.loads(json.dumps(rates.get_state())))
    assert restored.compute_novelty(new).tolist() == rates.compute_novelty(new).tolist()


def test_deviations_shrink_with_visits_and_survive_a_restart() -> None:
    rates = GroupRates()
    numbers = rates.get_numbers(f"h{number}" for number in range(400))
    for _ in range(100):
        rates.record_visit(0.3)
        rates.learn(numbers[:200], 0.3)
    deviations = rates.sample_deviations(numbers)
    known, unknown = deviations[:200].std(), deviations[200:].std()
    assert known < unknown / 3
    assert abs(float(deviations.mean())) < 0.05
    restored = GroupRates()
    restored.restore_state(json.loads(json.dumps(rates.get_state())))
    assert restored.sample_deviations(numbers[::-1]).tolist() == deviations[::-1].tolist()
    rates.record_visit(0.3)
    assert rates.sample_deviations(numbers).tolist() != deviations.tolist(), "each visit gives new deviations"
