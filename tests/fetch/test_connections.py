"""Tests of the connection pool: connections are kept, limited and closed; addresses are tried in turn; TLS, proxies."""

from __future__ import annotations

import asyncio
import select
import ssl
import time
from base64 import b64encode
from contextlib import suppress
from pathlib import Path

import pytest
from tests.helpers.site.server import Reply, Request, Site
from tests.helpers.site.threaded import run_site

from topicrawl.fetch import connections
from topicrawl.fetch.dns import HostResolver
from topicrawl.fetch.guard import AddressGuard, parse_networks
from topicrawl.fetch.http import HttpClient, HttpSettings
from topicrawl.models import Failure

LOOPBACK = parse_networks(["127.0.0.0/8"])
SETTINGS = HttpSettings(allowed_networks=LOOPBACK, total_timeout=10.0, host_overrides={"a.test": "127.0.0.1"})
CERTIFICATE = Path(__file__).parents[1] / "helpers" / "site" / "self-signed.pem"


@pytest.fixture
def trusted_certificate(monkeypatch: pytest.MonkeyPatch) -> ssl.SSLContext:
    """Trust the certificate of the test site, and return the TLS context of the site."""
    monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE)
    return context


def test_each_host_has_its_own_connection_which_is_kept() -> None:
    async def run() -> int:
        async with Site(lambda _: Reply(b"x")) as site, HttpClient(SETTINGS) as http:
            for _ in range(3):
                for host in ("127.0.0.1", "a.test"):
                    assert (await http.get(site.make_url("/", host))).body == b"x"
        return site.connections

    assert asyncio.run(run()) == 2


def test_a_connection_that_the_host_closed_is_not_used_again() -> None:
    async def run() -> None:
        reply = Reply(b"x").to_bytes()  # the site closes the connection after bytes
        async with Site(lambda _: reply) as site, HttpClient(SETTINGS) as http:
            for _ in range(3):
                assert (await http.get(site.make_url("/"))).failure is None
                await asyncio.sleep(0.05)
        assert site.connections == 3

    asyncio.run(run())


@pytest.mark.skipif(not hasattr(select, "poll"), reason="no poll on Windows")
def test_the_end_of_a_connection_is_noticed_before_the_event_loop_reads_it() -> None:
    async def run(url: str) -> None:
        async with HttpClient(SETTINGS) as http:
            for _ in range(5):
                assert (await http.get(url)).failure is None
                time.sleep(0.02)  # noqa: ASYNC251  # blocks the event loop: the host closes the connection meanwhile

    with run_site(lambda _: Reply(b"x").to_bytes()) as site:
        asyncio.run(run(site.make_url("/")))
    assert len(site.log) == 5


