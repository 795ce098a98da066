"""Whatever a host answers, one request gives one response, with a page or with a named reason."""

from __future__ import annotations

import asyncio
import gzip
import ssl
import time
from base64 import b64encode
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from pathlib import Path

import brotli
import pytest
import zstandard
from tests.site.server import Answers, Reply, Request, Site, redirect, routes

from topicrawl.fetch.guard import networks
from topicrawl.fetch.http import Http, HttpSettings
from topicrawl.records import Failure, Response
from topicrawl.urls import canonical

LOOPBACK = networks(["127.0.0.1"])
OPEN = HttpSettings(allow=LOOPBACK, total_timeout=5.0)
HINT = b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"


def visit(answers: Answers, settings: HttpSettings, steps: Callable[[Site, Http], Awaitable[None]]) -> Site:
    """Run `steps` against a site that answers so."""

    async def run() -> Site:
        async with Site(answers) as site, Http(settings) as http:
            await steps(site, http)
        return site

    return asyncio.run(run())


def fetched(answers: Answers, settings: HttpSettings = OPEN, path: str = "/") -> Response:
    """The response to one request."""
    found: list[Response] = []

    async def steps(site: Site, http: Http) -> None:
        found.append(await http.get(site.url(path)))

    visit(answers, settings, steps)
    return found[0]


def test_a_page_arrives_with_its_headers_in_lower_case_and_the_request_that_was_sent() -> None:
    settings = HttpSettings(allow=LOOPBACK, contact="https://example.org/bot", agent="topicrawl/9")
    before = time.time()
    response = fetched(lambda _: Reply(b"<p>hi", headers={"X-Odd": "a"}), settings, "/a?b=%20c")
    assert (response.status, response.body, response.failure) == (200, b"<p>hi", None)
    assert response.headers["x-odd"] == "a"
    assert response.content_type == "text/html"
    assert response.request["User-Agent"] == "topicrawl/9 (+https://example.org/bot)"
    assert before <= response.at <= time.time()
    assert 0 < response.seconds < 5


def test_the_address_is_sent_exactly_as_it_is_written() -> None:
    paths = ["/%25C3%2581", "/a%2Fb?c=%2b+d&e=é".replace("é", "%C3%A9"), "/~x;y=1/'()*"]

    async def steps(site: Site, http: Http) -> None:
        for path in paths:
            await http.get(site.url(path))

    assert visit(lambda _: Reply(b"x"), OPEN, steps).paths() == paths


def test_no_cookie_is_ever_sent_back() -> None:
    async def steps(site: Site, http: Http) -> None:
        await http.get(site.url("/"))
        await http.get(site.url("/"))

    site = visit(lambda _: Reply(b"x", headers={"Set-Cookie": "a=b"}), OPEN, steps)
    assert all("cookie" not in entry.headers for entry in site.log)


def test_one_connection_serves_many_requests_error_pages_included() -> None:
    def answers(request: Request) -> Reply:
        return Reply(b"x" * 100, status=int(request.path[1:]), pause=0.01)

    async def steps(site: Site, http: Http) -> None:
        for status in (200, 404, 500, 301, 200):
            await http.get(site.url(f"/{status}"))

    assert visit(answers, OPEN, steps).connections == 1


async def _forever(piece: bytes, seconds: float = 0.0, start: bytes = HEAD + b"\r\n") -> AsyncIterator[bytes]:
    yield start
    while True:
        yield piece
        await asyncio.sleep(seconds)


def _chunked(*chunks: bytes) -> bytes:
    return HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + b"".join(chunks)


ANSWERS: dict[str, tuple[Callable[[], object], Failure | None]] = {
    "a redirect is for the caller to follow": (lambda: redirect("/elsewhere"), None),
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
    "torn in the body": (lambda: HEAD + b"Content-Length: 99\r\n\r\nx", Failure.BAD_RESPONSE),
    "torn in a chunk": (lambda: _chunked(b"5\r\nhel"), Failure.BAD_RESPONSE),
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
    "an encoding nobody knows": (
        lambda: Reply(b"x", headers={"Content-Encoding": "lzh"}),
        Failure.BAD_RESPONSE,
    ),
    "gzip that is none": (
        lambda: Reply(b"x" * 50, headers={"Content-Encoding": "gzip"}),
        Failure.BAD_RESPONSE,
    ),
}


