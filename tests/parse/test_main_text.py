"""Tests of main text extraction: the prose of a page stays; menus, comments, banners and footers are removed."""

from __future__ import annotations

from time import process_time

import pytest

from topicrawl import parse
from topicrawl.models import Failure, Link, Page, Response
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
    text = extract_main_text(response)
    assert text.count(PROSE[language].strip()) == 8
    assert [word for word in ("home page", "Advertisement", "rights reserved", "spam") if word in text] == []
    assert "home page" in page.text
    assert page.language == language


def extract(body: str) -> list[str]:
    """Return the lines of the main text of a page with this body."""
    source = f"<html lang=en><body>{body}</body></html>".encode()
    text = extract_main_text(
        Response("http://a/", "http://a/", 200, {"content-type": "text/html; charset=utf-8"}, source)
    )
    assert not isinstance(text, Failure)
    return text.splitlines()


def test_a_short_article_is_found_among_many_links() -> None:
    links = "".join(f"<li><a href=/{number}>Page number {number}</a>" for number in range(300))
    menu = f"<div><ul>{links}</ul></div>"
    assert extract(f"{menu}<div><h1>Owls</h1><p>Owls hunt at night.</div>{menu}") == ["Owls", "Owls hunt at night."]
    assert extract(f"<p>Owls.</p>{menu}") == ["Owls."]


def test_an_article_in_several_containers_is_complete() -> None:
    parts = [f"{PROSE['en'].strip()} {number}." for number in range(3)]
    promotion = "<div><a href=/x>Ten owls that you must see</a> <a href=/y>Cheap lamps</a></div>"
    body = f"<div><div><p>{parts[0]}</div>{promotion}<div>{parts[1]}</div><section><p>{parts[2]}</section></div>"
    assert extract(f"<div>{promotion * 9}</div>{body}<div>{promotion * 9}</div>") == parts


def test_tables_code_and_lists_of_a_manual_are_kept() -> None:
    table = "<table><tr><th>Option<th>Meaning<tr><td><code>-v</code><td>verbose</table>"
    items = "<ul><li>See <a href=/a>owls</a>.<li><a href=/b>Bats</a>, which hunt too.</ul><dl><dt>-q<dd>quiet</dl>"
    section = f"<section id=comments><h2>Comments</h2><p>{PROSE['en']}</section>"
    lines = extract(f"<main><h1>hunt</h1><p>{PROSE['en']}<pre>hunt <b>--all</b></pre>{table}{items}{section}</main>")
    prose = PROSE["en"].strip()
    cells = ["Option", "Meaning", "-v", "verbose"]
    listed = ["See owls.", "Bats, which hunt too.", "-q", "quiet"]
    assert lines == ["hunt", prose, "hunt --all", *cells, *listed, "Comments", prose]


@pytest.mark.parametrize(
    "boilerplate",
    [
        '<div id="comments"><p>{long}</div>',
        '<section class="comment-list"><p>{long}</section>',
        '<div class="cookieBanner"><p>{long}</div>',
        '<div role="dialog"><p>{long}</div>',
        '<div class="entry-footer related_posts"><p>{long}</div>',
        '<div style="display: none"><p>{long}</div>',
        "<article><p>{long}</article>",
        "<p class=byline>By A. Owl",
        "<div>Share: <a href=/f>Friends and more friends</a> <a href=/m>Mail to a friend</a></div>",
    ],
)
def test_boilerplate_in_an_article_is_removed(boilerplate: str) -> None:
    long = "We use owls to improve your experience, and this text is long enough to look like prose, is it not? " * 4
    article = f"<h1>Owls</h1><p>{PROSE['en'] * 5}<p>They sleep.{boilerplate.format(long=long)}<p>At night they hunt."
    lines = extract(f"<article>{article}</article>")
    assert lines == ["Owls", (PROSE["en"] * 5).strip(), "They sleep.", "At night they hunt."]


def test_a_hint_on_most_of_the_page_is_ignored() -> None:
    assert extract(f'<div class="has-sidebar"><div id="share"><p>{PROSE["en"]}</div></div>') == [PROSE["en"].strip()]
    assert extract(f"<form action=/><p>{PROSE['en']}</form>") == [PROSE["en"].strip()]


def test_the_part_that_the_markup_declares_is_preferred() -> None:
    lead = "<p>An owl is a bird that hunts at night, of course."
    body = f"<div><div>{lead}</div><div itemprop=articleBody>{'<p>' + PROSE['en'] * 9}</div></div>"
    assert extract(body) == [(PROSE["en"] * 9).strip()]


