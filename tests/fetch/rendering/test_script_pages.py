"""Which pages need their scripts, and the text of web components."""

from __future__ import annotations

import asyncio
import time

import pytest

from topicrawl.fetch.rendering.resources import PageResources, ResourceCache, ResourceLimit, select_headers
from topicrawl.fetch.rendering.script_pages import measure_text_and_script, needs_scripts
from topicrawl.fetch.rendering.shadow_roots import flatten_shadow_roots
from topicrawl.models import Response
from topicrawl.settings import SettingError, Settings

TEXT = "<p>" + "A sentence with a few words. " * 30


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ('<div id="root"></div><script src="/app.js"></script>', True),
        ('<div id="root">Loading …</div><noscript>You need JavaScript</noscript><SCRIPT SRC="/a.js"></SCRIPT>', True),
        ('<div id="__next"></div><script type="application/json">' + '{"a": 1}' * 500 + "</script>", True),
        (f'{TEXT}<script src="/app.js"></script>', False),
        ("<p>A short page.</p>", False),
        ("<p>A short page with a counter.</p><script>count()</script>", False),
        (f"<!-- <script src='/app.js'></script> -->{TEXT}", False),
    ],
)
def test_pages_with_little_text_and_much_script_need_their_scripts(html: str, expected: bool) -> None:
    assert needs_scripts(html.encode()) is expected


@pytest.mark.parametrize("piece", [b"<script ", b"<!--", b"<", b"<noscript>", b"<style><script>", b"</script><script>"])
def test_the_measurement_takes_linear_time(piece: bytes) -> None:
    start = time.process_time()
    measure_text_and_script(piece * (1_000_000 // len(piece)))
    assert time.process_time() - start < 3


@pytest.mark.parametrize("piece", ["<template shadowrootmode=x>", "<template ", "<script ", "<!--", "</template>"])
def test_flattening_takes_linear_time(piece: str) -> None:
    start = time.process_time()
    flatten_shadow_roots("shadowrootmode=" + piece * (1_000_000 // len(piece)))
    assert time.process_time() - start < 3


def test_templates_in_scripts_and_comments_are_no_shadow_roots() -> None:
    html = '<script>"<template shadowrootmode=x>"</script><!--<template>--><a>b</a>'
    assert flatten_shadow_roots(html) == html


def test_headers_that_name_the_user_are_not_passed_on() -> None:
    headers = {"Authorization": "Bearer public", "X-Api": "1", "Cookie": "s=1", "Proxy-X": "1", "a b": "1", "DNT": "1"}
    assert select_headers(headers) == {"Authorization": "Bearer public", "X-Api": "1"}


def test_the_requests_of_a_page_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    asyncio.run(load_resources(monkeypatch))


async def load_resources(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[str] = []

    async def fetch(url: str, page_url: str, headers: object) -> Response:
        sent.append(url)
        return Response(url, url, 200, body=b"x" * 100)

    monkeypatch.setattr("topicrawl.fetch.rendering.resources.MAX_TOTAL_BYTES", 250)
    cache = ResourceCache(max_bytes=250)
    page = PageResources("http://a.org/", fetch, cache)
    for name in "abc":
        await page.load(f"http://a.org/{name}", {})
    with pytest.raises(ResourceLimit):
        await page.load("http://a.org/d", {})
    assert cache.get("a.org http://a.org/a") is None, "the oldest entry is removed"
    assert cache.get("a.org http://a.org/c") is not None
    other = PageResources("http://a.org/", fetch, cache)
    await other.load("http://a.org/c", {})
    await other.load("http://a.org/c", {"X-Own": "1"})
    assert sent == [f"http://a.org/{name}" for name in "abcc"]
    await PageResources("http://b.org/", fetch, cache).load("http://a.org/c", {})
    assert len(sent) == 5, "a page of another host gets no answer to a request with credentials"


@pytest.mark.parametrize("values", [{"render": "yes"}, {"render_memory": 100}, {"render_seconds": 0.0}])
def test_invalid_settings_are_refused(values: dict[str, object]) -> None:
    with pytest.raises(SettingError, match="render"):
        Settings(**values)  # type: ignore[arg-type]
