"""Tests of Fish-Search: potential, width and depth as in figure 1 of Hersovici et al. 1998."""

from __future__ import annotations

from random import Random

import pytest
from msgspec.structs import replace
from tests.helpers.visits import TOPIC, bind_strategy, build_visit, score_visit_links

from topicrawl.errors import StrategyError
from topicrawl.models import Priority
from topicrawl.relevance.vsm import Vsm
from topicrawl.strategies import create_strategy
from topicrawl.strategies.base import Strategy, StrategyContext

URLS = [f"http://host/{n}" for n in range(6)]
#: Texts of similarity 1, about .12 and 0 to the topic, whose threshold is .16.
RELEVANT = "dengue fever"
WEAK = (
    "fever alpha beta gamma delta omega locomotive station winter mountain engine railway carriage platform ticket snow"
)
IRRELEVANT = "locomotive station"


@pytest.mark.parametrize(
    ("text", "potentials"),
    [
        (RELEVANT, [1.0, 1.0, 1.0, 0.0, 0.0, 0.0]),  # 1.5 · 2 links of a relevant page
        (WEAK, [0.5, 0.5, 0.0, 0.0, 0.0, 0.0]),  # 2 links of an irrelevant page
        (IRRELEVANT, [0.5, 0.5, 0.0, 0.0, 0.0, 0.0]),
    ],
)
def test_the_first_links_have_a_potential_that_depends_on_relevance(text: str, potentials: list[float]) -> None:
    found = score_visit_links(
        bind_strategy("fish_search:width=2,threshold=0.2"), build_visit("http://a/", URLS, text=text)
    )
    assert list(found.values()) == potentials


def test_a_repeated_link_counts_once_within_the_width() -> None:
    visit = build_visit("http://a/", [URLS[0], URLS[0], URLS[1], URLS[2]], text=WEAK)
    assert score_visit_links(bind_strategy("fish_search:width=2,threshold=0.2"), visit) == {
        URLS[0]: 0.5,
        URLS[1]: 0.5,
        URLS[2]: 0.0,
    }


@pytest.mark.parametrize(
    ("text", "depth", "left"), [(RELEVANT, 0, 3), (RELEVANT, 2, 3), (WEAK, 3, 2), (WEAK, 1, 0), (WEAK, 0, None)]
)
def test_a_path_ends_after_three_irrelevant_pages_and_a_relevant_page_resets_it(
    text: str, depth: int, left: int | None
) -> None:
    visit = build_visit("http://a/", URLS[:1], text=text, payload=depth)
    (place,) = bind_strategy("fish_search:threshold=0.2").score_links(visit.page.links if visit.page else (), visit)
    assert (place.payload if place is not None else None) == left


def test_seeds_have_the_full_depth() -> None:
    (place,) = bind_strategy("fish_search:depth=5").score_seeds(build_visit("http://a/", URLS[:1]).page.links)  # type: ignore[union-attr]
    assert place == Priority(1.0, 5)


@pytest.mark.parametrize("relevance", [0.0, 1.0])
def test_by_default_the_similarity_threshold_of_the_topic_decides_relevance(relevance: float) -> None:
    crawler = bind_strategy("fish_search:width=1")
    for text, potential in ((RELEVANT, 1.0), (WEAK, 0.5), (IRRELEVANT, 0.5)):
        visit = build_visit("http://a/", URLS[:1], text=text, relevance=relevance)
        assert score_visit_links(crawler, visit) == {URLS[0]: potential}, "the probability of the judge does not count"


def bind_judged_strategy(*, has_cosine_judge: bool) -> Strategy:
    """Return a strategy of a crawl with the cosine judge, or else with a judge of the user."""
    strategy, vsm = create_strategy("fish_search:width=1"), Vsm(TOPIC)
    judge = None if has_cosine_judge else vsm
    strategy.bind(StrategyContext(TOPIC, vsm, Random(0), judge=judge, has_cosine_judge=has_cosine_judge))
    return strategy


@pytest.mark.parametrize("has_cosine_judge", [True, False], ids=["cosine judge", "judge of the user"])
@pytest.mark.parametrize("text", [RELEVANT, IRRELEVANT])
def test_the_threshold_of_the_topic_decides_about_the_score_of_such_a_judge(has_cosine_judge: bool, text: str) -> None:
    crawler = bind_judged_strategy(has_cosine_judge=has_cosine_judge)
    for relevance, potential in ((TOPIC.threshold, 1.0), (TOPIC.threshold - 0.01, 0.5), (0.0, 0.5)):
        visit = build_visit("http://a/", URLS[:1], text=text, relevance=relevance)
        assert score_visit_links(crawler, visit) == {URLS[0]: potential}


@pytest.mark.parametrize("spec", ["fish_search:width=1", "fish_search:width=1,threshold=0"])
def test_without_a_page_the_relevance_of_the_visit_decides(spec: str) -> None:
    crawler = bind_strategy(spec)
    for relevance, potential in ((TOPIC.threshold, 1.0), (TOPIC.threshold - 0.01, 0.5)):
        visit = build_visit("http://a/", URLS[:1], relevance=relevance)
        assert visit.page is not None
        (place,) = crawler.score_links(visit.page.links, replace(visit, page=None))
        assert place is not None
        assert place.score == potential


def test_with_the_threshold_0_any_word_of_the_topic_makes_a_page_relevant() -> None:
    crawler = bind_strategy("fish_search:threshold=0")
    assert score_visit_links(crawler, build_visit("http://a/", URLS[:1], text=WEAK)) == {URLS[0]: 1.0}
    assert score_visit_links(crawler, build_visit("http://a/", URLS[:1], text=IRRELEVANT)) == {URLS[0]: 0.5}


def test_an_anchor_can_raise_the_potential_with_the_anchor_option() -> None:
    visit = build_visit("http://a/", URLS[:2], relevance=0.0)
    links = [visit.page.links[0], visit.page.links[1]] if visit.page else []
    links[1] = type(links[1])(links[1].url, anchor="dengue")
    plain, anchored = bind_strategy("fish_search:width=1"), bind_strategy("fish_search:width=1,anchor=yes")
    assert [place.score for place in plain.score_links(links, visit) if place] == [0.5, 0.0]
    assert [place.score for place in anchored.score_links(links, visit) if place] == [0.5, 1.0]


def test_a_second_page_can_only_raise_potential_and_depth() -> None:
    crawler = create_strategy("fish_search")
    assert crawler.merge(Priority(0.5, 3), Priority(1.0, 1)) == Priority(1.0, 3)
    assert crawler.merge(Priority(1.0, 1), Priority(0.5, 3)) == Priority(1.0, 3)


@pytest.mark.parametrize("spec", ["fish_search:width=0", "fish_search:depth=0", "fish_search:growth=0"])
def test_invalid_numbers_are_rejected(spec: str) -> None:
    with pytest.raises(StrategyError, match="1 or more"):
        create_strategy(spec)
