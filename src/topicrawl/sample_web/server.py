"""HTTP server for the sample web on loopback. All hosts share one port and are selected by the Host header.

`SampleServer` runs in an event loop. `serve_in_subprocess` runs a server in a separate process, so that its CPU time
does not count as that of the crawler. The module is also a program:
`python -m topicrawl.sample_web.server --pages 4000 --port-file port`.
"""

from __future__ import annotations

import argparse
import asyncio
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from http import HTTPStatus
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

from topicrawl.errors import TopicrawlError
from topicrawl.sample_web.web import SampleResponse, SampleWeb

#: Callback for every request with the time, the host name, the request target and the status of the response.
RequestCallback = Callable[[float, str, str, int], None]

_CACHED_ANSWERS = 8192
_MAX_HEAD_BYTES = 1 << 16
_SILENT_SECONDS = 60.0  # seconds after which a silent host closes the connection


class EncodedResponse(NamedTuple):
    """A response encoded for the connection."""

    status: int
    head: bytes
    body: bytes
    delay: float
    fault: str


def encode_response(response: SampleResponse) -> EncodedResponse:
    """Encode the status line, the headers and the body of a response.

    >>> encode_response(SampleResponse(404, {"content-type": "text/plain"}, b"no"))[1]
    b'HTTP/1.1 404 Not Found\\r\\ncontent-type: text/plain\\r\\ncontent-length: 2\\r\\n\\r\\n'
    """
    if response.fault:
        return EncodedResponse(0, b"", b"", response.delay, response.fault)
    lines = [f"HTTP/1.1 {response.status} {HTTPStatus(response.status).phrase}"]
    lines += [f"{name}: {value}" for name, value in response.headers.items()]
    lines += [f"content-length: {len(response.body)}", "", ""]
    return EncodedResponse(response.status, "\r\n".join(lines).encode("latin-1"), response.body, response.delay, "")


class _HttpConnection(asyncio.Protocol):
    """One client connection. Pipelined requests are answered in order."""

    def __init__(self, server: SampleServer) -> None:
        self._server = server
        self._buffer = b""
        self._timer: asyncio.TimerHandle | None = None
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Register the connection with the server."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._server.connections.add(transport)

    def connection_lost(self, error: Exception | None) -> None:
        """Remove the connection from the server and cancel its timer."""
        self._server.connections.discard(self._transport)
        if self._timer is not None:
            self._timer.cancel()

    def data_received(self, data: bytes) -> None:
        """Buffer received data and answer complete requests."""
        self._buffer += data
        if self._timer is None:
            self._process_buffer()

    def _process_buffer(self) -> None:
        """Answer the buffered requests until one of them must wait."""
        self._timer = None
        while self._timer is None and not self._transport.is_closing():
            head, end, rest = self._buffer.partition(b"\r\n\r\n")
            if not end:
                if len(head) > _MAX_HEAD_BYTES:
                    self._send_error(431)
                return
            self._buffer = rest
            self._handle_request(head.decode("latin-1"))

    def _handle_request(self, head: str) -> None:
        line, *fields = head.split("\r\n")
        method, _, rest = line.partition(" ")
        target, _, version = rest.rpartition(" ")
        headers = {name.lower(): value.strip() for name, _, value in (field.partition(":") for field in fields)}
        host = headers.get("host", "").partition(":")[0].lower()
        if not host or not target.startswith("/"):
            self._send_error(400)
        elif method not in ("GET", "HEAD"):
            self._send_error(405)
        else:
            closing = version == "HTTP/1.0" or headers.get("connection", "").lower() == "close"
            self._send_response(host, target, method == "HEAD", closing)

    def _send_response(self, host: str, target: str, head_only: bool, closing: bool) -> None:
        response = self._server.get_encoded_response(host, target)
        self._server.log_request(host, target, response.status)
        if response.fault == "closed":
            self._transport.close()
            return
        loop = asyncio.get_running_loop()
        if response.fault == "silent":
            self._timer = loop.call_later(_SILENT_SECONDS, self._transport.close)
            return
        data = response.head if head_only else response.head + response.body
        if response.delay:
            self._timer = loop.call_later(response.delay, self._send_delayed, data, closing)
        else:
            self._send_data(data, closing)

    def _send_delayed(self, data: bytes, closing: bool) -> None:
        self._send_data(data, closing)
        self._process_buffer()

    def _send_data(self, data: bytes, closing: bool) -> None:
        self._transport.write(data)
        if closing:
            self._transport.close()

    def _send_error(self, status: int) -> None:
        self._send_data(encode_response(SampleResponse(status, {"connection": "close"})).head, closing=True)