def test_only_the_element_that_is_declared_as_main_content_is_searched() -> None:
    other = f"<div><p>{PROSE['es'] * 9}</div>"
    for tag in ("article", "main", "div role=main"):
        body = f"{other}<{tag}><p>{PROSE['en'] * 3}</{tag.split()[0]}>{other}"
        assert extract(body) == [(PROSE["en"] * 3).strip()]
    # The first element is a teaser or a page without its scripts.
    assert extract(f"<article>Owls</article><main><script>load()</script></main>{other}") == [(PROSE["es"] * 9).strip()]


def test_lists_of_links_are_the_content_of_an_index() -> None:
    links = [f"Section {number} of the manual" for number in range(9)]
    index = "<p>All sections:</p><ul>" + "".join(f"<li><a href=/{link[8]}>{link}</a>" for link in links) + "</ul>"
    assert extract(f"<nav>{MENU}</nav><main>{index}</main>") == ["All sections:", *links]
    article = f"<main><p>{PROSE['en'] * 9}</p>{index}</main>"
    assert extract(article) == [(PROSE["en"] * 9).strip(), "All sections:"]


def test_a_table_of_links_does_not_end_a_chapter() -> None:
    table = "<table>" + "<tr><td><a href=/a>The name of a package</a>" * 30 + "</table>"
    part = f"<p>{PROSE['en'].strip()}"
    lines = extract(f"<div>{f'<div>{part * 4}</div>{table}' * 3}</div>")
    assert lines.count(PROSE["en"].strip()) == 12
    assert lines.count("The name of a package") == 90


def test_a_page_of_links_keeps_the_links_outside_of_menus() -> None:
    index = "<ul><li><a href=/a>Barn owl</a><li><a href=/b>Snowy owl</a></ul>"
    assert extract(f"<nav>{MENU}</nav><header><a href=/>Home</a></header>{index}") == ["Barn owl", "Snowy owl"]
    assert extract(f"<nav>{MENU}</nav>") == []
    assert extract("") == []


def test_languages_without_spaces_have_a_main_text() -> None:
    prose = "フクロウは夜に狩りをし、昼は古い木の洞や納屋で眠る鳥であり、世界中の森に住んでいる。"
    assert extract(f"<ul>{MENU}</ul><div><p>{prose}<p>{prose}</div>") == [prose, prose]


@pytest.mark.parametrize(
    "source",
    [
        "<div>" * 5_000 + "owl",
        "<p>" + "<b>o</b>" * 5_000,
        "<p>" + "<a href=/>o</a> " * 5_000,
        "<article><div class=content>" * 2_500 + "Owls hunt at night, and they sleep during the day.",
        "<ul>" + "<li class=share><a href=/>x</a>" * 5_000,
    ],
)
def test_hostile_markup_takes_linear_time(source: str) -> None:
    def measure(body: str) -> float:
        start = process_time()
        extract(body)
        return process_time() - start

    measure(source)
    assert measure(source * 4) < 12 * min(measure(source) for _ in range(3)) + 0.05


def test_plain_text_is_returned_unchanged() -> None:
    response = Response("http://a/", "http://a/", 200, {"content-type": "text/plain"}, b"Owls\n\nhunt at night.")
    assert extract_main_text(response) == parse_page(response).text == "Owls\nhunt at night."


def test_frames_have_the_text_for_browsers_without_frames() -> None:
    source = b"<frameset><frame src=/a><noframes><p>Owls hunt.</noframes></frameset>"
    response = Response("http://a/", "http://a/", 200, {"content-type": "text/html"}, source)
    assert extract_main_text(response) == parse_page(response).text == "Owls hunt."


def test_words_come_from_the_main_text_only() -> None:
    response = build_response("en")
    page, main = parse_page(response), parse_main_text(response, Link("http://a/"))
    assert isinstance(main, Page)
    assert "reserved" in page.words
    assert "reserved" not in main.words
    assert (main.text, main.links, main.digest) == (page.text, page.links, page.digest)


def test_an_unreadable_body_gives_a_failure() -> None:
    response = Response("http://a/", "http://a/", 200, {"content-type": "image/png"}, b"\x89PNG")
    failure = parse.parse_response(response, Link("http://a/"))
    assert parse_main_text(response, Link("http://a/")) == extract_main_text(response) == failure
