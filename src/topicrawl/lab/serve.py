"""A loopback server for the made-up web: real HTTP, all hosts on one port, told apart by the Host header.

`Server` runs in an event loop; `served` runs one in a process of its own, so that a crawler's processor time
is its own. As a program: `python -m topicrawl.lab.serve --pages 4000 --port-file port`.
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
from topicrawl.lab.sample import Answer, SampleWeb

#: Called for every request with the time, the host name, the request target and the status that was sent.
Log = Callable[[float, str, str, int], None]

_CACHED_ANSWERS = 8192
_LONGEST_HEAD = 1 << 16
_PATIENCE = 60.0  # seconds until a host that never answers lets go of the line


class Wire(NamedTuple):
    """An answer as it goes over the line."""

    status: int
    head: bytes
    body: bytes
    delay: float
    fault: str


def wire(answer: Answer) -> Wire:
    """Status line, headers and body of an answer.

    >>> wire(Answer(404, {"content-type": "text/plain"}, b"no"))[1]
    b'HTTP/1.1 404 Not Found\\r\\ncontent-type: text/plain\\r\\ncontent-length: 2\\r\\n\\r\\n'
    """
    if answer.fault:
        return Wire(0, b"", b"", answer.delay, answer.fault)
    lines = [f"HTTP/1.1 {answer.status} {HTTPStatus(answer.status).phrase}"]
    lines += [f"{name}: {value}" for name, value in answer.headers.items()]
    lines += [f"content-length: {len(answer.body)}", "", ""]
    return Wire(answer.status, "\r\n".join(lines).encode("latin-1"), answer.body, answer.delay, "")


class _Line(asyncio.Protocol):
    """One connection: requests are answered in their order, also when they come all at once."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._buffer = b""
        self._pause: asyncio.TimerHandle | None = None
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._server.lines.add(transport)

    def connection_lost(self, error: Exception | None) -> None:
        self._server.lines.discard(self._transport)
        if self._pause is not None:
            self._pause.cancel()

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if self._pause is None:
            self._advance()

    def _advance(self) -> None:
        """Answer what has been read, until something has to wait."""
        self._pause = None
        while self._pause is None and not self._transport.is_closing():
            head, end, rest = self._buffer.partition(b"\r\n\r\n")
            if not end:
                if len(head) > _LONGEST_HEAD:
                    self._refuse(431)
                return
            self._buffer = rest
            self._request(head.decode("latin-1"))

    def _request(self, head: str) -> None:
        line, *fields = head.split("\r\n")
        method, _, rest = line.partition(" ")
        target, _, version = rest.rpartition(" ")
        headers = {name.lower(): value.strip() for name, _, value in (field.partition(":") for field in fields)}
        host = headers.get("host", "").partition(":")[0].lower()
        if not host or not target.startswith("/"):
            self._refuse(400)
        elif method not in ("GET", "HEAD"):
            self._refuse(405)
        else:
            closing = version == "HTTP/1.0" or headers.get("connection", "").lower() == "close"
            self._answer(host, target, method == "HEAD", closing)

    def _answer(self, host: str, target: str, head_only: bool, closing: bool) -> None:
        found = self._server.wire(host, target)
        self._server.note(host, target, found.status)
        if found.fault == "closed":
            self._transport.close()
            return
        loop = asyncio.get_running_loop()
        if found.fault == "silent":
            self._pause = loop.call_later(_PATIENCE, self._transport.close)
            return
        data = found.head if head_only else found.head + found.body
        if found.delay:
            self._pause = loop.call_later(found.delay, self._late, data, closing)
        else:
            self._send(data, closing)

    def _late(self, data: bytes, closing: bool) -> None:
        self._send(data, closing)
        self._advance()

    def _send(self, data: bytes, closing: bool) -> None:
        self._transport.write(data)
        if closing:
            self._transport.close()

    def _refuse(self, status: int) -> None:
        self._send(wire(Answer(status, {"connection": "close"})).head, closing=True)


class Server:
    """Serves a made-up web: `async with Server(web) as server`; URLs with its port are in `server.web`."""

    def __init__(self, web: SampleWeb, *, host: str = "127.0.0.1", port: int = 0, log: Log | None = None) -> None:
        self.web = web
        self.port = port
        self.lines: set[asyncio.Transport] = set()  # the open connections
        self._host = host
        self._log = log
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> Self:
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: _Line(self), self._host, self.port, backlog=1024)
        self.port = self._server.sockets[0].getsockname()[1]
        self.web = self.web.at_port(self.port)
        # Answers never change, so a page is written once however often it is asked for.
        self.wire = lru_cache(maxsize=_CACHED_ANSWERS)(self._wire)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._server is not None:
            self._server.close()
            for line in tuple(self.lines):
                line.abort()
            await self._server.wait_closed()

    def note(self, host: str, target: str, status: int) -> None:
        """Write a request into the log, if there is one."""
        if self._log is not None:
            self._log(time.time(), host, target, status)

    def _wire(self, host: str, target: str) -> Wire:
        return wire(self.web.reply(host, target))


@contextmanager
def served(web: SampleWeb, *, log: Path | None = None) -> Iterator[SampleWeb]:
    """The web, served by a process of its own that ends with the block or with this process."""
    command = [sys.executable, "-m", "topicrawl.lab.serve", "--with-parent"]
    command += ["--seed", str(web.seed), "--pages", str(web.pages), "--hosts", str(web.sites)]
    command += ["--log", str(log)] if log else []
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            port = process.stdout.readline().strip()
            if not port:
                raise TopicrawlError("the server of the made-up web did not start")
            yield web.at_port(int(port))
        finally:
            # It ends when its standard input does.
            process.stdin.close()
            process.wait()


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m topicrawl.lab.serve", description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--pages", type=int, default=4000)
    parser.add_argument("--hosts", type=int, default=60)
    parser.add_argument("--port", type=int, default=0, help="0: any that is free")
    parser.add_argument("--port-file", type=Path, help="where to write the port once it is open")
    parser.add_argument("--log", type=Path, help="one line a request: time, host, target, status")
    parser.add_argument("--with-parent", action="store_true", help="end when standard input does")
    return parser.parse_args(arguments)


async def _serve(options: argparse.Namespace, log: Log | None) -> None:
    web = SampleWeb(seed=options.seed, pages=options.pages, hosts=options.hosts)
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    async with Server(web, port=options.port, log=log) as server:
        if options.port_file:
            # Renamed into place: whoever waits for the file never reads half a number.
            draft = options.port_file.with_suffix(".part")
            draft.write_text(f"{server.port}\n")
            draft.replace(options.port_file)
        sys.stdout.write(f"{server.port}\n")
        sys.stdout.flush()
        if options.with_parent:
            loop.add_reader(sys.stdin, stop.set)
        await stop.wait()


def main(arguments: Sequence[str] | None = None) -> None:
    """Serve until told to stop."""
    options = _options(arguments)
    if options.log is None:
        asyncio.run(_serve(options, None))
        return
    with options.log.open("a", buffering=1) as file:

        def log(at: float, host: str, target: str, status: int) -> None:
            file.write(f"{at:.6f}\t{host}\t{target}\t{status}\n")

        asyncio.run(_serve(options, log))


if __name__ == "__main__":
    main()
