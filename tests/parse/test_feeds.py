"""Tests of sitemaps and feeds: their links, titles and dates; malformed and hostile files."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topicrawl.documents.file_types import is_feed
from topicrawl.models import Link, Page, ReadableDocument, Response
from topicrawl.parse.feeds import INDEXED_SITEMAP_REL, MAX_FEED_BYTES, MAX_INDEX_FILES, parse_feed
from topicrawl.parse.links import MAX_LINKS

URL = "http://a.test/list"
SITEMAP = b"""<?xml version="1.0" encoding="UTF-8"?><!-- made --><urlset xmlns="x" xmlns:news="y" xmlns:image="z">
<url><loc> http://a.test/1?a=1&amp;b=2 </loc><lastmod>2024-05-01</lastmod>
 <news:news><news:title>Dengue &amp;amp; fever</news:title></news:news>
 <image:image><image:loc>http://a.test/i.png</image:loc><image:title>An image</image:title></image:image></url>
<url><image:image><image:loc>http://a.test/j.png</image:loc></image:image><loc>/2</loc></url>
<url><loc>http://a.test/2</loc></url><url><loc>http://other.test/</loc></url><url><loc>mailto:x</loc></url>
</urlset>"""
RSS = b"""<rss version="2.0" xmlns:atom="a"><channel><title>News</title><link>http://a.test/</link>
<atom:link rel="self" href="http://a.test/list"/>
<item><title><![CDATA[<b>Dengue</b> in town]]></title><link>http://b.test/1</link><pubDate>Mon, 06 May 2024</pubDate>
<description>&lt;p&gt;Many cases.&lt;/p&gt;</description></item>
<item><guid>http://a.test/2</guid><title>Two</title></item><item><guid isPermaLink="false">x-3</guid></item>
</channel></rss>"""
ATOM = b"""<feed xmlns="http://www.w3.org/2005/Atom"><title>News</title><link href="http://a.test/"/>
<entry><title type="html">One</title><link rel="edit" href="/edit"/><link rel="alternate" href="/1"/>
<updated>2024-05-01T10:00:00Z</updated><summary>Short.</summary></entry>
<entry><title>Two</title><link href="/2"/></entry></feed>"""
RDF = b"""<rdf:RDF xmlns:rdf="r" xmlns="http://purl.org/rss/1.0/" xmlns:dc="d"><channel><title>News</title></channel>
<item rdf:about="http://a.test/1"><title>One</title><link>http://a.test/1</link><dc:date>2024-05-01</dc:date></item>
</rdf:RDF>"""
JSON_FEED = json.dumps(
    {
        "version": "https://jsonfeed.org/version/1.1",
        "title": "News",
        "items": [
            {"id": "1", "url": "http://a.test/1", "title": "One", "date_published": "2024-05-01", "summary": "Short."},
            {"id": "http://a.test/2", "title": 7},
            "no entry",
        ],
    }
).encode()


def parse(body: bytes, *, rel: str = "", kind: str = "application/xml") -> Page:
    response = Response(URL, URL, 200, {"content-type": kind}, body)
    return parse_feed(response, Link(URL, "http://a.test/page", rel=rel, depth=3))


def list_entries(page: Page) -> list[tuple[str, str, str]]:
    return [(link.url, link.anchor, link.sentence) for link in page.links]


@pytest.mark.parametrize(
    ("body", "title", "entries"),
    [
        (
            SITEMAP,
            "",
            [("http://a.test/1?a=1&b=2", "Dengue & fever", "2024-05-01"), ("http://a.test/2", "", "")],
        ),
        (
            SITEMAP.replace(b"urlset", b"s:urlset").replace(b"loc>", b"s:loc>").replace(b"image:s:loc", b"image:loc"),
            "",
            [("http://a.test/1?a=1&b=2", "Dengue & fever", "2024-05-01"), ("http://a.test/2", "", "")],
        ),
        (
            RSS,
            "News",
            [("http://b.test/1", "Dengue in town", "Mon, 06 May 2024 Many cases."), ("http://a.test/2", "Two", "")],
        ),
        (
            ATOM,
            "News",
            [("http://a.test/1", "One", "2024-05-01T10:00:00Z Short."), ("http://a.test/2", "Two", "")],
        ),
        (RDF, "News", [("http://a.test/1", "One", "2024-05-01")]),
        (JSON_FEED, "News", [("http://a.test/1", "One", "2024-05-01 Short."), ("http://a.test/2", "", "")]),
        (
            b"\xef\xbb\xbfhttp://a.test/1\r\nhttp://other.test/2\nhttp://a.test/3",
            "",
            [("http://a.test/1", "", ""), ("http://a.test/3", "", "")],
        ),
    ],
)
def test_the_links_of_every_format_have_titles_and_dates(
    body: bytes, title: str, entries: list[tuple[str, str, str]]
) -> None:
    page = parse(body)
    assert (page.title, page.text, page.is_link_list) == (title, "", True)
    assert list_entries(page) == entries
    assert {(link.source, link.depth, link.heading) for link in page.links} == {(URL, 4, title)}
    assert is_feed(body) or body.startswith(b"\xef\xbb\xbfhttp")


def test_a_sitemap_index_gives_some_sitemaps_and_an_indexed_index_none() -> None:
    entries = "".join(f"<sitemap><loc>http://a.test/{number}.xml</loc></sitemap>" for number in range(50))
    body = f"<sitemapindex>{entries}</sitemapindex>".encode()
    links = parse(body).links
    assert [link.url for link in links] == [f"http://a.test/{number}.xml" for number in range(MAX_INDEX_FILES)]
    assert {link.rel for link in links} == {INDEXED_SITEMAP_REL}
    assert parse(body, rel=INDEXED_SITEMAP_REL).links == ()


def test_a_nofollow_header_applies_to_a_feed() -> None:
    response = Response(URL, URL, 200, {"x-robots-tag": "nofollow"}, RSS)
    assert parse_feed(response, Link(URL)).directives == {"nofollow"}


def test_the_converted_content_of_a_gzip_file_is_read() -> None:
    readable = ReadableDocument("text/plain", SITEMAP)
    response = Response(URL, URL, 200, {"content-type": "application/gzip"}, b"\x1f\x8b", readable=readable)
    assert len(parse_feed(response, Link(URL)).links) == 2


def test_the_number_of_links_and_the_size_are_limited() -> None:
    entry = "<url><loc>http://a.test/{}</loc></url>"
    many = "".join(entry.format(number) for number in range(MAX_LINKS + 100))
    assert len(parse(f"<urlset>{many}</urlset>".encode()).links) == MAX_LINKS
    assert len(parse(f"<urlset>{entry.format(1)}{' ' * MAX_FEED_BYTES}{entry.format(2)}</urlset>".encode()).links) == 1


def test_the_entries_before_an_error_are_used() -> None:
    assert [link.url for link in parse(SITEMAP[: SITEMAP.index(b"<url><image")] + b"<broken").links] == [
        "http://a.test/1?a=1&b=2"
    ]


@pytest.mark.parametrize(
    ("body", "entries"),
    [
        (b"<urlset><url><loc>/?a=1&b=2</loc></url></urlset>", [("http://a.test/?a=1&b=2", "")]),
        (b"\xef\xbb\xbf\n <?xml version='1.0'?><urlset><url><loc>/1</loc></url></urlset>", [("http://a.test/1", "")]),
        (
            b"<rss><item><title>a&nbsp;b &eacute;\x0b\x00</title><link>/1</link></item></rss>",
            [("http://a.test/1", "a b é")],
        ),
        (
            b"<rss><item><title>x & y</title><link><![CDATA[/?a=1&b]]></link></item></rss>",
            [("http://a.test/?a=1&b", "x & y")],
        ),
    ],
    ids=["ampersand", "blanks", "entities", "cdata"],
)
def test_frequent_errors_are_repaired(body: bytes, entries: list[tuple[str, str]]) -> None:
    assert [entry[:2] for entry in list_entries(parse(body))] == entries


def test_the_declared_charset_decodes_a_feed_that_is_not_well_formed() -> None:
    body = "<rss><item><title>Fièvre</title><link>/1</link></item></rss>".encode("latin-1")
    assert parse(body, kind="application/rss+xml; charset=iso-8859-1").links[0].anchor == "Fièvre"


def test_links_are_relative_to_the_base_of_their_element() -> None:
    entry = '<entry xml:base="{}"><title>x</title><link href="page"/></entry>'
    body = f'<feed xml:base="http://b.test/dir/">{entry.format("sub/")}{entry.format("http://c.test/")}'
    body += f'{entry.format("http://[")}<entry><link href="/root"/></entry></feed>'
    urls = [link.url for link in parse(body.encode()).links]
    assert urls == ["http://b.test/dir/sub/page", "http://c.test/page", "http://a.test/page", "http://b.test/root"]


def test_the_prefix_of_rdf_is_not_that_of_its_items() -> None:
    body = b"""<rdf:RDF xmlns:rdf="r" xmlns:rss="s"><rss:channel><rss:title>News</rss:title></rss:channel>
        <rss:item><rss:title>One</rss:title><rss:link>/1</rss:link></rss:item></rdf:RDF>"""
    assert list_entries(parse(body)) == [("http://a.test/1", "One", "")]


def test_pages_in_other_languages_are_entries_of_a_sitemap() -> None:
    link = '<x:link rel="alternate" hreflang="de" href="/de"/>'
    body = f'<urlset xmlns:x="http://www.w3.org/1999/xhtml"><url>{link}<loc>/en</loc></url></urlset>'
    assert [entry.url for entry in parse(body.encode()).links] == ["http://a.test/de", "http://a.test/en"]


@pytest.mark.parametrize("charset", ["utf-16", "utf-16-be", "utf-16-le"])
def test_a_feed_may_be_in_utf_16(charset: str) -> None:
    text = '<?xml version="1.0" encoding="UTF-16"?><rss><item><title>Fièvre</title><link>/1</link></item></rss>'
    body = text.encode(charset) if charset == "utf-16" else ("\ufeff" + text).encode(charset)
    assert is_feed(body)
    assert list_entries(parse(body)) == [("http://a.test/1", "Fièvre", "")]


def test_comments_may_precede_the_root_element() -> None:
    assert is_feed(b"<?xml version='1.0'?>" + b"<!-- made by a generator -->" * 100 + b"<urlset>")


def test_the_identifier_of_an_atom_entry_without_a_link_is_its_url() -> None:
    body = b"""<feed><id>http://a.test/feed</id><entry><id>http://a.test/1</id></entry><entry><id>tag:a.test,2</id></entry>
        <entry><id>http://a.test/3</id><link href="/three"/></entry></feed>"""
    assert [link.url for link in parse(body).links] == ["http://a.test/1", "http://a.test/three"]


