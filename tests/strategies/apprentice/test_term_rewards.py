"""Term rewards depend on the pages that contain a term. They survive restarts and other term numbers."""

from __future__ import annotations

import json

import numpy as np
import pytest

from topicrawl.ml.online import Hashes
from topicrawl.strategies.apprentice import term_rewards as module
from topicrawl.strategies.apprentice.term_rewards import TermRewards
from topicrawl.strategies.apprentice.topic_terms import hash_text
from topicrawl.text.bag_of_words import BagOfWords, TermVocabulary
from topicrawl.text.lexicon import load_lexicon

PAGES = (("owl night wood", 1.0), ("train night rail", 0.0), ("owl wood", 0.8), ("night train", 0.1))


def bag(text: str, vocabulary: TermVocabulary) -> BagOfWords:
    return BagOfWords((text.split(),), vocabulary)


def hashes(*terms: str) -> Hashes:
    return np.array([hash_text(term) for term in terms], np.uint32)


def make_rewards(*, vocabulary: TermVocabulary | None = None) -> TermRewards:
    worth = TermRewards()
    vocabulary = vocabulary or TermVocabulary(load_lexicon("xx"))
    for text, reward in PAGES:
        worth.add_page(bag(text, vocabulary), reward)
    worth.track_terms(hashes("owl", "train", "night", "never"))
    return worth


def weights(worth: TermRewards) -> list[float]:
    return [round(weight, 4) for weight in worth.compute_weights(0.4)[1].tolist()]


def test_terms_of_relevant_pages_get_positive_weights_and_unknown_terms_none() -> None:
    owl, train, night, never = weights(make_rewards())
    assert owl > 0 > night > train
    assert never == 0


def test_weights_do_not_depend_on_term_numbers() -> None:
    other = TermVocabulary(load_lexicon("xx"))
    other.assign_term_ids(["rail", "some", "night", "more", "owl"])
    assert weights(make_rewards(vocabulary=other)) == weights(make_rewards())


def test_rewards_survive_a_new_or_larger_vocabulary() -> None:
    worth, vocabulary = TermRewards(), TermVocabulary(load_lexicon("xx"))
    worth.add_page(bag("owl", vocabulary), 1.0)
    worth.add_page(bag(" ".join(f"w{number}" for number in range(500)), vocabulary), 0.0)
    worth.add_page(bag("owl w7", TermVocabulary(load_lexicon("xx"))), 1.0)
    worth.track_terms(hashes("owl", "w7", "w8"))
    assert weights(worth) == [1.5, 0.25, -0.5455]


def test_restoring_a_state_replaces_the_previous_content() -> None:
    before = make_rewards()
    after = TermRewards()
    after.add_page(bag("owl owl", TermVocabulary(load_lexicon("xx"))), 0.3)
    after.track_terms(hashes("other"))
    after.restore_state(json.loads(json.dumps(before.get_state())))
    assert weights(after) == weights(before)
    assert after.tracked_terms.tolist() == before.tracked_terms.tolist()


def test_the_oldest_tracked_terms_are_dropped_above_the_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "_MAX_TRACKED_TERMS", 10)
    worth = TermRewards()
    for number in range(12):
        worth.track_terms(hashes(f"w{number}"))
    assert worth.tracked_terms.tolist() == hashes(*(f"w{number}" for number in range(2, 12))).tolist()
    worth.track_terms(hashes("w0", "w5"))
    assert hash_text("w0") in worth.tracked_terms.tolist()
    assert worth.tracked_terms.tolist().count(hash_text("w5")) == 1
