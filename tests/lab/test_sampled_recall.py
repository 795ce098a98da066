"""Recall from judged samples: properties of the estimate, and coverage of its interval."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.helpers.markers import LONG

from topicrawl.lab.sampled_recall import JudgedSample, count_relevant_by_host, draw_sample, estimate_recall


@st.composite
def sides(draw: st.DrawFn) -> JudgedSample:
    pages = draw(st.integers(1, 500))
    judged = draw(st.integers(1, pages))
    return JudgedSample(pages, judged, draw(st.integers(0, judged)))


@settings(deadline=None, max_examples=25)  # each interval takes four thousand draws
@given(sides(), sides())
def test_the_interval_is_a_share_and_is_the_same_each_time(accepted: JudgedSample, rejected: JudgedSample) -> None:
    found = estimate_recall(accepted, rejected)
    assert found == estimate_recall(accepted, rejected)
    if found is not None:
        assert 0 <= found.low <= found.high <= 1
        assert 0 <= found.value <= 1


def test_a_complete_sample_leaves_no_uncertainty() -> None:
    assert estimate_recall(JudgedSample(10, 10, 9), JudgedSample(30, 30, 3)) == pytest.approx((0.75, 0.75, 0.75))


def test_a_larger_sample_gives_a_narrower_interval() -> None:
    widths = []
    for judged in (10, 100, 1000):
        found = estimate_recall(JudgedSample(1000, judged, judged * 9 // 10), JudgedSample(5000, judged, judged // 10))
        assert found is not None
        widths.append(found.high - found.low)
    assert widths[0] > widths[1] > widths[2]


def test_a_rejected_sample_without_relevant_pages_does_not_prove_full_recall() -> None:
    found = estimate_recall(JudgedSample(100, 100, 100), JudgedSample(10_000, 20, 0))
    assert found is not None
    assert found.value == 1.0
    assert found.low < 0.4


@pytest.mark.parametrize(
    "sides", [(JudgedSample(10, 0, 0), JudgedSample(10, 5, 1)), (JudgedSample(10, 5, 5), JudgedSample(10, 0, 0))]
)
def test_without_a_sample_there_is_no_estimate(sides: tuple[JudgedSample, JudgedSample]) -> None:
    assert estimate_recall(*sides) is None
    assert estimate_recall(JudgedSample(5, 5, 0), JudgedSample(5, 5, 0)) is None


@LONG
def test_about_95_percent_of_the_intervals_contain_the_true_recall() -> None:
    random = Random(3)
    accepted = [True] * 170 + [False] * 30
    rejected = [True] * 80 + [False] * 720
    covered = 0
    for _ in range(50):
        accepted_sample, rejected_sample = random.sample(accepted, 30), random.sample(rejected, 60)
        found = estimate_recall(
            JudgedSample(200, 30, sum(accepted_sample)), JudgedSample(800, 60, sum(rejected_sample))
        )
        assert found is not None
        covered += found.low <= 170 / 250 <= found.high
    assert covered >= 45


def test_kluevs_rule_takes_whole_hosts_above_three_quarters_only() -> None:
    urls = [f"http://a/{number}" for number in range(10)]
    three_of_four = {"http://a/0": True, "http://a/1": True, "http://a/2": True, "http://a/3": False}
    assert count_relevant_by_host(urls, three_of_four) == 3
    assert count_relevant_by_host(urls, {**three_of_four, "http://a/4": True}) == 9
    assert count_relevant_by_host(urls, {}) == 0


@settings(deadline=None)  # a busy machine is slow, not wrong
@given(st.sets(st.integers(0, 50)), st.integers(0, 60))
def test_a_sample_has_the_requested_size_or_all_pages(numbers: set[int], size: int) -> None:
    urls = [f"http://a/{number}" for number in sorted(numbers)]
    sampled = draw_sample(urls, size)
    assert len(sampled) == min(size, len(urls))
    assert set(sampled) <= set(urls)
    assert sampled == draw_sample(urls[::-1], size)
