"""Tests of main text extraction: menus, sidebars and footers are removed."""

from __future__ import annotations

import pytest

from topicrawl import parse
from topicrawl.models import Link, Page, Response
from topicrawl.parse.main_text import extract_main_text, parse_main_text

MENU = "".join(f'<li><a href="/{word}">{word} page</a></li>' for word in ("home", "news", "shop", "about", "imprint"))
PROSE = {
    "en": "Most owls hunt at night, and they sleep during the day, in the hollow of an old tree or in a barn. ",
    "de": "Die meisten Eulen jagen bei Nacht, und am Tag schlafen sie, in einem hohlen Baum oder in einer Scheune. ",
    "es": "La mayoría de los búhos caza de noche, y duerme durante el día, en el hueco de un árbol o en un granero. ",
    "ru": "Большинство сов охотится ночью, а днём они спят, в дупле старого дерева или в сарае у леса, где тихо. ",
}


def build_response(language: str, *, body: str = "{article}", kind: str = "text/html; charset=utf-8") -> Response:
    paragraphs = "".join(f"<p>{PROSE[language]} {PROSE[language]} {number}.</p>" for number in range(4))
    article = f'<article class="content"><h1>1 {language}</h1>{paragraphs}<p hidden>spam</p></article>'
    page = f"""<html lang="{language}"><body><nav class="menu"><ul>{MENU}</ul></nav>{body.format(article=article)}
        <aside class="sidebar"><h2>Advertisement</h2><p>Cheap nets and lamps.</p></aside>
        <footer class="footer"><p>All rights reserved. <a href="/terms">Terms</a></p></footer></body></html>"""
    return Response("http://a/", "http://a/", 200, {"content-type": kind}, page.encode())


def parse_page(response: Response) -> Page:
    page = parse.parse_response(response, Link("http://a/"))
    assert isinstance(page, Page)
    return page


@pytest.mark.parametrize("language", sorted(PROSE))
def test_menus_sidebars_and_footers_are_removed(language: str) -> None:
    response = build_response(language)
    page = parse_page(response)
    text = extract_main_text(response, page)
    assert text.count(PROSE[language].strip()) == 8
    assert [word for word in ("home page", "Advertisement", "rights reserved", "spam") if word in text] == []
    assert "home page" in page.text
    assert page.language == language


def test_a_page_without_main_content_keeps_its_whole_text() -> None:
    response = build_response("en", body="<p>Owls.</p>")
    page = parse_page(response)
    assert extract_main_text(response, page) == page.text


def test_plain_text_is_returned_unchanged() -> None:
    response = Response("http://a/", "http://a/", 200, {"content-type": "text/plain"}, b"Owls\n\nhunt at night.")
    page = parse_page(response)
    assert extract_main_text(response, page) == page.text == "Owls\nhunt at night."


def test_words_come_from_the_main_text_only() -> None:
    response = build_response("en")
    page, main = parse_page(response), parse_main_text(response, Link("http://a/"))
    assert isinstance(main, Page)
    assert "reserved" in page.words
    assert "reserved" not in main.words
    assert (main.text, main.links, main.digest) == (page.text, page.links, page.digest)


def test_an_unreadable_body_gives_a_failure() -> None:
    response = Response("http://a/", "http://a/", 200, {"content-type": "image/png"}, b"\x89PNG")
    assert parse_main_text(response, Link("http://a/")) == parse.parse_response(response, Link("http://a/"))