@pytest.mark.parametrize("method", ["get", "post"])
def test_a_request_over_a_connection_that_the_host_has_closed_is_sent_again(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The host closes each connection when the second request arrives, as at the end of its keep-alive time."""
    monkeypatch.setattr(connections, "_MIN_KEEP_ALIVE_SECONDS", 0.0)
    received: list[int] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        received.append(0)
        with suppress(asyncio.IncompleteReadError):
            while received[-1] < 2:
                await reader.readuntil(b"\r\n\r\n")
                received[-1] += 1
                if received[-1] == 1:
                    writer.write(Reply(b"x").to_bytes())
        writer.close()

    async def run() -> list[Failure | None]:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
        async with server:
            async with HttpClient(SETTINGS) as http:
                if method == "get":
                    found = [(await http.get(url)).failure for _ in range(3)]
                else:
                    found = [(await http.post(url, b"", max_bytes=99)).failure for _ in range(3)]
            await asyncio.sleep(0.05)  # the server closes its side
        return found

    failures = asyncio.run(run())
    assert failures == ([None] * 3 if method == "get" else [None, Failure.CONNECTION, None]), "POST may have effects"
    assert received == ([2, 2, 1] if method == "get" else [2, 1])


def test_a_request_that_a_new_connection_lost_is_not_sent_again() -> None:
    async def run() -> Failure | None:
        async with Site(lambda _: None) as site, HttpClient(SETTINGS) as http:
            failure = (await http.get(site.make_url("/"))).failure
            assert len(site.log) == 1
            return failure

    assert asyncio.run(run()) is Failure.CONNECTION


def test_an_old_connection_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "_IDLE_SECONDS", 0.0)

    async def run() -> None:
        async with Site(lambda _: Reply(b"x")) as site, HttpClient(SETTINGS) as http:
            for _ in range(2):
                assert (await http.get(site.make_url("/"))).failure is None
        assert site.connections == 2

    asyncio.run(run())


def test_the_number_of_connections_is_limited() -> None:
    active = 0
    most = 0

    async def answer(_: Request) -> Reply:
        nonlocal active, most
        active += 1
        most = max(most, active)
        await asyncio.sleep(0.02)
        active -= 1
        return Reply(b"x")

    async def run() -> None:
        settings = HttpSettings(allowed_networks=LOOPBACK, max_connections=2)
        async with Site(answer) as site, HttpClient(settings) as http:
            responses = await asyncio.gather(*(http.get(site.make_url("/")) for _ in range(8)))
        assert all(response.failure is None for response in responses)
        assert (most, site.connections) == (2, 2)

    asyncio.run(run())


def test_the_next_address_is_tried_if_one_does_not_answer() -> None:
    async def run(addresses: list[str]) -> object:
        async with Site(lambda _: Reply(b"x")) as site:
            resolver = HostResolver({}, lookup=lambda _: addresses)
            pool = connections.ConnectionPool(SETTINGS, resolver, AddressGuard(LOOPBACK))
            try:
                connection = await pool.acquire(connections.Endpoint("http", "many.test", site.port))
                assert connection.is_open
                pool.release(connection)
                return site.connections
            except OSError as error:
                return type(error)
            finally:
                await pool.close()

    # Nothing listens on the other loopback addresses, and the guard refuses the private one.
    assert asyncio.run(run(["127.0.0.9", "10.0.0.1", "127.0.0.1"])) == 1
    assert asyncio.run(run(["10.0.0.1", "10.0.0.2"])) is connections.AddressRefused
    assert asyncio.run(run(["127.0.0.9", "127.0.0.8"])) is ConnectionRefusedError


def test_a_host_with_an_old_cipher_suite_is_reached(trusted_certificate: ssl.SSLContext) -> None:
    trusted_certificate.maximum_version = ssl.TLSVersion.TLSv1_2
    trusted_certificate.set_ciphers("ECDHE-ECDSA-AES128-SHA")

    async def run() -> Failure | None:
        async with Site(lambda _: Reply(b"x"), tls=trusted_certificate) as site, HttpClient(SETTINGS) as http:
            return (await http.get(site.make_url("/"))).failure

    assert asyncio.run(run()) is None


def test_a_tls_connection_is_kept(trusted_certificate: ssl.SSLContext) -> None:
    async def run() -> int:
        async with Site(lambda _: Reply(b"x"), tls=trusted_certificate) as site, HttpClient(SETTINGS) as http:
            for _ in range(3):
                assert (await http.get(site.make_url("/"))).body == b"x"
            # The certificate is valid for another name only.
            assert (await http.get(site.make_url("/", "a.test"))).failure is Failure.TLS
        return site.connections

    assert asyncio.run(run()) == 1


@pytest.mark.parametrize("reply", [b"HTTP/1.1 200 OK\r\n\r\n", b"HTTP/1.0 200 Connection established\r\n\r\n"])
def test_https_goes_through_a_tunnel_of_the_proxy(trusted_certificate: ssl.SSLContext, reply: bytes) -> None:
    heads: list[bytes] = []

    async def run() -> None:
        async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            while data := await reader.read(65536):
                writer.write(data)
            writer.close()

        async def proxy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            heads.append(await reader.readuntil(b"\r\n\r\n"))
            there = await asyncio.open_connection("127.0.0.1", site.port)
            writer.write(reply)
            await asyncio.gather(copy(reader, there[1]), copy(there[0], writer), return_exceptions=True)

        async with Site(lambda _: Reply(b"secure"), tls=trusted_certificate) as site:
            async with await asyncio.start_server(proxy, "127.0.0.1", 0) as server:
                address = f"http://me:pw@127.0.0.1:{server.sockets[0].getsockname()[1]}"
                async with HttpClient(HttpSettings(proxy=address, total_timeout=10)) as http:
                    for _ in range(2):
                        response = await http.get(f"https://localhost:{site.port}/page")
                        assert response.body == b"secure"
                        assert "Proxy-Authorization" not in response.request
                await asyncio.sleep(0.1)  # both directions of the tunnel end
            assert "proxy-authorization" not in site.log[0].headers
            assert site.list_paths() == ["/page", "/page"]
            assert len(heads) == 1
            assert heads[0].startswith(b"CONNECT localhost:%d HTTP/1.1\r\n" % site.port)
            assert b"Basic " + b64encode(b"me:pw") in heads[0]

    asyncio.run(run())


def test_a_proxy_that_refuses_the_tunnel() -> None:
    async def run() -> None:
        async with (
            Site(lambda _: Reply(status=407)) as site,
            HttpClient(HttpSettings(proxy=site.make_url(""), total_timeout=10)) as http,
        ):
            response = await http.get("https://example.org/")
        assert response.failure is Failure.BAD_RESPONSE
        assert response.detail == "the proxy refused the connection with status 407"

    asyncio.run(run())