async def _endless_image() -> AsyncIterator[bytes]:
    yield b"HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\n\r\n"
    while True:
        yield b"x" * 65536
        await asyncio.sleep(0)


@pytest.mark.parametrize("name", ANSWERS)
def test_every_answer_has_a_name(name: str) -> None:
    answer, failure = ANSWERS[name]
    settings = HttpSettings(allow=LOOPBACK, max_bytes=1_000_000, total_timeout=0.3)
    response = fetched(lambda _: answer(), settings)  # type: ignore[arg-type,return-value]
    assert response.failure == failure
    assert bool(response.detail) == bool(failure)
    assert "\n" not in response.detail
    assert response.seconds < 2
    if failure:
        assert response.body == b""


def test_a_request_that_breaks_is_not_sent_twice() -> None:
    async def steps(site: Site, http: Http) -> None:
        await http.get(site.url("/"))
        await http.get(site.url("/gone"))

    site = visit(routes({"/": Reply(b"x"), "/gone": None}), OPEN, steps)
    assert site.paths() == ["/", "/gone"]


ENCODINGS = {
    "gzip": gzip.compress(b"hello"),
    "br": brotli.compress(b"hello"),
    "zstd": zstandard.compress(b"hello"),
    "gzip, br": brotli.compress(gzip.compress(b"hello")),
}


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_bodies_arrive_decoded(encoding: str) -> None:
    reply = Reply(ENCODINGS[encoding], headers={"Content-Encoding": encoding})
    assert fetched(lambda _: reply).body == b"hello"


def test_a_bomb_is_too_large() -> None:
    reply = Reply(gzip.compress(bytes(50_000_000)), headers={"Content-Encoding": "gzip"})
    assert fetched(lambda _: reply).failure is Failure.TOO_LARGE


def test_what_is_cut_has_the_beginning_of_the_body() -> None:
    async def steps(site: Site, http: Http) -> None:
        response = await http.get(site.url("/"), limit=10, any_type=True, cut=True)
        assert (response.failure, response.body) == (None, b"0123456789")

    visit(lambda _: Reply(b"0123456789abc", type="odd/kind"), OPEN, steps)


@pytest.mark.parametrize(
    ("status", "value", "wait"),
    [(429, "7", 7.0), (503, "999999", 86_400.0), (503, "no", None), (200, "7", None)],
)
def test_the_wait_a_host_asks_for_is_noted(status: int, value: str, wait: float | None) -> None:
    response = fetched(lambda _: Reply(b"x", status=status, headers={"Retry-After": value}))
    assert response.wait == wait


def test_the_start_is_when_the_request_leaves_not_when_it_was_asked_for() -> None:
    times: list[float] = []

    class Departing:
        """A process that has to wait while it sends: what the host sees may be as late as that."""

        def leaves(self) -> None:
            times.append(time.time())

        def started(self) -> None:
            times.append(time.time())

    def slow(name: str) -> str:
        time.sleep(0.05)
        return "127.0.0.1"

    async def steps(site: Site, http: Http) -> None:
        response = await http.get(site.url("/", host="a.test"), turn=Departing())
        assert response.at - before >= 0.05
        assert times[0] <= response.at <= times[1]

    before = time.time()
    visit(lambda _: Reply(b"x"), HttpSettings(allow=LOOPBACK, resolve=Answering(slow)), steps)


class Answering(Mapping[str, str]):
    """A hosts file whose answers are made up on the spot."""

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


# Behind a proxy it is the proxy that looks up names.
BEHIND_PROXY = [url for url in ODD_SPELLINGS if "localhost" not in url]


