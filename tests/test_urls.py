"""URL canonicalization: special cases of the standard as a table, and properties that hold for all URLs."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from topicrawl.urls import (
    MAX_URL_LENGTH,
    LinkCache,
    LinkResolver,
    canonicalize_url,
    fingerprint,
    fingerprint_urls,
    get_archive_url,
    get_directory_url,
    get_host,
    get_origin,
    make_member_url,
    resolve_url,
)

BASE = "http://example.org/a/b/c?q=1#f"

CANONICAL = [
    ("http://example.org", "http://example.org/"),
    ("HTTPS://EXAMPLE.org/Path", "https://example.org/Path"),
    ("http://example.org:80/", "http://example.org/"),
    ("https://example.org:443/", "https://example.org/"),
    ("https://example.org:80/", "https://example.org:80/"),
    ("http://example.org:/x", "http://example.org/x"),
    ("http://example.org:00080/", "http://example.org/"),
    ("http://example.org:65536/", None),
    ("http://example.org./x", "http://example.org/x"),
    ("http://example.org..:8080/", "http://example.org:8080/"),
    ("http://./", None),
    ("http://256../", "http://0.0.1.0/"),
    ("http://me:secret@example.org/", "http://example.org/"),
    ("http://a@b@example.org/", "http://example.org/"),
    ("http://me@/", None),
    ("http://", None),
    ("http:///example.org/x", "http://example.org/x"),
    ("http:example.org", "http://example.org/"),
    ("http:\\\\example.org\\a\\b", "http://example.org/a/b"),
    ("  \n http://example.org/a\tb\n ", "http://example.org/ab"),
    ("http://example.org/a b", "http://example.org/a%20b"),
    ("http://example.org/./a/../b/.", "http://example.org/b/"),
    ("http://example.org/%2e%2E/a/%2e", "http://example.org/a/"),
    ("http://example.org/../../..", "http://example.org/"),
    ("http://example.org//a//", "http://example.org//a//"),
    ("http://example.org/%7euser/%zz%", "http://example.org/%7euser/%zz%"),
    ("http://example.org/%25C3", "http://example.org/%25C3"),
    ("http://example.org/\u00e4?\u00f6", "http://example.org/%C3%A4?%C3%B6"),
    ("http://M\u00fcnchen.de/", "http://xn--mnchen-3ya.de/"),
    ("http://xn--mnchen-3ya.de/", "http://xn--mnchen-3ya.de/"),
    ("http://xn--\u00e4/", None),
    ("http://\uff45xample\u3002org/", "http://example.org/"),
    ("http://exa mple.org/", None),
    ("http://exa%6Dple.org/", "http://example.org/"),
    ("http://2130706433/", "http://127.0.0.1/"),
    ("http://0x7f.1/", "http://127.0.0.1/"),
    ("http://1.2.3.4./", "http://1.2.3.4/"),
    ("http://1.2.3.256/", None),
    ("http://[2001:DB8:0:0::1]:80/", "http://[2001:db8::1]/"),
    ("http://[::1]:81/x", "http://[::1]:81/x"),
    ("http://[::ffff:1.2.3.4]/", "http://[::ffff:102:304]/"),
    ("http://[::1/", None),
    ("http://under_score.example.org/", "http://under_score.example.org/"),
    ("http://example.org?", "http://example.org/"),
    ("http://example.org/?#", "http://example.org/"),
    ("http://example.org/a#b?c#d", "http://example.org/a"),
    ("http://example.org/?b=2&a=1&b=3", "http://example.org/?b=2&a=1&b=3"),
    ("http://example.org/?a&&b=&=c", "http://example.org/?a&&b=&=c"),
    ("http://example.org/?a='x'&b=\"y\"", "http://example.org/?a=%27x%27&b=%22y%22"),
    ("http://example.org/?a=%7E~+%20", "http://example.org/?a=%7E~+%20"),
    ("mailto:me@example.org", None),
    ("javascript:alert(1)", None),
    ("data:text/html,x", None),
    ("ftp://example.org/", None),
    ("file:///etc/passwd", None),
    ("/a/b", None),
    ("", None),
    ("http://example.org/\ud800", None),
]

NOISE = [
    ("?utm_source=a&id=1&UTM_Campaign=b", "?id=1"),
    ("?gclid=1", ""),
    ("?fbclid=1&", ""),
    ("?a=1&msclkid=2&b=3", "?a=1&b=3"),
    ("?_ga=1.2&_hsenc=x&mc_cid=1&mc_eid=2&igshid=3&yclid=4&q=x", "?q=x"),
    ("?PHPSESSID=abc&p=2", "?p=2"),
    ("?p=2&ASPSESSIONIDQABCDEF=XYZ", "?p=2"),
    ("?CFID=1&CFTOKEN=2", ""),
    ("?osCsid=x&zenid=y&cPath=1_2", "?cPath=1_2"),
    ("?sid=0123456789abcdef0123456789abcdef", ""),
    ("?sid=99/12/31", "?sid=99/12/31"),
    ("?sid=4711", "?sid=4711"),
    ("?s=0123456789ABCDEF0123456789abcdef&t=1", "?t=1"),
    ("?s=birds", "?s=birds"),
    ("?utm=1&gclids=2", "?utm=1&gclids=2"),
    (";jsessionid=1A2B", ""),
    (";JSESSIONID=1A2B?x=1", "?x=1"),
    (";jsessionid=1/b;v=2", "/b;v=2"),
    (";v=1", ";v=1"),
]

JOINED = [
    ("", "http://example.org/a/b/c?q=1"),
    ("#top", "http://example.org/a/b/c?q=1"),
    ("?x=y", "http://example.org/a/b/c?x=y"),
    ("?", "http://example.org/a/b/c"),
    ("d", "http://example.org/a/b/d"),
    ("d/e#f", "http://example.org/a/b/d/e"),
    ("./d", "http://example.org/a/b/d"),
    (".", "http://example.org/a/b/"),
    ("..", "http://example.org/a/"),
    ("../d", "http://example.org/a/d"),
    ("../../d", "http://example.org/d"),
    ("../../../../d", "http://example.org/d"),
    ("/d", "http://example.org/d"),
    ("/", "http://example.org/"),
    ("/d/../e", "http://example.org/e"),
    ("/d/%2E%2e/e", "http://example.org/e"),
    ("/wiki/Help:Contents_(new)", "http://example.org/wiki/Help:Contents_(new)"),
    ("a:b", None),
    ("./a:b", "http://example.org/a/b/a:b"),
    ("//example.com", "http://example.com/"),
    ("///example.com/x", "http://example.com/x"),
    ("\\\\example.com\\x", "http://example.com/x"),
    ("\\x", "http://example.org/x"),
    ("http:d", "http://example.org/a/b/d"),
    ("http:/d", "http://example.org/d"),
    ("https:d", "https://d/"),
    ("http-faq.html", "http://example.org/a/b/http-faq.html"),
    ("HTTP://EXAMPLE.COM/", "http://example.com/"),
    ("https://example.com?x", "https://example.com/?x"),
    (" d ", "http://example.org/a/b/d"),
    ("\td\n/e", "http://example.org/a/b/d/e"),
    ("d e", "http://example.org/a/b/d%20e"),
    ("JavaScript:void(0)", None),
    ("java\nscript:x", None),
    ("mailto:me@example.org", None),
    ("data:,x", None),
    ("http://[::1", None),
    ("http://[::1]:81", "http://[::1]:81/"),
    ("//", None),
    ("d?a=1&utm_source=b#c", "http://example.org/a/b/d?a=1"),
    ("d;jsessionid=1?a", "http://example.org/a/b/d?a"),
    ("x" * (MAX_URL_LENGTH + 1), None),
    ("/" + "\u00e4" * (MAX_URL_LENGTH // 2), None),
]

# Pieces that mean something to a parser, so that random addresses reach its corners.
PIECES = [
    *(
        "/",
        "../",
        "./",
        "..",
        ".",
        "?",
        "#",
        "&",
        "=",
        ";",
        ":",
        "@",
        "%",
        "\\",
        "//",
        "'",
        '"',
        "|",
        "^",
        "`",
        "{",
    ),
    *(
        "http:",
        "https://",
        "http://example.org",
        "example.org.",
        "EXAMPLE.com",
        "xn--",
        "[::1]",
        ":80",
        ":8080",
    ),
    *(
        "%2e",
        "%2E",
        "utm_x=1",
        ";jsessionid=1",
        "sid=",
        "s=0123456789abcdef0123456789abcdef",
        "256.",
        "a",
        "b-1",
    ),
    *("\u00e4", " ", "\t", "\n"),
]
odd_text = st.lists(st.sampled_from(PIECES) | st.text(max_size=2), max_size=9).map("".join)
addresses = st.builds(
    "http{}://{}{}".format,
    st.sampled_from(["", "s"]),
    st.sampled_from(["example.org", "a.b:81", "me@x."]),
    odd_text,
)


@pytest.mark.parametrize(("url", "expected"), CANONICAL)
def test_the_standard_and_our_omissions_give_one_spelling(url: str, expected: str | None) -> None:
    assert canonicalize_url(url) == expected


@pytest.mark.parametrize(("tail", "expected"), NOISE)
@pytest.mark.parametrize("start", ["http://example.org/a", "https://EXAMPLE.org/a"])
def test_sessions_and_tracking_are_dropped_and_nothing_else(start: str, tail: str, expected: str) -> None:
    assert canonicalize_url(start + tail) == start.lower() + expected


@pytest.mark.parametrize(("href", "expected"), JOINED)
def test_links_lead_where_browsers_go(href: str, expected: str | None) -> None:
    assert resolve_url(BASE, href) == expected
    assert LinkResolver(BASE)(href) == expected


@given(odd_text | addresses | st.text())
@example("http://a/..;jsessionid=1/b")
def test_the_canonical_form_is_its_own_canonical_form(url: str) -> None:
    once = canonicalize_url(url)
    assert once is None or canonicalize_url(once) == once


@given(addresses, addresses)
def test_a_canonical_address_joins_to_itself(base: str, url: str) -> None:
    once = canonicalize_url(url)
    assert once is None or (resolve_url(base, once) == once and LinkResolver(base)(once) == once)


@settings(max_examples=400)
@given(
    st.sampled_from([BASE, "https://a.b", "http://me@x./y/", "http://a/..;jsessionid=1/b", "", "about:blank"])
    | addresses,
    odd_text,
)
def test_the_fast_way_and_the_parser_agree(base: str, href: str) -> None:
    leads = LinkResolver(base)
    assert leads(href) == resolve_url(base, href)
    assert leads(href) == resolve_url(base, href), "the second answer comes from the cache"


@given(addresses)
def test_the_parts_of_an_address_are_cut_at_the_right_places(url: str) -> None:
    once = canonicalize_url(url)
    if once is None:
        return
    assert get_origin(once) == f"{once.partition(':')[0]}://{get_host(once)}"
    assert get_directory_url(once) == resolve_url(once, ".")
    assert once.startswith(get_directory_url(once)[: len(get_origin(once)) + 1])


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("http://example.org/", "example.org"),
        ("http://example.org:8080/a?b=c/d", "example.org:8080"),
        ("http://[::1]:81/", "[::1]:81"),
    ],
)
def test_the_host_carries_a_port_only_when_it_matters(url: str, name: str) -> None:
    assert get_host(url) == name


def test_a_link_without_an_address_leads_nowhere() -> None:
    assert LinkResolver(BASE)(None) is None


def test_an_unusable_base_leaves_absolute_links() -> None:
    leads = LinkResolver("about:blank")
    assert leads("https://example.org/x") == "https://example.org/x"
    assert leads("x") is None
    assert leads("#x") is None


@given(st.text())
def test_fingerprints_fit_a_signed_column(url: str) -> None:
    assert -(2**63) <= fingerprint(url) < 2**63


@pytest.mark.parametrize("urls", [[], ["http://a.org/", "http://b.org/x"], ["http://a.org/ö", "http://a.org/\ud800"]])
def test_fingerprints_of_many_urls_are_those_of_each(urls: list[str]) -> None:
    assert fingerprint_urls(urls).tolist() == [fingerprint(url) for url in urls]


def test_fingerprints_of_near_addresses_differ() -> None:
    assert len({fingerprint(f"http://example.org/{number}") for number in range(10_000)}) == 10_000


@given(
    st.sampled_from(
        ["http://example.org/", "http://example.org/a.zip", "https://e.org:8/get?f=a.zip&v=/!/", "http://e/!/x"]
    ),
    st.text(max_size=50)
    | st.sampled_from(["../../etc", "a\\b", "/!/", "a?b#c", ".", "%2e%2e/x", "a;jsessionid=1", "é ü"]),
)
def test_a_file_in_an_archive_has_a_canonical_address_that_tells_the_archive(archive: str, name: str) -> None:
    url = make_member_url(archive, name)
    assert canonicalize_url(url) == url
    assert get_archive_url(url) == archive
    assert get_host(url) == get_host(archive)


def test_long_links_lead_where_they_should_and_are_not_remembered() -> None:
    tail = "x" * 3000
    cache = LinkCache()
    leads = LinkResolver("https://example.org/a/b", cache)
    before = len(cache)
    assert leads(f"/{tail}") == f"https://example.org/{tail}"
    assert leads(f"https://b.example/{tail}") == f"https://b.example/{tail}"
    assert leads(f"../{tail}") == f"https://example.org/{tail}"
    assert len(cache) == before


def test_links_that_do_not_depend_on_the_page_are_cached_for_its_site() -> None:
    cache = LinkCache()
    hrefs = ("/d?utm_source=x", "https://menu.example", "e", "#f", "mailto:me@b.example")
    first = LinkResolver("https://menu.example/a/b", cache)
    assert list(first.resolve_links(hrefs)) == [resolve_url("https://menu.example/a/b", href) for href in hrefs]
    assert len(cache) == 3  # the origin, the root-relative link and the absolute link
    second = LinkResolver("https://menu.example/c", cache)
    assert second("/d?utm_source=x") == "https://menu.example/d"
    assert len(cache) == 3
    elsewhere = LinkResolver("https://other.example/c", cache)
    assert elsewhere("https://menu.example") == "https://menu.example/"
    assert elsewhere("/d?utm_source=x") == "https://other.example/d"
    assert len(cache) == 5


@given(
    st.lists(st.sampled_from(["/a", "b", "../c", "#d", "http://x.example/e", "tel:1", None, "/a?gclid=1", "//y.z/"]))
)
def test_many_links_are_resolved_like_single_links(hrefs: list[str | None]) -> None:
    cache = LinkCache(max_entries=3)
    resolved = list(LinkResolver("https://site.example/f/g", cache).resolve_links(hrefs))
    assert resolved == [href and resolve_url("https://site.example/f/g", href) for href in hrefs]


def test_a_link_cache_has_a_size_limit_and_stays_correct() -> None:
    cache = LinkCache(max_entries=4)
    for number in range(20):
        leads = LinkResolver(f"https://site{number % 3}.example/", cache)
        address = f"https://site{number % 3}.example/{number}"
        assert leads(f"/{number}") == leads(address) == address
        assert len(cache) <= 4
