"""Tests of settings of single hosts: values from the environment and netrc files, requests, and refused settings."""

from __future__ import annotations

import asyncio
import gzip
from base64 import b64encode
from pathlib import Path
from random import Random
from urllib.parse import quote

import pytest
from tests.helpers.site.server import Reply, Request, Site, make_redirect

from topicrawl.collection.warc import encode_fetch, read_record
from topicrawl.engine.http_setup import open_fetcher
from topicrawl.errors import SettingError
from topicrawl.fetch.host_settings import HostSettings, build_host_session, check_host_settings
from topicrawl.fetch.http_settings import HttpSettings
from topicrawl.models import Link, Response
from topicrawl.settings import Settings

SECRET = "s3cr3t-of-the-host"


def fetch_with(hosts: dict[str, HostSettings], *urls: str, answers=None) -> tuple[list[Response], Site]:  # type: ignore[no-untyped-def]
    """Fetch URLs of a test site on the hosts a.test and b.test. The port replaces PORT in hosts and URLs."""

    async def run() -> tuple[list[Response], Site]:
        async with Site(answers or (lambda request: Reply(b"<p>page"))) as site:
            port = site.make_url("/").rstrip("/").rpartition(":")[2]
            settings = Settings(
                delay=0.0,
                robots=False,
                resolve=("a.test=127.0.0.1", "b.test=127.0.0.1"),
                hosts={name.replace("PORT", port): host for name, host in hosts.items()},
            )
            async with open_fetcher(settings) as fetch:
                return [await fetch(Link(url.replace("PORT", port))) for url in urls], site

    return asyncio.run(run())


def read_members(data: bytes) -> bytes:
    """Return the records in gzip members."""
    records, end = [], 0
    while end < len(data):
        record, end = read_record(data, end)
        assert record is not None
        records.append(record)
    return b"".join(records)


def list_values(site: Site, name: str) -> list[tuple[str, str]]:
    """Return the host without the port and one header of each request."""
    return [(request.host.partition(":")[0], request.headers.get(name, "")) for request in site.log]


def test_headers_cookies_and_credentials_are_sent_to_their_host_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WIKI_SECRET", SECRET)
    host = HostSettings(
        headers={"X-Team": "red", "X-Api-Key": "k-${WIKI_SECRET}"},
        cookies={"session": "${WIKI_SECRET}"},
        credentials="me:${WIKI_SECRET}",
        allow_http=True,
    )
    responses, site = fetch_with({"a.test:PORT": host}, "http://a.test:PORT/1", "http://b.test:PORT/2")
    basic = "Basic " + b64encode(f"me:{SECRET}".encode()).decode()
    assert list_values(site, "authorization") == [("a.test", basic), ("b.test", "")]
    assert list_values(site, "x-api-key") == [("a.test", f"k-{SECRET}"), ("b.test", "")]
    assert list_values(site, "x-team") == [("a.test", "red"), ("b.test", "")]
    assert list_values(site, "cookie") == [("a.test", f"session={SECRET}"), ("b.test", "")]
    assert [response.failure for response in responses] == [None, None]
    assert responses[0].request == {}, "the archive gets no headers of the request"


