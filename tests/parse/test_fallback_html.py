"""The parser of the standard library gives the same title, text and links as turbohtml on well-formed pages."""

from __future__ import annotations

import pytest

from topicrawl import parse
from topicrawl.models import Link, Page, Response
from topicrawl.parse.fallback_html import parse_html_fallback
from topicrawl.sample_web.web import SampleWeb

URL = "http://e.org/dir/page"
PAGES = {
    "prose": "<html lang=de><head><title>Die  Eule</title></head><h1>Eulen</h1><p>Sie <b>jag</b>en <i>Mäuse</i>.</p>",
    "links": "<p>See <a href='a.html'>one <b>two</b></a> and <a href='http://f.org/' rel='NoFollow me'>three</a>.</p>"
    "<p><a href='mailto:x'>mail</a> <a name=x>no link</a></p>",
    "head": "<head><base href='/b/'><meta name=robots content='noindex, nofollow'><link rel=canonical href='c'></head>"
    "<body><a href=d>x</a></body>",
    "references": "<p>AT&amp;T &lt;b&gt; caf&eacute; &#8212; &#xE000;x</p>",
    "scripts": "<p>one</p><script>if (a < b) document.write('<a href=x>y</a>')</script><style>p {}</style><p>two</p>",
    "refresh": "<head><meta http-equiv=refresh content='30; url=/next'></head><body>x</body>",
    "table": "<table><tr><td>one</td><td>two</td></tr></table>",
}


def respond(body: bytes, url: str = URL) -> Response:
    return Response(url, url, 200, {"content-type": "text/html; charset=utf-8", "x-robots-tag": "noarchive"}, body)


def check_same_page(response: Response) -> None:
    page = parse.parse_html(response, Link(response.url, depth=1), context=False)
    fallback = parse_html_fallback(response, Link(response.url, depth=1))
    for name in ("url", "title", "text", "words", "language", "charset", "canonical", "directives", "links", "digest"):
        assert getattr(fallback, name) == getattr(page, name), name


@pytest.mark.parametrize("name", PAGES)
def test_the_page_is_the_same(name: str) -> None:
    check_same_page(respond(PAGES[name].encode()))


def test_the_pages_of_the_synthetic_web_have_the_same_links() -> None:
    web = SampleWeb(pages=400, hosts=20)
    for url in [web.page_url(number) for number in range(0, 400, 20)]:
        response = respond(web.get_response(url).body, url)
        page = parse.parse_html(response, Link(url), context=False)
        fallback = parse_html_fallback(response, Link(url))
        assert [(link.url, link.anchor) for link in fallback.links] == [(link.url, link.anchor) for link in page.links]
        assert (fallback.title, fallback.language) == (page.title, page.language)
        assert fallback.words == page.words


def test_the_parser_can_be_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parse, "parse_html", parse_html_fallback)
    page = parse.parse_response(respond(PAGES["links"].encode()), Link(URL), styles=True, context=True)
    assert isinstance(page, Page)
    assert [link.url for link in page.links] == ["http://e.org/dir/a.html", "http://f.org/"]


def test_malformed_markup_gives_a_page() -> None:
    for body in (b"<" * 1000, b"<a href='" * 1000, b"<!--" * 1000, b"<![x" * 100, b"&#" * 1000, b"</" * 1000):
        assert isinstance(parse_html_fallback(respond(body), Link(URL)), Page)
