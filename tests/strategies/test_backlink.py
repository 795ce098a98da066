"""Back-link count."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from topicrawl.errors import StrategyError
from topicrawl.records import Link
from topicrawl.strategies import make

from .visits import begun, scores, visited


def test_counts_are_of_pages_and_not_of_links_and_a_page_does_not_vote_for_itself() -> None:
    crawler = begun("backlink")
    first = visited("http://a/", ["http://c/", "http://c/", "http://a/"])
    second = visited("http://b/", ["http://c/", "http://d/", "http://a/"])
    crawler.learn(first)
    assert scores(crawler, first)["http://c/"] == pytest.approx(1 / 2)
    crawler.learn(second)
    assert scores(crawler, second) == {
        "http://c/": pytest.approx(2 / 3), "http://d/": pytest.approx(1 / 2), "http://a/": pytest.approx(1 / 2),
    }  # fmt: skip


def test_the_address_before_a_redirect_is_the_page_itself_too() -> None:
    crawler = begun("backlink")
    visit = replace(visited("http://a/new", ["http://a/old", "http://b/"]), link=Link("http://a/old"))
    crawler.learn(visit)
    crawler.learn(visited("http://c/", ["http://a/old"]))
    assert scores(crawler, visited("http://d/", ["http://a/old"])) == {"http://a/old": 0.5}


def test_memory_is_bounded_and_what_many_pages_link_to_is_not_forgotten() -> None:
    crawler = begun("backlink:urls=100")
    for number in range(200):
        crawler.learn(visited(f"http://page/{number}", ["http://hub/", *(f"http://u/{number}/{n}" for n in range(5))]))
        keys, _ = crawler.state()  # type: ignore[misc,str-unpack]
        assert len(crawler._counts) <= 100  # type: ignore[attr-defined]
        assert len(str(keys)) < 2000
    assert scores(crawler, visited("http://z/", ["http://hub/"])) == {"http://hub/": pytest.approx(200 / 201)}


def test_counts_survive_a_restart() -> None:
    crawler, again = begun("backlink"), begun("backlink")
    for number in range(20):
        crawler.learn(visited(f"http://p/{number}", [f"http://u/{n}" for n in range(number)]))
    again.restore(json.loads(json.dumps(crawler.state())))
    assert again.state() == crawler.state()
    look = visited("http://z/", [f"http://u/{n}" for n in range(20)])
    assert scores(again, look) == scores(crawler, look)


def test_urls_must_be_positive() -> None:
    with pytest.raises(StrategyError, match="1 or more"):
        make("backlink:urls=0")
