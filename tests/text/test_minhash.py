"""Candidates for near-duplicates."""

from __future__ import annotations

from random import Random

import pytest

from topicrawl.text.minhash import bands
from topicrawl.text.shingles import resemblance

ALPHABETS = {"latin": "abcdefghijklmnoprstuw", "cyrillic": "абвгдежзиклмнопрст", "greek": "αβγδεζηθικλμνξοπρστ"}


def prose(random: Random, count: int, alphabet: str = ALPHABETS["latin"]) -> list[str]:
    return ["".join(random.choices(alphabet, k=random.randint(2, 9))) for _ in range(count)]


def changed(random: Random, text: list[str], share: float) -> list[str]:
    return ["other" if random.random() < share else word for word in text]


def shared(one: list[str], two: list[str]) -> int:
    return len(set(bands(" ".join(one))) & set(bands(" ".join(two))))


@pytest.mark.parametrize("alphabet", sorted(ALPHABETS))
@pytest.mark.parametrize("count", [150, 800])
def test_texts_that_are_nearly_the_same_share_a_band(alphabet: str, count: int) -> None:
    random = Random(count)
    pairs = 0
    missed = 0
    for _ in range(20):
        text = prose(random, count, ALPHABETS[alphabet])
        other = changed(random, text, 0.006)
        if resemblance(text, other) >= 0.9:
            pairs += 1
            missed += not shared(text, other)
    assert pairs >= 10
    assert missed <= 1


def test_texts_of_which_half_is_the_same_seldom_share_a_band() -> None:
    random = Random(2)
    found = 0
    for _ in range(40):
        text = prose(random, 600)
        found += shared(text, [*text[:300], *prose(random, 300)]) > 0  # r = 1/3
    assert found <= 8


def test_bands_hardly_depend_on_what_stands_before() -> None:
    text = " ".join(prose(Random(3), 500))
    assert len(set(bands(text)) & set(bands("Some words before. " + text))) >= 3


def test_bands_are_the_same_on_every_machine_and_in_every_process() -> None:
    assert bands("Most owls hunt at night and sleep during the day in the hollow of a dead tree.")[:2] == [
        -1435914864087195375,
        -8586442528057911380,
    ]


@pytest.mark.parametrize(
    "text", ["", "Owls.", "x" * 500, "\ud800" * 40, "a b " * 40], ids=["none", "short", "one word", "torn", "letters"]
)
def test_a_text_without_runs_has_no_bands_or_whole_ones(text: str) -> None:
    assert len(bands(text)) in (0, 4)


def test_a_text_none_of_whose_words_begins_with_the_usual_letters_has_bands_too() -> None:
    assert len(bands("the owl sleeps in the old oak, where no one sees how it looks to the right")) == 4


def test_different_seeds_have_nothing_in_common() -> None:
    text = " ".join(prose(Random(4), 100))
    assert not set(bands(text)) & set(bands(text, 77))