@pytest.mark.parametrize(
    ("url", "proxy"),
    [(url, None) for url in ODD_SPELLINGS] + [(url, "http://127.0.0.1:9") for url in BEHIND_PROXY],
)
def test_no_spelling_of_a_private_address_gets_past_the_guard(url: str, proxy: str | None) -> None:
    async def run() -> Response:
        asked = canonical(url)
        assert asked is not None
        async with Http(HttpSettings(total_timeout=5, proxy=proxy)) as http:
            return await http.get(asked)

    response = asyncio.run(run())
    assert response.failure is Failure.ADDRESS
    assert "not on the public internet" in response.detail


def test_a_name_that_resolves_to_another_address_the_second_time_is_caught() -> None:
    answers = iter(["127.0.0.1", "127.0.0.2"])
    settings = HttpSettings(allow=LOOPBACK, resolve=Answering(lambda _: next(answers)), name_seconds=0)

    async def steps(site: Site, http: Http) -> None:
        first = await http.get(site.url("/", host="rebound.test"))
        assert first.failure is None
        second = await http.get(site.url("/", host="rebound.test"))
        assert second.failure is Failure.ADDRESS

    visit(lambda _: Reply(b"x", close=True), settings, steps)


def test_a_proxy_is_asked_instead_of_the_host_and_needs_no_opening() -> None:
    async def run() -> tuple[Site, Response]:
        async with Site(lambda _: Reply(b"from the proxy")) as site:
            http = Http(HttpSettings(proxy=site.url("")))
            async with http:
                return site, await http.get("http://example.org/page")

    site, response = asyncio.run(run())
    assert response.body == b"from the proxy"
    assert [(entry.host, entry.path) for entry in site.log] == [("example.org", "http://example.org/page")]


def test_a_name_that_does_not_exist_and_a_port_nobody_listens_on() -> None:
    async def run() -> None:
        async with Site(lambda _: None) as site:
            closed = site.url("/")
        async with Http(OPEN) as http:
            assert (await http.get("http://no-such-host.invalid/")).failure is Failure.DNS
            assert (await http.get(f"http://{'a' * 70}.com/")).failure is Failure.DNS
            assert (await http.get(closed)).failure is Failure.CONNECTION

    asyncio.run(run())


def test_a_host_that_never_answers_times_out() -> None:
    async def hang(_: Request) -> None:
        await asyncio.sleep(10)

    response = fetched(hang, HttpSettings(allow=LOOPBACK, total_timeout=0.1))
    assert response.failure is Failure.TIMEOUT


def test_a_certificate_nobody_vouches_for_is_refused() -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(Path(__file__).parent.parent / "site" / "self-signed.pem")

    async def run() -> Response:
        async with Site(lambda _: Reply(b"x"), tls=context) as site, Http(OPEN) as http:
            return await http.get(site.url("/"))

    response = asyncio.run(run())
    assert response.failure is Failure.TLS
    assert "certificate" in response.detail


def test_a_host_that_does_not_speak_tls_is_a_tls_failure() -> None:
    def greet(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 mail.example.org ready\r\n")
        writer.close()

    async def run() -> Response:
        async with await asyncio.start_server(greet, "127.0.0.1", 0) as server, Http(OPEN) as http:
            return await http.get(f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/")

    assert asyncio.run(run()).failure is Failure.TLS


def test_fetches_can_be_cancelled() -> None:
    async def hang(_: Request) -> None:
        await asyncio.sleep(10)

    async def steps(site: Site, http: Http) -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(http.get(site.url("/")), 0.05)

    visit(hang, OPEN, steps)


@pytest.mark.parametrize("user", ["me:secret", "me"])
def test_a_proxy_is_told_its_password_and_nobody_else(user: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOPICRAWL_PROXY_PASSWORD", "secret")

    async def run() -> tuple[Site, Response]:
        async with (
            Site(lambda _: Reply(b"from the proxy")) as site,
            Http(HttpSettings(proxy=site.url("").replace("//", f"//{user}@"))) as http,
        ):
            return site, await http.get("http://example.org/page")

    site, response = asyncio.run(run())
    word = b64encode(b"me:secret").decode()
    assert site.log[0].headers["proxy-authorization"] == f"Basic {word}"
    assert word not in str(response)
    assert "secret" not in str(response)
