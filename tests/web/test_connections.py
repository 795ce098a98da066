"""Timeouts and limits of connections: clients that send nothing, send half a request or do not read the response."""

from __future__ import annotations

import asyncio
import re
import resource
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import ClassVar

import pytest
import uvicorn
from tests.helpers.markers import LONG
from tests.helpers.server_process import create_client, run_server_process

from topicrawl.web.connections import MAX_WAITING_CONNECTIONS, ClientWait, TimedHttpProtocol
from topicrawl.web.security import Receive, Scope, Send
from topicrawl.web.server import bind_socket, create_server_config

HALF_OPEN = 1000
REQUEST = b"GET /?%d HTTP/1.1\r\nHost: 127.0.0.1\r\n"
UPLOAD = b"POST /crawls HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100000\r\n\r\n"
UNFINISHED = {
    "silent": b"",
    "half a header": REQUEST % 1 + b"Accept: te",
    "half a body": UPLOAD + b"words=",
    "idle": REQUEST % 1 + b"\r\n",
}


def allow_open_files(number: int) -> None:
    """Raise the limit of open files of this process, or skip the test."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= number:
        return
    if hard != resource.RLIM_INFINITY and hard < number:
        pytest.skip(f"the test needs {number} open files, and the system allows {hard}")
    resource.setrlimit(resource.RLIMIT_NOFILE, (number, hard))


def test_a_client_is_answered_while_1000_connections_are_unfinished(tmp_path: Path) -> None:
    allow_open_files(HALF_OPEN + 200)
    kinds = list(UNFINISHED.values())
    with run_server_process(tmp_path, "--token") as (_, line), ExitStack() as stack:
        token = line.partition("token=")[2]
        client = create_client(line, authorization=f"Bearer {token}")
        for number in range(HALF_OPEN):
            connection = stack.enter_context(socket.create_connection(("127.0.0.1", client.port), timeout=20))
            connection.sendall(kinds[number % len(kinds)])
        seconds = []
        for _ in range(5):
            began = time.monotonic()
            assert client.get("/").status == 200
            seconds.append(time.monotonic() - began)
        assert min(seconds) < 1


@LONG
def test_an_interrupted_upload_is_not_logged_as_an_error(tmp_path: Path) -> None:
    with run_server_process(tmp_path) as (process, line):
        client = create_client(line)
        with socket.create_connection(("127.0.0.1", client.port), timeout=20) as connection:
            connection.sendall(UPLOAD.replace(b"\r\n\r\n", b"\r\nContent-Type: application/json\r\n\r\n") + b"{")
        assert client.get("/").status == 200
        process.terminate()
        assert process.stderr is not None
        assert "Traceback" not in process.stderr.read()


async def respond(scope: Scope, receive: Receive, send: Send) -> None:
    """Read the request body and send its size, or a large response for the path `/large`."""
    if scope["type"] != "http":
        return
    size, is_complete = 0, False
    while not is_complete:
        message = await receive()
        size += len(message.get("body", b""))
        is_complete = not message.get("more_body")
    body = b"x" * (64 << 20) if scope["path"] == "/large" else b"%d bytes" % size
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(body))]})
    await send({"type": "http.response.body", "body": body})


@contextmanager
def run_timed_server(seconds: float) -> Iterator[Callable[[], socket.socket]]:
    """Run a server with the same timeout for every wait, in a thread, and yield a function that connects to it."""

    class Protocol(TimedHttpProtocol):
        timeouts: ClassVar = dict.fromkeys(ClientWait, seconds)

    listener = bind_socket("127.0.0.1", 0)
    config = create_server_config(respond)
    config.http, config.lifespan = Protocol, "off"
    server = uvicorn.Server(config)
    thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[listener])), daemon=True)
    thread.start()
    try:
        yield lambda: socket.create_connection(listener.getsockname(), timeout=20)
    finally:
        server.should_exit = True
        thread.join(20)


def read_until_closed(connection: socket.socket) -> bytes:
    """Read until the server closes the connection; fail after the timeout of the connection."""
    received = b""
    try:
        while data := connection.recv(1 << 16):
            received += data
    except ConnectionResetError:
        pass  # the server has closed the connection before it read everything
    return received


def test_unfinished_connections_are_closed() -> None:
    with run_timed_server(1) as connect, ExitStack() as stack:
        connections = {kind: stack.enter_context(closing(connect())) for kind in UNFINISHED}
        for kind, connection in connections.items():
            connection.sendall(UNFINISHED[kind])
        answers = {kind: read_until_closed(connection) for kind, connection in connections.items()}
    assert [kind for kind, answer in answers.items() if b"200 OK" in answer] == ["idle"]


def send_slowly(connection: socket.socket, *, seconds: float) -> None:
    """Send a byte of a method name every 50 ms."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        connection.sendall(b"G")
        time.sleep(0.05)


@LONG
def test_single_bytes_do_not_extend_the_time_of_the_headers() -> None:
    with run_timed_server(1) as connect, closing(connect()) as connection, pytest.raises(OSError, match=r"pipe|reset"):
        send_slowly(connection, seconds=20)


@LONG
def test_a_client_that_does_not_read_is_disconnected() -> None:
    with run_timed_server(1) as connect, closing(connect()) as connection:
        connection.sendall(b"GET /large HTTP/1.1\r\nHost: a\r\n\r\n")
        time.sleep(3)  # three timeouts
        assert len(read_until_closed(connection)) < 64 << 20


@LONG
def test_a_steady_upload_is_not_closed() -> None:
    with run_timed_server(1) as connect, closing(connect()) as connection:
        connection.sendall(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % (20 << 14))
        for _ in range(20):
            connection.sendall(b"x" * (1 << 14))
            time.sleep(0.1)
        assert re.search(rb"\d+ bytes", connection.recv(1000)), "the upload takes longer than the timeout"


def test_the_oldest_waiting_connection_is_closed_first() -> None:
    allow_open_files(2 * MAX_WAITING_CONNECTIONS + 300)
    with run_timed_server(60) as connect, ExitStack() as stack:
        waiting = [stack.enter_context(closing(connect())) for _ in range(MAX_WAITING_CONNECTIONS + 1)]
        assert read_until_closed(waiting[0]) == b""
        waiting[1].sendall(REQUEST % 1 + b"\r\n")
        assert b"200 OK" in waiting[1].recv(1000)
