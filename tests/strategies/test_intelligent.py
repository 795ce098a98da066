"""Intelligent crawling: what is learned during the crawl, and what it is worth."""

from __future__ import annotations

import json
from dataclasses import replace
from math import exp
from typing import cast

import pytest

from topicrawl.errors import StrategyError
from topicrawl.records import Failure, Link, Visit
from topicrawl.strategies import make
from topicrawl.strategies.intelligent import Intelligent

from .visits import begun, scores, visited

HUB = "http://hub/"
CHILDREN = [f"http://x/owl/{n}" for n in range(5)] + [f"http://x/car/{n}" for n in range(5)]


def child(url: str, relevance: float, source: str = HUB) -> Visit:
    return replace(visited(url, relevance=relevance), link=Link(url, source))


def taught(spec: str) -> Intelligent:
    """A hub of ten links was fetched, then four about owls that were relevant and four about cars that were not."""
    crawler = cast(Intelligent, begun(spec))
    crawler.learn(visited(HUB, CHILDREN))
    for number in range(4):
        crawler.learn(child(CHILDREN[number], 0.9))
        crawler.learn(child(CHILDREN[5 + number], 0.0))
        crawler.revise()
    return crawler


def test_at_first_all_links_are_equal() -> None:
    crawler = begun("intelligent")
    visit = visited(HUB, CHILDREN)
    crawler.learn(visit)
    assert set(scores(crawler, visit).values()) == {0.5}


def test_words_of_relevant_urls_make_a_link_worth_more() -> None:
    crawler = taught("intelligent:content=0,link=0,sibling=0")
    look = visited("http://other/", ["http://y/owl/new", "http://y/car/new", "http://y/sea/new"])
    crawler.learn(look)
    found = scores(crawler, look)
    # 10 judged, 4 relevant; "owl" 4 of 4: (4 + .4) / 5 / .4 = 2.2, and I / (1 + I).
    # "car" 0 of 4 where chance gives 1.6 ± .98: may be an accident.
    assert found["http://y/owl/new"] == pytest.approx(2.2 / 3.2)
    assert found["http://y/car/new"] == found["http://y/sea/new"] == 0.5


def test_siblings_of_relevant_pages_are_raised_while_they_wait() -> None:
    crawler = cast(Intelligent, begun("intelligent:content=0,link=0,url=0"))
    for number in range(9):
        crawler.learn(visited(f"http://off/{number}"))
    crawler.learn(visited(HUB, CHILDREN))
    assert crawler.revise() == {}
    crawler.learn(child(CHILDREN[0], 0.9))
    told = crawler.revise()
    # One of eleven is relevant; one of one sibling: (1 + 1/11) / 2 / (1/11) = 6.
    assert told == dict.fromkeys(CHILDREN[1:], pytest.approx(6 / 7))
    assert crawler.revise() == {}


def test_links_of_relevant_pages_are_worth_more_once_that_has_shown() -> None:
    crawler = cast(Intelligent, begun("intelligent:content=0,sibling=0,url=0"))
    crawler.learn(visited("http://good/", [f"http://g/{n}" for n in range(4)], relevance=0.9))
    crawler.learn(visited("http://bad/", [f"http://b/{n}" for n in range(4)]))
    for number in range(3):
        crawler.learn(child(f"http://g/{number}", 0.9, "http://good/"))
        crawler.learn(child(f"http://b/{number}", 0.0, "http://bad/"))
    found = []
    for url, relevance in (("http://new/", 0.9), ("http://old/", 0.0)):
        look = visited(url, ["http://z/"], relevance=relevance)
        crawler.learn(look)
        found.append(scores(crawler, look)["http://z/"])
    # 9 judged when the first is placed, 5 relevant; 3 of 3 against 0 of 3, each with one page more.
    chance = 5 / 9
    assert found[0] == pytest.approx(1 / (1 + chance / ((3 + chance) / 4)))
    assert found[1] < 0.5 < found[0]


def test_words_of_the_linking_page_count() -> None:
    crawler = cast(Intelligent, begun("intelligent:link=0,sibling=0,url=0"))
    for number in range(60):
        words = "owls at night" if number % 2 else "cars by day"
        crawler.learn(visited(f"http://p/{number}", [f"http://c/{number}"], text=words))
        crawler.learn(child(f"http://c/{number}", 0.9 if number % 2 else 0.0, f"http://p/{number}"))
    found = []
    for words in ("owls", "cars", "ships"):
        look = visited(f"http://new/{words}", ["http://z/"], text=words)
        crawler.learn(look)
        found.append(scores(crawler, look)["http://z/"])
    assert found[0] > found[2] == 0.5 > found[1]


def test_failed_fetches_teach_nothing_but_wait_no_longer() -> None:
    crawler = taught("intelligent")
    before = crawler._judged
    crawler.learn(Visit(1, Link(CHILDREN[4], HUB), visited(HUB).place, CHILDREN[4], failure=Failure.NOT_FOUND))
    assert crawler._judged == before
    assert CHILDREN[4] not in crawler._families[HUB].links


def test_memory_is_bounded() -> None:
    crawler = cast(Intelligent, begun("intelligent:pages=20"))
    for number in range(100):
        crawler.learn(
            visited(f"http://p/{number}", [f"http://u/{number}/{n}" for n in range(10)], text="owls at night")
        )
    assert list(crawler._families) == [f"http://p/{number}" for number in range(80, 100)]
    assert len(json.dumps(crawler.state())) < 30_000


def test_what_was_learned_survives_a_restart_between_learning_and_revising() -> None:
    crawler, again = taught("intelligent"), cast(Intelligent, begun("intelligent"))
    crawler.learn(child(CHILDREN[4], 0.9))
    again.restore(json.loads(json.dumps(crawler.state())))
    assert again.state() == crawler.state()
    assert again.revise() == crawler.revise()


def test_scores_stay_finite_however_large_the_weights_are() -> None:
    crawler = taught("intelligent:sibling=1e6,url=1e6")
    look = visited("http://other/", ["http://y/owl/new", "http://y/car/new"])
    crawler.learn(look)
    assert all(0 <= score <= 1 for score in scores(crawler, look).values())
    assert exp(-50) > 0


@pytest.mark.parametrize("wrong", ["content=-1", "pages=0"])
def test_numbers_that_make_no_sense_are_refused(wrong: str) -> None:
    with pytest.raises(StrategyError, match="or more"):
        make(f"intelligent:{wrong}")
