"""Tests of keyword tables: the figures of Safran et al. 2012, Table 1, and Hati et al. 2010, Tables 2 and 5."""

from __future__ import annotations

from math import sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topicrawl.text.keyword_table import KeywordTable
from topicrawl.text.lexicon import load_lexicon
from topicrawl.text.wordnet import load_wordnet

ENGLISH = load_lexicon("en")
#: Safran et al. 2012, Table 1: thirteen rows (number 7 is missing), weights of n/332.
SAFRAN = dict(
    stock=1,
    market=0.780120,
    quote=0.427710,
    finance=0.355421,
    trade=0.322289,
    invest=0.268072,
    exchange=0.243975,
    price=0.225903,
    business=0.135542,
    bank=0.132530,
    chart=0.132530,
    economy=0.129518,
    money=0.126506,
)
#: Hati et al. 2010, Table 2: weights of n/331.
HATI = dict(
    book=1,
    free=0.894259882,
    program=0.459214501,
    computer=0.380664665,
    web=0.25679758,
    ebook=0.25679758,
    site=0.250755287,
    linux=0.223564954,
    java=0.208459214,
    post=0.187311178,
)
#: Hati et al. 2010, Table 5, in the order of Table 2: weights of n/925 except *program*; *computer* corrected.
TABLE_5 = [746 / 925, 1, 0.479892761, 621 / 925, 119 / 925, 239 / 925, 60 / 925, 0, 0, 0]


def count_by_word(values: list[float]) -> dict[int, float]:
    return {place: value for place, value in enumerate(values) if value}


@pytest.mark.parametrize(
    ("words", "similarity"),
    [
        ("stock", 0.660759),
        ("market", 0.515471),
        ("stock market", 0.838041),
        ("quote", 0.282613),
        ("finance", 0.234848),
        (" ".join(SAFRAN), 1.0),
        ("steam locomotive", 0.0),
        ("", 0.0),
    ],
)
def test_subset_similarities_of_safran_table_1(words: str, similarity: float) -> None:
    table = KeywordTable(SAFRAN, ENGLISH)
    assert table.subset_similarity(table.match_keywords(words.split())) == pytest.approx(similarity, abs=5e-7)


def test_squares_of_safran_table_1() -> None:
    assert sum(weight**2 for weight in KeywordTable(SAFRAN, ENGLISH).weights) == pytest.approx(2.2904146244)


def test_safran_table_1_is_tf() -> None:
    counts = (332, 259, 142, 118, 107, 89, 81, 75, 45, 44, 44, 43, 42)
    assert list(SAFRAN.values()) == pytest.approx([count / 332 for count in counts], abs=2e-6)


def test_hati_table_2_is_tf() -> None:
    counts = (331, 296, 152, 126, 85, 85, 83, 74, 69, 62)
    assert list(HATI.values()) == pytest.approx([count / 331 for count in counts], abs=1e-7)


def test_similarity_of_hati_table_5_and_table_2() -> None:
    table = KeywordTable(HATI, ENGLISH)
    assert table.cosine(count_by_word(TABLE_5)) == pytest.approx(0.9361510071, abs=1e-10)
    misprint = [0.806486486, 1, 0.479892761, 0.67131351, 0.128648648, 0.258378378, 0.064864864]
    assert table.cosine(count_by_word(misprint)) == pytest.approx(0.9361549559, abs=1e-10)


def test_share_of_two_of_ten_keywords() -> None:
    """Hati et al. 2010, 5.2 and 5.4: both small examples are .2."""
    table = KeywordTable(HATI, ENGLISH)
    assert table.matched_share(table.match_keywords(["a", "book", "on", "services", "of", "the", "web"])) == 0.2


def test_inflected_forms_are_one_keyword() -> None:
    table = KeywordTable(SAFRAN, ENGLISH)
    assert table.match_keywords(["stocks", "trading"]) == table.match_keywords(["stock", "trade"]) == 0b10001


def test_words_of_the_topic_are_never_stop_words() -> None:
    table = KeywordTable({"the": 1.0, "who": 1.0}, ENGLISH)
    assert table.matched_share(table.match_keywords(["the", "band"])) == 0.5


def test_related_words_match_if_enabled() -> None:
    plain, related = (
        KeywordTable({"car": 1.0, "road": 1.0}, ENGLISH, how) for how in (None, load_wordnet().get_synonyms)
    )
    assert plain.match_keywords(["automobile"]) == 0
    assert related.match_keywords(["automobiles"]) == 0b01


def test_single_word_of_a_related_phrase_does_not_match() -> None:
    table = KeywordTable({"car": 1.0}, ENGLISH, lambda word: ["motor vehicle"])
    assert table.match_keywords(["motor"]) == 0


def test_heaviest_terms_include_ties() -> None:
    table = KeywordTable({"owl": 1.0, "night": 1.0, "mouse": 1.0}, ENGLISH)
    text = ["forest"] * 3 + ["owl"] * 2 + ["tree"] * 2 + ["night", "mouse"]
    assert table.count_keywords(text, heaviest=1) == {}
    assert table.count_keywords(text, heaviest=2) == {0: 2}
    assert table.count_keywords(text, heaviest=4) == {0: 2, 1: 1, 2: 1}
    assert table.count_keywords(text) == {0: 2, 1: 1, 2: 1}


def test_counts_are_weighted_by_idf_if_enabled() -> None:
    counts = KeywordTable({"owl": 1.0, "people": 1.0}, ENGLISH).count_keywords(["owl", "people"], use_idf=True)
    assert counts[0] > counts[1] > 0


WORDS = list(SAFRAN)


@given(st.sets(st.sampled_from(WORDS)), st.sets(st.sampled_from(WORDS)))
def test_similarity_is_monotonic_in_the_keywords(one: set[str], other: set[str]) -> None:
    table = KeywordTable(SAFRAN, ENGLISH)
    both = table.match_keywords(sorted(one)) | table.match_keywords(sorted(other))
    assert both == table.match_keywords(sorted(one | other))
    assert table.subset_similarity(table.match_keywords(sorted(one))) <= table.subset_similarity(both) <= 1


@given(st.sets(st.sampled_from(WORDS), min_size=1))
def test_subset_similarity_is_the_cosine(words: set[str]) -> None:
    table = KeywordTable(SAFRAN, ENGLISH)
    copied = {place: weight for place, (word, weight) in enumerate(SAFRAN.items()) if word in words}
    assert table.subset_similarity(table.match_keywords(sorted(words))) == pytest.approx(table.cosine(copied))
    assert table.cosine(copied) == pytest.approx(sqrt(sum(w * w for w in copied.values()) / 2.2904146244))
