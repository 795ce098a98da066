"""Tests of the hidden Markov model: Batsakis 2007, section 2.5, equations 5 and 6."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topicrawl.ml.hmm import HiddenMarkovModel, estimate_hmm

# Worked example for Batsakis, Eq 5 and 6: three levels, three clusters, observations 1 and 0.
GOLDEN = HiddenMarkovModel(
    (0.2, 0.3, 0.5),
    ((0.5, 0.3, 0.2), (0.6, 0.2, 0.2), (0.1, 0.4, 0.5)),
    ((0.7, 0.2, 0.1), (0.2, 0.6, 0.2), (0.1, 0.3, 0.6)),
)


def test_the_worked_example_of_batsakis_eq_5_and_6() -> None:
    first = GOLDEN.observe(GOLDEN.initial, 1)
    assert first == pytest.approx((0.181818, 0.528926, 0.289256), abs=5e-7)
    assert (GOLDEN.predict_target(first), GOLDEN.predict_target(first, 2)) == pytest.approx(
        (0.437190, 0.412893), abs=5e-7
    )
    second = GOLDEN.observe(first, 0)
    assert second == pytest.approx((0.784866, 0.141585, 0.073548), abs=5e-7)
    assert (GOLDEN.predict_target(second), GOLDEN.predict_target(second, 2)) == pytest.approx(
        (0.484739, 0.440494), abs=5e-7
    )


def test_without_dividing_at_each_step_the_priorities_of_batsakis_eq_5_shrink() -> None:
    shares = GOLDEN.initial
    priorities = []
    for cluster in (1, 0):
        shares = tuple(s * row[cluster] for s, row in zip(GOLDEN.advance(shares), GOLDEN.emission, strict=True))
        priorities.append(GOLDEN.predict_target(shares))
    assert priorities == pytest.approx([0.158700, 0.068610], abs=5e-7)


def test_no_observation_is_a_plain_step() -> None:
    assert GOLDEN.observe(GOLDEN.initial, None) == pytest.approx(GOLDEN.advance(GOLDEN.initial))


def test_impossible_observations_are_ignored() -> None:
    model = HiddenMarkovModel((0.5, 0.5), ((0.5, 0.5), (0.5, 0.5)), ((1.0, 0.0), (1.0, 0.0)))
    assert model.observe((0.9, 0.1), 1) == pytest.approx((0.5, 0.5))


def rows(count: int) -> st.SearchStrategy[list[tuple[float, ...]]]:
    weights = st.lists(st.floats(0.01, 1.0), min_size=count, max_size=count)
    return st.lists(weights.map(lambda row: tuple(w / sum(row) for w in row)), min_size=3, max_size=3)


@given(rows(3), rows(4), st.lists(st.none() | st.integers(0, 3), max_size=30))
def test_levels_sum_to_1_and_priorities_are_probabilities_however_long_the_path(
    transition: list[tuple[float, ...]], emission: list[tuple[float, ...]], path: list[int | None]
) -> None:
    model = HiddenMarkovModel((0.2, 0.3, 0.5), tuple(transition), tuple(emission))
    shares = model.initial
    for cluster in path:
        shares = model.observe(shares, cluster)
        assert sum(shares) == pytest.approx(1.0)
        assert 0.0 <= model.predict_target(shares) <= 1.0 + 1e-9
        assert 0.0 <= model.predict_target(shares, 2) <= 1.0 + 1e-9


def test_counts_are_normalised() -> None:
    # Levels 2 1 0 and 1 0 0; clusters as listed.
    model = estimate_hmm([[(2, 0), (1, 0), (0, 1)], [(1, 1), (0, 1), (0, 0)]], 3, 2, smoothing=0.0)
    assert model.initial == pytest.approx((3 / 6, 2 / 6, 1 / 6))
    assert model.transition == ((1.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0))
    assert model.emission[0] == pytest.approx((1 / 3, 2 / 3))


def test_smoothing_adds_to_every_count() -> None:
    model = estimate_hmm([[(1, 0), (0, 1)]], 2, 2, smoothing=1.0)
    assert model.transition[1] == pytest.approx((2 / 3, 1 / 3))
    assert model.transition[0] == pytest.approx((1 / 2, 1 / 2))
    assert model.emission[0] == pytest.approx((1 / 3, 2 / 3))


@given(
    st.lists(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4)), max_size=8), max_size=8),
    st.sampled_from([0.0, 0.5, 1.0]),
)
def test_every_estimated_distribution_sums_to_1(walks: list[list[tuple[int, int]]], smoothing: float) -> None:
    model = estimate_hmm(walks, 4, 5, smoothing=smoothing)
    for row in (model.initial, *model.transition, *model.emission):
        assert sum(row) == pytest.approx(1.0)
    assert (model.state_count, model.cluster_count) == (4, 5)
