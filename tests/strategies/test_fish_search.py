"""Fish-Search: potentials, widths and depths as in figure 1 of Hersovici et al. 1998."""

from __future__ import annotations

import pytest

from topicrawl.errors import StrategyError
from topicrawl.records import Place
from topicrawl.strategies import make

from .visits import begun, scores, visited

URLS = [f"http://host/{n}" for n in range(6)]


@pytest.mark.parametrize(
    ("relevance", "potentials"),
    [
        (0.5, [1.0, 1.0, 1.0, 0.0, 0.0, 0.0]),  # 1.5 · 2 links of a relevant page
        (0.1, [0.5, 0.5, 0.0, 0.0, 0.0, 0.0]),  # 2 links of another one
        (0.0, [0.5, 0.5, 0.0, 0.0, 0.0, 0.0]),
    ],
)
def test_the_first_links_are_promising_and_those_of_relevant_pages_more_so(
    relevance: float, potentials: list[float]
) -> None:
    found = scores(begun("fish_search:width=2,threshold=0.2"), visited("http://a/", URLS, relevance=relevance))
    assert list(found.values()) == potentials


def test_a_link_that_is_repeated_takes_one_of_the_first_places_only() -> None:
    visit = visited("http://a/", [URLS[0], URLS[0], URLS[1], URLS[2]], relevance=0.1)
    assert scores(begun("fish_search:width=2,threshold=0.2"), visit) == {URLS[0]: 0.5, URLS[1]: 0.5, URLS[2]: 0.0}


@pytest.mark.parametrize(
    ("relevance", "depth", "left"), [(0.5, 0, 3), (0.5, 2, 3), (0.1, 3, 2), (0.1, 1, 0), (0.1, 0, None)]
)
def test_a_way_ends_after_three_irrelevant_pages_and_a_relevant_one_starts_it_anew(
    relevance: float, depth: int, left: int | None
) -> None:
    visit = visited("http://a/", URLS[:1], relevance=relevance, carry=depth)
    (place,) = begun("fish_search:threshold=0.2").place(visit.page.links if visit.page else (), visit)
    assert (place.carry if place is not None else None) == left


def test_seeds_may_go_the_whole_depth() -> None:
    (place,) = begun("fish_search:depth=5").seeds(visited("http://a/", URLS[:1]).page.links)  # type: ignore[union-attr]
    assert place == Place(1.0, 5)


def test_by_default_the_topic_says_what_is_relevant() -> None:
    crawler = begun("fish_search:width=1")
    line = crawler.setting.topic.threshold
    assert scores(crawler, visited("http://a/", URLS[:1], relevance=line)) == {URLS[0]: 1.0}
    assert scores(crawler, visited("http://a/", URLS[:1], relevance=line - 0.01)) == {URLS[0]: 0.5}


def test_with_the_threshold_0_any_word_of_the_topic_makes_a_page_relevant() -> None:
    crawler = begun("fish_search:threshold=0")
    assert scores(crawler, visited("http://a/", URLS[:1], relevance=0.001)) == {URLS[0]: 1.0}
    assert scores(crawler, visited("http://a/", URLS[:1], relevance=0.0)) == {URLS[0]: 0.5}


def test_an_anchor_can_make_a_link_promising_if_asked_for() -> None:
    visit = visited("http://a/", URLS[:2], relevance=0.0)
    links = [visit.page.links[0], visit.page.links[1]] if visit.page else []
    links[1] = type(links[1])(links[1].url, anchor="dengue")
    plain, anchored = begun("fish_search:width=1"), begun("fish_search:width=1,anchor=yes")
    assert [place.score for place in plain.place(links, visit) if place] == [0.5, 0.0]
    assert [place.score for place in anchored.place(links, visit) if place] == [0.5, 1.0]


def test_a_second_page_can_only_better_potential_and_depth() -> None:
    crawler = make("fish_search")
    assert crawler.combine(Place(0.5, 3), Place(1.0, 1)) == Place(1.0, 3)
    assert crawler.combine(Place(1.0, 1), Place(0.5, 3)) == Place(1.0, 3)


@pytest.mark.parametrize("spec", ["fish_search:width=0", "fish_search:depth=0", "fish_search:growth=0"])
def test_numbers_that_make_no_sense_are_refused(spec: str) -> None:
    with pytest.raises(StrategyError, match="1 or more"):
        make(spec)
