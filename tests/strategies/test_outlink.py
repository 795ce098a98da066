"""Out-link count."""

from __future__ import annotations

import pytest

from topicrawl.errors import StrategyError
from topicrawl.strategies import make

from .visits import begun, scores, visited


def test_links_of_a_page_with_more_links_go_first_and_repeats_do_not_count() -> None:
    crawler = begun("outlink:half=3")
    few = scores(crawler, visited("http://a/", ["http://b/", "http://b/", "http://b/"]))
    many = scores(crawler, visited("http://c/", ["http://b/", "http://d/", "http://e/"]))
    assert few == {"http://b/": 0.25}
    assert set(many.values()) == {0.5}


def test_half_must_be_above_0() -> None:
    with pytest.raises(StrategyError, match="above 0"):
        make("outlink:half=0")