class SampleServer:
    """HTTP server for a sample web, used as `async with SampleServer(web) as server`.

    `server.web` is the same web with the port of the server in its URLs.
    """

    def __init__(
        self, web: SampleWeb, *, host: str = "127.0.0.1", port: int = 0, log: RequestCallback | None = None
    ) -> None:
        self.web = web
        self.port = port
        self.connections: set[asyncio.Transport] = set()  # the open connections
        self._host = host
        self._log = log
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> Self:
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: _HttpConnection(self), self._host, self.port, backlog=1024)
        self.port = self._server.sockets[0].getsockname()[1]
        self.web = self.web.with_port(self.port)
        # Responses never change, so that each page is generated only once.
        self.get_encoded_response = lru_cache(maxsize=_CACHED_ANSWERS)(self._encode_response)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._server is not None:
            self._server.close()
            for line in tuple(self.connections):
                line.abort()
            await self._server.wait_closed()

    def log_request(self, host: str, target: str, status: int) -> None:
        """Pass a request to the log callback, if there is one."""
        if self._log is not None:
            self._log(time.time(), host, target, status)

    def _encode_response(self, host: str, target: str) -> EncodedResponse:
        return encode_response(self.web.respond(host, target))


@contextmanager
def serve_in_subprocess(web: SampleWeb, *, log: Path | None = None) -> Iterator[SampleWeb]:
    """Serve the web from a subprocess that exits with the `with` block or with this process.

    The context manager returns the web with the port of the server in its URLs. `log` is the path of a request log.
    """
    command = [sys.executable, "-m", "topicrawl.sample_web.server", "--with-parent"]
    command += ["--seed", str(web.seed), "--pages", str(web.pages), "--hosts", str(web.host_count)]
    command += ["--log", str(log)] if log else []
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            port = process.stdout.readline().strip()
            if not port:
                raise TopicrawlError("the server of the sample web did not start: see its error output above")
            yield web.with_port(int(port))
        finally:
            # The server exits when its standard input closes.
            process.stdin.close()
            process.wait()


def _parse_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m topicrawl.sample_web.server", description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--pages", type=int, default=4000)
    parser.add_argument("--hosts", type=int, default=60)
    parser.add_argument("--port", type=int, default=0, help="port to listen on; 0 selects a free port")
    parser.add_argument("--port-file", type=Path, help="file to write the port to once it is open")
    parser.add_argument("--log", type=Path, help="request log: one line per request with time, host, target, status")
    parser.add_argument("--with-parent", action="store_true", help="exit when standard input closes")
    return parser.parse_args(arguments)


async def _serve_web(options: argparse.Namespace, log: RequestCallback | None) -> None:
    web = SampleWeb(seed=options.seed, pages=options.pages, hosts=options.hosts)
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    for signal_number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(signal_number, stop.set)
    async with SampleServer(web, port=options.port, log=log) as server:
        if options.port_file:
            # Renamed into place, so that a waiting process never reads a partial number.
            partial_file = options.port_file.with_suffix(".part")
            partial_file.write_text(f"{server.port}\n")
            partial_file.replace(options.port_file)
        sys.stdout.write(f"{server.port}\n")
        sys.stdout.flush()
        if options.with_parent:
            loop.add_reader(sys.stdin, stop.set)
        await stop.wait()


def main(arguments: Sequence[str] | None = None) -> None:
    """Serve the sample web until SIGINT or SIGTERM."""
    options = _parse_arguments(arguments)
    if options.log is None:
        asyncio.run(_serve_web(options, None))
        return
    with options.log.open("a", buffering=1) as file:

        def log(at: float, host: str, target: str, status: int) -> None:
            file.write(f"{at:.6f}\t{host}\t{target}\t{status}\n")

        asyncio.run(_serve_web(options, log))


if __name__ == "__main__":
    main()
