"""Rates are shrunk means, and forgetting idle groups leaves the others as they were."""

from __future__ import annotations

import json

import numpy as np
import pytest

from topicrawl.scoring.rates import Rates
from topicrawl.scoring.reward import Reward


def learned() -> Rates:
    rates = Rates()
    for name, reward in (("a", 1.0), ("b", 0.0), ("a", 1.0), ("c", 0.5)):
        rates.seen(reward)
        rates.learn(rates.numbers([name]), reward)
    return rates


def test_a_group_is_compared_with_all_visits() -> None:
    rates = learned()
    base = (0.05 + 2.5) / 5
    assert rates.base == pytest.approx(base)
    expected = [(2 + 4 * base) / 6 - base, (0 + 4 * base) / 5 - base, 0.0]
    assert rates.of(rates.numbers(["a", "b", "new"])).tolist() == pytest.approx(expected, abs=1e-6)


def test_few_groups_and_many_have_the_same_rates() -> None:
    rates = learned()
    few, many = rates.numbers(["c", "a"]), rates.numbers(["a", "b", "c", "a", "new"])
    assert rates.of(few).tolist() == rates.of(many)[[2, 0]].tolist()
    assert rates.trusted(few, (1.0, 0.5)) == pytest.approx(float(rates.of(few) @ [1.0, 0.5]), abs=1e-6)


def test_many_groups_have_room() -> None:
    rates = Rates()
    numbers = rates.numbers(f"group {n}" for n in range(1000))
    rates.learn(numbers[-1:], 1.0)
    assert rates.of(numbers[-1:])[0] > 0
    assert rates.of(numbers[:-1]).tolist() == pytest.approx([0.0] * 999)


def test_idle_groups_are_forgotten_and_the_others_renumbered() -> None:
    rates = learned()
    before = rates.of(rates.numbers(["a", "c"]))
    new = rates.keep(np.array([0, 2], np.int32), most=0)
    assert len(rates) == 2
    assert rates.of(new[[0, 2]]).tolist() == before.tolist()
    assert rates.numbers(["a", "c"]).tolist() == new[[0, 2]].tolist()


def test_rates_survive_a_restart() -> None:
    rates, restored = learned(), Rates()
    restored.restore(json.loads(json.dumps(rates.state())))
    assert restored.base == rates.base
    assert restored.of(restored.numbers("abc")).tolist() == rates.of(rates.numbers("abc")).tolist()


def test_the_bar_rises_with_what_the_crawl_meets_and_stays_within_bounds() -> None:
    reward = Reward()
    assert reward.bar == 0.08
    for _ in range(50):
        reward(0.15)
    assert reward.bar == 0.15
    for _ in range(500):
        reward(0.9)
    assert reward.bar == 0.25
    again = Reward()
    again.restore(json.loads(json.dumps(reward.state())))
    assert again.bar == reward.bar


def test_what_is_little_known_strays_further_and_the_same_way_after_a_restart() -> None:
    rates = Rates()
    numbers = rates.numbers(f"h{number}" for number in range(400))
    for _ in range(100):
        rates.seen(0.3)
        rates.learn(numbers[:200], 0.3)
    strayed = rates.strayed(numbers)
    known, unknown = strayed[:200].std(), strayed[200:].std()
    assert known < unknown / 3
    assert abs(float(strayed.mean())) < 0.05
    restored = Rates()
    restored.restore(json.loads(json.dumps(rates.state())))
    assert restored.strayed(numbers[::-1]).tolist() == strayed[::-1].tolist()
    rates.seen(0.3)
    assert rates.strayed(numbers).tolist() != strayed.tolist(), "each visit draws anew"
