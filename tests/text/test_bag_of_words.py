"""Tests of the bag of words: the result does not depend on what was counted before."""

from __future__ import annotations

import itertools
from concurrent.futures import ThreadPoolExecutor

from hypothesis import given
from hypothesis import strategies as st

from topicrawl.text.bag_of_words import TermVocabulary, VocabularyCache
from topicrawl.text.lexicon import load_lexicon
from topicrawl.text.sparse_vectors import norm
from topicrawl.text.term_frequencies import compute_sif_weights

_ENGLISH = load_lexicon("en")
_CACHE = VocabularyCache()  # shared by the tests, because the result must not depend on its content
_WORDS = st.lists(st.sampled_from(["owl", "owls", "the", "night", "nights", "a", "hunting", "1687", "é", "東京"]))
_FRESH = itertools.count()


@given(_WORDS, _WORDS)
def test_weights_equal_those_of_the_lexicon(words: list[str], asked: list[str]) -> None:
    weights = _ENGLISH.compute_weights(words)
    found = _CACHE.build_bag(words, _ENGLISH)
    terms = set(_ENGLISH.extract_terms(asked))
    assert found.get_weights(terms) == {term: weights[term] for term in terms if term in weights}
    assert found.length == norm(weights)
    assert found.weights == weights


@given(_WORDS)
def test_bag_from_weights_has_the_same_counts(words: list[str]) -> None:
    counted = _CACHE.build_bag(words, _ENGLISH).term_counts
    again = _CACHE.build_bag((), _ENGLISH, _ENGLISH.compute_weights(words)).term_counts
    assert [column.tolist() for column in counted] == [column.tolist() for column in again]


def test_new_words_are_in_the_first_bag_that_contains_them() -> None:
    word = f"neversaid{next(_FRESH)}"
    assert list(_CACHE.build_bag(["owl", word], load_lexicon("xx")).get_weights([word])) == [word]
    again = f"neversaid{next(_FRESH)}"
    assert list(_CACHE.build_bag((), load_lexicon("xx"), {again: 1.0}).find_positions([again])) == [again]


def test_few_and_many_words_give_the_same_term_ids() -> None:
    vocabulary = TermVocabulary(_ENGLISH)
    words = ["owls", "the", "hunting", "night", "owl", "é", "9"] * 20
    assert vocabulary.get_term_ids(words).tolist() == [
        number for word in words for number in vocabulary.get_term_ids([word])
    ]
    assert vocabulary.get_terms(vocabulary.get_term_ids(words[:3])) == ["owl", "", "hunt"]


def test_very_long_page_does_not_use_the_shared_vocabulary() -> None:
    cache = VocabularyCache(max_page_words=3)
    shared = cache.build_bag(["owl"], _ENGLISH).vocabulary
    crowd = cache.build_bag(["rubbish", "heap", "trash", "waste"], _ENGLISH)
    assert crowd.get_weights(["trash"])
    assert crowd.vocabulary is not shared
    assert not shared.find_term_ids(["rubbish"])
    assert cache.build_bag(["owl"], _ENGLISH).vocabulary is shared


def test_full_vocabulary_is_replaced_and_old_bags_stay_valid() -> None:
    cache = VocabularyCache(max_words=1)
    old = cache.build_bag(["owl", "night"], _ENGLISH)
    held = old.get_weights(["owl"])
    new = cache.build_bag(["day", "owl"], _ENGLISH)
    assert new.vocabulary is not old.vocabulary
    assert old.get_weights(["owl"]) == new.get_weights(["owl"]) == held


def test_smooth_inverse_frequencies_are_those_of_the_terms() -> None:
    vocabulary = VocabularyCache().get_vocabulary(_ENGLISH)
    for count in (3, 5, 3000):
        ids = vocabulary.get_term_ids(["owl", "people", *(f"word{number}" for number in range(count))])
        assert vocabulary.get_sif_weights(ids).tolist() == compute_sif_weights(vocabulary.get_idf(ids)).tolist()


def test_caches_share_no_vocabulary() -> None:
    vocabularies = [VocabularyCache().get_vocabulary(_ENGLISH) for _ in range(2)]
    vocabularies[0].get_term_ids(["owl"])
    assert [vocabulary.find_term_ids(["owl"]) for vocabulary in vocabularies] == [{"owl": 1}, {}]


def test_concurrent_counting_assigns_one_id_per_term() -> None:
    rows = [[f"thread{row}word{number}" for number in range(300)] for row in range(8)]
    lexicon = load_lexicon("xx")
    with ThreadPoolExecutor(4) as threads:
        bags = list(threads.map(lambda row: _CACHE.build_bag([*row, "owl"], lexicon).get_weights([*row, "owl"]), rows))
    assert all(bag.keys() == {*row, "owl"} for bag, row in zip(bags, rows, strict=True))
    words = [word for row in rows for word in row]
    assert len(set(_CACHE.get_vocabulary(lexicon).find_term_ids(words).values())) == len(words)
