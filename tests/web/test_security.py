"""Access control, limits of requests, and escaping of crawled pages."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.helpers.web_client import WebClient, crawl_hostile_site, serve_collections

from topicrawl.web.openapi import build_schema

TOKEN = "let-me-in"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    home = tmp_path_factory.mktemp("shelf")
    return home, crawl_hostile_site(home / "owls")


@pytest.fixture(scope="module")
def client(place: tuple[Path, str]) -> Iterator[WebClient]:
    with serve_collections([place[0]]) as client:
        yield client


@pytest.fixture(scope="module")
def locked(place: tuple[Path, str]) -> Iterator[WebClient]:
    with serve_collections([place[0]], token=TOKEN) as client:
        yield client


class Elements(HTMLParser):
    """Collects the elements of an HTML page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


@pytest.mark.parametrize("path", ["", "/followed", "/review", "/pages", "/map", "/page", "/teach"])
def test_hostile_titles_texts_urls_and_anchors_are_escaped(
    client: WebClient, place: tuple[Path, str], path: str
) -> None:
    fields = {"url": f"{place[1]}/"} if path == "/page" else {}
    got = client.get(f"/c/owls{path}", **fields)
    assert got.status == 200
    if path not in ("/map", "/teach", "/followed"):
        assert "alert(1)" in got.text
    for tag, attributes in Elements(got.text).found:
        assert tag not in ("iframe", "object", "embed", "base", "img", "style"), tag
        assert not [name for name in attributes if name.startswith("on") or name == "style"], attributes
        assert tag != "script" or re.fullmatch(r"/static/[\w.]+\.js\?v=[0-9a-f]{12}", attributes["src"] or ""), (
            attributes
        )
        for name in ("href", "action", "src"):
            assert (attributes.get(name) or "/").startswith(("/", "#", "http://127.0.0.1")), attributes
    assert "script-src 'self'" in got.headers["content-security-policy"]
    assert "unsafe" not in got.headers["content-security-policy"]


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:80", "", "[::2]"])
def test_unknown_host_name_is_refused(client: WebClient, host: str) -> None:
    assert client.send_request("GET", "/", host=host).status == 421


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
def test_changes_from_other_sites_are_refused(client: WebClient, path: str, headers: dict[str, str]) -> None:
    assert client.send_request("POST", path, b"{}", **headers).status == 403


def test_refusal_is_html_for_browsers_and_plain_text_for_programs(client: WebClient, locked: WebClient) -> None:
    for got in (
        client.send_request("POST", "/crawls", b"", accept="text/html"),
        locked.send_request("GET", "/", accept="text/html"),
    ):
        assert got.text.startswith('<!doctype html><html lang="en">')
        assert got.headers["content-type"].startswith("text/html")
    assert client.send_request("POST", "/crawls", b"").headers["content-type"].startswith("text/plain")


def test_programs_with_the_token_may_send_any_content_type(client: WebClient, locked: WebClient) -> None:
    """`curl -d` labels its data as a form."""
    form = "application/x-www-form-urlencoded"
    given = {"authorization": f"Bearer {TOKEN}", "content_type": form}
    assert locked.send_request("POST", "/api/crawls", b"{}", **given).status == 400
    for headers in ({**given, "origin": "http://evil.example"}, {**given, "authorization": "Bearer wrong"}):
        assert locked.send_request("POST", "/api/crawls", b"{}", **headers).status == 403
    assert client.send_request("POST", "/api/crawls", b"{}", **given).status == 403, "no token is required"


def test_refusals_of_the_api_are_json(client: WebClient, locked: WebClient) -> None:
    for got in (locked.get("/api/collections"), client.send_request("POST", "/api/crawls", b"{}")):
        assert got.headers["content-type"] == "application/json"
        assert set(json.loads(got.text)) == {"error"}


def test_every_path_requires_the_token(locked: WebClient) -> None:
    for path in ("/", "/c/owls", "/api/collections", "/static/app.css", "/?token=wrong", "/?token="):
        assert locked.get(path).status == 401, path
    assert locked.send_request("GET", "/", authorization="Bearer wrong").status == 401
    assert locked.send_request("GET", "/", cookie="topicrawl=wrong").status == 401


def test_token_in_the_url_is_moved_to_a_cookie(locked: WebClient) -> None:
    got = locked.get(f"/c/owls?token={TOKEN}&x=1")
    assert (got.status, got.headers["location"]) == (303, "/c/owls?x=1")
    cookie = got.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert locked.send_request("GET", "/c/owls", cookie=cookie.partition(";")[0]).status == 200
    assert locked.send_request("GET", "/api/collections", authorization=f"Bearer {TOKEN}").status == 200


def test_login_redirect_stays_on_this_server(locked: WebClient) -> None:
    assert locked.get(f"//evil.example/?token={TOKEN}").headers["location"] == "/evil.example/"


@pytest.mark.parametrize(
    "path",
    [
        "/c/..",
        "/c/..%2f..%2fetc",
        "/c/%2e%2e",
        "/c/owls%2f..%2fowls/pages",
        "/static/../app.py",
        "/static/..%2fapp.py",
        "/static/%2e%2e/%2e%2e/cli/__init__.py",
        "/c/.",
        "/c/owls%00",
        "/api/collections/..%2fowls",
    ],
)
def test_path_traversal_is_refused(client: WebClient, path: str) -> None:
    assert client.get(path).status in (404, 400)


def test_bodies_urls_and_fields_are_limited(client: WebClient) -> None:
    kind = {"origin": client.origin, "content-type": "application/x-www-form-urlencoded"}
    assert client.send_request("POST", "/crawls", b"x" * (1 << 20) + b"y", **kind).status == 413
    assert client.send_request("POST", "/crawls", iter([b"x" * (1 << 19)] * 3), **kind).status == 413
    assert client.send_request("POST", "/crawls", b"&".join([b"a=1"] * 300), **kind).status == 400
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
def test_invalid_crawl_is_not_started(client: WebClient, fields: dict[str, str]) -> None:
    got = client.post("/crawls", **fields)
    assert got.status == 400
    assert 'role="alert"' in got.text


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_arbitrary_api_requests_do_not_cause_server_errors(client: WebClient, data: st.DataObject) -> None:
    path, operations = data.draw(st.sampled_from(sorted(build_schema()["paths"].items())))
    method = data.draw(st.sampled_from(sorted(operations)))
    name = data.draw(st.sampled_from(["owls", "unknown", "..", "%00", "a%2fb"]))
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
        got = client.send_request("POST", address, json.dumps(body).encode(), content_type="application/json")
    else:
        parameters = [item["name"] for item in operations[method]["parameters"] if item["in"] == "query"]
        values = {parameter: data.draw(st.text(max_size=30) | st.integers()) for parameter in parameters}
        got = client.get(address, **values)
    assert got.status < 500, (address, got.text)
