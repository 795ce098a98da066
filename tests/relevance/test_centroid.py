"""Tests of the centroid of example pages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topicrawl.models import Page
from topicrawl.relevance.centroid import Centroid, compute_centroid
from topicrawl.text.lexicon import load_lexicon
from topicrawl.text.sparse_vectors import cosine, norm

ENGLISH = load_lexicon("en")
CENTROID = Centroid({"owl": 0.6, "forest": 0.8}, ENGLISH)
texts = st.lists(st.lists(st.sampled_from(["owls", "the", "forest", "train", "Nacht", "qxzjvkwq", "ß"])).map(" ".join))


@given(texts)
def test_batch_scores_equal_single_scores(texts: list[str]) -> None:
    single_scores = [CENTROID.cosine(ENGLISH.compute_weights(text.lower().split())) for text in texts]
    assert CENTROID.score_texts(texts) == pytest.approx(single_scores)


vectors = st.lists(st.dictionaries(st.sampled_from("abcdef"), st.floats(0.1, 50.0), min_size=1), min_size=1, max_size=6)


@given(vectors)
def test_centroid_has_norm_1_for_any_order_and_length_of_vectors(vectors: list[dict[str, float]]) -> None:
    mean = compute_centroid(vectors, 99)
    assert norm(mean) == pytest.approx(1.0)
    scaled = [{term: 7 * weight for term, weight in vector.items()} for vector in reversed(vectors)]
    assert compute_centroid(scaled, 99) == pytest.approx(mean)


def test_centroid_keeps_heaviest_terms_and_breaks_ties_by_name() -> None:
    assert list(compute_centroid([{"d": 1.0, "b": 2.0, "c": 1.0, "a": 1.0}], 3)) == ["a", "b", "c"]
    assert compute_centroid([], 3) == {}


def test_vector_includes_title_and_text() -> None:
    page = Page("u", title="Owls", words=("the", "forest", "forest"))
    expected = {"owl": ENGLISH.idf("owl"), "forest": 2 * ENGLISH.idf("forest")}
    assert CENTROID.build_vector(page) == pytest.approx(expected)
    assert CENTROID.cosine(CENTROID.build_vector(page)) == pytest.approx(cosine(expected, CENTROID.weights))


def test_similarity_is_0_without_examples_or_words() -> None:
    assert Centroid({}, ENGLISH).score_texts(["owl", ""]) == [0.0, 0.0]
    assert CENTROID.cosine({}) == 0.0
    assert CENTROID.score_texts([""]) == [0.0]
