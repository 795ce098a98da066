"""Tests with hostile pages: parsing takes bounded time and never raises."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
import turbohtml
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.helpers.markers import LONG

from topicrawl.documents.file_types import detect_type
from topicrawl.models import Failure, Link, Page, Response
from topicrawl.parse import parse_response
from topicrawl.parse.charset import MAX_SOURCE_BYTES
from topicrawl.parse.links import MAX_ANCHOR_LENGTH, MAX_LINKS
from topicrawl.parse.styled_sentences import extract_styled_sentences
from topicrawl.urls import canonicalize_url

URL = "http://e.org/d/page"
LIMIT = 5.0  # seconds of CPU time; usually some tenths, while superlinear behaviour takes minutes


def parse_body(body: bytes, content_type: str = "text/html", *, styles: bool = False) -> Page | Failure:
    return parse_response(Response(URL, URL, 200, {"content-type": content_type}, body), Link(URL), styles=styles)


def fonts(count: int) -> str:
    return "".join(f"<font size={i}>" for i in range(count)) + "<p>x" * count


HOSTILE: dict[str, Callable[[], str]] = {
    "a million nested elements": lambda: "<div>" * 1_000_000 + "x",
    "nested inline elements": lambda: "<span>" * 500_000 + "x",
    "nested formatting": lambda: "<b><i>" * 200_000 + "x",
    "misnested formatting": lambda: "<b><i>x</b></i>" * 100_000,
    "misnested paragraphs": lambda: "<p><b><i><u>x</b>" * 50_000,
    "formatting that is opened again in each paragraph": lambda: fonts(20_000),
    "formatting around blocks": lambda: "<b><div>" * 50_000 + "</b>" * 50_000,
    "links around blocks": lambda: "<a href=x><b><div>" * 50_000 + "</a>" * 50_000,
    "nested tables": lambda: "<table><tr><td>" * 50_000 + "x",
    "tables of misplaced text": lambda: "<table>" + "<b>x" * 100_000,
    "nested lists": lambda: "<ul><li>" * 100_000 + "x",
    "nested definition lists": lambda: "<dl><dd>" * 100_000 + "x",
    "nested hidden elements": lambda: "<div hidden>x" * 100_000,
    "nested links": lambda: "<a href=x>y<object>" * 50_000,
    "nested links in tables": lambda: "<a href=x>y<table><tr><td>" * 30_000,
    "nested links in hidden parts": lambda: "<div hidden>" + "<a href=x>y<object>" * 50_000,
    "ten megabytes of links": lambda: "<a href=x>" * 1_000_000,
    "many different links": lambda: "".join(f"<a href=/{i}>{i}</a> " for i in range(200_000)),
    "many image links": lambda: "".join(f"<a href=/{i}><img alt=x></a>" for i in range(50_000)),
    "one link around everything": lambda: "<a href=x>" + "<img alt=y>word " * 200_000,
    "long names": lambda: f"<x{'x' * 1_000_000} class={'y' * 1_000_000}><a href=x rel={'z' * 1_000_000}>x</a>",
    "a long word": lambda: f"<h1>{'x' * 1_000_000}</h1>{'y' * 500_000} <a href=z>" * 2,
    "a long attribute": lambda: f"<a href='/{'x' * 1_000_000}' title='{'y' * 1_000_000}'>z</a>",
    "many attributes": lambda: "<a " + " ".join(f"a{i}=1" for i in range(100_000)) + " href=x>y</a>",
    "many classes": lambda: f"<div class='{'c ' * 500_000}'><a href=x>y</a></div>" * 2,
    "an open comment": lambda: "x<!--" + "y" * 3_000_000,
    "many open comments": lambda: "<!--" * 500_000,
    "many comments": lambda: "x<!--y-->" * 200_000,
    "an open tag": lambda: "<a href='" * 300_000,
    "an open script": lambda: "x<script>" + "<a href=x>" * 200_000,
    "only brackets": lambda: "<" * 2_000_000,
    "zero bytes": lambda: "<p>" + "\0" * 1_000_000 + "<a href=x>y</a>",
    "one word": lambda: "x" * 3_000_000,
    "one line with links and no stops": lambda: "word <a href=/x>y</a> " * 100_000,
    "one line of stops with links": lambda: "A. <a href=/x>y</a>. " * 100_000,
    "only blanks": lambda: " \n" * 1_500_000 + "x",
    "many headings": lambda: "<h1>x</h1><a href=/y>z</a>" * 50_000,
    "a heading around everything": lambda: "<h1>" + "<h2>x" * 50_000,
    "references": lambda: "&notit;&amp;&#xE000;" * 100_000,
    "forged markers": lambda: "\ue000x\ue001 " * 200_000,
    "nested selects": lambda: "<select>" + "<optgroup><option>" * 100_000,
    "nested drawings": lambda: "<svg>" * 100_000 + "<math><mtext>" * 50_000,
    "nested templates": lambda: "<template>" * 100_000,
    "framesets": lambda: "<frameset>" * 100_000 + "<frame src=/x>" * 50_000,
    "styles": lambda: "<div style='display:none'>x</div><p style='color:red'>y" * 50_000,
    "style rules": lambda: "<style>" + "".join(f".c{i} {{color:red}}" for i in range(50_000)) + "</style><p class=c1>x",
    "nested styles": lambda: "<div style='font-size:90%;color:red'>x" * 100_000,
    "styles for one element": lambda: (
        "<style>" + "p {color:red}" * 5_000 + "</style>" + "".join(f"<p style='color:#{i:06x}'>x" for i in range(5_000))
    ),
    "styles for elements in elements": lambda: (
        "<style>"
        + "".join(f".c{i} .c{i} {{color:red}}" for i in range(5_000))
        + "</style>"
        + "".join(f"<div class='c{i % 500} c{i % 7}'>x" for i in range(60_000))
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_pages_are_parsed_in_bounded_time(name: str) -> None:
    body = HOSTILE[name]().encode()
    started = time.process_time()
    found = parse_body(body)
    assert time.process_time() - started < LIMIT
    assert isinstance(found, Page)
    check(found)


@LONG
@pytest.mark.parametrize("name", [name for name in HOSTILE if "style" in name or "nested" in name or "stops" in name])
def test_styles_of_hostile_pages_are_computed_in_bounded_time(name: str) -> None:
    tree = turbohtml.parse(HOSTILE[name]()[:MAX_SOURCE_BYTES])
    started = time.process_time()
    assert all(sentence.text for sentence in extract_styled_sentences(tree))
    assert time.process_time() - started < LIMIT


def test_a_page_has_no_more_links_than_allowed() -> None:
    found = parse_body(b"".join(b"<a href=/%d>x</a> " % i for i in range(MAX_LINKS + 500)))
    assert isinstance(found, Page)
    assert len(found.links) == MAX_LINKS


def check(page: Page) -> None:
    """Check the invariants of every page."""
    assert [link.position for link in page.links] == list(range(len(page.links)))
    for link in page.links:
        assert link.url == canonicalize_url(link.url) != page.url
        assert link.source == page.url
        assert len(link.anchor) <= MAX_ANCHOR_LENGTH
        assert len(link.sentence) <= 1000
        assert len(link.before) <= 20 >= len(link.after)
        assert len(repr(link)) < 25_000
        assert link.anchor == " ".join(link.anchor.split())
    assert not page.text or all(line and line == line.strip(" ") for line in page.text.split("\n"))
    assert not any(unfolded in page.text for unfolded in ("  ", "\t", "\r", "\f", "\xa0"))
    texts = [page.text, page.title, *page.headings, *(link.anchor + link.alt for link in page.links)]
    assert not any("\ue000" <= character <= "\ue00f" for character in "".join(texts))


NAMES = """a b i p div span table tr td th select option form li ul dl dd h1 font center svg math template script style
    noscript frameset frame noframes iframe body html head meta base link area map img br pre textarea title object
    xmp plaintext"""
TAGS = st.sampled_from(NAMES.split())
ATTRIBUTES = st.sampled_from(
    [
        "",
        " href=x",
        " href='http://f.org/?a=1#b'",
        " href=mailto:x",
        " hidden",
        " style='display:none'",
        " class='a b'",
        " src=y",
        " alt='z\ue000'",
        " rel=nofollow",
        " http-equiv=refresh content='1;url=z'",
        " name=robots content=noindex",
        " lang=de",
        " title=t",
        " style='color:#f00;font-size:80%'",
        " '",
        ' "',
        " =",
        " \0",
    ]
)
SOUP = st.lists(
    st.one_of(
        st.builds("<{}{}>".format, TAGS, ATTRIBUTES),
        st.builds("</{}>".format, TAGS),
        st.sampled_from(["word ", " ", "\n", "One. Two", "é", "文字。文字", "<!--", "-->", "<", "\0", "\f", "\xa0"]),
        st.sampled_from(["&amp;", "&nbsp;", "&#xE000;", "\ue001", "&#0;", "&#9;", "&#12;", "&#13;"]),
        st.text(max_size=8),
    ),
    max_size=40,
).map("".join)


@settings(max_examples=300, deadline=None)
@given(SOUP, st.booleans())
def test_any_tag_soup_gives_a_consistent_page(soup: str, styles: bool) -> None:
    body = soup.encode("utf-8", "replace") or b" "
    assume(detect_type(body, "text/html") == "html")
    found = parse_body(body, "text/html; charset=utf-8", styles=styles)
    assert isinstance(found, Page)
    check(found)


@settings(max_examples=300, deadline=None)
@given(
    st.binary(min_size=1, max_size=300),
    st.sampled_from(["text/html", "text/plain", "", "text/html; charset=utf-16", "text/plain; charset=\x80"]),
)
def test_any_bytes_give_a_page_or_a_failure(body: bytes, content_type: str) -> None:
    found = parse_body(body, content_type, styles=True)
    if isinstance(found, Page):
        check(found)
    else:
        assert found is Failure.CONTENT_TYPE


@settings(max_examples=100, deadline=None)
@given(SOUP)
def test_context_changes_nothing_but_the_context(soup: str) -> None:
    body = soup.encode("utf-8", "replace") or b" "
    assume(detect_type(body, "text/html") == "html")
    response = Response(URL, URL, 200, {"content-type": "text/html; charset=utf-8"}, body)
    rich, poor = parse_response(response, Link(URL)), parse_response(response, Link(URL), context=False)
    assert isinstance(rich, Page)
    assert isinstance(poor, Page)
    assert (rich.text, rich.digest, rich.headings) == (poor.text, poor.digest, poor.headings)
    assert [(link.url, link.anchor, link.alt, link.rel) for link in rich.links] == [
        (link.url, link.anchor, link.alt, link.rel) for link in poor.links
    ]
