"""A page that was taken apart is put together again as it was."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topicrawl.lab.packing import Unreadable, packed, page_of, page_values, unpacked
from topicrawl.parse import read
from topicrawl.records import Failure, Link, Page, Response, Sentence, Style

WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
PHRASES = st.lists(WORDS, max_size=3).map(tuple)
LINKS = st.builds(
    Link, st.just("http://b/"), st.just("http://a/"), WORDS, WORDS.filter(str.isascii), PHRASES, PHRASES, WORDS, WORDS,
    WORDS, rel=WORDS, depth=st.just(3),
)  # fmt: skip
STYLES = st.builds(Style, st.booleans(), st.floats(1, 99), st.just("#123456"))


def placed(links: list[Link]) -> tuple[Link, ...]:
    """Links as they stand on a page: numbered, with texts that a parser gives."""
    return tuple(
        Link(
            link.url, link.source, link.anchor, link.alt, link.before, link.after, link.sentence, link.heading,
            link.tag_path, position, link.rel, link.depth,
        )
        for position, link in enumerate(links)
    )  # fmt: skip


PAGES = st.builds(
    Page, st.just("http://a/"), WORDS, PHRASES, st.text(max_size=20), PHRASES,
    st.lists(st.builds(Sentence, WORDS, st.integers(0, 9), STYLES), max_size=2).map(tuple), st.just("en"),
    directives=st.frozensets(st.sampled_from(["noindex", "nofollow"])), links=st.lists(LINKS, max_size=3).map(placed),
)  # fmt: skip


@given(PAGES)
def test_a_page_comes_back_equal(page: Page) -> None:
    assert page_of(unpacked(packed(page_values(page))), 3) == page


@pytest.mark.parametrize("context", [True, False])
@pytest.mark.parametrize("styles", [True, False])
def test_a_parsed_page_comes_back_equal_at_any_depth(context: bool, styles: bool) -> None:
    body = b"<title>Owls</title><h1>Owls</h1><p>Owls hunt <a href=/m rel=nofollow>mice</a>; <a href=/v>voles</a></p>"
    response = Response("http://a/", "http://a/", 200, {"content-type": "text/html"}, body)
    values = page_values(read(response, Link("http://a/"), context=context, styles=styles))
    assert page_of(values, 8) == read(response, Link("http://a/", depth=7), context=context, styles=styles)


def test_a_response_without_a_page_comes_back_as_its_reason() -> None:
    assert page_of(unpacked(packed(page_values(Failure.CONTENT_TYPE))), 1) is Failure.CONTENT_TYPE


@given(st.integers(0, 200), st.integers(1, 255))
def test_a_changed_byte_is_noticed(place: int, change: int) -> None:
    data = bytearray(packed(page_values(Page("http://a/", text="owls and mice " * 20))))
    data[place % len(data)] ^= change
    with pytest.raises(Unreadable):
        unpacked(bytes(data))
