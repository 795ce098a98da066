"""Serialised pages load unchanged."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topicrawl.models import Failure, Link, Page, Response, Sentence, Style
from topicrawl.parse import parse_response
from topicrawl.parse.page_serialization import UNPACK_ERRORS, pack_value, page_from_values, page_to_values, unpack_value
from topicrawl.text.bag_of_words import VocabularyCache

WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
PHRASES = st.lists(WORDS, max_size=3).map(tuple)
LINKS = st.builds(
    Link,
    st.just("http://b/"),
    st.just("http://a/"),
    WORDS,
    WORDS.filter(str.isascii),
    PHRASES,
    PHRASES,
    WORDS,
    WORDS,
    WORDS,
    rel=WORDS,
    depth=st.just(3),
)
STYLES = st.builds(Style, st.booleans(), st.floats(1, 99), st.just("#123456"))


def number_links(links: list[Link]) -> tuple[Link, ...]:
    """Return the links with their positions on a page, as a parser numbers them."""
    return tuple(
        Link(
            link.url,
            link.source,
            link.anchor,
            link.alt,
            link.before,
            link.after,
            link.sentence,
            link.heading,
            link.tag_path,
            position,
            link.rel,
            link.depth,
        )
        for position, link in enumerate(links)
    )


PAGES = st.builds(
    Page,
    st.just("http://a/"),
    WORDS,
    PHRASES,
    st.text(max_size=20),
    PHRASES,
    st.lists(st.builds(Sentence, WORDS, st.integers(0, 9), STYLES), max_size=2).map(tuple),
    st.just("en"),
    directives=st.frozensets(st.sampled_from(["noindex", "nofollow"])),
    links=st.lists(LINKS, max_size=3).map(number_links),
)


@given(PAGES)
def test_a_page_loads_unchanged(page: Page) -> None:
    assert page_from_values(unpack_value(pack_value(page_to_values(page))), 3, VocabularyCache()) == page


@pytest.mark.parametrize("context", [True, False])
@pytest.mark.parametrize("styles", [True, False])
def test_a_parsed_page_loads_unchanged_at_any_depth(context: bool, styles: bool) -> None:
    body = b"<title>Owls</title><h1>Owls</h1><p>Owls hunt <a href=/m rel=nofollow>mice</a>; <a href=/v>voles</a></p>"
    response = Response("http://a/", "http://a/", 200, {"content-type": "text/html"}, body)
    values = page_to_values(parse_response(response, Link("http://a/"), context=context, styles=styles))
    assert page_from_values(values, 8, VocabularyCache()) == parse_response(
        response, Link("http://a/", depth=7), context=context, styles=styles
    )


def test_a_failure_loads_unchanged() -> None:
    values = unpack_value(pack_value(page_to_values(Failure.CONTENT_TYPE)))
    assert page_from_values(values, 1, VocabularyCache()) is Failure.CONTENT_TYPE


@given(st.integers(0, 200), st.integers(1, 255))
def test_a_changed_byte_is_detected(place: int, change: int) -> None:
    data = bytearray(pack_value(page_to_values(Page("http://a/", text="owls and mice " * 20))))
    data[place % len(data)] ^= change
    with pytest.raises(UNPACK_ERRORS):
        unpack_value(bytes(data))
