"""What is still out there: laws of the estimate, and how often it is right on curves whose end is known."""

from __future__ import annotations

import json
from collections.abc import Callable
from math import exp
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topicrawl.remaining import Outlook, Remaining


def fed(curve: list[bool]) -> Remaining:
    left = Remaining()
    for relevant in curve:
        left.add(relevant)
    return left


@settings(deadline=None, max_examples=40)  # a busy machine is slow, not wrong
@given(st.lists(st.booleans(), max_size=300), st.integers(0, 1000))
def test_an_outlook_is_ordered_and_a_share(curve: list[bool], ahead: int) -> None:
    outlook = fed(curve).outlook(ahead)
    assert outlook.found == sum(curve)
    assert 0 <= outlook.low <= outlook.remaining <= outlook.high
    assert 0 <= outlook.recall_low <= outlook.recall <= outlook.recall_high <= 1


@settings(deadline=None, max_examples=40)
@given(st.lists(st.booleans(), max_size=400), st.integers(0, 400))
def test_one_that_was_stored_goes_on_as_if_it_had_not_been(curve: list[bool], cut: int) -> None:
    first = fed(curve[:cut])
    again = Remaining.restored(json.loads(json.dumps(first.state())))
    for relevant in curve[cut:]:
        again.add(relevant)
    assert again.state() == fed(curve).state()
    assert again.outlook() == fed(curve).outlook()


def test_nothing_stored_is_a_new_beginning() -> None:
    assert Remaining.restored(None).state() == Remaining().state()


def test_its_size_does_not_grow_with_the_crawl() -> None:
    left = fed([step % 7 == 0 for step in range(20_000)])
    assert len(json.dumps(left.state())) < 600
    assert left.found == 2858


def test_looking_farther_ahead_finds_no_less() -> None:
    left = fed([step % (2 + step // 50) == 0 for step in range(600)])
    outlooks = [left.outlook(ahead).remaining for ahead in (50, 200, 600, 1200)]
    assert outlooks == sorted(outlooks)


def test_nothing_ahead_is_nothing_remaining() -> None:
    outlook = fed([True] * 200).outlook(0)
    assert (outlook.remaining, outlook.recall, outlook.doubt) == (0.0, 1.0, "")


@pytest.mark.parametrize(
    ("curve", "ahead", "said"),
    [
        ([], None, "too early to tell"),
        ([True] * 50, None, "too few"),
        ([False] * 500, None, "0 relevant pages in 500 fetches"),
        ([step % 5 == 0 for step in range(500)], None, "as fast as ever"),
        ([step < 100 for step in range(500)], 10_000, "a guess"),
        ([step < 100 for step in range(500)], None, ""),
    ],
)
def test_it_says_when_not_to_rely_on_it(curve: list[bool], ahead: int | None, said: str) -> None:
    doubt = fed(curve).outlook(ahead).doubt
    assert said in doubt
    assert bool(said) == bool(doubt)


def test_a_crawl_that_finds_no_more_is_nearly_done_and_one_that_goes_on_finding_is_not() -> None:
    dry = fed([step < 150 and step % 2 == 0 for step in range(1000)]).outlook()
    flowing = fed([step % 2 == 0 for step in range(1000)]).outlook()
    assert dry.recall > 0.93
    assert dry.recall_low < 0.75  # one cluster and then nothing: there may be another
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
        outlook = fed(curve[:800]).outlook()
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
        outlook = fed(curve[:800]).outlook()
        held += outlook.low - 1 <= sum(curve[800:]) <= outlook.high + 1
    assert held >= least


def test_nearly_all_is_said_only_without_doubt() -> None:
    assert Outlook(95, 500, 1.0, 0.0, 5.0).nearly_all(0.95)
    assert not Outlook(95, 500, 10.0, 0.0, 20.0).nearly_all(0.95)
    assert not Outlook(95, 500, 1.0, 0.0, 5.0, "too few").nearly_all(0.95)
    assert fed([step < 150 for step in range(1500)]).outlook().nearly_all()


def test_the_longer_nothing_comes_the_surer_it_is() -> None:
    def first(step: int) -> bool:
        return (step < 200 and step % 2 == 0) or (step < 400 and step % 20 == 0)

    outlooks = [fed([first(step) for step in range(length)]).outlook() for length in (800, 2000, 5000, 20_000)]
    assert all(outlook.recall_low > outlooks[0].recall_low for outlook in outlooks[1:])
    assert outlooks[-1].recall > 0.95


@pytest.mark.parametrize(
    ("outlook", "words"),
    [
        (Outlook(90, 500, 30.0, 16.0, 58.0), "about 60–85 % found"),
        (Outlook(100, 500, 0.0, 0.0, 0.0), "about 100 % found"),
        (Outlook(100, 0, 0.0, 0.0, 0.0), "nothing is left to fetch"),
        (Outlook(3, 30, 9.0, 0.0, 90.0, "too early to tell: 3 of 30"), "too early to tell"),
    ],
)
def test_the_recall_is_told_in_plain_words(outlook: Outlook, words: str) -> None:
    assert outlook.words == outlook.values()["words"] == words


def test_an_unseen_cluster_is_not_foretold() -> None:
    # Written down because it is a limit of the method, not a fault of the code: see the module's text.
    outlook = fed([step < 100 for step in range(500)]).outlook(200)
    assert outlook.high < 100


def test_the_outlook_of_nothing_found_is_no_recall() -> None:
    assert Outlook(0, 100, 0.0, 0.0, 3.0).recall == 0.0
