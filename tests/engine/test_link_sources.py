"""Tests of the links from sitemaps, feeds and heads of pages, and of their limits per host."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from topicrawl.collection.store import CollectionStore
from topicrawl.engine import link_sources
from topicrawl.engine.link_sources import MAX_ROBOTS_SITEMAPS, LinkSourceParser
from topicrawl.models import Link, Page, Response
from topicrawl.parse import parse_response
from topicrawl.parse.head_links import MAX_OPTION_LINKS, find_head_links, find_header_links, find_option_links

HTML = {"content-type": "text/html"}


def build_parser(sitemaps: dict[str, list[str]] | None = None) -> LinkSourceParser:
    table = sitemaps or {}
    return LinkSourceParser(parse_response, lambda site: table.get(site, []))


def parse(parser: LinkSourceParser, url: str, body: bytes, *, rel: str = "") -> Page:
    page = parser(Response(url, url, 200, HTML, body), Link(url, rel=rel))
    assert isinstance(page, Page)
    return page


def list_links(page: Page) -> list[tuple[str, str]]:
    return [(link.url, link.rel) for link in page.links]


def test_the_first_page_of_an_origin_links_to_its_sitemaps() -> None:
    names = ["/map.xml", "http://c.test/map.xml", "mailto:x", *(f"/{number}" for number in range(9))]
    parser = build_parser({"http://a.test": names})
    page = parse(parser, "http://a.test/x/", b"<p>Dengue <a href=y>y</a>")
    assert list_links(page)[:3] == [
        ("http://a.test/x/y", ""),
        ("http://a.test/map.xml", "sitemap"),
        ("http://c.test/map.xml", "sitemap"),
    ]
    assert len(page.links) == 1 + MAX_ROBOTS_SITEMAPS - 1, "one name is no URL"
    assert page.links[-1].source == page.url
    assert list_links(parse(parser, "http://a.test/2", b"<p>x")) == []
    assert list_links(parse(parser, "http://b.test/", b"<p>x")) == []


def test_the_head_of_a_page_has_links() -> None:
    body = b"""<base href="/b/"><link rel=canonical href=c><link rel="shortcut icon" href=i>
    <!-- <link rel=next href=no> --><link rel="Alternate" type="application/atom+xml; charset=x" href="feed?a&amp;b">
    <link rel=alternate hreflang=de href="/de/" title="Auf  Deutsch"><link rel="alternate stylesheet" hreflang=x href=s>
    <link href="p2" rel="next"><link rel=previous href="known"><link rel=next href="javascript:x"></head>
    <a href=known>x</a><link rel=next href=body>"""
    page = parse(build_parser(), "http://a.test/", body)
    assert list_links(page) == [
        ("http://a.test/b/known", ""),
        ("http://a.test/b/feed?a&b", "feed"),
        ("http://a.test/de/", "alternate"),
        ("http://a.test/b/p2", "next"),
    ]
    assert [link.position for link in page.links] == [0, 1, 2, 3]
    assert page.links[2].anchor == "Auf Deutsch"


def test_the_options_of_a_menu_are_links() -> None:
    options = b"".join(b"<option value=/p%d>Page %d" % (number, number) for number in range(99))
    body = b"""<select><option>x<option value="7">7<option value="de">de<option class=c value='http://b.test/?a&amp;b'
    selected>B &amp; b</option><option value="/known">y<option value="//c.test/">c</select><a href=/known>x</a>"""
    page = parse(build_parser(), "http://a.test/x/", body + b"<select>" + options)
    assert [(link.url, link.anchor) for link in page.links[:5]] == [
        ("http://a.test/known", "x"),
        ("http://b.test/?a&b", "B & b"),
        ("http://c.test/", "c"),
        ("http://a.test/p0", "Page 0"),
        ("http://a.test/p1", "Page 1"),
    ]
    assert len(page.links) == 1 + MAX_OPTION_LINKS


def test_names_of_elements_may_be_in_upper_case() -> None:
    page = parse(build_parser(), "http://a.test/", b'<SELECT><OPTION VALUE="/1">One</OPTION></SELECT>')
    assert list_links(page) == [("http://a.test/1", "")]


@pytest.mark.parametrize(
    ("element", "rel"),
    [
        ('<link rel="sitemap" type="application/xml" href="/x">', "sitemap"),
        ('<link rel="alternate" type="application/rdf+xml" title="RSS 1.0" href="/x">', "feed"),
        ('<link rel="alternate" type="text/xml" title="News (Atom)" href="/x">', "feed"),
        ('<link rel="alternate" type="application/rdf+xml" title="Data" href="/x">', ""),
        ('<link rel="alternate" type="application/json" title="RSS" href="/x">', ""),
    ],
)
def test_the_title_tells_feeds_from_other_data(element: str, rel: str) -> None:
    page = parse(build_parser(), "http://a.test/", element.encode())
    assert list_links(page) == ([("http://a.test/x", rel)] if rel else [])


def test_the_link_header_has_links() -> None:
    header = """</de>; rel="alternate"; hreflang=de; title="Auf, Deutsch; x", <p2?a=1,2> ; rel=next,
    </style.css>; rel=preload, </feed>; type="application/rss+xml"; rel="alternate", <mailto:x>; rel=next,
    </known>; rel=prev, <//b.test/s>;rel=sitemap, <"""
    response = Response("http://a.test/d/", "http://a.test/d/", 200, {**HTML, "link": header}, b"<a href=/known>x</a>")
    page = build_parser()(response, Link(response.url))
    assert isinstance(page, Page)
    assert list_links(page) == [
        ("http://a.test/known", ""),
        ("http://a.test/de", "alternate"),
        ("http://a.test/d/p2?a=1,2", "next"),
        ("http://a.test/feed", "feed"),
        ("http://b.test/s", "sitemap"),
    ]
    assert page.links[1].anchor == "Auf, Deutsch; x"


