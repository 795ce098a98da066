"""Tests of the out-link count."""

from __future__ import annotations

import pytest
from tests.helpers.visits import bind_strategy, build_visit, score_visit_links

from topicrawl.errors import StrategyError
from topicrawl.strategies import create_strategy


def test_pages_with_more_distinct_links_score_higher() -> None:
    crawler = bind_strategy("outlink:half=3")
    few = score_visit_links(crawler, build_visit("http://a/", ["http://b/", "http://b/", "http://b/"]))
    many = score_visit_links(crawler, build_visit("http://c/", ["http://b/", "http://d/", "http://e/"]))
    assert few == {"http://b/": 0.25}
    assert set(many.values()) == {0.5}


def test_half_must_be_above_0() -> None:
    with pytest.raises(StrategyError, match="above 0"):
        create_strategy("outlink:half=0")
