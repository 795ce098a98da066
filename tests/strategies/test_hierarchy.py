"""Place in the site's hierarchy."""

from __future__ import annotations

import pytest

from topicrawl.strategies.hierarchy import parts

from .visits import begun, scores, visited


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
def test_parts_of_a_path(url: str, count: int) -> None:
    assert parts(url) == count


def test_a_higher_page_goes_first() -> None:
    found = scores(begun("hierarchy"), visited("http://a/", ["http://b/x/y/", "http://b/", "http://b/x/"]))
    assert found == {"http://b/x/y/": pytest.approx(1 / 3), "http://b/": 1.0, "http://b/x/": 0.5}