@pytest.mark.parametrize("part", ["<", "<x>;a=", "<x>;", '<x>;a="', "<x> ; a = ", "<x>;a;"])
def test_a_hostile_link_header_is_searched_in_bounded_time(part: str) -> None:
    started = time.process_time()
    assert find_header_links(part * (60_000 // len(part)), Page("http://a.test/"), 1) == ()
    assert time.process_time() - started < 1


@pytest.mark.parametrize(
    "part",
    [b"<option ", b"<option value=", b"<link ", b"<!-- alternate ", b"<link rel='", b"<option value=/" + b"x" * 1990],
)
def test_hostile_pages_are_searched_in_bounded_time(part: bytes) -> None:
    body = b"<p>alternate" + part * (500_000 // len(part))
    started = time.process_time()
    assert find_head_links(body, Page("http://a.test/"), 1) == ()
    assert find_option_links(body, Page("http://a.test/"), 1) == ()
    assert time.process_time() - started < 5


def test_a_feed_is_a_link_list_whatever_its_media_type_is() -> None:
    page = parse(build_parser(), "http://a.test/f", b"<rss><item><title>One</title><link>/1</link></item></rss>")
    assert (page.is_link_list, list_links(page)) == (True, [("http://a.test/1", "")])


def test_a_text_file_is_a_sitemap_only_if_a_link_says_so() -> None:
    body = b"http://a.test/1\nhttp://a.test/2\n"
    assert parse(build_parser(), "http://a.test/s", body, rel="sitemap").is_link_list
    assert not parse(build_parser(), "http://a.test/s", body).is_link_list


def test_links_from_the_frontier_have_no_relation() -> None:
    parser = build_parser({"http://a.test": ["/urls.txt", "/index.xml"]})
    parse(parser, "http://a.test/", b"<p>Dengue")
    assert parse(parser, "http://a.test/urls.txt", b"http://a.test/1\n").is_link_list
    index = b"<sitemapindex><sitemap><loc>/other.xml</loc></sitemap></sitemapindex>"
    assert list_links(parse(parser, "http://a.test/index.xml", index)) == [
        ("http://a.test/other.xml", "indexed-sitemap")
    ]
    assert list_links(parse(parser, "http://a.test/other.xml", index.replace(b"other", b"third"))) == []


def test_files_and_links_of_a_host_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link_sources, "MAX_HOST_FILES", 3)
    monkeypatch.setattr(link_sources, "MAX_HOST_LINKS", 5)
    feed = b"<rss>" + b"".join(b"<item><link>/%d</link></item>" % number for number in range(3)) + b"</rss>"
    named = b'<link rel=alternate type="application/rss+xml" href="/more">'
    parser = build_parser()
    assert [len(parse(parser, f"http://a.test/f{number}", feed).links) for number in range(3)] == [3, 2, 0]
    assert list_links(parse(parser, "http://a.test/", named)) == []
    assert len(parse(parser, "http://b.test/f", feed).links) == 3
    small = b"<rss><item><link>/1</link></item></rss>"
    assert [len(parse(parser, f"http://c.test/f{number}", small).links) for number in range(5)] == [1, 1, 1, 0, 0]


def test_the_lists_of_earlier_runs_count(tmp_path: Path) -> None:
    store = CollectionStore(tmp_path / "topicrawl.sqlite")
    store.add_link_lists({"http://a.test/1.txt": "sitemap"}, {})
    store.add_link_lists({}, {f"http://a.test/feed{number}": 3 for number in range(link_sources.MAX_HOST_FILES)})
    assert store.count_link_lists("a.test") == (link_sources.MAX_HOST_FILES, 3 * link_sources.MAX_HOST_FILES)
    store.add_link_lists({"http://b.test/1.txt": "sitemap"}, {"http://b.test/1.txt": 7})
    assert (store.find_list_relation("http://b.test/1.txt"), store.count_link_lists("b.test")) == ("sitemap", (1, 7))
    parser = LinkSourceParser(parse_response, lambda site: [], store)
    for host, count in (("a.test", 0), ("b.test", 1)):
        page = parse(parser, f"http://{host}/1.txt", f"http://{host}/page".encode())
        assert (page.is_link_list, len(page.links)) == (True, count)
    assert not parse(parser, "http://b.test/2.txt", b"http://b.test/page").is_link_list
    store.close()
