"""From visits to sessions."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from topicrawl.sessions.chains import Step, chained


@st.composite
def visits(draw: st.DrawFn) -> list[Step]:
    count = draw(st.integers(0, 12))
    return [
        Step(key, draw(st.none() | st.integers(0, count)), draw(st.integers(0, 5000)), draw(st.sampled_from("abcdef")))
        for key in range(count)
    ]


@given(visits())
def test_no_page_is_lost_and_none_is_made_up(steps: list[Step]) -> None:
    found = chained(steps)
    assert {url for walk in found for url in walk} == {step.url for step in steps}
    assert all(found)


@given(visits())
def test_no_page_follows_itself(steps: list[Step]) -> None:
    assert all(one != two for walk in chained(steps) for one, two in pairwise(walk))


@given(visits(), st.randoms())
def test_the_order_of_the_rows_does_not_matter(steps: list[Step], random) -> None:  # type: ignore[no-untyped-def]
    mixed = list(steps)
    random.shuffle(mixed)
    assert chained(mixed) == chained(steps)
