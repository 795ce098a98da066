"""Bags of terms: the same figures as from the words, whatever was counted before."""

from __future__ import annotations

import itertools
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topicrawl.text import bag
from topicrawl.text.bag import bag_of
from topicrawl.text.lexicon import lexicon
from topicrawl.text.vectors import norm

_ENGLISH = lexicon("en")
_WORDS = st.lists(st.sampled_from(["owl", "owls", "the", "night", "nights", "a", "hunting", "1687", "é", "東京"]))
_FRESH = itertools.count()


@given(_WORDS, _WORDS)
def test_a_bag_weighs_as_the_lexicon_does(words: list[str], asked: list[str]) -> None:
    weights = _ENGLISH.weights(words)
    found = bag_of(words, _ENGLISH)
    terms = set(_ENGLISH.terms(asked))
    assert found.held(terms) == {term: weights[term] for term in terms if term in weights}
    assert found.length == norm(weights)
    assert found.weights == weights


@given(_WORDS)
def test_a_bag_of_known_weights_counts_the_same_words(words: list[str]) -> None:
    counted = bag_of(words, _ENGLISH).counted
    again = bag_of((), _ENGLISH, _ENGLISH.weights(words)).counted
    assert [column.tolist() for column in counted] == [column.tolist() for column in again]


def test_words_that_nobody_has_ever_said_are_held_by_the_first_page_that_says_them() -> None:
    word = f"neversaid{next(_FRESH)}"
    assert list(bag_of(["owl", word], lexicon("xx")).held([word])) == [word]
    again = f"neversaid{next(_FRESH)}"
    assert list(bag_of((), lexicon("xx"), {again: 1.0}).places([again])) == [again]


def test_few_words_and_many_have_the_same_terms() -> None:
    vocabulary = bag.Vocabulary(_ENGLISH)
    said = ["owls", "the", "hunting", "night", "owl", "é", "9"] * 20
    assert vocabulary.numbers(said).tolist() == [number for word in said for number in vocabulary.numbers([word])]
    assert [vocabulary.names[number] for number in vocabulary.numbers(said[:3])] == ["owl", "", "hunt"]


def test_a_page_of_very_many_words_does_not_fill_the_vocabulary_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bag, "_MANY", 3)
    shared = bag_of(["owl"], _ENGLISH).vocabulary
    crowd = bag_of(["rubbish", "heap", "trash", "waste"], _ENGLISH)
    assert crowd.held(["trash"])
    assert crowd.vocabulary is not shared
    assert "rubbish" not in shared.terms
    assert bag_of(["owl"], _ENGLISH).vocabulary is shared


def test_a_full_vocabulary_is_replaced_and_old_bags_still_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    old = bag_of(["owl", "night"], _ENGLISH)
    held = old.held(["owl"])
    monkeypatch.setattr(bag, "_MOST_WORDS", 1)
    new = bag_of(["day", "owl"], _ENGLISH)
    assert new.vocabulary is not old.vocabulary
    assert old.held(["owl"]) == new.held(["owl"]) == held


def test_threads_that_count_at_once_give_each_term_one_number() -> None:
    rows = [[f"thread{row}word{number}" for number in range(300)] for row in range(8)]
    with ThreadPoolExecutor(4) as threads:
        bags = list(threads.map(lambda row: bag_of([*row, "owl"], lexicon("xx")).held([*row, "owl"]), rows))
    assert all(bag.keys() == {*row, "owl"} for bag, row in zip(bags, rows, strict=True))
    numbers = bag_of((), lexicon("xx")).vocabulary.terms.values()
    assert len(set(numbers)) == len(numbers)
