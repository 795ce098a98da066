"""Tests of sparse vectors: properties of the cosine."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topicrawl.text.lexicon import load_lexicon
from topicrawl.text.sparse_vectors import cosine, norm, tf, tf_idf

vectors = st.dictionaries(st.sampled_from("abcdefgh"), st.floats(0, 1e6))
some_terms = st.lists(st.sampled_from(["owl", "night", "peopl", "qqqq"]))


@given(vectors, vectors)
def test_cosine_is_symmetric_and_bounded(a: dict[str, float], b: dict[str, float]) -> None:
    assert cosine(a, b) == cosine(b, a)
    assert 0 <= cosine(a, b) <= 1


@given(vectors)
def test_order_of_terms_does_not_matter(a: dict[str, float]) -> None:
    turned = dict(reversed(a.items()))
    assert norm(turned) == norm(a)
    assert cosine(turned, {"a": 1.0, "b": 2.0}) == cosine(a, {"a": 1.0, "b": 2.0})


@given(st.dictionaries(st.sampled_from("abcdefgh"), st.floats(1e-3, 1e6), min_size=1))
def test_cosine_with_itself_is_1(a: dict[str, float]) -> None:
    assert cosine(a, a) == pytest.approx(1)
    assert cosine(a, {term: 3 * weight for term, weight in a.items()}) == pytest.approx(1)


@pytest.mark.parametrize(("a", "b"), [({}, {}), ({}, {"a": 1.0}), ({"a": 0.0}, {"a": 1.0}), ({"a": 1.0}, {"b": 1.0})])
def test_cosine_of_disjoint_vectors_is_0(a: dict[str, float], b: dict[str, float]) -> None:
    assert cosine(a, b) == 0


@given(some_terms)
def test_most_frequent_term_has_frequency_1(terms: list[str]) -> None:
    frequencies = tf(terms)
    assert list(frequencies) == list(dict.fromkeys(terms))
    assert not terms or max(frequencies.values()) == 1


@given(some_terms)
def test_tf_idf_is_tf_times_idf(terms: list[str]) -> None:
    english = load_lexicon("en")
    assert tf_idf(terms, english) == {term: weight * english.idf(term) for term, weight in tf(terms).items()}


def test_norm_is_exact() -> None:
    assert norm({str(number): 0.1 for number in range(100)}) == math.sqrt(math.fsum([0.1 * 0.1] * 100))