BOMB = b"""<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;"><!ENTITY c SYSTEM "file:///etc/passwd">]>
<rss><item><title>&b;&c;</title><link>http://a.test/1</link></item></rss>"""


@pytest.mark.parametrize(
    "body",
    [
        BOMB,
        b"<rss>" * 300_000,
        b"<rss>&" + b"<![CDATA[" * 200_000,
        b"<rss>" + b"&" * 2_000_000,
        b"<rss><item>" + b"<title>" * 200_000,
        b"<urlset><url><loc>" + b"x" * 2_000_000,
        b'<?xml version="1.0" encoding="klingon"?><rss/>',
        b'{"version": "https://jsonfeed.org/version/1", "items": ' + b"[" * 100_000,
        b'{"items": 5}',
        b"[]",
        b"{",
        b"<",
        b"\xff\xfe<\0r\0",
    ],
)
def test_hostile_files_give_no_links_in_bounded_time(body: bytes) -> None:
    started = time.process_time()
    page = parse(body)
    assert time.process_time() - started < 5
    assert page.links == ()


@given(
    st.binary(max_size=300) | st.text(max_size=300).map(lambda text: f"<rss><item>{text}".encode("utf-8", "replace"))
)
def test_any_bytes_give_a_page(body: bytes) -> None:
    assert isinstance(parse(body), Page)
