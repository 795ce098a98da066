"""Tests of MinHash bands."""

from __future__ import annotations

from random import Random

import pytest

from topicrawl.text.minhash import compute_bands
from topicrawl.text.shingles import resemblance

ALPHABETS = {"latin": "abcdefghijklmnoprstuw", "cyrillic": "абвгдежзиклмнопрст", "greek": "αβγδεζηθικλμνξοπρστ"}


def make_prose(random: Random, count: int, alphabet: str = ALPHABETS["latin"]) -> list[str]:
    return ["".join(random.choices(alphabet, k=random.randint(2, 9))) for _ in range(count)]


def change_words(random: Random, text: list[str], share: float) -> list[str]:
    return ["other" if random.random() < share else word for word in text]


def count_shared_bands(one: list[str], two: list[str]) -> int:
    return len(set(compute_bands(" ".join(one))) & set(compute_bands(" ".join(two))))


@pytest.mark.parametrize("alphabet", sorted(ALPHABETS))
@pytest.mark.parametrize("count", [150, 800])
def test_near_duplicates_share_a_band(alphabet: str, count: int) -> None:
    random = Random(count)
    pairs = 0
    missed = 0
    for _ in range(20):
        text = make_prose(random, count, ALPHABETS[alphabet])
        other = change_words(random, text, 0.006)
        if resemblance(text, other) >= 0.9:
            pairs += 1
            missed += not count_shared_bands(text, other)
    assert pairs >= 10
    assert missed <= 1


def test_half_equal_texts_seldom_share_a_band() -> None:
    random = Random(2)
    found = 0
    for _ in range(40):
        text = make_prose(random, 600)
        found += count_shared_bands(text, [*text[:300], *make_prose(random, 300)]) > 0  # r = 1/3
    assert found <= 8


def test_bands_hardly_depend_on_a_prefix() -> None:
    text = " ".join(make_prose(Random(3), 500))
    assert len(set(compute_bands(text)) & set(compute_bands("Some words before. " + text))) >= 3


def test_bands_are_deterministic() -> None:
    assert compute_bands("Most owls hunt at night and sleep during the day in the hollow of a dead tree.")[:2] == [
        -1435914864087195375,
        -8586442528057911380,
    ]


@pytest.mark.parametrize(
    "text", ["", "Owls.", "x" * 500, "\ud800" * 40, "a b " * 40], ids=["none", "short", "one word", "torn", "letters"]
)
def test_short_text_has_no_bands(text: str) -> None:
    assert len(compute_bands(text)) in (0, 4)


def test_text_without_the_selected_initials_has_bands() -> None:
    assert len(compute_bands("the owl sleeps in the old oak, where no one sees how it looks to the right")) == 4


def test_different_seeds_are_independent() -> None:
    text = " ".join(make_prose(Random(4), 100))
    assert not set(compute_bands(text)) & set(compute_bands(text, 77))
