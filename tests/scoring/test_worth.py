"""What words are worth is learned from the pages that hold them, and survives restarts and other numberings."""

from __future__ import annotations

import json

import numpy as np
import pytest

from topicrawl.learn.online import Hashes
from topicrawl.scoring import worth as module
from topicrawl.scoring.terms import hashed
from topicrawl.scoring.worth import Worth
from topicrawl.text.bag import Bag, Vocabulary
from topicrawl.text.lexicon import lexicon

PAGES = (("owl night wood", 1.0), ("train night rail", 0.0), ("owl wood", 0.8), ("night train", 0.1))


def bag(text: str, vocabulary: Vocabulary) -> Bag:
    return Bag((text.split(),), vocabulary)


def hashes(*terms: str) -> Hashes:
    return np.array([hashed(term) for term in terms], np.uint32)


def read(*, vocabulary: Vocabulary | None = None) -> Worth:
    worth = Worth()
    vocabulary = vocabulary or Vocabulary(lexicon("xx"))
    for text, reward in PAGES:
        worth.seen(bag(text, vocabulary), reward)
    worth.ask(hashes("owl", "train", "night", "never"))
    return worth


def weights(worth: Worth) -> list[float]:
    return [round(weight, 4) for weight in worth.weights(0.4)[1].tolist()]


def test_a_word_of_good_pages_is_worth_more_than_one_of_all_pages_and_an_unknown_one_nothing() -> None:
    owl, train, night, never = weights(read())
    assert owl > 0 > night > train
    assert never == 0


def test_worth_does_not_depend_on_how_terms_are_numbered() -> None:
    other = Vocabulary(lexicon("xx"))
    other.given(["rail", "some", "night", "more", "owl"])
    assert weights(read(vocabulary=other)) == weights(read())


def test_a_vocabulary_that_grows_or_is_replaced_keeps_what_was_learned() -> None:
    worth, vocabulary = Worth(), Vocabulary(lexicon("xx"))
    worth.seen(bag("owl", vocabulary), 1.0)
    worth.seen(bag(" ".join(f"w{number}" for number in range(500)), vocabulary), 0.0)
    worth.seen(bag("owl w7", Vocabulary(lexicon("xx"))), 1.0)
    worth.ask(hashes("owl", "w7", "w8"))
    assert weights(worth) == [1.5, 0.25, -0.5455]


def test_a_state_brings_everything_back_and_forgets_what_was_there() -> None:
    before = read()
    after = Worth()
    after.seen(bag("owl owl", Vocabulary(lexicon("xx"))), 0.3)
    after.ask(hashes("other"))
    after.restore(json.loads(json.dumps(before.state())))
    assert weights(after) == weights(before)
    assert after.asked.tolist() == before.asked.tolist()


def test_of_too_many_words_of_links_the_first_are_forgotten_until_they_come_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "_MOST_ASKED", 10)
    worth = Worth()
    for number in range(12):
        worth.ask(hashes(f"w{number}"))
    assert worth.asked.tolist() == hashes(*(f"w{number}" for number in range(2, 12))).tolist()
    worth.ask(hashes("w0", "w5"))
    assert hashed("w0") in worth.asked.tolist()
    assert worth.asked.tolist().count(hashed("w5")) == 1
