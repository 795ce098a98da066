"""Recall estimates: properties, coverage on curves with a known end, and the stop decision of the monitor."""

from __future__ import annotations

import json
from collections.abc import Callable
from math import exp
from random import Random
from time import process_time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topicrawl.engine.recall_estimate import RecallEstimate, RecallEstimator, RecallMonitor


def build_estimator(curve: list[bool]) -> RecallEstimator:
    left = RecallEstimator()
    for relevant in curve:
        left.add(relevant)
    return left


@settings(deadline=None, max_examples=40)  # no deadline, because the machine may be busy
@given(st.lists(st.booleans(), max_size=300), st.integers(0, 1000))
def test_an_outlook_is_ordered_and_a_share(curve: list[bool], ahead: int) -> None:
    outlook = build_estimator(curve).estimate_recall(ahead)
    assert outlook.found == sum(curve)
    assert 0 <= outlook.low <= outlook.remaining <= outlook.high
    assert 0 <= outlook.recall_low <= outlook.recall <= outlook.recall_high <= 1


@settings(deadline=None, max_examples=40)
@given(st.lists(st.booleans(), max_size=400), st.integers(0, 400))
def test_one_that_was_stored_goes_on_as_if_it_had_not_been(curve: list[bool], cut: int) -> None:
    first = build_estimator(curve[:cut])
    again = RecallEstimator.from_state(json.loads(json.dumps(first.get_state())))
    for relevant in curve[cut:]:
        again.add(relevant)
    assert again.get_state() == build_estimator(curve).get_state()
    assert again.estimate_recall() == build_estimator(curve).estimate_recall()


def test_nothing_stored_is_a_new_beginning() -> None:
    assert RecallEstimator.from_state(None).get_state() == RecallEstimator().get_state()


def test_its_size_does_not_grow_with_the_crawl() -> None:
    left = build_estimator([step % 7 == 0 for step in range(20_000)])
    assert len(json.dumps(left.get_state())) < 600
    assert left.found == 2858


