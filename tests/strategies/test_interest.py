"""Interest ratios by hand."""

from __future__ import annotations

from math import exp, log

import pytest

from topicrawl.strategies.interest import Family, Ratios, url_tokens


def counted(seen: int, good: int) -> Ratios:
    ratios = Ratios()
    for number in range(seen):
        ratios.count(["owl"], number < good)
    return ratios


@pytest.mark.parametrize(
    ("seen", "good", "chance", "ratio"),
    [
        (10, 8, 0.2, 8.2 / 11 / 0.2),  # 3.727: four times as often as by chance, a little less with one page more
        (10, 2, 0.2, 2.2 / 11 / 0.2),  # 1: as often as by chance
        (10, 0, 0.2, 0.2 / 11 / 0.2),  # 1/11: never yet
        (0, 0, 0.2, 1.0),  # not seen yet: nothing is known
    ],
)
def test_the_ratio_of_an_event(seen: int, good: int, chance: float, ratio: float) -> None:
    assert exp(counted(seen, good).log_ratio("owl", chance)) == pytest.approx(ratio)


@pytest.mark.parametrize("chance", [0.0, 1.0])
def test_while_all_pages_are_alike_nothing_tells_them_apart(chance: float) -> None:
    assert counted(3, 3).log_ratio("owl", chance) == counted(3, 3).mean_log(["owl"], chance) == 0.0
    assert Family([], True, fetched=2, relevant=2).log_ratio(chance) == 0.0


@pytest.mark.parametrize(
    ("seen", "good", "counts"),
    [
        (16, 12, True),  # chance gives 8 ± 2: two standard deviations
        (16, 11, False),
        (16, 4, True),
        (1, 1, False),
    ],
)
def test_words_count_from_two_standard_deviations_on(seen: int, good: int, counts: bool) -> None:
    assert (counted(seen, good).mean_log(["owl"], 0.5) != 0) == counts


def test_the_mean_is_over_the_words_that_count() -> None:
    ratios = counted(16, 16)
    for number in range(16):
        ratios.count(["car"], False)
        ratios.count(["the"], number % 2 == 0)
    expected = (log(16.5 / 17 / 0.5) + log(0.5 / 17 / 0.5)) / 2
    assert ratios.mean_log(["owl", "car", "the", "new"], 0.5) == pytest.approx(expected)


def test_siblings_are_compared_with_chance() -> None:
    assert exp(Family([], False, fetched=4, relevant=3).log_ratio(0.25)) == pytest.approx(3.25 / 5 / 0.25)
    assert Family([], False).log_ratio(0.25) == pytest.approx(0.0)


def test_rare_words_are_forgotten_when_there_are_too_many() -> None:
    ratios = Ratios()
    for number in range(400):
        ratios.count(["often", *(f"word{number}x{n}" for n in range(100))], True)
        assert len(ratios.seen) <= 20_000
        assert ratios.good.keys() <= ratios.seen.keys()
    assert ratios.seen["often"] == ratios.good["often"] == 400


def test_packing_changes_nothing() -> None:
    ratios, family = counted(5, 2), Family(["a", "b"], True, 3, 1, 0.125, {"http://u/": 0.1})
    assert Ratios.unpacked(ratios.packed()) == ratios
    assert Family.unpacked(family.packed()) == family
    assert Family.unpacked(Family([], False).packed()) == Family([], False)


def test_words_of_an_address() -> None:
    assert url_tokens("https://a.b.example/x/Owl_song%20list.html") == ["example", "owl", "song", "20list", "html"]
    assert url_tokens("http://bücher.example/eulen") == ["bücher", "example", "eulen"]
