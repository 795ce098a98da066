"""Tests of the cookies of a redirect chain: hosts, paths, Secure, expiry and limits."""

from __future__ import annotations

import pytest

from topicrawl.fetch.cookies import MAX_COOKIE_BYTES, MAX_COOKIES, MAX_TOTAL_BYTES, RedirectCookies


def send(field: str, url: str, *, set_at: str = "https://www.a.test/shop/login") -> str:
    """Return the Cookie header for `url` after a response at `set_at` with a Set-Cookie field."""
    cookies = RedirectCookies(lambda: 1_000_000_000.0)
    cookies.add(set_at, [field])
    return cookies.format_header(url)


@pytest.mark.parametrize(
    ("field", "url", "header"),
    [
        ("id=1", "https://www.a.test/shop/cart", "id=1"),
        ("id=1", "https://www.a.test/shop", "id=1"),
        ("id=1", "https://www.a.test/", ""),
        ("id=1; Path=/", "https://www.a.test/", "id=1"),
        ("id=1; Path=/sho", "https://www.a.test/shop/x", ""),
        ("id=1; Path=/", "https://www.a.test:8443/", "id=1"),
        ("id=1; Path=/", "https://a.test/", ""),
        ("id=1; Path=/; Domain=a.test", "https://a.test/", "id=1"),
        ("id=1; Path=/; Domain=.A.test", "https://b.a.test/", "id=1"),
        ("id=1; Path=/; Domain=a.test", "https://bada.test/", ""),
        ("id=1; Path=/; Domain=b.test", "https://b.test/", ""),
        ("id=1; Path=/; Domain=test", "https://b.test/", ""),
        ("id=1; Path=/; Domain=sub.www.a.test", "https://sub.www.a.test/", ""),
        ("id=1; Path=/; Secure", "https://www.a.test/", "id=1"),
        ("id=1; Path=/; secure", "http://www.a.test/", ""),
        ("id=1; Path=/; HttpOnly; SameSite=Lax", "http://www.a.test/", "id=1"),
        ("id=1; Path=/; Max-Age=0", "https://www.a.test/", ""),
        ("id=1; Path=/; Max-Age=-1", "https://www.a.test/", ""),
        ("id=1; Path=/; Max-Age=9; Expires=Thu, 01 Jan 1970 00:00:00 GMT", "https://www.a.test/", "id=1"),
        ("id=1; Path=/; Expires=Thu, 01 Jan 1970 00:00:00 GMT", "https://www.a.test/", ""),
        ("id=1; Path=/; Expires=tomorrow", "https://www.a.test/", "id=1"),
        ("value; Path=/", "https://www.a.test/", "value"),
        ("; Path=/", "https://www.a.test/", ""),
        ("id=caf\udce9; Path=/", "https://www.a.test/", ""),
        ("id=a\x00b; Path=/", "https://www.a.test/", ""),
    ],
)
def test_a_cookie_is_sent_to_the_requests_that_it_belongs_to(field: str, url: str, header: str) -> None:
    assert send(field, url) == header


def test_a_plain_http_response_sets_no_secure_cookie() -> None:
    assert send("id=1; Path=/; Secure", "https://www.a.test/", set_at="http://www.a.test/") == ""


def test_an_ip_address_has_no_parent_domain() -> None:
    assert send("id=1; Path=/; Domain=0.0.1", "http://127.0.0.1/", set_at="http://127.0.0.1/") == ""


def test_a_later_cookie_replaces_or_deletes_an_earlier_one() -> None:
    cookies = RedirectCookies()
    cookies.add("http://a.test/", ["id=1", "other=2"])
    cookies.add("http://a.test/", ["id=3"])
    assert sorted(cookies.format_header("http://a.test/").split("; ")) == ["id=3", "other=2"]
    cookies.add("http://a.test/", ["id=; Max-Age=0"])
    assert cookies.format_header("http://a.test/") == "other=2"


def test_the_number_and_the_size_of_cookies_are_limited() -> None:
    cookies = RedirectCookies()
    cookies.add("http://a.test/", [f"n{number}=1" for number in range(MAX_COOKIES + 10)])
    assert len(cookies.format_header("http://a.test/").split("; ")) == MAX_COOKIES
    assert send(f"id={'x' * MAX_COOKIE_BYTES}; Path=/", "https://www.a.test/") == ""
    cookies = RedirectCookies()
    cookies.add("http://a.test/", [f"n{number}={'x' * 4000}" for number in range(10)])
    assert 0 < len(cookies.format_header("http://a.test/")) <= MAX_TOTAL_BYTES
