"""Packing and unpacking of the links of a page."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topicrawl.collection.link_rows import StoredLink, find_link, pack_links, unpack_links
from topicrawl.models import Link, Priority, Refusal
from topicrawl.urls import fingerprint

ANCHORS = st.text(st.characters(exclude_characters="\n"), max_size=20)
LINKS = st.lists(
    st.tuples(
        st.builds(Link, st.integers(0, 50).map("http://a.example/{}".format), anchor=ANCHORS),
        st.none() | st.builds(Priority, st.floats(-2, 1, width=32)),
    ),
    min_size=1,
)


@given(LINKS)
def test_links_come_out_as_they_went_in(links: list[tuple[Link, Priority | None]]) -> None:
    rows = [(link, place, None if place else Refusal.NOFOLLOW) for link, place in links]
    expected = [
        StoredLink(
            fingerprint(link.url),
            place.score if place else None,
            refusal.value if refusal else None,
            link.anchor.encode("utf-8", "replace").decode(),
        )
        for link, place, refusal in rows
    ]
    refusals = {index: refusal for index, (_, _, refusal) in enumerate(rows) if refusal is not None}
    row = pack_links([link for link, _, _ in rows], [place for _, place, _ in rows], refusals)
    assert unpack_links(row) == expected


@pytest.mark.parametrize("number", range(5))
def test_a_link_is_found_by_where_it_leads(number: int) -> None:
    links = [Link(f"http://a.example/{n}", anchor=str(n)) for n in range(5)]
    row = pack_links(links, [Priority(n / 10) for n in range(5)], {})
    found = find_link(row, fingerprint(f"http://a.example/{number}"))
    assert found is not None
    assert found.anchor == str(number)
    assert find_link(row, fingerprint("http://a.example/9")) is None


def test_bytes_of_two_neighbours_are_no_link() -> None:
    row = pack_links([Link("http://a.example/"), Link("http://b.example/")], [Priority(1.0), Priority(1.0)], {})
    between = int.from_bytes(row.targets[4:12], "little", signed=True)
    assert find_link(row, between) is None
