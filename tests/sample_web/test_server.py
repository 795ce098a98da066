"""The sample web over HTTP on loopback."""

from __future__ import annotations

import asyncio
import http.client
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from topicrawl.sample_web.server import SampleServer, serve_in_subprocess
from topicrawl.sample_web.web import SampleWeb

SMALL = SampleWeb(pages=1200, hosts=60)
#: One host name for each fault of its home page.
FAULTS = {SMALL.respond(name, "/").fault: name for name in SMALL.hosts}


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SampleWeb]:
    with serve_in_subprocess(SMALL, log=tmp_path_factory.mktemp("serve") / "requests.tsv") as running:
        yield running


@pytest.fixture
def connection(web: SampleWeb) -> Iterator[http.client.HTTPConnection]:
    connection = http.client.HTTPConnection("127.0.0.1", web.port, timeout=5)
    yield connection
    connection.close()


def send_request(
    connection: http.client.HTTPConnection, url: str, method: str = "GET"
) -> tuple[http.client.HTTPResponse, bytes]:
    parts = urlsplit(url)
    connection.request(method, url.partition(parts.netloc)[2], headers={"Host": parts.netloc})
    response = connection.getresponse()
    return response, response.read()


def test_a_page_is_served_unchanged(web: SampleWeb, connection: http.client.HTTPConnection) -> None:
    response, body = send_request(connection, web.page_url(42))
    expected = web.get_response(web.page_url(42))
    assert (response.status, body) == (200, expected.body)
    assert response.headers["content-type"] == expected.headers["content-type"]


def test_one_connection_serves_many_hosts_in_turn(web: SampleWeb, connection: http.client.HTTPConnection) -> None:
    connection.connect()
    socket_before = connection.sock
    for number in range(0, 1200, 100):
        response, body = send_request(connection, web.page_url(number))
        assert (response.status, body) == (200, web.get_response(web.page_url(number)).body)
    assert connection.sock is socket_before


def test_requests_sent_at_once_are_answered_in_their_order(web: SampleWeb) -> None:
    slow = next(name for name in web.hosts if web.respond(name, "/").delay)
    urls = [web.page_url(3), f"http://{slow}:{web.port}/", web.page_url(5)]
    requests = [f"GET {urlsplit(url).path} HTTP/1.1\r\nHost: {urlsplit(url).netloc}\r\n" for url in urls]
    with socket.create_connection(("127.0.0.1", web.port), timeout=5) as plain:
        plain.sendall(("\r\n".join(requests) + "Connection: close\r\n\r\n").encode())
        received = b"".join(iter(lambda: plain.recv(65536), b""))
    places = [received.find(web.get_response(url).body) for url in urls]
    assert -1 < places[0] < places[1] < places[2]


def test_a_redirect_is_followed_to_a_page(web: SampleWeb, connection: http.client.HTTPConnection) -> None:
    full = next(name for name in web.hosts if name.startswith("www.") and web.respond(name, "/").status == 200)
    response, _ = send_request(connection, f"http://{full[4:]}:{web.port}/about.html")
    assert response.status == 301
    assert response.headers["location"] == f"http://{full}:{web.port}/about.html"
    assert send_request(connection, response.headers["location"])[0].status == 200


def test_a_faulty_host_closes_the_connection(web: SampleWeb, connection: http.client.HTTPConnection) -> None:
    with pytest.raises(http.client.RemoteDisconnected):
        send_request(connection, f"http://{FAULTS['closed']}:{web.port}/")


def test_a_silent_host_does_not_block_other_hosts(web: SampleWeb) -> None:
    silent = http.client.HTTPConnection("127.0.0.1", web.port, timeout=0.2)
    with pytest.raises(TimeoutError):
        send_request(silent, f"http://{FAULTS['silent']}:{web.port}/")
    other = http.client.HTTPConnection("127.0.0.1", web.port, timeout=5)
    assert send_request(other, web.page_url(0))[0].status == 200
    silent.close()
    other.close()


def test_a_slow_host_delays_its_response(web: SampleWeb, connection: http.client.HTTPConnection) -> None:
    slow = next(name for name in web.hosts if web.respond(name, "/").delay)
    before = time.monotonic()
    assert send_request(connection, f"http://{slow}:{web.port}/")[0].status == 200
    assert time.monotonic() - before >= web.respond(slow, "/").delay


def test_robots_txt_is_served(web: SampleWeb, connection: http.client.HTTPConnection) -> None:
    closed = next(name for name in web.hosts if b"Disallow: /\n" in web.respond(name, "/robots.txt").body)
    response, body = send_request(connection, f"http://{closed}:{web.port}/robots.txt")
    assert (response.status, body) == (200, b"User-agent: *\nDisallow: /\n")


def test_head_sends_the_length_and_no_body(web: SampleWeb, connection: http.client.HTTPConnection) -> None:
    response, body = send_request(connection, web.page_url(7), "HEAD")
    assert body == b""
    assert int(response.headers["content-length"]) == len(web.get_response(web.page_url(7)).body)
    assert send_request(connection, web.page_url(8))[0].status == 200


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", b"400"),
        (b"nonsense\r\n\r\n", b"400"),
        (b"POST / HTTP/1.1\r\nHost: a.example\r\n\r\n", b"405"),
        (b"GET / HTTP/1.1\r\nHost: unknown.example\r\nConnection: close\r\n\r\n", b"404"),
        (b"GET /" + b"x" * 70_000, b"431"),
    ],
)
def test_a_bad_request_is_rejected_and_the_connection_closed(
    web: SampleWeb, request_bytes: bytes, status: bytes
) -> None:
    with socket.create_connection(("127.0.0.1", web.port), timeout=5) as plain:
        plain.sendall(request_bytes)
        received = b"".join(iter(lambda: plain.recv(65536), b""))
    assert received.split()[1] == status


def test_requests_are_logged() -> None:
    log: list[tuple[str, str, int]] = []

    async def run() -> None:
        server = SampleServer(SMALL, log=lambda _, host, target, status: log.append((host, target, status)))
        async with server:
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            writer.write(
                f"GET /about.html HTTP/1.0\r\nHost: {urlsplit(server.web.page_url(0)).netloc}\r\n\r\n".encode()
            )
            await reader.read()
            writer.close()
            await writer.wait_closed()

    asyncio.run(run())
    assert log == [(urlsplit(SMALL.page_url(0)).netloc, "/about.html", 200)]


def test_the_program_writes_its_port_and_log_and_exits_on_sigterm(tmp_path: Path) -> None:
    port, log = tmp_path / "port", tmp_path / "log.tsv"
    command = [sys.executable, "-m", "topicrawl.sample_web.server", "--pages", "1200", "--port-file", str(port)]
    with subprocess.Popen([*command, "--log", str(log)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        number = process.stdout.readline().strip()
        connection = http.client.HTTPConnection("127.0.0.1", int(number), timeout=5)
        assert send_request(connection, SMALL.with_port(int(number)).page_url(9))[0].status == 200
        connection.close()
        process.terminate()
        assert process.wait(5) == 0
    assert port.read_text() == f"{number}\n"
    assert log.read_text().split("\t")[1:] == [*_target(SMALL.page_url(9)), "200\n"]


def _target(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return parts.netloc, url.partition(parts.netloc)[2]
