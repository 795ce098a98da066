"""Tests of the evidence on a page: the fast paths give the values of the general ones."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from topicrawl.relevance.page_evidence import _NO_POSITIONS, _find_largest, _measure_phrase, _measure_term
from topicrawl.relevance.topic_units import TopicUnit
from topicrawl.text.bag_of_words import VocabularyCache
from topicrawl.text.lexicon import load_lexicon


@given(st.lists(st.sampled_from([0.5, 1.0, 2.0, 3.5]), max_size=40), st.integers(1, 50))
def test_largest_values_are_those_of_a_stable_sort(values: list[float], count: int) -> None:
    array = np.array(values, np.float64)
    assert _find_largest(array, count).tolist() == np.argsort(-array, kind="stable")[:count].tolist()


@given(st.lists(st.sampled_from(["owl", "night"]), max_size=30), st.integers(0, 900))
def test_one_term_is_measured_like_a_phrase(words: list[str], padding: int) -> None:
    lexicon = load_lexicon("xx")
    bag = VocabularyCache().build_bag([*words, *["day"] * padding, *words], lexicon)
    content = bag.vocabulary.get_term_ids([*words, *["day"] * padding, *words])
    unit = TopicUnit({"owl": 1.0}, 1.0)
    assert _measure_term(unit, bag, content) == _measure_phrase(unit, bag, content, _NO_POSITIONS)
