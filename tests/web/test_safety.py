"""Who may ask, what may be asked, and that nothing of a crawled page reaches a browser as anything but text."""

from __future__ import annotations

import json
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.web.served import Client, collected, served

from topicrawl.web.openapi import described

TOKEN = "let-me-in"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    home = tmp_path_factory.mktemp("shelf")
    return home, collected(home / "owls")


@pytest.fixture(scope="module")
def client(place: tuple[Path, str]) -> Iterator[Client]:
    with served([place[0]]) as client:
        yield client


@pytest.fixture(scope="module")
def locked(place: tuple[Path, str]) -> Iterator[Client]:
    with served([place[0]], token=TOKEN) as client:
        yield client


class Elements(HTMLParser):
    """What a browser would make of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


@pytest.mark.parametrize("path", ["", "/followed", "/review", "/pages", "/map", "/page", "/teach"])
def test_hostile_titles_texts_addresses_and_anchors_are_text(
    client: Client, place: tuple[Path, str], path: str
) -> None:
    fields = {"url": f"{place[1]}/"} if path == "/page" else {}
    got = client.get(f"/c/owls{path}", **fields)
    assert got.status == 200
    if path not in ("/map", "/teach", "/followed"):
        assert "alert(1)" in got.text
    for tag, attributes in Elements(got.text).found:
        assert tag not in ("iframe", "object", "embed", "base", "img", "style"), tag
        assert not [name for name in attributes if name.startswith("on") or name == "style"], attributes
        assert tag != "script" or attributes == {"src": "/static/app.js", "defer": None}
        for name in ("href", "action", "src"):
            assert (attributes.get(name) or "/").startswith(("/", "#", "http://127.0.0.1")), attributes
    assert "script-src 'self'" in got.headers["content-security-policy"]
    assert "unsafe" not in got.headers["content-security-policy"]


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:80", "", "[::2]"])
def test_a_strangers_name_that_leads_here_is_refused(client: Client, host: str) -> None:
    assert client.ask("GET", "/", host=host).status == 421


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example", "content-type": "application/x-www-form-urlencoded"},
        {"origin": "null", "content-type": "application/x-www-form-urlencoded"},
        {"content-type": "application/x-www-form-urlencoded"},
        {"content-type": "text/plain", "sec-fetch-site": "cross-site"},
        {"content-type": "application/json", "sec-fetch-site": "cross-site"},
        {"content-type": "application/json", "origin": "https://evil.example"},
    ],
    ids=["other", "null", "none", "plain", "fetch", "json"],
)
@pytest.mark.parametrize("path", ["/crawls", "/c/owls/undo", "/api/collections/owls/undo"])
def test_no_other_site_can_change_anything(client: Client, path: str, headers: dict[str, str]) -> None:
    assert client.ask("POST", path, b"{}", **headers).status == 403


def test_a_refusal_is_a_page_for_people_and_words_for_programs(client: Client, locked: Client) -> None:
    for got in (client.ask("POST", "/crawls", b"", accept="text/html"), locked.ask("GET", "/", accept="text/html")):
        assert got.text.startswith('<!doctype html><html lang="en">')
        assert got.headers["content-type"].startswith("text/html")
    assert client.ask("POST", "/crawls", b"").headers["content-type"].startswith("text/plain")


def test_without_the_token_nothing_is_told(locked: Client) -> None:
    for path in ("/", "/c/owls", "/api/collections", "/static/app.css", "/?token=wrong", "/?token="):
        assert locked.get(path).status == 401, path
    assert locked.ask("GET", "/", authorization="Bearer wrong").status == 401
    assert locked.ask("GET", "/", cookie="topicrawl=wrong").status == 401


def test_the_token_is_taken_from_the_address_once_and_kept_in_a_cookie(locked: Client) -> None:
    got = locked.get(f"/c/owls?token={TOKEN}&x=1")
    assert (got.status, got.headers["location"]) == (303, "/c/owls?x=1")
    cookie = got.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert locked.ask("GET", "/c/owls", cookie=cookie.partition(";")[0]).status == 200
    assert locked.ask("GET", "/api/collections", authorization=f"Bearer {TOKEN}").status == 200


def test_the_address_with_a_token_leads_to_no_other_site(locked: Client) -> None:
    assert locked.get(f"//evil.example/?token={TOKEN}").headers["location"] == "/evil.example/"


@pytest.mark.parametrize(
    "path",
    ["/c/..", "/c/..%2f..%2fetc", "/c/%2e%2e", "/c/owls%2f..%2fowls/pages", "/static/../app.py", "/static/..%2fapp.py",
     "/static/%2e%2e/%2e%2e/cli/__init__.py", "/c/.", "/c/owls%00", "/api/collections/..%2fowls"],
)  # fmt: skip
def test_no_path_leads_out_of_the_collections(client: Client, path: str) -> None:
    assert client.get(path).status in (404, 400)


def test_bodies_addresses_and_fields_have_bounds(client: Client) -> None:
    kind = {"origin": client.own, "content-type": "application/x-www-form-urlencoded"}
    assert client.ask("POST", "/crawls", b"x" * (1 << 20) + b"y", **kind).status == 413
    assert client.ask("POST", "/crawls", iter([b"x" * (1 << 19)] * 3), **kind).status == 413
    assert client.ask("POST", "/crawls", b"&".join([b"a=1"] * 300), **kind).status == 400
    assert client.get("/" + "x" * 9000).status in (414, 400)
    assert client.get("/c/owls/page", url="http://a/" + "x" * 5000).status == 400


@pytest.mark.parametrize(
    "fields",
    [
        {"words": "owls", "seeds": "file:///etc/passwd"},
        {"words": "owls", "seeds": "http://a.example/", "strategy": "os:system"},
        {"words": "owls", "seeds": "http://a.example/", "strategy": "best_first:page=2"},
        {"words": "", "seeds": "http://a.example/"},
        {"words": "owls", "seeds": ""},
        {"words": "owls", "seeds": "http://a.example/", "pages": "-1"},
    ],
    ids=["scheme", "code", "parameters", "words", "seeds", "pages"],
)
def test_a_crawl_that_makes_no_sense_is_not_started(client: Client, fields: dict[str, str]) -> None:
    got = client.post("/crawls", **fields)
    assert got.status == 400
    assert 'role="alert"' in got.text


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_whatever_programs_send_the_server_does_not_fail(client: Client, data: st.DataObject) -> None:
    path, operations = data.draw(st.sampled_from(sorted(described()["paths"].items())))
    method = data.draw(st.sampled_from(sorted(operations)))
    name = data.draw(st.sampled_from(["owls", "nobody", "..", "%00", "a%2fb"]))
    value = st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
        max_leaves=5,
    )
    fields = operations[method].get("requestBody", {}).get("content", {}).get("application/json", {})
    names = [*fields.get("schema", {}).get("properties", {}), "x"]
    address = path.replace("{name}", name)
    if method == "post":
        body = data.draw(st.dictionaries(st.sampled_from(names), value) | value)
        got = client.ask("POST", address, json.dumps(body).encode(), content_type="application/json")
    else:
        asked = [it["name"] for it in operations[method]["parameters"] if it["in"] == "query"]
        some = {it: data.draw(st.text(max_size=30) | st.integers()) for it in asked}
        got = client.get(address, **some)
    assert got.status < 500, (address, got.text)
