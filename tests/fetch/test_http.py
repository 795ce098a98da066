"""Tests of the HTTP client: every request gives one response, with a body or with a failure."""

from __future__ import annotations

import asyncio
import gzip
import socket
import ssl
import time
from base64 import b64encode
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import brotli
import pytest
import zstandard
from tests.helpers.site.server import AnswerFunction, Reply, Request, Site, answer_by_path, make_redirect

from topicrawl.documents.file_types import DOCUMENT_TYPES, detect_type
from topicrawl.fetch.guard import BLOCKED_PORTS, Network, parse_networks
from topicrawl.fetch.http import HttpClient, HttpSettings
from topicrawl.models import Failure, Response
from topicrawl.urls import canonicalize_url

LOOPBACK = parse_networks(["127.0.0.1"])
OPEN = HttpSettings(allowed_networks=LOOPBACK, total_timeout=5.0)
HINT = b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"


def visit(
    answers: AnswerFunction, settings: HttpSettings, steps: Callable[[Site, HttpClient], Awaitable[None]]
) -> Site:
    """Run `steps` against a test site with the given answers."""

    async def run() -> Site:
        async with Site(answers) as site, HttpClient(settings) as http:
            await steps(site, http)
        return site

    return asyncio.run(run())


def fetch_one(answers: AnswerFunction, settings: HttpSettings = OPEN, path: str = "/") -> Response:
    """Return the response to one request."""
    found: list[Response] = []

    async def steps(site: Site, http: HttpClient) -> None:
        found.append(await http.get(site.make_url(path)))

    visit(answers, settings, steps)
    return found[0]


def test_a_response_has_lower_case_headers_and_the_request_headers() -> None:
    settings = HttpSettings(allowed_networks=LOOPBACK, contact="https://example.org/bot", agent="topicrawl/9")
    before = time.time()
    response = fetch_one(lambda _: Reply(b"<p>hi", headers={"X-Odd": "a"}), settings, "/a?b=%20c")
    assert (response.status, response.body, response.failure) == (200, b"<p>hi", None)
    assert response.headers["x-odd"] == "a"
    assert response.content_type == "text/html"
    assert response.request["User-Agent"] == "topicrawl/9 (+https://example.org/bot)"
    assert before <= response.at <= time.time()
    assert 0 < response.seconds < 5


def test_the_url_is_sent_exactly_as_written() -> None:
    paths = ["/%25C3%2581", "/a%2Fb?c=%2b+d&e=é".replace("é", "%C3%A9"), "/~x;y=1/'()*"]

    async def steps(site: Site, http: HttpClient) -> None:
        for path in paths:
            await http.get(site.make_url(path))

    assert visit(lambda _: Reply(b"x"), OPEN, steps).list_paths() == paths


def test_no_cookie_is_ever_sent_back() -> None:
    async def steps(site: Site, http: HttpClient) -> None:
        await http.get(site.make_url("/"))
        await http.get(site.make_url("/"))

    site = visit(lambda _: Reply(b"x", headers={"Set-Cookie": "a=b"}), OPEN, steps)
    assert all("cookie" not in entry.headers for entry in site.log)


def test_a_connection_is_reused_after_error_pages() -> None:
    def answers(request: Request) -> Reply:
        return Reply(b"x" * 100, status=int(request.path[1:]), pause=0.01)

    async def steps(site: Site, http: HttpClient) -> None:
        for status in (200, 404, 500, 301, 200):
            await http.get(site.make_url(f"/{status}"))

    assert visit(answers, OPEN, steps).connections == 1


async def _forever(piece: bytes, seconds: float = 0.0, start: bytes = HEAD + b"\r\n") -> AsyncIterator[bytes]:
    yield start
    while True:
        yield piece
        await asyncio.sleep(seconds)


def _chunked(*chunks: bytes) -> bytes:
    return HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + b"".join(chunks)


