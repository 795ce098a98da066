"""Tests of the meta refresh of HTML pages: which pages are redirects, and where they lead."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from topicrawl.fetch.meta_refresh import MAX_REFRESH_SECONDS, find_meta_refresh
from topicrawl.models import Response
from topicrawl.urls import canonicalize_url

URL = "http://a.test/d/old.html"
NEXT = '<meta http-equiv="refresh" content="0; url=new.html">'


def find(html: str | bytes, kind: str = "text/html; charset=utf-8") -> str | None:
    body = html if isinstance(html, bytes) else html.encode()
    return find_meta_refresh(Response(URL, URL, 200, {"content-type": kind}, body), URL)


@pytest.mark.parametrize(
    "content",
    [
        "0; url=new.html",
        "0;URL=new.html",
        " 3 ; Url = 'new.html' and more",
        "0; url=&quot;new.html&quot;",
        "10 new.html",
        "0,new.html",
        "0; new.html",
        "1.9; url=new.html ",
        ".5; url=new.html",
        "0;\nurl=new.html",
        "0; url=../d/new.html#part",
        "0; url=//a.test/d/new.html",
        f"{MAX_REFRESH_SECONDS}; url=new.html",
    ],
)
def test_the_spellings_of_a_refresh_that_browsers_follow(content: str) -> None:
    assert find(f'<meta http-equiv="refresh" content="{content}">') == "http://a.test/d/new.html"


@pytest.mark.parametrize(
    "content",
    [
        "",
        "0",
        "0;",
        "0; url=",
        "url=new.html",
        "soon; url=new.html",
        "-1; url=new.html",
        "0x; url=new.html",
        "11; url=new.html",
        "999999999999999999999; url=new.html",
        "0; url=old.html",
        "0; url=http://a.test/d/old.html#top",
        "0; url=mailto:a@b.test",
        "0; url=javascript:go()",
        "0; url=http://",
        "0; url=data:text/html,x",
    ],
)
def test_a_refresh_that_is_late_malformed_or_a_reload_is_ignored(content: str) -> None:
    assert find(f'<meta http-equiv="refresh" content="{content}">') is None


@pytest.mark.parametrize(
    "html",
    [
        f"<html><head>{NEXT}</head><body>moved",
        f"{NEXT}<html><head><title>Moved</title></head>",
        f"<html><title>Moved</title>{NEXT}<body>",
        f"<!DOCTYPE html><!-- refresh --><script>refresh()</script>{NEXT}",
        f"<head><meta charset=utf-8><link rel=x><style>a{{}}</style>{NEXT.upper()}".replace("NEW.HTML", "new.html"),
        f'<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><head>{NEXT.replace(">", "/>")}</head>',
        f"<meta name=refresh content=x>{NEXT}",
    ],
)
def test_the_refresh_may_be_anywhere_in_the_head(html: str) -> None:
    assert find(html) == "http://a.test/d/new.html"
    assert find(html, "Application/XHTML+XML") == "http://a.test/d/new.html"


@pytest.mark.parametrize(
    "html",
    [
        "",
        "<p>refresh",
        f"<noscript>{NEXT}</noscript>",
        f"<head><noscript>{NEXT}</noscript></head><body>",
        f"<script>document.write('{NEXT}')</script>",
        f"<!-- {NEXT} -->",
        f"<template>{NEXT}</template>",
        f"<title>{NEXT}</title>",
        f"<style>{NEXT}</style>",
        f"<textarea>{NEXT}</textarea>",
        f"<body>{NEXT}",
        f"<h1>News</h1>{NEXT}",
        NEXT[:-12],
        " " * 5000 + NEXT,
        f"<title>{'x' * 4060}</title>{NEXT}",
    ],
)
def test_a_refresh_outside_the_start_of_the_head_is_ignored(html: str) -> None:
    assert find(html) is None


@pytest.mark.parametrize("kind", ["", "text/plain", "application/pdf", "image/svg+xml", "text/htmlx"])
def test_only_html_is_searched(kind: str) -> None:
    assert find(NEXT, kind) is None


@pytest.mark.parametrize(
    ("header", "body", "target"),
    [
        ("0; url=new.html", b"<p>Moved", "http://a.test/d/new.html"),
        ("3;URL='/new.html'", b"", "http://a.test/new.html"),
        ("0; url=new.html", NEXT.replace("new", "other").encode(), "http://a.test/d/new.html"),
        ("60; url=new.html", b"<p>News", None),
        ("30", NEXT.encode(), None),
        ("soon", NEXT.encode(), "http://a.test/d/new.html"),
    ],
)
def test_the_header_has_the_same_effect(header: str, body: bytes, target: str | None) -> None:
    response = Response(URL, URL, 200, {"content-type": "text/html", "refresh": header}, body)
    assert find_meta_refresh(response, URL) == target
    assert find_meta_refresh(replace(response, headers={"content-type": "text/plain", "refresh": header}), URL) == (
        None if body else target
    )


@pytest.mark.parametrize(
    ("html", "target"),
    [
        (f'<base href="/b/">{NEXT}', "http://a.test/b/new.html"),
        (f'<base target="_top"><base href="http://b.test/"><base href="/c/">{NEXT}', "http://b.test/new.html"),
        (f'<base href="javascript:x">{NEXT}', "http://a.test/d/new.html"),
        (f'{NEXT}<base href="/b/">', "http://a.test/d/new.html"),
    ],
)
def test_the_target_is_relative_to_a_base_before_the_refresh(html: str, target: str) -> None:
    assert find(html) == target


def test_the_first_well_formed_refresh_counts() -> None:
    other = NEXT.replace("new", "other")
    assert find(f'<meta http-equiv=refresh content="soon">{NEXT}{other}') == "http://a.test/d/new.html"
    assert find(f'<meta http-equiv=refresh content="60; url=x">{NEXT}') is None
    assert find(f'<meta http-equiv=refresh content="60">{NEXT}') is None


def test_the_target_is_decoded_with_the_charset_of_the_page() -> None:
    html = NEXT.replace("new", "café")
    assert find(html.encode("latin-1")) == find(html.encode("utf-8")) == "http://a.test/d/caf%C3%A9.html"
    html = "<meta charset=koi8-r>" + NEXT.replace("new", "мир")
    assert find(html.encode("koi8-r")) == "http://a.test/d/%D0%BC%D0%B8%D1%80.html"


PIECES = st.sampled_from(
    ["<meta", " http-equiv=refresh", " content=", "'", '"', "0", "9" * 50, ";", "url=", "http://[", "<base href=", ">"]
)


@given(st.lists(PIECES | st.text(max_size=3), max_size=30))
def test_any_markup_gives_a_canonical_url_or_nothing(pieces: list[str]) -> None:
    target = find("<meta http-equiv=refresh content='0;" + "".join(pieces))
    assert target is None or canonicalize_url(target) == target != URL
