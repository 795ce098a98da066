"""Tests of the backlink count."""

from __future__ import annotations

import json

import pytest
from msgspec.structs import replace
from tests.helpers.visits import bind_strategy, build_visit, score_visit_links

from topicrawl.errors import StrategyError
from topicrawl.models import Link
from topicrawl.strategies import create_strategy


def test_pages_are_counted_once_and_links_to_the_page_itself_are_ignored() -> None:
    crawler = bind_strategy("backlink")
    first = build_visit("http://a/", ["http://c/", "http://c/", "http://a/"])
    second = build_visit("http://b/", ["http://c/", "http://d/", "http://a/"])
    crawler.learn(first)
    assert score_visit_links(crawler, first)["http://c/"] == pytest.approx(1 / 2)
    crawler.learn(second)
    assert score_visit_links(crawler, second) == {
        "http://c/": pytest.approx(2 / 3),
        "http://d/": pytest.approx(1 / 2),
        "http://a/": pytest.approx(1 / 2),
    }


def test_links_to_the_url_before_a_redirect_are_ignored() -> None:
    crawler = bind_strategy("backlink")
    visit = replace(build_visit("http://a/new", ["http://a/old", "http://b/"]), link=Link("http://a/old"))
    crawler.learn(visit)
    crawler.learn(build_visit("http://c/", ["http://a/old"]))
    assert score_visit_links(crawler, build_visit("http://d/", ["http://a/old"])) == {"http://a/old": 0.5}


def test_memory_is_bounded_and_frequent_targets_stay() -> None:
    crawler = bind_strategy("backlink:urls=100")
    for number in range(200):
        crawler.learn(
            build_visit(f"http://page/{number}", ["http://hub/", *(f"http://u/{number}/{n}" for n in range(5))])
        )
        keys, _ = crawler.get_state()  # type: ignore[misc,str-unpack]
        assert len(crawler._counts) <= 100  # type: ignore[attr-defined]
        assert len(str(keys)) < 2000
    assert score_visit_links(crawler, build_visit("http://z/", ["http://hub/"])) == {
        "http://hub/": pytest.approx(200 / 201)
    }


def test_counts_survive_a_restart() -> None:
    crawler, again = bind_strategy("backlink"), bind_strategy("backlink")
    for number in range(20):
        crawler.learn(build_visit(f"http://p/{number}", [f"http://u/{n}" for n in range(number)]))
    again.restore_state(json.loads(json.dumps(crawler.get_state())))
    assert again.get_state() == crawler.get_state()
    look = build_visit("http://z/", [f"http://u/{n}" for n in range(20)])
    assert score_visit_links(again, look) == score_visit_links(crawler, look)


def test_urls_must_be_positive() -> None:
    with pytest.raises(StrategyError, match="1 or more"):
        create_strategy("backlink:urls=0")
