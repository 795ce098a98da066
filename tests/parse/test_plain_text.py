"""Tests of the plain text parser: title, blocks and links."""

from __future__ import annotations

import pytest

from topicrawl.models import Link, Page, Response, Sentence
from topicrawl.parse import parse_response

URL = "http://e.org/notes.txt"


def page(text: str, *, styles: bool = False, context: bool = True) -> Page:
    response = Response(URL, URL, 200, {"content-type": "text/plain; charset=utf-8"}, text.encode())
    found = parse_response(response, Link(URL, depth=1), styles=styles, context=context)
    assert isinstance(found, Page)
    return found


def test_the_first_line_is_the_title_and_empty_lines_separate_blocks() -> None:
    found = page("\n  Notes on owls\nby me\r\nand you\r\n \r\nThe  end.")
    assert found.title == "Notes on owls"
    assert found.text == "Notes on owls\nby me and you\nThe end."
    assert found.words == ("notes", "on", "owls", "by", "me", "and", "you", "the", "end")


def test_urls_are_links_with_their_context() -> None:
    (link,) = page("Owls\nIt rained. Read about owls (http://f.org/owl?x=1) tonight. Done.").links
    assert link == Link(
        "http://f.org/owl?x=1",
        URL,
        "http://f.org/owl?x=1",
        before=("owls", "rained", "read", "owls"),
        after=("tonight", "done"),
        sentence="Read about owls (http://f.org/owl?x=1) tonight.",
        depth=2,
    )


@pytest.mark.parametrize(
    ("text", "urls"),
    [
        (
            "see http://f.org/a, http://f.org/b. and HTTP://F.org/c!",
            ["http://f.org/a", "http://f.org/b", "http://f.org/c"],
        ),
        ('<http://f.org/a> "http://f.org/b"', ["http://f.org/a", "http://f.org/b"]),
        ("http://f.org/a_(b)", ["http://f.org/a_(b)"]),
        (f"this page is {URL}", []),
        ("ftp://f.org/ mailto:a@f.org http:// x", []),
    ],
)
def test_urls_end_before_punctuation(text: str, urls: list[str]) -> None:
    assert [link.url for link in page(text).links] == urls
    assert [link.url for link in page(text, context=False).links] == urls


def test_sentences_have_their_block_number() -> None:
    assert page("Title\nOne. Two.", styles=True).sentences == (
        Sentence("Title", 0),
        Sentence("One.", 1),
        Sentence("Two.", 1),
    )
