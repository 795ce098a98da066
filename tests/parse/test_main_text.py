"""The main text of a page, without what stands around it."""

from __future__ import annotations

import pytest

from topicrawl import parse
from topicrawl.parse.main_text import main_text, read_main
from topicrawl.records import Link, Page, Response

MENU = "".join(f'<li><a href="/{word}">{word} page</a></li>' for word in ("home", "news", "shop", "about", "imprint"))
PROSE = {
    "en": "Most owls hunt at night, and they sleep during the day, in the hollow of an old tree or in a barn. ",
    "de": "Die meisten Eulen jagen bei Nacht, und am Tag schlafen sie, in einem hohlen Baum oder in einer Scheune. ",
    "es": "La mayoría de los búhos caza de noche, y duerme durante el día, en el hueco de un árbol o en un granero. ",
    "ru": "Большинство сов охотится ночью, а днём они спят, в дупле старого дерева или в сарае у леса, где тихо. ",
}


def made(language: str, *, body: str = "{article}", kind: str = "text/html; charset=utf-8") -> Response:
    paragraphs = "".join(f"<p>{PROSE[language]} {PROSE[language]} {number}.</p>" for number in range(4))
    article = f'<article class="content"><h1>1 {language}</h1>{paragraphs}<p hidden>spam</p></article>'
    page = f"""<html lang="{language}"><body><nav class="menu"><ul>{MENU}</ul></nav>{body.format(article=article)}
        <aside class="sidebar"><h2>Advertisement</h2><p>Cheap nets and lamps.</p></aside>
        <footer class="footer"><p>All rights reserved. <a href="/terms">Terms</a></p></footer></body></html>"""
    return Response("http://a/", "http://a/", 200, {"content-type": kind}, page.encode())


def read(response: Response) -> Page:
    page = parse.read(response, Link("http://a/"))
    assert isinstance(page, Page)
    return page


@pytest.mark.parametrize("language", sorted(PROSE))
def test_menus_side_columns_and_footers_are_left_out(language: str) -> None:
    response = made(language)
    page = read(response)
    text = main_text(response, page)
    assert text.count(PROSE[language].strip()) == 8
    assert [word for word in ("home page", "Advertisement", "rights reserved", "spam") if word in text] == []
    assert "home page" in page.text
    assert page.language == language


def test_where_nothing_stands_out_all_of_the_page_is_its_main_text() -> None:
    response = made("en", body="<p>Owls.</p>")
    page = read(response)
    assert main_text(response, page) == page.text


def test_plain_text_is_main_text() -> None:
    response = Response("http://a/", "http://a/", 200, {"content-type": "text/plain"}, b"Owls\n\nhunt at night.")
    page = read(response)
    assert main_text(response, page) == page.text == "Owls\nhunt at night."


def test_a_page_can_be_judged_by_its_main_text_alone() -> None:
    response = made("en")
    page, main = read(response), read_main(response, Link("http://a/"))
    assert isinstance(main, Page)
    assert "reserved" in page.words
    assert "reserved" not in main.words
    assert (main.text, main.links, main.digest) == (page.text, page.links, page.digest)


def test_what_cannot_be_read_has_its_reason() -> None:
    response = Response("http://a/", "http://a/", 200, {"content-type": "image/png"}, b"\x89PNG")
    assert read_main(response, Link("http://a/")) == parse.read(response, Link("http://a/"))
