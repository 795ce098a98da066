"""Tests of the semantic similarities: recomputed values of Batsakis 2007, and properties of a similarity."""

from __future__ import annotations

from math import sqrt
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topicrawl.relevance.semantic_similarity import (
    LiMeasure,
    PathMeasure,
    SimilarityMeasure,
    SimilarityRow,
    corley_mihalcea,
    li_similarity,
    scale_to_unit,
    ssrm,
    term_similarity,
    weighted_sum,
)
from topicrawl.text.wordnet import load_wordnet

MEASURES: list[SimilarityMeasure] = [
    LiMeasure(),
    PathMeasure(),
    PathMeasure(relation="neighbours"),
    PathMeasure(relation="is_a"),
]
WORDS = ["car", "bicycle", "dog", "wolf", "fever", "disease", "run", "walk", "line", "head", "music", "song", "qqqq"]


@pytest.mark.parametrize(
    ("length", "depth", "value"),
    [(0, 1, 0.537050), (1, 3, 0.775179), (2, 1, 0.359995), (2, 5, 0.667005), (4, 2, 0.374585)],
)
def test_li_is_batsakis_equation_4_in_the_original_form(length: int, depth: int, value: float) -> None:
    assert li_similarity(length, depth) == pytest.approx(value, abs=5e-7)


def test_li_rises_with_depth_and_falls_with_path_length() -> None:
    assert li_similarity(2, 5) > li_similarity(2, 4) > li_similarity(3, 4)


@pytest.mark.parametrize(
    ("one", "other", "path", "neighbours", "is_a"),
    [
        ("car", "automobile", 1.0, 1.0, 1.0),
        ("dog", "canine", 0.5, 1.0, 1.0),
        ("beak", "bird", 0.5, 1.0, 0.0),  # part of one
        ("physics", "chemistry", 0.25, 0.0, 1.0),
        ("car", "qqqq", 0.0, 0.0, 0.0),
    ],
)
def test_ehrig_halves_with_every_step_as_in_batsakis_equation_3(
    one: str, other: str, path: float, neighbours: float, is_a: float
) -> None:
    found = [
        term_similarity(load_wordnet(), PathMeasure(relation=name), one, other)
        for name in ("path", "neighbours", "is_a")
    ]
    assert found == [path, neighbours, is_a]


@given(st.sampled_from(WORDS), st.sampled_from(WORDS), st.sampled_from(MEASURES))
def test_similarity_is_symmetric_bounded_and_1_for_equal_terms(
    one: str, other: str, measure: SimilarityMeasure
) -> None:
    value = term_similarity(load_wordnet(), measure, one, other)
    assert 0 <= value <= 1
    assert value == term_similarity(load_wordnet(), measure, other, one)
    assert term_similarity(load_wordnet(), measure, one, one) == 1


@settings(deadline=None, max_examples=40)
@given(st.sampled_from(WORDS), st.sampled_from(WORDS))
def test_best_pair_of_senses_counts(one: str, other: str) -> None:
    net = load_wordnet()
    pairs = [(a, b) for a in net.get_senses(one)[:6] for b in net.get_senses(other)[:6]]
    steps = [distance for a, b in pairs if (distance := net.distance(a, b, include_parts=True)) is not None]
    shared = []
    for a, b in pairs:
        here, there = net.get_ancestors((a,)), net.get_ancestors((b,))
        shared += [li_similarity(here[c] + there[c], net.depth(c)) for c in here.keys() & there.keys()]

    def limited(measure: SimilarityMeasure) -> float:
        here, there = (
            net.get_ancestors(net.get_senses(word)[:6], include_parts=measure.include_parts) for word in (one, other)
        )
        return measure.compare_ancestors(net, here, there)

    assert limited(PathMeasure()) == max([0.5**length for length in steps], default=0.0)
    assert limited(LiMeasure()) == max(shared, default=0.0)


ONES: list[SimilarityRow] = [(1.0, (1.0, 1.0, 1.0))] * 3


def test_ssrm_is_unbounded_as_printed_and_bounded_in_the_original() -> None:
    assert ssrm(ONES, (1.0, 1.0, 1.0)) == pytest.approx(3.0)
    assert scale_to_unit(ssrm(ONES, (1.0, 1.0, 1.0))) == pytest.approx(0.75)
    assert ssrm(ONES, (1.0, 1.0, 1.0), printed=False) == 1.0


def test_ssrm_of_dissimilar_words_is_the_cosine() -> None:
    rows: list[SimilarityRow] = [(3.0, (1.0, 0.0)), (4.0, (0.0, 0.0))]
    assert ssrm(rows, (4.0, 3.0)) == pytest.approx(12 / 25)


def test_weighted_sum_is_batsakis_equation_8() -> None:
    assert weighted_sum(ONES, (1.0, 1.0, 1.0)) == 9.0
    assert weighted_sum([(2.0, (0.5, 0.25))], (1.0, 4.0)) == 3.0


def test_corley_mihalcea_compares_in_both_directions() -> None:
    assert corley_mihalcea(ONES, (1.0, 1.0, 1.0)) == 1.0
    # The only word of the text has a match, the second word of the topic has none.
    assert corley_mihalcea([(1.0, (1.0, 0.0))], (1.0, 1.0)) == 0.75


weights = st.floats(0.01, 20)
alikes = st.floats(0, 1)


@st.composite
def texts(draw: Any) -> tuple[list[SimilarityRow], list[float]]:
    topic = draw(st.lists(weights, min_size=1, max_size=5))
    row = st.tuples(weights, st.lists(alikes, min_size=len(topic), max_size=len(topic)).map(tuple))
    return draw(st.lists(row, max_size=6)), topic


@given(texts())
def test_text_similarities_are_bounded(text: tuple[list[SimilarityRow], list[float]]) -> None:
    rows, topic = text
    assert 0 <= scale_to_unit(weighted_sum(rows, topic)) < 1
    assert 0 <= scale_to_unit(ssrm(rows, topic)) < 1
    assert ssrm(rows, topic) <= sqrt(max(1, len(rows)) * len(topic)) * (1 + 1e-9)
    assert 0 <= ssrm(rows, topic, printed=False) <= 1 + 1e-9
    assert 0 <= corley_mihalcea(rows, topic) <= 1 + 1e-9


def test_text_without_words_has_similarity_0() -> None:
    assert weighted_sum([], (1.0,)) == ssrm([], (1.0,)) == ssrm([], (1.0,), printed=False) == 0
    assert corley_mihalcea([], (1.0,)) == 0
