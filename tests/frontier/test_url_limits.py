"""Limits on URLs."""

from __future__ import annotations

import pytest

from topicrawl.frontier.url_limits import UrlLimits, check_link
from topicrawl.models import Link, Refusal

LIMITS = UrlLimits()


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("", None),
        ("wiki/Bird", None),
        ("2011/11/11/eleven.html", None),
        ("a/b/a/b", None),
        ("a/b/a/b/a", Refusal.REPEATING),
        ("a/b/a/b/a/b/", Refusal.REPEATING),
        ("news/news/news", Refusal.REPEATING),
        ("a//b//c//d//", None),  # doubled slashes do not count as repetitions
        ("?next=/a/a/a/a/a", None),  # slashes in the query do not belong to the path
        ("/".join(map(str, range(20))), None),
        ("/".join(map(str, range(20))) + "/", None),
        ("/".join(map(str, range(21))), Refusal.TOO_LONG),
        ("?" + "&".join(f"p{n}=1" for n in range(12)), None),
        ("?" + "&".join(f"p{n}=1" for n in range(13)), Refusal.TOO_LONG),
        ("a&b&c&d&e&f&g&h&i&j&k&l&m&n", None),  # ampersands in the path do not separate parameters
        ("x" * 1980, None),
        ("x" * 1981, Refusal.TOO_LONG),
    ],
)
def test_urls(path: str, expected: Refusal | None) -> None:
    assert check_link(Link("https://example.org/" + path), LIMITS) is expected


@pytest.mark.parametrize(("depth", "expected"), [(0, None), (64, None), (65, Refusal.TOO_DEEP)])
def test_a_link_too_far_from_the_seeds_is_refused(depth: int, expected: Refusal | None) -> None:
    assert check_link(Link("https://example.org/", depth=depth), LIMITS) is expected


def test_each_limit_can_be_lowered() -> None:
    link = Link("https://example.org/a/b/c?x=1&y=2", depth=2)
    tight = {"depth": 1, "segments": 2, "length": 20, "parameters": 1}
    assert check_link(link, LIMITS) is None
    for name, value in tight.items():
        assert check_link(link, UrlLimits(**{name: value})) is not None, name
    assert check_link(Link("https://example.org/a/a"), UrlLimits(repeats=1)) is Refusal.REPEATING
