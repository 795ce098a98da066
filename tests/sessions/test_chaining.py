"""Grouping of visits into sessions."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from topicrawl.sessions.chaining import SessionVisit, build_sessions


@st.composite
def visits(draw: st.DrawFn) -> list[SessionVisit]:
    count = draw(st.integers(0, 12))
    return [
        SessionVisit(
            key, draw(st.none() | st.integers(0, count)), draw(st.integers(0, 5000)), draw(st.sampled_from("abcdef"))
        )
        for key in range(count)
    ]


@given(visits())
def test_the_sessions_contain_exactly_the_visited_pages(steps: list[SessionVisit]) -> None:
    found = build_sessions(steps)
    assert {url for walk in found for url in walk} == {step.url for step in steps}
    assert all(found)


@given(visits())
def test_no_page_follows_itself(steps: list[SessionVisit]) -> None:
    assert all(one != two for walk in build_sessions(steps) for one, two in pairwise(walk))


@given(visits(), st.randoms())
def test_the_order_of_the_rows_does_not_matter(steps: list[SessionVisit], random) -> None:  # type: ignore[no-untyped-def]
    mixed = list(steps)
    random.shuffle(mixed)
    assert build_sessions(mixed) == build_sessions(steps)
