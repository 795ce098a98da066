"""Tests of the URL hierarchy strategy."""

from __future__ import annotations

import pytest
from tests.helpers.visits import bind_strategy, build_visit, score_visit_links

from topicrawl.strategies.hierarchy import count_path_segments


@pytest.mark.parametrize(
    ("url", "count"),
    [
        ("http://a/", 0),
        ("https://a.example:8080/", 0),
        ("http://a/index.html", 1),
        ("http://a/b/", 1),
        ("http://a/b/c/d.html", 3),
        ("http://a/?page=2", 1),
        ("http://a/b?to=http://x/y/z", 2),
    ],
)
def test_path_segments_are_counted(url: str, count: int) -> None:
    assert count_path_segments(url) == count


def test_a_shorter_path_scores_higher() -> None:
    found = score_visit_links(
        bind_strategy("hierarchy"), build_visit("http://a/", ["http://b/x/y/", "http://b/", "http://b/x/"])
    )
    assert found == {"http://b/x/y/": pytest.approx(1 / 3), "http://b/": 1.0, "http://b/x/": 0.5}
