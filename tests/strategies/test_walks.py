"""The training walks of the HMM crawlers."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topicrawl.records import Page
from topicrawl.relevance.vsm import Vsm
from topicrawl.strategies.walks import Gathering, Limits, Walks, spread
from topicrawl.topic import Topic

from .material import Made, url_of

TOPIC = Topic.of("dengue fever mosquito")


def gathered(made: Made, **limits: int) -> Walks:
    return Gathering(made, Vsm(TOPIC), Limits(**{"sessions": 100, "pages": 100, "levels": 4, **limits})).walks("hmm")


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
    assert Walks(relevant=set(relevant)).levels(walk, 4) == levels


@given(st.text("abcd", max_size=12), st.sets(st.sampled_from("abcd")), st.integers(2, 5))
def test_a_level_falls_by_one_with_each_click_until_it_is_0(walk: str, relevant: set[str], count: int) -> None:
    levels = Walks(relevant=relevant).levels(walk, count)
    for here, following, url in zip(levels, levels[1:], walk, strict=False):
        assert here == 0 if url in relevant else here == min(following + 1, count - 1)


def test_walks_that_arrive_come_first_and_evenly() -> None:
    made = Made()
    made.relevant, made.irrelevant = (url_of("dengue", 0),), ()
    there = [(url_of("railway", n), url_of("dengue", 0)) for n in range(6)]
    nowhere = [(url_of("railway", n), url_of("railway", n + 1)) for n in range(6)]
    made.sessions = (*nowhere, *there)
    assert gathered(made, sessions=3).walks == [there[0], there[2], there[4]]
    assert gathered(made, sessions=8).walks == [*there, nowhere[0], nowhere[3]]


def test_pages_are_named_by_where_their_redirects_end_and_reloads_are_no_clicks() -> None:
    made = Made()
    end = url_of("dengue", 0)
    known = made.page

    def page(url: str) -> Page | None:
        return known(end if url == "http://old/" else url)

    made.page = page  # type: ignore[method-assign]
    made.relevant, made.irrelevant = ("http://old/",), ()
    made.sessions = ((url_of("railway", 0), "http://gone/", "http://old/", end),)
    found = gathered(made)
    assert found.relevant == {end}
    assert found.walks == [(url_of("railway", 0), end)]


def test_examples_on_no_walk_are_walks_of_one_page() -> None:
    made = Made()
    made.relevant = (url_of("dengue", 3), url_of("dengue", 9))
    made.irrelevant = (url_of("railway", 0), url_of("railway", 8))
    walks = gathered(made).walks
    assert (url_of("dengue", 9),) in walks
    assert (url_of("railway", 8),) in walks
    assert (url_of("railway", 0),) not in walks


def test_walking_back_goes_over_links_and_stops_at_the_number_of_levels() -> None:
    made = Made()
    made.sessions, made.irrelevant = (), ()
    made.relevant = (url_of("dengue", 0),)
    walks = gathered(made, levels=3).walks
    assert walks
    for walk in walks:
        assert 2 <= len(walk) <= 3
        assert walk[-1] == url_of("dengue", 0)
        for source, target in pairwise(walk):
            page = made.page(source)
            assert page is not None
            assert target in {link.url for link in page.links}
        assert len(set(walk)) == len(walk)
    assert len(set(walks)) > 1


def test_pages_without_a_label_are_judged_only_when_asked_for_and_never_against_a_label() -> None:
    made = Made()
    made.relevant, made.irrelevant = (url_of("dengue", 3),), (url_of("dengue", 5),)
    assert gathered(made).relevant == {url_of("dengue", 3)}
    judged = gathered(made, judged=True)
    assert url_of("dengue", 6) in judged.relevant
    assert url_of("dengue", 5) not in judged.relevant
    assert judged.examples == {url_of("dengue", 3)}


def test_only_what_leads_to_a_relevant_page_is_positive() -> None:
    walks = Walks([("a", "b", "c"), ("a", "d"), ("b", "e", "b", "f")], {"b"})
    assert walks.positive().walks == [("a", "b"), ("b", "e", "b")]


@given(st.lists(st.integers()), st.integers(0, 20))
def test_a_spread_keeps_order_and_number(items: list[int], most: int) -> None:
    numbered = list(enumerate(items))
    taken = spread(numbered, most)
    assert len(taken) == min(most, len(items))
    assert taken == sorted(set(taken))