ANSWERS: dict[str, tuple[Callable[[], object], Failure | None]] = {
    "a redirect is for the caller to follow": (lambda: make_redirect("/elsewhere"), None),
    "no length, closed at the end": (lambda: HEAD + b"\r\nhello", None),
    "chunked": (lambda: _chunked(b"5\r\nhello\r\n", b"0\r\n\r\n"), None),
    "an old protocol": (lambda: b"HTTP/1.0 200 OK\r\nContent-type: text/html\r\n\r\nhello", None),
    "no media type": (lambda: b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx", None),
    "not found": (lambda: Reply(b"sorry", status=404), Failure.NOT_FOUND),
    "a torn error page is still that error": (
        lambda: b"HTTP/1.1 404 No\r\nContent-Length: 99\r\n\r\nx",
        Failure.NOT_FOUND,
    ),
    "rate limited": (lambda: Reply(status=429), Failure.RATE_LIMITED),
    "no content": (lambda: Reply(status=204), Failure.EMPTY),
    "zero bytes": (lambda: Reply(b""), Failure.EMPTY),
    "an image": (lambda: Reply(b"x", type="image/png"), Failure.CONTENT_TYPE),
    "an endless image": (
        lambda: _endless_image(),
        Failure.CONTENT_TYPE,
    ),
    "a length over the limit": (lambda: HEAD + b"Content-Length: 2000000\r\n\r\n", Failure.TOO_LARGE),
    "endless": (lambda: _forever(b"x" * 65536), Failure.TOO_LARGE),
    "slow drip": (lambda: _forever(b"x", 0.02), Failure.TIMEOUT),
    "hangs up": (lambda: None, Failure.CONNECTION),
    "torn in the headers": (lambda: HEAD[:30], Failure.CONNECTION),
    "torn in the body": (lambda: HEAD + b"Content-Length: 99\r\n\r\nx", None),
    "torn before the body": (lambda: HEAD + b"Content-Length: 99\r\n\r\n", Failure.BAD_RESPONSE),
    "torn in a chunk": (lambda: _chunked(b"5\r\nhel"), None),
    "an endless chunk size": (lambda: _forever(b"1" * 4096, start=_chunked()), Failure.BAD_RESPONSE),
    "an endless trailer": (lambda: _forever(b"X: y\r\n" * 9000, start=_chunked(b"1\r\nx\r\n0\r\n")), None),
    "a chunk without a size": (lambda: _chunked(b"zz\r\nhello"), Failure.BAD_RESPONSE),
    "not HTTP": (lambda: b"SSH-2.0-OpenSSH_9.6\r\n", Failure.BAD_RESPONSE),
    "a status out of range": (
        lambda: b"HTTP/1.1 999 Denied\r\nContent-Length: 0\r\n\r\n",
        Failure.BAD_RESPONSE,
    ),
    "a flood of headers": (lambda: HEAD + b"X: y\r\n" * 100_000 + b"\r\n", Failure.BAD_RESPONSE),
    "headers that are large together": (
        lambda: HEAD + b"".join(b"X-%d: %s\r\n" % (n, b"y" * 9000) for n in range(50)) + b"\r\nx",
        Failure.BAD_RESPONSE,
    ),
    "a header without end": (lambda: HEAD + b"X: " + b"y" * 1_000_000, Failure.BAD_RESPONSE),
    "some early hints": (lambda: HINT * 9 + HEAD + b"\r\nhello", None),
    "early hints without end": (
        lambda: _forever(HINT, start=HINT),
        Failure.BAD_RESPONSE,
    ),
    "an unknown encoding": (
        lambda: Reply(b"x", headers={"Content-Encoding": "lzh"}),
        Failure.BAD_RESPONSE,
    ),
    "gzip that is none": (
        lambda: Reply(b"x" * 50, headers={"Content-Encoding": "gzip"}),
        Failure.BAD_RESPONSE,
    ),
}


SNIFFING = HttpSettings(
    allowed_networks=LOOPBACK, detects_types=True, document_types=DOCUMENT_TYPES, max_bytes=1_000_000
)
PDF_LABELS = [
    "application/pdf",
    "application/x-pdf",
    "application/acrobat",
    "application/vnd.pdf",
    "applications/vnd.pdf",
    "text/pdf",
    "text/x-pdf",
    "application/x-download",
    "application/force-download",
    "application/download",
    "application/save",
    "application/unknown",
    "content/unknown",
    "image/pdf",
    "application/octet-stream",
    "binary/octet-stream",
    "application/x-bzpdf",
    "application/x-gzpdf",
    "application/binary",
    "application/x-unknown",
    "application/x-force-download",
    "text/html",
]


@pytest.mark.parametrize("label", PDF_LABELS)
def test_a_pdf_is_downloaded_with_every_media_type(label: str) -> None:
    body = b"%PDF-1.4" + b"x" * 200_000
    response = fetch_one(lambda _: Reply(body, type=label), SNIFFING, "/get?id=1")
    assert (response.failure, response.body, response.content_type) == (None, body, label)


@pytest.mark.parametrize("label", ["text/markdown; charset=utf-8", "text/x-markdown", "text/x-rst"])
def test_markup_for_readers_is_downloaded_as_text(label: str) -> None:
    accepted: list[str] = []

    def answer(request: Request) -> Reply:
        accepted.append(request.headers["accept"])
        return Reply(b"# Dengue\n\nA fever.", type=label)

    response = fetch_one(answer, SNIFFING)
    assert (response.failure, response.body) == (None, b"# Dengue\n\nA fever.")
    assert detect_type(response.body, response.content_type) == "plain"
    assert "markdown" not in accepted[0], "hosts would send Markdown in place of web pages"


def test_the_first_bytes_are_decoded_before_the_type_is_detected() -> None:
    body = gzip.compress(b"%PDF-1.4" + bytes(range(256)) * 1000)
    response = fetch_one(lambda _: Reply(body, type="text/pdf", headers={"Content-Encoding": "gzip"}), SNIFFING)
    assert (response.failure, response.body) == (None, gzip.decompress(body))
    response = fetch_one(lambda _: Reply(body[4:], type="text/pdf", headers={"Content-Encoding": "gzip"}), SNIFFING)
    assert response.failure is Failure.CONTENT_TYPE


@pytest.mark.parametrize(
    ("label", "body"),
    [
        ("application/json", b'{"title": "<p>dengue"}'),
        ("application/octet-stream", b"MZ\x90\0" + bytes(3000)),
        ("application/x-download", b"dengue"),
        ("image/png", b"%PDF-1.4"),
        ("text/css", b"<html>"),
        ("application/xml", b"<rss><p>"),
        ("application/xml", b""),
    ],
)
def test_other_files_are_refused_by_their_first_bytes(label: str, body: bytes) -> None:
    response = fetch_one(lambda _: Reply(body, type=label), SNIFFING)
    assert (response.failure, response.detail, response.body) == (Failure.CONTENT_TYPE, label, b"")


def test_without_documents_only_web_pages_are_detected() -> None:
    settings = replace(SNIFFING, document_types=frozenset())
    assert fetch_one(lambda _: Reply(b"%PDF-1.4", type="text/pdf"), settings).failure is Failure.CONTENT_TYPE
    assert fetch_one(lambda _: Reply(b"<html><p>x", type="text/xml"), settings).body == b"<html><p>x"


def test_the_size_limit_includes_the_first_bytes() -> None:
    body = b"%PDF-1.4" + b"x" * 1_000_000
    assert fetch_one(lambda _: Reply(body, type="text/pdf"), SNIFFING).failure is Failure.TOO_LARGE


async def _endless_image() -> AsyncIterator[bytes]:
    yield b"HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\n\r\n"
    while True:
        yield b"x" * 65536
        await asyncio.sleep(0)


@pytest.mark.parametrize("name", ANSWERS)
def test_every_response_gives_a_body_or_a_failure(name: str) -> None:
    answer, failure = ANSWERS[name]
    settings = HttpSettings(allowed_networks=LOOPBACK, max_bytes=1_000_000, total_timeout=0.3)
    response = fetch_one(lambda _: answer(), settings)  # type: ignore[arg-type,return-value]
    assert response.failure == failure
    assert bool(response.detail) == bool(failure)
    assert "\n" not in response.detail
    assert response.seconds < 2
    if failure:
        assert response.body == b""


def test_the_size_limit_includes_chunk_sizes() -> None:
    settings = HttpSettings(allowed_networks=LOOPBACK, max_bytes=400_000, total_timeout=20.0)
    answers = lambda _: _forever(b"3\r\nxyz\r\n" * 10_000, start=_chunked())  # noqa: E731
    assert fetch_one(answers, settings).failure is Failure.TOO_LARGE


def test_a_body_that_consists_of_chunk_sizes_is_cut_off() -> None:
    settings = HttpSettings(allowed_networks=LOOPBACK, max_bytes=4_000_000, total_timeout=20.0)
    response = fetch_one(lambda _: _forever(b"1\r\nx\r\n" * 10_000, start=_chunked()), settings)
    assert "truncated" in response.damage
    assert 10_000 < len(response.body) < 20_000


def test_a_request_that_breaks_is_not_sent_twice() -> None:
    async def steps(site: Site, http: HttpClient) -> None:
        await http.get(site.make_url("/"))
        await http.get(site.make_url("/gone"))

    site = visit(answer_by_path({"/": Reply(b"x"), "/gone": None}), OPEN, steps)
    assert site.list_paths() == ["/", "/gone"]


ENCODINGS = {
    "gzip": gzip.compress(b"hello"),
    "br": brotli.compress(b"hello"),
    "zstd": zstandard.compress(b"hello"),
    "gzip, br": brotli.compress(gzip.compress(b"hello")),
}


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_bodies_arrive_decoded(encoding: str) -> None:
    reply = Reply(ENCODINGS[encoding], headers={"Content-Encoding": encoding})
    assert fetch_one(lambda _: reply).body == b"hello"


def test_a_decompression_bomb_is_too_large() -> None:
    reply = Reply(gzip.compress(bytes(50_000_000)), headers={"Content-Encoding": "gzip"})
    assert fetch_one(lambda _: reply).failure is Failure.TOO_LARGE


def test_truncate_keeps_the_beginning_of_the_body() -> None:
    async def steps(site: Site, http: HttpClient) -> None:
        response = await http.get(site.make_url("/"), max_bytes=10, any_type=True, truncate=True)
        assert (response.failure, response.body) == (None, b"0123456789")

    visit(lambda _: Reply(b"0123456789abc", type="odd/kind"), OPEN, steps)


@pytest.mark.parametrize(
    ("status", "value", "wait"),
    [(429, "7", 7.0), (503, "999999", 86_400.0), (503, "no", None), (200, "7", None)],
)
def test_retry_after_is_recorded(status: int, value: str, wait: float | None) -> None:
    response = fetch_one(lambda _: Reply(b"x", status=status, headers={"Retry-After": value}))
    assert response.wait == wait


def test_the_request_time_is_the_time_of_sending() -> None:
    times: list[float] = []

    class RecordingObserver:
        """Observer that records the times before and after sending."""

        def before_send(self) -> None:
            times.append(time.time())

        def after_send(self) -> None:
            times.append(time.time())

    def slow(name: str) -> str:
        time.sleep(0.05)
        return "127.0.0.1"

    async def steps(site: Site, http: HttpClient) -> None:
        response = await http.get(site.make_url("/", host="a.test"), observer=RecordingObserver())
        assert response.at - before >= 0.05
        assert times[0] <= response.at <= times[1]

    before = time.time()
    visit(lambda _: Reply(b"x"), HttpSettings(allowed_networks=LOOPBACK, host_overrides=ComputedHosts(slow)), steps)


class ComputedHosts(Mapping[str, str]):
    """Host overrides that are computed on access."""

    def __init__(self, answer: Callable[[str], str]) -> None:
        self._answer = answer

    def __getitem__(self, name: str) -> str:
        return self._answer(name)

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


ODD_SPELLINGS = [
    "http://127.0.0.1/",
    "http://2130706433/",
    "http://0x7f000001/",
    "http://0177.0.0.1/",
    "http://127.1/",
    "http://0/",
    "http://localhost/",
    "http://localhost./",
    "http://[::1]/",
    "http://[::ffff:127.0.0.1]/",
    "http://[::ffff:7f00:1]/",
    "http://[64:ff9b::7f00:1]/",
    "http://[2002:7f00:1::]/",
    "http://169.254.169.254/latest/meta-data/",
    "http://[fd00:ec2::254]/latest/meta-data/",
    "http://①②⑦.0.0.1/",
    "https://10.0.0.1/",
]


# With a proxy, the proxy resolves host names.
BEHIND_PROXY = [url for url in ODD_SPELLINGS if "localhost" not in url]


@pytest.mark.parametrize(
    ("url", "proxy"),
    [(url, None) for url in ODD_SPELLINGS] + [(url, "http://127.0.0.1:9") for url in BEHIND_PROXY],
)
def test_no_spelling_of_a_private_address_gets_past_the_guard(url: str, proxy: str | None) -> None:
    async def run() -> Response:
        asked = canonicalize_url(url)
        assert asked is not None
        async with HttpClient(HttpSettings(total_timeout=5, proxy=proxy)) as http:
            return await http.get(asked)

    response = asyncio.run(run())
    assert response.failure is Failure.ADDRESS
    assert "not on the public internet" in response.detail


def test_dns_rebinding_is_refused() -> None:
    answers = iter(["127.0.0.1", "127.0.0.2"])
    settings = HttpSettings(
        allowed_networks=LOOPBACK, host_overrides=ComputedHosts(lambda _: next(answers)), dns_cache_seconds=0
    )

    async def steps(site: Site, http: HttpClient) -> None:
        first = await http.get(site.make_url("/", host="rebound.test"))
        assert first.failure is None
        second = await http.get(site.make_url("/", host="rebound.test"))
        assert second.failure is Failure.ADDRESS

    visit(lambda _: Reply(b"x", close=True), settings, steps)


def test_requests_go_through_the_proxy_which_the_guard_allows() -> None:
    async def run() -> tuple[Site, Response]:
        async with Site(lambda _: Reply(b"from the proxy")) as site:
            http = HttpClient(HttpSettings(proxy=site.make_url("")))
            async with http:
                return site, await http.get("http://example.org/page")

    site, response = asyncio.run(run())
    assert response.body == b"from the proxy"
    assert [(entry.host, entry.path) for entry in site.log] == [("example.org", "http://example.org/page")]


def is_free_port(port: int) -> bool:
    """Return whether a server can listen on a port of this machine."""
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


BLOCKED = ["http://mail.test:25/", "http://cache.test:6379/", "https://irc.test:6667/", "http://93.184.215.14:22/"]
PUBLIC_HOSTS = ComputedHosts(lambda _: "93.184.215.14")


@pytest.mark.parametrize("url", BLOCKED)
@pytest.mark.parametrize("networks", [(), LOOPBACK])
@pytest.mark.parametrize("with_proxy", [False, True])
def test_ports_of_other_services_are_refused(url: str, networks: tuple[Network, ...], with_proxy: bool) -> None:
    async def run() -> tuple[Site, Response]:
        async with Site(lambda _: Reply(b"from the proxy")) as site:
            proxy = site.make_url("") if with_proxy else None
            settings = HttpSettings(
                allowed_networks=networks, host_overrides=PUBLIC_HOSTS, proxy=proxy, total_timeout=5
            )
            async with HttpClient(settings) as http:
                return site, await http.get(url)

    site, response = asyncio.run(run())
    assert response.failure is Failure.PORT
    assert "belongs to a service other than a web server" in response.detail
    assert site.log == []


def test_a_blocked_port_is_allowed_in_an_allowed_network() -> None:
    async def run() -> None:
        port = next(filter(is_free_port, sorted(BLOCKED_PORTS, reverse=True)))
        async with Site(lambda _: Reply(b"x"), port=port) as site, HttpClient(settings) as http:
            for host in ("127.0.0.1", "a.test"):
                assert (await http.get(site.make_url("/", host=host))).failure is None

    settings = HttpSettings(allowed_networks=LOOPBACK, host_overrides={"a.test": "127.0.0.1"}, total_timeout=5)
    asyncio.run(run())


def test_an_unknown_host_name_and_a_closed_port() -> None:
    async def run() -> None:
        async with Site(lambda _: None) as site:
            closed = site.make_url("/")
        async with HttpClient(OPEN) as http:
            assert (await http.get("http://no-such-host.invalid/")).failure is Failure.DNS
            assert (await http.get(f"http://{'a' * 70}.com/")).failure is Failure.DNS
            assert (await http.get(closed)).failure is Failure.CONNECTION

    asyncio.run(run())


def test_a_host_that_never_answers_times_out() -> None:
    async def hang(_: Request) -> None:
        await asyncio.sleep(10)

    response = fetch_one(hang, HttpSettings(allowed_networks=LOOPBACK, total_timeout=0.1))
    assert response.failure is Failure.TIMEOUT


def test_an_untrusted_certificate_is_refused() -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(Path(__file__).parents[1] / "helpers" / "site" / "self-signed.pem")

    async def run() -> Response:
        async with Site(lambda _: Reply(b"x"), tls=context) as site, HttpClient(OPEN) as http:
            return await http.get(site.make_url("/"))

    response = asyncio.run(run())
    assert response.failure is Failure.TLS
    assert "certificate" in response.detail


def test_a_host_that_does_not_speak_tls_is_a_tls_failure() -> None:
    def greet(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 mail.example.org ready\r\n")
        writer.close()

    async def run() -> Response:
        async with await asyncio.start_server(greet, "127.0.0.1", 0) as server, HttpClient(OPEN) as http:
            return await http.get(f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/")

    assert asyncio.run(run()).failure is Failure.TLS


def test_fetches_can_be_cancelled() -> None:
    async def hang(_: Request) -> None:
        await asyncio.sleep(10)

    async def steps(site: Site, http: HttpClient) -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(http.get(site.make_url("/")), 0.05)

    visit(hang, OPEN, steps)


@pytest.mark.parametrize("user", ["me:secret", "me"])
def test_the_proxy_password_is_sent_only_to_the_proxy(user: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOPICRAWL_PROXY_PASSWORD", "secret")

    async def run() -> tuple[Site, Response]:
        async with (
            Site(lambda _: Reply(b"from the proxy")) as site,
            HttpClient(HttpSettings(proxy=site.make_url("").replace("//", f"//{user}@"))) as http,
        ):
            return site, await http.get("http://example.org/page")

    site, response = asyncio.run(run())
    word = b64encode(b"me:secret").decode()
    assert site.log[0].headers["proxy-authorization"] == f"Basic {word}"
    assert word not in str(response)
    assert "secret" not in str(response)
