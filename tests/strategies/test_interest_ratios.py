"""Tests of interest ratios, computed by hand."""

from __future__ import annotations

from math import exp, log

import pytest

from topicrawl.strategies.interest_ratios import InterestRatios, SiblingGroup, tokenize_url


def count_owls(seen: int, good: int) -> InterestRatios:
    ratios = InterestRatios()
    for number in range(seen):
        ratios.count_events(["owl"], number < good)
    return ratios


@pytest.mark.parametrize(
    ("seen", "good", "chance", "ratio"),
    [
        (10, 8, 0.2, 8.2 / 11 / 0.2),  # 3.727: four times the base rate, slightly less with one more page
        (10, 2, 0.2, 2.2 / 11 / 0.2),  # 1: equal to the base rate
        (10, 0, 0.2, 0.2 / 11 / 0.2),  # 1/11: never relevant
        (0, 0, 0.2, 1.0),  # no data
    ],
)
def test_the_ratio_of_an_event(seen: int, good: int, chance: float, ratio: float) -> None:
    assert exp(count_owls(seen, good).log_ratio("owl", chance)) == pytest.approx(ratio)


@pytest.mark.parametrize("chance", [0.0, 1.0])
def test_ratios_are_neutral_while_all_pages_have_one_label(chance: float) -> None:
    assert count_owls(3, 3).log_ratio("owl", chance) == count_owls(3, 3).mean_log_ratio(["owl"], chance) == 0.0
    assert SiblingGroup([], True, fetched_count=2, relevant_count=2).log_ratio(chance) == 0.0


@pytest.mark.parametrize(
    ("seen", "good", "counts"),
    [
        (16, 12, True),  # expected 8 ± 2: two standard deviations
        (16, 11, False),
        (16, 4, True),
        (1, 1, False),
    ],
)
def test_words_count_from_two_standard_deviations_on(seen: int, good: int, counts: bool) -> None:
    assert (count_owls(seen, good).mean_log_ratio(["owl"], 0.5) != 0) == counts


def test_the_mean_is_over_the_words_that_count() -> None:
    ratios = count_owls(16, 16)
    for number in range(16):
        ratios.count_events(["car"], False)
        ratios.count_events(["the"], number % 2 == 0)
    expected = (log(16.5 / 17 / 0.5) + log(0.5 / 17 / 0.5)) / 2
    assert ratios.mean_log_ratio(["owl", "car", "the", "new"], 0.5) == pytest.approx(expected)


def test_siblings_are_compared_with_the_base_rate() -> None:
    assert exp(SiblingGroup([], False, fetched_count=4, relevant_count=3).log_ratio(0.25)) == pytest.approx(
        3.25 / 5 / 0.25
    )
    assert SiblingGroup([], False).log_ratio(0.25) == pytest.approx(0.0)


def test_rare_words_are_dropped_above_the_limit() -> None:
    ratios = InterestRatios()
    for number in range(400):
        ratios.count_events(["often", *(f"word{number}x{n}" for n in range(100))], True)
        assert len(ratios.page_counts) <= 20_000
        assert ratios.relevant_counts.keys() <= ratios.page_counts.keys()
    assert ratios.page_counts["often"] == ratios.relevant_counts["often"] == 400


def test_state_survives_a_round_trip() -> None:
    ratios, family = count_owls(5, 2), SiblingGroup(["a", "b"], True, 3, 1, 0.125, {"http://u/": 0.1})
    assert InterestRatios.from_state(ratios.get_state()) == ratios
    assert SiblingGroup.from_state(family.get_state()) == family
    assert SiblingGroup.from_state(SiblingGroup([], False).get_state()) == SiblingGroup([], False)


def test_url_tokens_are_distinct_words() -> None:
    assert tokenize_url("https://a.b.example/x/Owl_song%20list.html") == ["example", "owl", "song", "20list", "html"]
    assert tokenize_url("http://bücher.example/eulen") == ["bücher", "example", "eulen"]
