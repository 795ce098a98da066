"""The paired bootstrap: deterministic, paired, with the stated coverage."""

from __future__ import annotations

from math import isnan
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topicrawl.lab.bootstrap import Bootstrap, ConfidenceInterval, quantile
from topicrawl.lab.measures import nauc_of_means

SHARES = st.lists(st.floats(0, 1), min_size=2, max_size=8)


@settings(deadline=None)  # a busy machine is slow, not wrong
@given(SHARES)
def test_an_interval_lies_within_the_values(values: list[float]) -> None:
    value, low, high = Bootstrap(len(values), samples=50).mean_interval(values)
    assert min(values) - 1e-9 <= low <= high <= max(values) + 1e-9
    assert value == pytest.approx(sum(values) / len(values))


def test_the_same_seed_gives_the_same_interval_and_another_seed_another() -> None:
    values = [number**2 / 1600 for number in range(40)]
    assert Bootstrap(40, seed=3).mean_interval(values) == Bootstrap(40, seed=3).mean_interval(values)
    assert Bootstrap(40, seed=3).mean_interval(values) != Bootstrap(40, seed=4).mean_interval(values)


def test_differences_are_paired() -> None:
    easy_and_hard = [0.1, 0.9, 0.2, 0.8, 0.5, 0.3]
    a = [value + 0.01 for value in easy_and_hard]
    drawn = Bootstrap(6)
    assert drawn.difference_interval(a, easy_and_hard).excludes_zero
    assert drawn.mean_interval(a).low < drawn.mean_interval(easy_and_hard).high
    assert not drawn.difference_interval(a, a).excludes_zero


def test_breadth_first_is_0_and_the_oracle_1_without_uncertainty() -> None:
    plain, best = [0.2, 0.5, 0.1], [0.9, 0.95, 0.8]
    drawn = Bootstrap(3)
    assert drawn.nauc_interval(plain, plain, best) == ConfidenceInterval(0.0, 0.0, 0.0)
    assert drawn.nauc_interval(best, plain, best) == ConfidenceInterval(1.0, 1.0, 1.0)


def test_nauc_is_the_ratio_of_means_and_its_difference_the_difference_of_two() -> None:
    a, b, plain, best = [0.5, 0.7, 0.3], [0.4, 0.4, 0.35], [0.2, 0.5, 0.1], [0.9, 0.95, 0.8]
    drawn = Bootstrap(3)
    value, low, high = drawn.nauc_interval(a, plain, best)
    assert value == nauc_of_means(a, plain, best)
    assert low < value < high
    assert drawn.nauc_difference_interval(a, b, plain, best).value == pytest.approx(
        value - nauc_of_means(b, plain, best)
    )
    assert drawn.nauc_difference_interval(a, a, plain, best) == ConfidenceInterval(0.0, 0.0, 0.0)


def test_samples_with_equal_baseline_and_oracle_are_left_out() -> None:
    value, low, high = Bootstrap(2).nauc_interval([0.5, 0.6], [0.5, 0.2], [0.5, 0.8])
    assert not isnan(low + value + high)
    assert isnan(Bootstrap(1).nauc_interval([0.5], [0.5], [0.5]).value)


def test_groups_of_tasks_give_wider_intervals() -> None:
    random = Random(1)
    topics = [str(task // 6) for task in range(60)]
    level = [random.gauss(0, 1) for _ in range(10)]
    values = [level[task // 6] for task in range(60)]
    alone, together = Bootstrap(60).mean_interval(values), Bootstrap(60, groups=topics).mean_interval(values)
    assert together.high - together.low > 1.8 * (alone.high - alone.low)


def test_about_95_percent_of_the_intervals_contain_the_true_mean() -> None:
    random = Random(7)
    covered = 0
    for turn in range(100):
        _, low, high = Bootstrap(40, samples=200, seed=turn).mean_interval([random.gauss(0.3, 0.1) for _ in range(40)])
        covered += low <= 0.3 <= high
    assert 88 <= covered <= 99


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Bootstrap(2, groups=["a"]), "1 group names for 2 tasks"),
        (lambda: Bootstrap(0), "no tasks"),
        (lambda: Bootstrap(2).mean_interval([0.1]), "1 values for 2 tasks"),
    ],
)
def test_a_wrong_number_of_values_is_rejected(make: object, message: str) -> None:
    assert callable(make)
    with pytest.raises(ValueError, match=message):
        make()


@settings(deadline=None)  # a busy machine is slow, not wrong
@given(st.lists(st.floats(-5, 5), min_size=1), st.floats(0, 1))
def test_a_quantile_lies_between_the_ends_and_grows_with_the_share(values: list[float], share: float) -> None:
    ordered = sorted(values)
    assert ordered[0] - 1e-9 <= quantile(ordered, share) <= ordered[-1] + 1e-9
    assert quantile(ordered, share) <= quantile(ordered, 1.0)


def test_too_few_groups_have_no_limits() -> None:
    values, groups = [0.1, 0.5, 0.3, 0.9], ["a", "a", "b", "b"]
    few = Bootstrap(4, groups=groups, min_groups=3).mean_interval(values)
    assert few.value == pytest.approx(0.45)
    assert not few.has_limits
    assert not few.excludes_zero
    assert Bootstrap(4, groups=groups, min_groups=2).mean_interval(values).has_limits
