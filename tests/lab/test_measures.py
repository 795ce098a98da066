"""Measures of a crawl: properties, and the figures printed in the papers."""

from __future__ import annotations

from math import isnan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topicrawl.lab import measures
from topicrawl.lab.measures import Precision

ORDERS = st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=12)
TARGETS = st.sets(st.sampled_from("abcdefgh"), min_size=1)


@given(ORDERS, TARGETS)
def test_hits_rise_by_at_most_one_and_end_at_the_number_of_fetched_targets(
    fetched: list[str], targets: set[str]
) -> None:
    found = measures.cumulative_hits(fetched, targets)
    assert all(0 <= after - before <= 1 for before, after in zip([0, *found], found, strict=False))
    assert found[-1] == len(targets & set(fetched))


@given(ORDERS, TARGETS, st.integers(1, 15))
def test_the_area_is_the_mean_of_the_recalls(fetched: list[str], targets: set[str], fetches: int) -> None:
    recalls = [measures.recall(fetched, targets, number) for number in range(1, fetches + 1)]
    assert measures.auc(fetched, targets, fetches) == pytest.approx(sum(recalls) / fetches)


@given(ORDERS, TARGETS, st.floats(0.01, 1.0))
def test_fetches_to_a_share_is_the_first_fetch_with_that_recall(
    fetched: list[str], targets: set[str], share: float
) -> None:
    fetches = measures.fetches_to_recall(fetched, targets, share)
    if fetches is None:
        assert measures.recall(fetched, targets, len(fetched)) < share
    else:
        assert measures.recall(fetched, targets, fetches) >= share - 1e-9
        assert fetches == 1 or measures.recall(fetched, targets, fetches - 1) < share


def test_a_crawl_that_ended_early_keeps_its_last_value() -> None:
    assert measures.recall(["a"], {"a", "b"}, 100) == 0.5
    assert measures.auc(["a"], {"a", "b"}, 100) == 0.5
    assert measures.harvest_rate(["a"], {"a", "b"}, 100) == 0.01


@given(ORDERS, TARGETS)
def test_the_harvest_curve_ends_at_the_harvest_rate(fetched: list[str], targets: set[str]) -> None:
    assert measures.harvest_curve(fetched, targets)[-1] == measures.harvest_rate(fetched, targets, len(fetched))


def test_nauc_is_nan_if_breadth_first_equals_the_oracle() -> None:
    assert isnan(measures.nauc(0.5, 0.5, 0.5))


def test_the_ratio_of_means_is_not_the_mean_of_ratios() -> None:
    ratio = measures.nauc_of_means([0.55, 0.9], [0.5, 0.1], [0.6, 0.9])
    assert ratio == pytest.approx((0.05 + 0.8) / (0.1 + 0.8))
    assert ratio != pytest.approx((0.5 + 1.0) / 2)


def test_different_numbers_of_tasks_are_rejected() -> None:
    with pytest.raises(ValueError, match="1, 2 and 1 tasks"):
        measures.nauc_of_means([0.5], [0.5, 0.4], [0.9])


@pytest.mark.parametrize(
    "divide_by_zero",
    [
        lambda: measures.recall(["a"], set(), 1),
        lambda: measures.harvest_rate(["a"], {"a"}, 0),
        lambda: measures.auc(["a"], set(), 1),
        lambda: measures.fetches_to_recall(["a"], set(), 0.5),
        lambda: measures.precision_rate(0, 0),
        lambda: measures.harvest_ratio([]),
        lambda: measures.average_similarity([]),
    ],
)
def test_an_empty_denominator_is_an_error(divide_by_zero: object) -> None:
    assert callable(divide_by_zero)
    with pytest.raises(ValueError, match="division by zero"):
        divide_by_zero()


@pytest.mark.parametrize(
    ("groups", "printed", "right"),
    [
        # Kluev 2000, Table 4 (chosen pages, irrelevant pages among them) and Table 5 (errors of the undoubted pages).
        ({"vsm": (626, 113), "passages": (2025, 402), "directory": (2826, 598)}, 0.8635, 0.8504),
        ({"vsm": (1212, 98), "passages": (1008, 101), "directory": (2887, 306)}, 0.9376, 0.9305),
    ],
    ids=["algorithms", "programming languages"],
)
def test_kluev_table_6_follows_from_table_4_without_the_errors_of_table_5(
    groups: dict[str, tuple[int, int]], printed: float, right: float
) -> None:
    undoubted, undoubted_relevant = (2678, 2571) if printed < 0.9 else (2980, 2923)
    by_metric = {name: Precision(pages - wrong, pages) for name, (pages, wrong) in groups.items()}
    without_errors = measures.pool_groups({**by_metric, measures.SEVERAL_METRICS: Precision(undoubted, undoubted)})
    with_errors = measures.pool_groups(
        {**by_metric, measures.SEVERAL_METRICS: Precision(undoubted_relevant, undoubted)}
    )
    assert round(without_errors.value, 4) == printed
    assert round(with_errors.value, 4) == right


def test_kluev_table_5_precision_of_the_undoubtedly_relevant() -> None:
    assert round(Precision(2571, 2678).value, 2) == 0.96
    assert round(Precision(2923, 2980).value, 2) == 0.98


def test_batsakis_harvest_ratio_is_strictly_above_its_threshold() -> None:
    assert measures.harvest_ratio([0.75]) == 0.0
    assert measures.harvest_ratio([0.75], threshold=0.5) == 1.0
