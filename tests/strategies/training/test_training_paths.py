"""Tests of the training paths of the HMM crawlers."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.helpers.training_data import SampleTrainingData, build_url

from topicrawl.models import Page
from topicrawl.relevance.vsm import Vsm
from topicrawl.strategies.training.training_paths import PathLimits, TrainingPathCollector, TrainingPaths, sample_evenly
from topicrawl.topic import Topic

TOPIC = Topic.of("dengue fever mosquito")


def collect_paths(made: SampleTrainingData, **limits: int) -> TrainingPaths:
    return TrainingPathCollector(
        made, Vsm(TOPIC), PathLimits(**{"sessions": 100, "pages": 100, "levels": 4, **limits})
    ).collect("hmm")


@pytest.mark.parametrize(
    ("walk", "relevant", "levels"),
    [
        ("abc", "c", [2, 1, 0]),
        ("abcdef", "f", [3, 3, 3, 2, 1, 0]),
        ("abc", "a", [0, 3, 3]),
        ("abcb", "bc", [1, 0, 0, 0]),
        ("abc", "", [3, 3, 3]),
        ("", "a", []),
    ],
)
def test_the_level_of_a_page_is_its_clicks_to_the_next_relevant_one(
    walk: str, relevant: str, levels: list[int]
) -> None:
    assert TrainingPaths(relevant=set(relevant)).compute_levels(walk, 4) == levels


@given(st.text("abcd", max_size=12), st.sets(st.sampled_from("abcd")), st.integers(2, 5))
def test_a_level_falls_by_one_with_each_click_until_it_is_0(walk: str, relevant: set[str], count: int) -> None:
    levels = TrainingPaths(relevant=relevant).compute_levels(walk, count)
    for here, following, url in zip(levels, levels[1:], walk, strict=False):
        assert here == 0 if url in relevant else here == min(following + 1, count - 1)


def test_sessions_with_relevant_pages_come_first_and_are_sampled_evenly() -> None:
    made = SampleTrainingData()
    made.relevant, made.irrelevant = (build_url("dengue", 0),), ()
    there = [(build_url("railway", n), build_url("dengue", 0)) for n in range(6)]
    nowhere = [(build_url("railway", n), build_url("railway", n + 1)) for n in range(6)]
    made.sessions = (*nowhere, *there)
    assert collect_paths(made, sessions=3).paths == [there[0], there[2], there[4]]
    assert collect_paths(made, sessions=8).paths == [*there, nowhere[0], nowhere[3]]


def test_pages_have_their_final_url_and_reloads_are_not_clicks() -> None:
    made = SampleTrainingData()
    end = build_url("dengue", 0)
    known = made.get_page

    def page(url: str) -> Page | None:
        return known(end if url == "http://old/" else url)

    made.get_page = page  # type: ignore[method-assign]
    made.relevant, made.irrelevant = ("http://old/",), ()
    made.sessions = ((build_url("railway", 0), "http://gone/", "http://old/", end),)
    found = collect_paths(made, judged=False)
    assert found.relevant == {end}
    assert found.paths == [(build_url("railway", 0), end)]


def test_examples_on_no_path_are_paths_of_one_page() -> None:
    made = SampleTrainingData()
    made.relevant = (build_url("dengue", 3), build_url("dengue", 9))
    made.irrelevant = (build_url("railway", 0), build_url("railway", 8))
    walks = collect_paths(made).paths
    assert (build_url("dengue", 9),) in walks
    assert (build_url("railway", 8),) in walks
    assert (build_url("railway", 0),) not in walks


def test_backward_paths_follow_links_up_to_the_number_of_levels() -> None:
    made = SampleTrainingData()
    made.sessions, made.irrelevant = (), ()
    made.relevant = (build_url("dengue", 0),)
    walks = collect_paths(made, levels=3).paths
    assert walks
    for walk in walks:
        assert 2 <= len(walk) <= 3
        assert walk[-1] == build_url("dengue", 0)
        for source, target in pairwise(walk):
            page = made.get_page(source)
            assert page is not None
            assert target in {link.url for link in page.links}
        assert len(set(walk)) == len(walk)
    assert len(set(walks)) > 1


def test_unlabelled_pages_are_judged_unless_labels_are_complete_and_labels_take_precedence() -> None:
    made = SampleTrainingData()
    made.relevant, made.irrelevant = (build_url("dengue", 3),), (build_url("dengue", 5),)
    assert collect_paths(made, judged=False).relevant == {build_url("dengue", 3)}
    judged = collect_paths(made)
    assert build_url("dengue", 6) in judged.relevant
    assert build_url("dengue", 5) not in judged.relevant
    assert judged.examples == {build_url("dengue", 3)}


def test_paths_are_cut_after_the_last_relevant_page() -> None:
    walks = TrainingPaths([("a", "b", "c"), ("a", "d"), ("b", "e", "b", "f")], {"b"})
    assert walks.cut_to_relevant().paths == [("a", "b"), ("b", "e", "b")]


@given(st.lists(st.integers()), st.integers(0, 20))
def test_an_even_sample_keeps_the_order(items: list[int], most: int) -> None:
    numbered = list(enumerate(items))
    taken = sample_evenly(numbered, most)
    assert len(taken) == min(most, len(items))
    assert taken == sorted(set(taken))
