"""What an address must not look like."""

from __future__ import annotations

import pytest

from topicrawl.frontier.limits import Limits, refusal
from topicrawl.records import Link, Refusal

LIMITS = Limits()


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
        ("a//b//c//d//", None),  # doubled slashes are sloppy, not a circle
        ("?next=/a/a/a/a/a", None),  # slashes of the query are not the path's
        ("/".join(map(str, range(20))), None),
        ("/".join(map(str, range(20))) + "/", None),
        ("/".join(map(str, range(21))), Refusal.TOO_LONG),
        ("?" + "&".join(f"p{n}=1" for n in range(12)), None),
        ("?" + "&".join(f"p{n}=1" for n in range(13)), Refusal.TOO_LONG),
        ("a&b&c&d&e&f&g&h&i&j&k&l&m&n", None),  # ampersands of the path are no parameters
        ("x" * 1980, None),
        ("x" * 1981, Refusal.TOO_LONG),
    ],
)
def test_addresses(path: str, expected: Refusal | None) -> None:
    assert refusal(Link("https://example.org/" + path), LIMITS) is expected


@pytest.mark.parametrize(("depth", "expected"), [(0, None), (64, None), (65, Refusal.TOO_DEEP)])
def test_a_link_too_far_from_the_seeds_is_refused(depth: int, expected: Refusal | None) -> None:
    assert refusal(Link("https://example.org/", depth=depth), LIMITS) is expected


def test_limits_can_be_tightened_one_by_one() -> None:
    link = Link("https://example.org/a/b/c?x=1&y=2", depth=2)
    tight = {"depth": 1, "segments": 2, "length": 20, "parameters": 1}
    assert refusal(link, LIMITS) is None
    for name, value in tight.items():
        assert refusal(link, Limits(**{name: value})) is not None, name
    assert refusal(Link("https://example.org/a/a"), Limits(repeats=1)) is Refusal.REPEATING
