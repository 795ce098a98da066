"""Recall from judged samples: laws of the estimate, and how often its interval is right."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topicrawl.lab.missed import Sampled, by_directory, recall, sample


@st.composite
def sides(draw: st.DrawFn) -> Sampled:
    pages = draw(st.integers(1, 500))
    judged = draw(st.integers(1, pages))
    return Sampled(pages, judged, draw(st.integers(0, judged)))


@settings(deadline=None, max_examples=25)  # an interval is drawn four thousand times
@given(sides(), sides())
def test_the_interval_is_a_share_and_is_the_same_each_time(accepted: Sampled, rejected: Sampled) -> None:
    found = recall(accepted, rejected)
    assert found == recall(accepted, rejected)
    if found is not None:
        assert 0 <= found.low <= found.high <= 1
        assert 0 <= found.value <= 1


def test_what_is_judged_to_the_last_page_is_known() -> None:
    assert recall(Sampled(10, 10, 9), Sampled(30, 30, 3)) == pytest.approx((0.75, 0.75, 0.75))


def test_more_judging_leaves_less_doubt() -> None:
    widths = []
    for judged in (10, 100, 1000):
        found = recall(Sampled(1000, judged, judged * 9 // 10), Sampled(5000, judged, judged // 10))
        assert found is not None
        widths.append(found.high - found.low)
    assert widths[0] > widths[1] > widths[2]


def test_no_relevant_page_among_the_rejected_sample_is_no_proof_that_there_is_none() -> None:
    found = recall(Sampled(100, 100, 100), Sampled(10_000, 20, 0))
    assert found is not None
    assert found.value == 1.0
    assert found.low < 0.4


@pytest.mark.parametrize("sides", [(Sampled(10, 0, 0), Sampled(10, 5, 1)), (Sampled(10, 5, 5), Sampled(10, 0, 0))])
def test_without_a_sample_there_is_no_estimate(sides: tuple[Sampled, Sampled]) -> None:
    assert recall(*sides) is None
    assert recall(Sampled(5, 5, 0), Sampled(5, 5, 0)) is None


def test_about_nineteen_of_twenty_intervals_hold_the_truth() -> None:
    random = Random(3)
    accepted = [True] * 170 + [False] * 30
    rejected = [True] * 80 + [False] * 720
    held = 0
    for _ in range(50):
        kept, left = random.sample(accepted, 30), random.sample(rejected, 60)
        found = recall(Sampled(200, 30, sum(kept)), Sampled(800, 60, sum(left)))
        assert found is not None
        held += found.low <= 170 / 250 <= found.high
    assert held >= 45


def test_kluevs_rule_takes_whole_hosts_above_three_quarters_only() -> None:
    urls = [f"http://a/{number}" for number in range(10)]
    three_of_four = {"http://a/0": True, "http://a/1": True, "http://a/2": True, "http://a/3": False}
    assert by_directory(urls, three_of_four) == 3
    assert by_directory(urls, {**three_of_four, "http://a/4": True}) == 9
    assert by_directory(urls, {}) == 0


@settings(deadline=None)  # a busy machine is slow, not wrong
@given(st.sets(st.integers(0, 50)), st.integers(0, 60))
def test_a_sample_is_as_large_as_asked_or_all_there_is(numbers: set[int], size: int) -> None:
    urls = [f"http://a/{number}" for number in sorted(numbers)]
    drawn = sample(urls, size)
    assert len(drawn) == min(size, len(urls))
    assert set(drawn) <= set(urls)
    assert drawn == sample(urls[::-1], size)
