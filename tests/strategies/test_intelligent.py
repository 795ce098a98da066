"""Tests of intelligent crawling: learned interest ratios and their effect on scores."""

from __future__ import annotations

import json
from math import exp
from typing import cast

import pytest
from msgspec.structs import replace
from tests.helpers.visits import bind_strategy, build_visit, score_visit_links

from topicrawl.errors import StrategyError
from topicrawl.models import Failure, Link, Visit
from topicrawl.strategies import create_strategy
from topicrawl.strategies.intelligent import IntelligentCrawler

HUB = "http://hub/"
RELEVANT, IRRELEVANT = "dengue fever", ""
CHILDREN = [f"http://x/owl/{n}" for n in range(5)] + [f"http://x/car/{n}" for n in range(5)]


def visit_child(url: str, text: str, source: str = HUB) -> Visit:
    return replace(build_visit(url, text=text), link=Link(url, source))


def teach_crawler(spec: str) -> IntelligentCrawler:
    """Return a crawler after a hub with ten links, four relevant pages about owls and four irrelevant about cars."""
    crawler = cast(IntelligentCrawler, bind_strategy(spec))
    crawler.learn(build_visit(HUB, CHILDREN))
    for number in range(4):
        crawler.learn(visit_child(CHILDREN[number], RELEVANT))
        crawler.learn(visit_child(CHILDREN[5 + number], IRRELEVANT))
        crawler.rescore()
    return crawler


def test_at_first_all_links_are_equal() -> None:
    crawler = bind_strategy("intelligent")
    visit = build_visit(HUB, CHILDREN)
    crawler.learn(visit)
    assert set(score_visit_links(crawler, visit).values()) == {0.5}


def test_words_of_relevant_urls_raise_the_score() -> None:
    crawler = teach_crawler("intelligent:content=0,link=0,sibling=0")
    look = build_visit("http://other/", ["http://y/owl/new", "http://y/car/new", "http://y/sea/new"])
    crawler.learn(look)
    found = score_visit_links(crawler, look)
    # 10 judged, 4 relevant; "owl" 4 of 4: (4 + .4) / 5 / .4 = 2.2, and I / (1 + I).
    # "car" 0 of 4 where 1.6 ± .98 are expected: not significant.
    assert found["http://y/owl/new"] == pytest.approx(2.2 / 3.2)
    assert found["http://y/car/new"] == found["http://y/sea/new"] == 0.5


def test_siblings_of_relevant_pages_are_raised_while_they_wait() -> None:
    crawler = cast(IntelligentCrawler, bind_strategy("intelligent:content=0,link=0,url=0"))
    for number in range(9):
        crawler.learn(build_visit(f"http://off/{number}"))
    crawler.learn(build_visit(HUB, CHILDREN))
    assert crawler.rescore() == {}
    crawler.learn(visit_child(CHILDREN[0], RELEVANT))
    rescored = crawler.rescore()
    # One of eleven is relevant; one of one sibling: (1 + 1/11) / 2 / (1/11) = 6.
    assert rescored == dict.fromkeys(CHILDREN[1:], pytest.approx(6 / 7))
    assert crawler.rescore() == {}


def test_links_of_relevant_pages_score_higher_after_learning() -> None:
    crawler = cast(IntelligentCrawler, bind_strategy("intelligent:content=0,sibling=0,url=0"))
    crawler.learn(build_visit("http://good/", [f"http://g/{n}" for n in range(4)], text=RELEVANT))
    crawler.learn(build_visit("http://bad/", [f"http://b/{n}" for n in range(4)]))
    for number in range(3):
        crawler.learn(visit_child(f"http://g/{number}", RELEVANT, "http://good/"))
        crawler.learn(visit_child(f"http://b/{number}", IRRELEVANT, "http://bad/"))
    found = []
    for url, text in (("http://new/", RELEVANT), ("http://old/", IRRELEVANT)):
        look = build_visit(url, ["http://z/"], text=text)
        crawler.learn(look)
        found.append(score_visit_links(crawler, look)["http://z/"])
    # 9 judged when the first is placed, 5 relevant; 3 of 3 against 0 of 3, each with one page more.
    chance = 5 / 9
    assert found[0] == pytest.approx(1 / (1 + chance / ((3 + chance) / 4)))
    assert found[1] < 0.5 < found[0]


def test_words_of_the_linking_page_count() -> None:
    crawler = cast(IntelligentCrawler, bind_strategy("intelligent:link=0,sibling=0,url=0"))
    for number in range(60):
        words = "owls at night" if number % 2 else "cars by day"
        crawler.learn(build_visit(f"http://p/{number}", [f"http://c/{number}"], text=words))
        text = RELEVANT if number % 2 else IRRELEVANT
        crawler.learn(visit_child(f"http://c/{number}", text, f"http://p/{number}"))
    found = []
    for words in ("owls", "cars", "ships"):
        look = build_visit(f"http://new/{words}", ["http://z/"], text=words)
        crawler.learn(look)
        found.append(score_visit_links(crawler, look)["http://z/"])
    assert found[0] > found[2] == 0.5 > found[1]


def test_failed_fetches_are_not_counted_but_removed() -> None:
    crawler = teach_crawler("intelligent")
    before = crawler._judged_count
    crawler.learn(Visit(1, Link(CHILDREN[4], HUB), build_visit(HUB).priority, CHILDREN[4], failure=Failure.NOT_FOUND))
    assert crawler._judged_count == before
    assert CHILDREN[4] not in crawler._sibling_groups[HUB].waiting_links


def test_memory_is_bounded() -> None:
    crawler = cast(IntelligentCrawler, bind_strategy("intelligent:pages=20"))
    for number in range(100):
        crawler.learn(
            build_visit(f"http://p/{number}", [f"http://u/{number}/{n}" for n in range(10)], text="owls at night")
        )
    assert list(crawler._sibling_groups) == [f"http://p/{number}" for number in range(80, 100)]
    assert len(json.dumps(crawler.get_state())) < 30_000


def test_state_survives_a_restart_between_learn_and_rescore() -> None:
    crawler, again = teach_crawler("intelligent"), cast(IntelligentCrawler, bind_strategy("intelligent"))
    crawler.learn(visit_child(CHILDREN[4], RELEVANT))
    again.restore_state(json.loads(json.dumps(crawler.get_state())))
    assert again.get_state() == crawler.get_state()
    assert again.rescore() == crawler.rescore()


def test_scores_stay_finite_however_large_the_weights_are() -> None:
    crawler = teach_crawler("intelligent:sibling=1e6,url=1e6")
    look = build_visit("http://other/", ["http://y/owl/new", "http://y/car/new"])
    crawler.learn(look)
    assert all(0 <= score <= 1 for score in score_visit_links(crawler, look).values())
    assert exp(-50) > 0


@pytest.mark.parametrize("wrong", ["content=-1", "pages=0"])
def test_invalid_numbers_are_rejected(wrong: str) -> None:
    with pytest.raises(StrategyError, match="or more"):
        create_strategy(f"intelligent:{wrong}")
