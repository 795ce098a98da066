"""Semantic measures: the values of Batsakis 2007 recomputed, and the laws a similarity keeps."""

from __future__ import annotations

from math import sqrt
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topicrawl.relevance.semantic import (
    Li,
    Measure,
    Path,
    Row,
    bounded,
    corley_mihalcea,
    li,
    similarity,
    ssrm,
    weighted_sum,
)
from topicrawl.text.wordnet import wordnet

MEASURES: list[Measure] = [Li(), Path(), Path(relation="neighbours"), Path(relation="is_a")]
WORDS = ["car", "bicycle", "dog", "wolf", "fever", "disease", "run", "walk", "line", "head", "music", "song", "qqqq"]


@pytest.mark.parametrize(
    ("length", "depth", "value"),
    [(0, 1, 0.537050), (1, 3, 0.775179), (2, 1, 0.359995), (2, 5, 0.667005), (4, 2, 0.374585)],
)
def test_li_is_batsakis_equation_4_as_its_authors_have_it(length: int, depth: int, value: float) -> None:
    assert li(length, depth) == pytest.approx(value, abs=5e-7)


def test_li_rises_with_depth_and_falls_with_length() -> None:
    assert li(2, 5) > li(2, 4) > li(3, 4)


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
def test_ehrig_halves_with_every_step_batsakis_equation_3(
    one: str, other: str, path: float, neighbours: float, is_a: float
) -> None:
    found = [similarity(wordnet(), Path(relation=name), one, other) for name in ("path", "neighbours", "is_a")]
    assert found == [path, neighbours, is_a]


@given(st.sampled_from(WORDS), st.sampled_from(WORDS), st.sampled_from(MEASURES))
def test_similarity_is_symmetric_from_0_to_1_and_1_with_itself(one: str, other: str, measure: Measure) -> None:
    value = similarity(wordnet(), measure, one, other)
    assert 0 <= value <= 1
    assert value == similarity(wordnet(), measure, other, one)
    assert similarity(wordnet(), measure, one, one) == 1


@settings(deadline=None, max_examples=40)
@given(st.sampled_from(WORDS), st.sampled_from(WORDS))
def test_the_best_pair_of_senses_counts(one: str, other: str) -> None:
    net = wordnet()
    pairs = [(a, b) for a in net.senses(one)[:6] for b in net.senses(other)[:6]]
    steps = [distance for a, b in pairs if (distance := net.distance(a, b, parts=True)) is not None]
    shared = []
    for a, b in pairs:
        here, there = net.climb((a,)), net.climb((b,))
        shared += [li(here[c] + there[c], net.depth(c)) for c in here.keys() & there.keys()]

    def limited(measure: Measure) -> float:
        here, there = (net.climb(net.senses(word)[:6], parts=measure.parts) for word in (one, other))
        return measure.between(net, here, there)

    assert limited(Path()) == max([0.5**length for length in steps], default=0.0)
    assert limited(Li()) == max(shared, default=0.0)


ONES: list[Row] = [(1.0, (1.0, 1.0, 1.0))] * 3


def test_ssrm_as_printed_has_no_bound_and_the_original_has_batsakis_equation_9() -> None:
    assert ssrm(ONES, (1.0, 1.0, 1.0)) == pytest.approx(3.0)
    assert bounded(ssrm(ONES, (1.0, 1.0, 1.0))) == pytest.approx(0.75)
    assert ssrm(ONES, (1.0, 1.0, 1.0), printed=False) == 1.0


def test_ssrm_of_unlike_words_is_the_cosine() -> None:
    rows: list[Row] = [(3.0, (1.0, 0.0)), (4.0, (0.0, 0.0))]
    assert ssrm(rows, (4.0, 3.0)) == pytest.approx(12 / 25)


def test_ehrigs_sum_is_batsakis_equation_8() -> None:
    assert weighted_sum(ONES, (1.0, 1.0, 1.0)) == 9.0
    assert weighted_sum([(2.0, (0.5, 0.25))], (1.0, 4.0)) == 3.0


def test_corley_and_mihalcea_ask_both_texts() -> None:
    assert corley_mihalcea(ONES, (1.0, 1.0, 1.0)) == 1.0
    # The text's one word finds its like, the topic's second word does not.
    assert corley_mihalcea([(1.0, (1.0, 0.0))], (1.0, 1.0)) == 0.75


weights = st.floats(0.01, 20)
alikes = st.floats(0, 1)


@st.composite
def texts(draw: Any) -> tuple[list[Row], list[float]]:
    topic = draw(st.lists(weights, min_size=1, max_size=5))
    row = st.tuples(weights, st.lists(alikes, min_size=len(topic), max_size=len(topic)).map(tuple))
    return draw(st.lists(row, max_size=6)), topic


@given(texts())
def test_texts_compare_within_bounds(text: tuple[list[Row], list[float]]) -> None:
    rows, topic = text
    assert 0 <= bounded(weighted_sum(rows, topic)) < 1
    assert 0 <= bounded(ssrm(rows, topic)) < 1
    assert ssrm(rows, topic) <= sqrt(max(1, len(rows)) * len(topic)) * (1 + 1e-9)
    assert 0 <= ssrm(rows, topic, printed=False) <= 1 + 1e-9
    assert 0 <= corley_mihalcea(rows, topic) <= 1 + 1e-9


def test_no_words_are_like_nothing() -> None:
    assert weighted_sum([], (1.0,)) == ssrm([], (1.0,)) == ssrm([], (1.0,), printed=False) == 0
    assert corley_mihalcea([], (1.0,)) == 0