@pytest.mark.parametrize("encoding", ["", "gzip", "chunked"])
def test_a_response_does_not_repeat_the_secrets(encoding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = "s3cr3t/of+the host"
    monkeypatch.setenv("WIKI_SECRET", secret)
    basic = b64encode(f"me:{secret}".encode()).decode()
    host = HostSettings(
        headers={"X-Key": "k-${WIKI_SECRET}", "X-Team": "the-red-team"},
        credentials="me:${WIKI_SECRET}",
        allow_http=True,
    )

    def answer(request: Request) -> Reply | bytes:
        if request.path == "/to":
            return make_redirect(f"/page?key={quote(secret, safe='')}", 302)
        text = f"<p>the-red-team {secret} {basic} {quote(secret, safe='').lower()}".encode()
        headers = {"X-Echo": secret, "Content-Encoding": "gzip"} if encoding == "gzip" else {"X-Echo": secret}
        if encoding == "chunked":
            head = b"HTTP/1.1 200 OK\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
            return head + b"5\r\n%s\r\n%x\r\n%s\r\n0\r\n\r\n" % (text[:5], len(text) - 5, text[5:])
        status = 500 if request.path == "/error" else 200
        body = gzip.compress(text) if encoding == "gzip" else text
        return Reply(
            body, status=status, type=f"image/{secret}" if request.path == "/image" else "text/html", headers=headers
        )

    paths = ("/page", "/to", "/error", "/image")
    responses, site = fetch_with(
        {"a.test:PORT": host}, *(f"http://a.test:PORT{path}" for path in paths), answers=answer
    )
    assert {request.headers["x-key"] for request in site.log} == {f"k-{secret}"}
    records = [b"".join(encode_fetch(response, "", Random(1))) for response in responses if response.status]
    stored = b"".join(read_members(data) for data in records) + repr(responses).encode()
    for form in (secret, basic, quote(secret, safe="")):
        assert form.lower().encode() not in stored.lower()
    assert responses[0].body.startswith(b"<p>the-red-team ****")
    assert responses[1].final_url == site.make_url(f"/page?key={'*' * len(quote(secret, safe=''))}", host="a.test")


def test_a_rendered_page_of_another_host_sends_no_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WIKI_SECRET", SECRET)
    host = HostSettings(headers={"X-Key": "${WIKI_SECRET}"}, cookies={"session": "${WIKI_SECRET}"}, allow_http=True)

    async def run() -> Site:
        async with Site(lambda request: Reply(b"data", type="application/json")) as site:
            name = site.make_url("", host="a.test").removeprefix("http://")
            addresses = ("a.test=127.0.0.1", "b.test=127.0.0.1")
            settings = Settings(delay=0.0, robots=False, resolve=addresses, hosts={name: host})
            async with open_fetcher(settings) as fetcher:
                for page in ("a.test", "b.test"):
                    page_url = site.make_url("/page", host=page)
                    await fetcher.fetch_resource(f"http://{name}/{page}", page_url, {"X-Own": "1"})
            return site

    site = asyncio.run(run())
    assert [(request.path, request.headers["x-own"]) for request in site.log] == [("/a.test", "1"), ("/b.test", "1")]
    assert [request.headers.get("x-key", "") for request in site.log] == [SECRET, ""]
    assert [request.headers.get("cookie", "") for request in site.log] == [f"session={SECRET}", ""]


def test_a_redirect_to_another_host_does_not_get_the_session(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WIKI_SECRET", SECRET)

    def answers(request: Request) -> Reply:
        if request.host.startswith("a.test"):
            port = request.host.rpartition(":")[2]
            reply = make_redirect(f"http://b.test:{port}/next")
            return Reply(
                reply.body, reply.status, headers={**reply.headers, "Set-Cookie": f"session=new-{SECRET}; Path=/"}
            )
        return Reply(b"<p>page")

    host = HostSettings(cookies={"session": "${WIKI_SECRET}"}, headers={"X-Key": "${WIKI_SECRET}"}, allow_http=True)
    (response,), site = fetch_with({"a.test:PORT": host}, "http://a.test:PORT/", answers=answers)
    assert response.failure is None
    assert list_values(site, "cookie") == [("a.test", f"session={SECRET}"), ("b.test", "")]
    assert list_values(site, "x-key")[1] == ("b.test", "")


def test_a_cookie_of_a_response_replaces_that_of_the_session_and_is_not_archived(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("WIKI_SECRET", SECRET)

    def answers(request: Request) -> Reply:
        renewed = {"Set-Cookie": "session=renewed; Path=/"}
        if request.path == "/":
            reply = make_redirect("/home")
            return Reply(reply.body, reply.status, headers={**reply.headers, **renewed})
        return Reply(b"<p>page", headers=renewed)

    host = HostSettings(cookies={"session": "${WIKI_SECRET}", "lang": "de-${WIKI_SECRET}"}, allow_http=True)
    (response,), site = fetch_with({"a.test:PORT": host}, "http://a.test:PORT/", answers=answers)
    assert [value for _, value in list_values(site, "cookie")] == [
        f"session={SECRET}; lang=de-{SECRET}",
        f"session=renewed; lang=de-{SECRET}",
    ]
    assert "set-cookie" not in response.headers
    assert response.wire is not None
    assert b"cookie" not in response.wire.head.lower()
    assert response.wire.head.endswith(b"\r\n\r\n")


def test_without_tls_nothing_secret_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WIKI_SECRET", SECRET)
    host = HostSettings(headers={"X-Key": "${WIKI_SECRET}"}, cookies={"session": "${WIKI_SECRET}"})
    (response,), site = fetch_with({"a.test:PORT": host}, "http://a.test:PORT/")
    assert response.failure is None
    assert list_values(site, "x-key") == list_values(site, "cookie") == [("a.test", "")]


def test_limits_apply_to_their_host_only() -> None:
    hosts = {"a.test:PORT": HostSettings(max_bytes=3)}
    responses, _ = fetch_with(hosts, "http://a.test:PORT/", "http://b.test:PORT/")
    assert [response.failure for response in responses] == ["too_large", None]


def test_a_host_may_have_a_proxy_of_its_own() -> None:
    async def run() -> tuple[Response, list[str]]:
        async with Site(lambda request: Reply(b"<p>through the proxy")) as proxy:
            address = proxy.make_url("/")
            settings = Settings(delay=0.0, robots=False, hosts={"a.test": HostSettings(proxy=address)})
            async with open_fetcher(settings) as fetch:
                return await fetch(Link("http://a.test/x")), proxy.list_paths()

    response, paths = asyncio.run(run())
    assert (response.failure, response.body) == (None, b"<p>through the proxy")
    assert paths == ["http://a.test/x"]


def test_a_name_with_a_fixed_address_opens_the_address_for_this_name_only() -> None:
    responses, site = fetch_with({}, "http://a.test:PORT/", "http://127.0.0.1:PORT/", "http://localhost:PORT/")
    assert [response.failure for response in responses] == [None, "address_refused", "address_refused"]
    assert len(site.log) == 1


def test_credentials_come_from_the_netrc_file(tmp_path: Path) -> None:
    path = tmp_path / "netrc"
    path.write_text(f"machine wiki.example login me password {SECRET}\n")
    path.chmod(0o600)
    session = build_host_session(
        "wiki.example:8443", HostSettings(credentials="netrc"), HttpSettings(), {"NETRC": str(path)}
    )
    assert session.secret_headers == {"Authorization": "Basic " + b64encode(f"me:{SECRET}".encode()).decode()}
    assert SECRET not in repr(session)
    for name, text, problem in (
        ("other.example", path.read_text(), "no entry"),
        ("wiki.example", f"{SECRET} nonsense", "line 1"),
    ):
        path.write_text(text)
        with pytest.raises(SettingError, match=problem) as raised:
            build_host_session(name, HostSettings(credentials="netrc"), HttpSettings(), {"NETRC": str(path)})
        assert SECRET not in str(raised.value)
    with pytest.raises(SettingError, match="cannot be read"):
        build_host_session("a.org", HostSettings(credentials="netrc"), HttpSettings(), {"NETRC": "/missing"})


@pytest.mark.parametrize(
    ("name", "host", "problem"),
    [
        ("https://a.org", HostSettings(), "is not a host"),
        ("A.org", HostSettings(), "is not a host"),
        ("a.org", HostSettings(cookies={"session": SECRET}), "environment variable"),
        ("a.org", HostSettings(headers={"Authorization": f"Bearer {SECRET}"}), "environment variable"),
        ("a.org", HostSettings(headers={"X-Api-Key": SECRET}), "environment variable"),
        ("a.org", HostSettings(headers={"Cookie": "a=${B}"}), "cannot be set"),
        ("a.org", HostSettings(headers={"Host": "b.org"}), "cannot be set"),
        ("a.org", HostSettings(credentials=f"me:{SECRET}"), "environment variable"),
        ("a.org", HostSettings(credentials=SECRET), "netrc"),
        ("a.org", HostSettings(credentials="netrc", headers={"Authorization": "${A}"}), "not both"),
        ("a.org", HostSettings(proxy=f"nonsense {SECRET}"), "proxy"),
    ],
)
def test_invalid_settings_are_refused_without_showing_values(name: str, host: HostSettings, problem: str) -> None:
    with pytest.raises(SettingError, match=problem) as raised:
        check_host_settings({name: host})
    assert SECRET not in str(raised.value)


@pytest.mark.parametrize("value", [f"{SECRET}\nX: y", f"{SECRET}é"])
def test_a_value_that_cannot_be_sent_is_refused_without_showing_it(value: str) -> None:
    with pytest.raises(SettingError, match="ASCII") as raised:
        build_host_session("a.org", HostSettings(headers={"X-Key": "${K}"}), HttpSettings(), {"K": value})
    assert SECRET not in str(raised.value)


def test_a_missing_variable_is_named() -> None:
    with pytest.raises(SettingError, match="WIKI_TOKEN, which is not set"):
        build_host_session("a.org", HostSettings(headers={"X-Key": "${WIKI_TOKEN}"}), HttpSettings(), {})
