"""The made-up web over real HTTP on loopback."""

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

from topicrawl.lab.sample import SampleWeb
from topicrawl.lab.serve import Server, served

SMALL = SampleWeb(pages=1200, hosts=60)
#: Names by what happens when their home page is asked for.
FAULTS = {SMALL.reply(name, "/").fault: name for name in SMALL.hosts}


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SampleWeb]:
    with served(SMALL, log=tmp_path_factory.mktemp("serve") / "requests.tsv") as running:
        yield running


@pytest.fixture
def line(web: SampleWeb) -> Iterator[http.client.HTTPConnection]:
    connection = http.client.HTTPConnection("127.0.0.1", web.port, timeout=5)
    yield connection
    connection.close()


def ask(line: http.client.HTTPConnection, url: str, method: str = "GET") -> tuple[http.client.HTTPResponse, bytes]:
    parts = urlsplit(url)
    line.request(method, url.partition(parts.netloc)[2], headers={"Host": parts.netloc})
    response = line.getresponse()
    return response, response.read()


def test_a_page_arrives_as_the_web_made_it(web: SampleWeb, line: http.client.HTTPConnection) -> None:
    response, body = ask(line, web.url(42))
    expected = web.answer(web.url(42))
    assert (response.status, body) == (200, expected.body)
    assert response.headers["content-type"] == expected.headers["content-type"]


def test_one_connection_serves_many_hosts_in_turn(web: SampleWeb, line: http.client.HTTPConnection) -> None:
    line.connect()
    socket_before = line.sock
    for number in range(0, 1200, 100):
        response, body = ask(line, web.url(number))
        assert (response.status, body) == (200, web.answer(web.url(number)).body)
    assert line.sock is socket_before


def test_requests_sent_at_once_are_answered_in_their_order(web: SampleWeb) -> None:
    slow = next(name for name in web.hosts if web.reply(name, "/").delay)
    urls = [web.url(3), f"http://{slow}:{web.port}/", web.url(5)]
    requests = [f"GET {urlsplit(url).path} HTTP/1.1\r\nHost: {urlsplit(url).netloc}\r\n" for url in urls]
    with socket.create_connection(("127.0.0.1", web.port), timeout=5) as plain:
        plain.sendall(("\r\n".join(requests) + "Connection: close\r\n\r\n").encode())
        received = b"".join(iter(lambda: plain.recv(65536), b""))
    places = [received.find(web.answer(url).body) for url in urls]
    assert -1 < places[0] < places[1] < places[2]


def test_a_redirect_is_followed_to_a_page(web: SampleWeb, line: http.client.HTTPConnection) -> None:
    full = next(name for name in web.hosts if name.startswith("www.") and web.reply(name, "/").status == 200)
    response, _ = ask(line, f"http://{full[4:]}:{web.port}/about.html")
    assert response.status == 301
    assert response.headers["location"] == f"http://{full}:{web.port}/about.html"
    assert ask(line, response.headers["location"])[0].status == 200


def test_a_host_that_hangs_up_gives_no_answer(web: SampleWeb, line: http.client.HTTPConnection) -> None:
    with pytest.raises(http.client.RemoteDisconnected):
        ask(line, f"http://{FAULTS['closed']}:{web.port}/")


def test_a_silent_host_keeps_the_line_open_and_others_go_on(web: SampleWeb) -> None:
    silent = http.client.HTTPConnection("127.0.0.1", web.port, timeout=0.2)
    with pytest.raises(TimeoutError):
        ask(silent, f"http://{FAULTS['silent']}:{web.port}/")
    other = http.client.HTTPConnection("127.0.0.1", web.port, timeout=5)
    assert ask(other, web.url(0))[0].status == 200
    silent.close()
    other.close()


def test_a_slow_host_takes_its_time(web: SampleWeb, line: http.client.HTTPConnection) -> None:
    slow = next(name for name in web.hosts if web.reply(name, "/").delay)
    before = time.monotonic()
    assert ask(line, f"http://{slow}:{web.port}/")[0].status == 200
    assert time.monotonic() - before >= web.reply(slow, "/").delay


def test_robots_txt_is_served(web: SampleWeb, line: http.client.HTTPConnection) -> None:
    closed = next(name for name in web.hosts if b"Disallow: /\n" in web.reply(name, "/robots.txt").body)
    response, body = ask(line, f"http://{closed}:{web.port}/robots.txt")
    assert (response.status, body) == (200, b"User-agent: *\nDisallow: /\n")


def test_head_sends_the_length_and_no_body(web: SampleWeb, line: http.client.HTTPConnection) -> None:
    response, body = ask(line, web.url(7), "HEAD")
    assert body == b""
    assert int(response.headers["content-length"]) == len(web.answer(web.url(7)).body)
    assert ask(line, web.url(8))[0].status == 200


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", b"400"),
        (b"nonsense\r\n\r\n", b"400"),
        (b"POST / HTTP/1.1\r\nHost: a.example\r\n\r\n", b"405"),
        (b"GET / HTTP/1.1\r\nHost: nobody.example\r\nConnection: close\r\n\r\n", b"404"),
        (b"GET /" + b"x" * 70_000, b"431"),
    ],
)
def test_a_bad_request_is_refused_and_the_line_closed(web: SampleWeb, request_bytes: bytes, status: bytes) -> None:
    with socket.create_connection(("127.0.0.1", web.port), timeout=5) as plain:
        plain.sendall(request_bytes)
        received = b"".join(iter(lambda: plain.recv(65536), b""))
    assert received.split()[1] == status


def test_requests_are_logged() -> None:
    log: list[tuple[str, str, int]] = []

    async def run() -> None:
        server = Server(SMALL, log=lambda _, host, target, status: log.append((host, target, status)))
        async with server:
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            writer.write(f"GET /about.html HTTP/1.0\r\nHost: {urlsplit(server.web.url(0)).netloc}\r\n\r\n".encode())
            await reader.read()
            writer.close()
            await writer.wait_closed()

    asyncio.run(run())
    assert log == [(urlsplit(SMALL.url(0)).netloc, "/about.html", 200)]


def test_as_a_program_it_writes_its_port_and_its_log_and_ends_when_told(tmp_path: Path) -> None:
    port, log = tmp_path / "port", tmp_path / "log.tsv"
    command = [sys.executable, "-m", "topicrawl.lab.serve", "--pages", "1200", "--port-file", str(port)]
    with subprocess.Popen([*command, "--log", str(log)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        number = process.stdout.readline().strip()
        line = http.client.HTTPConnection("127.0.0.1", int(number), timeout=5)
        assert ask(line, SMALL.at_port(int(number)).url(9))[0].status == 200
        line.close()
        process.terminate()
        assert process.wait(5) == 0
    assert port.read_text() == f"{number}\n"
    assert log.read_text().split("\t")[1:] == [*_target(SMALL.url(9)), "200\n"]


def _target(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return parts.netloc, url.partition(parts.netloc)[2]
