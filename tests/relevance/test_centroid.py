"""The centroid of example pages as a query."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topicrawl.records import Page
from topicrawl.relevance.centroid import Centroid, mean_direction
from topicrawl.text.lexicon import lexicon
from topicrawl.text.vectors import cosine, norm

ENGLISH = lexicon("en")
CENTROID = Centroid({"owl": 0.6, "forest": 0.8}, ENGLISH)
texts = st.lists(st.lists(st.sampled_from(["owls", "the", "forest", "train", "Nacht", "qxzjvkwq", "ß"])).map(" ".join))


@given(texts)
def test_many_texts_at_once_are_as_one_by_one(texts: list[str]) -> None:
    alone = [CENTROID.cosine(ENGLISH.weights(text.lower().split())) for text in texts]
    assert CENTROID.phrases(texts) == pytest.approx(alone)


vectors = st.lists(st.dictionaries(st.sampled_from("abcdef"), st.floats(0.1, 50.0), min_size=1), min_size=1, max_size=6)


@given(vectors)
def test_a_mean_has_length_1_whatever_the_order_and_length_of_pages(vectors: list[dict[str, float]]) -> None:
    mean = mean_direction(vectors, 99)
    assert norm(mean) == pytest.approx(1.0)
    scaled = [{term: 7 * weight for term, weight in vector.items()} for vector in reversed(vectors)]
    assert mean_direction(scaled, 99) == pytest.approx(mean)


def test_only_the_heaviest_terms_stay_and_equals_by_name() -> None:
    assert list(mean_direction([{"d": 1.0, "b": 2.0, "c": 1.0, "a": 1.0}], 3)) == ["a", "b", "c"]
    assert mean_direction([], 3) == {}


def test_a_page_speaks_with_title_and_text() -> None:
    page = Page("u", title="Owls", words=("the", "forest", "forest"))
    expected = {"owl": ENGLISH.idf("owl"), "forest": 2 * ENGLISH.idf("forest")}
    assert CENTROID.vector(page) == pytest.approx(expected)
    assert CENTROID.cosine(CENTROID.vector(page)) == pytest.approx(cosine(expected, CENTROID.weights))


def test_without_examples_or_words_nothing_is_like_anything() -> None:
    assert Centroid({}, ENGLISH).phrases(["owl", ""]) == [0.0, 0.0]
    assert CENTROID.cosine({}) == 0.0
    assert CENTROID.phrases([""]) == [0.0]