def test_looking_farther_ahead_finds_no_less() -> None:
    left = build_estimator([step % (2 + step // 50) == 0 for step in range(600)])
    outlooks = [left.estimate_recall(ahead).remaining for ahead in (50, 200, 600, 1200)]
    assert outlooks == sorted(outlooks)


def test_nothing_ahead_is_nothing_remaining() -> None:
    outlook = build_estimator([True] * 200).estimate_recall(0)
    assert (outlook.remaining, outlook.recall, outlook.caveat) == (0.0, 1.0, "")


@pytest.mark.parametrize(
    ("curve", "ahead", "said"),
    [
        ([], None, "too early to tell"),
        ([True] * 50, None, "too few"),
        ([False] * 500, None, "0 relevant pages in 500 fetches"),
        ([step % 5 == 0 for step in range(500)], None, "not decreased"),
        ([step < 100 for step in range(500)], 10_000, "a guess"),
        ([step < 100 for step in range(500)], None, "too uncertain: between 40% and 100%"),
        ([step < 60 or (step < 200 and step % 4 == 0) for step in range(900)], None, ""),
    ],
)
def test_it_says_when_not_to_rely_on_it(curve: list[bool], ahead: int | None, said: str) -> None:
    doubt = build_estimator(curve).estimate_recall(ahead).caveat
    assert said in doubt
    assert bool(said) == bool(doubt)


def test_a_crawl_that_finds_no_more_is_nearly_done_and_one_that_goes_on_finding_is_not() -> None:
    dry = build_estimator([step < 150 and step % 2 == 0 for step in range(1000)]).estimate_recall()
    flowing = build_estimator([step % 2 == 0 for step in range(1000)]).estimate_recall()
    assert dry.recall > 0.93
    assert dry.recall_low < 0.75  # after one cluster, there may be another
    assert 0.3 < flowing.recall < 0.7


RATES: dict[str, Callable[[int], float]] = {
    "falling exponentially": lambda step: 0.6 * exp(-step / 250),
    "falling slowly": lambda step: 0.6 / (1 + step / 80),
    "with a steady part": lambda step: 0.5 * exp(-step / 150) + 0.02,
    "rising first": lambda step: 0.5 * step / 150 if step < 150 else 0.5 * exp(-(step - 150) / 200),
}


@pytest.mark.parametrize("name", RATES)
def test_on_made_up_curves_there_is_rarely_more_than_foretold_and_recall_is_little_off(name: str) -> None:
    random = Random(11)
    more, errors = 0, []
    for _ in range(40):
        curve = [random.random() < RATES[name](step) for step in range(1600)]
        outlook = build_estimator(curve[:800]).estimate_recall()
        truth = sum(curve[800:])
        more += truth > outlook.high + 1
        errors.append(abs(outlook.recall - outlook.found / (outlook.found + truth)))
    assert more <= 4
    assert sorted(errors)[20] < 0.13


@pytest.mark.parametrize(("name", "least"), [("falling slowly", 34), ("with a steady part", 34)])
def test_where_the_tail_is_long_nine_of_ten_intervals_hold_the_truth(name: str, least: int) -> None:
    random = Random(5)
    held = 0
    for _ in range(40):
        curve = [random.random() < RATES[name](step) for step in range(1600)]
        outlook = build_estimator(curve[:800]).estimate_recall()
        held += outlook.low - 1 <= sum(curve[800:]) <= outlook.high + 1
    assert held >= least


def test_nearly_all_is_said_only_without_doubt() -> None:
    assert RecallEstimate(95, 500, 1.0, 0.0, 5.0).reaches_recall(0.95)
    assert not RecallEstimate(95, 500, 10.0, 0.0, 20.0).reaches_recall(0.95)
    assert not RecallEstimate(95, 500, 1.0, 0.0, 5.0, "too few").reaches_recall(0.95)
    assert build_estimator([step < 150 for step in range(1500)]).estimate_recall().reaches_recall()


def test_the_longer_nothing_comes_the_surer_it_is() -> None:
    def first(step: int) -> bool:
        return (step < 200 and step % 2 == 0) or (step < 400 and step % 20 == 0)

    outlooks = [
        build_estimator([first(step) for step in range(length)]).estimate_recall()
        for length in (800, 2000, 5000, 20_000)
    ]
    assert all(outlook.recall_low > outlooks[0].recall_low for outlook in outlooks[1:])
    assert outlooks[-1].recall > 0.95


@pytest.mark.parametrize(
    ("outlook", "words"),
    [
        (RecallEstimate(90, 500, 30.0, 16.0, 58.0), "found about 60–85 % of what this crawl would find"),
        (RecallEstimate(100, 500, 0.0, 0.0, 0.0), "found about 100 % of what this crawl would find"),
        (RecallEstimate(100, 0, 0.0, 0.0, 0.0), "nothing is left to fetch"),
        (RecallEstimate(3, 30, 9.0, 0.0, 90.0, "too early to tell: 3 of 30"), "too early to tell"),
    ],
)
def test_the_recall_is_told_in_plain_words(outlook: RecallEstimate, words: str) -> None:
    assert outlook.summary == outlook.to_json()["words"] == words


def test_an_unseen_cluster_is_not_foretold() -> None:
    # This documents a limit of the method (see the module docstring), not a defect.
    outlook = build_estimator([step < 100 for step in range(500)]).estimate_recall(200)
    assert outlook.high < 100


def test_the_outlook_of_nothing_found_is_no_recall() -> None:
    assert RecallEstimate(0, 100, 0.0, 0.0, 3.0).recall == 0.0


# The recall monitor


def falling_discoveries(step: int) -> bool:
    return step < 90 or (step < 150 and step % 3 == 0) or (step < 220 and step % 20 == 0)


def test_a_crawl_is_over_when_its_discoveries_have_dried_up_and_stays_over() -> None:
    found = RecallMonitor(threshold=0.5, target_recall=0.95)
    ends = []
    for step in range(1200):
        found.add_visit(0.9 if falling_discoveries(step) else 0.1)
        if found.is_target_reached():
            ends.append(step)
    assert 300 <= ends[0] < 800
    assert ends == list(range(ends[0], 1200))


def test_a_crawl_that_is_gone_on_with_is_over_when_it_would_have_been_over() -> None:
    whole = RecallMonitor(threshold=0.5, target_recall=0.95)
    row = [falling_discoveries(step) for step in range(1200)]
    end = next(place for place, found in enumerate(row) if whole.add_visit(float(found)) or whole.is_target_reached())
    for cut in (100, end - 30, end, end + 1):
        again = RecallMonitor(threshold=0.5, target_recall=0.95)
        again.replay_visits(row[:cut])
        again_end = next(
            place
            for place, found in enumerate(row[cut:], cut)
            if again.is_target_reached() or again.add_visit(float(found))
        )
        assert again.is_target_reached()
        assert again_end in (end, end + 1)


def test_without_a_share_it_is_never_over() -> None:
    found = RecallMonitor(threshold=0.5)
    found.replay_visits(map(falling_discoveries, range(1000)))
    assert not found.is_target_reached()
    assert found.get_estimate().reaches_recall()


@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("too early", [True] * 20 + [False] * 200),
        ("too little found", [True] * 10 + [False] * 2000),
        ("still flowing", [step % 5 == 0 for step in range(2000)]),
        ("rising", [step % max(2, 40 - step // 40) == 0 for step in range(1500)]),
    ],
)
def test_a_crawl_goes_on_while_there_is_doubt(name: str, row: list[bool]) -> None:
    found = RecallMonitor(threshold=0.5, target_recall=0.9)
    for relevant in row:
        found.add_visit(float(relevant))
        assert not found.is_target_reached(), name


def test_a_fetch_without_a_page_is_a_fetch_that_found_nothing() -> None:
    found = RecallMonitor(threshold=0.0)
    found.add_visit(None)
    found.add_visit(0.0)
    assert (found.estimator.fetches, found.estimator.found) == (2, 1)


def test_what_is_shown_is_at_most_a_tenth_old() -> None:
    found = RecallMonitor(threshold=0.5)
    found.replay_visits(map(falling_discoveries, range(1000)))
    before = found.get_estimate()
    found.replay_visits([False] * 99)
    assert found.get_estimate() is before
    found.replay_visits([False])
    assert found.get_estimate().horizon == 1100
    assert found.get_estimate(waiting=0).summary == "nothing is left to fetch"


def test_watching_costs_some_microseconds_a_fetch() -> None:
    found = RecallMonitor(threshold=0.5, target_recall=0.95)
    begun = process_time()
    for step in range(10_000):
        found.add_visit(0.9 if step % (2 + step // 50) == 0 else 0.1)
        found.is_target_reached()
    assert (process_time() - begun) / 10_000 < 200e-6  # about 15 µs; the limit allows for a busy machine
