"""A small HTTP server on loopback that can send invalid responses, for tests that need a host.

    from tests.helpers.site.server import Reply, Request, Site

    async def visit():
        async with Site(lambda request: Reply(body=b"<p>hello")) as site:
            url = site.url("/page")                     # http://127.0.0.1:<port>/page
            other = site.url("/page", host="a.test")    # needs HttpSettings(resolve={"a.test": "127.0.0.1"})
            ...
            assert site.paths() == ["/page"]

The answer function receives a `Request` and returns a `Reply`, raw bytes, or an async iterator of bytes (for slow and
endless responses); it may be `async`. `None` closes the connection without a response. `site.log` contains all requests
in the order of arrival, with the monotonic time at which the last header line was read, for tests of politeness.

The server implements only the HTTP/1.1 that keep-alive needs, with asyncio streams, so it can send responses that no
HTTP library would send. Clients need `HttpSettings(allow=networks(["127.0.0.0/8"]))`.
"""

from __future__ import annotations

import asyncio
import inspect
import ssl
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Self, TypeAlias


@dataclass(frozen=True, slots=True)
class Request:
    """A request that the server received."""

    at: float  # time.monotonic()
    host: str  # the Host header, with the port
    path: str  # with the query
    headers: Mapping[str, str]  # names in lower case


@dataclass(frozen=True, slots=True)
class Reply:
    """A well-formed response."""

    body: bytes = b""
    status: int = 200
    type: str = "text/html; charset=utf-8"
    headers: Mapping[str, str] = field(default_factory=dict)
    close: bool = False
    pause: float = 0.0  # seconds between the headers and the body

    def to_bytes(self) -> bytes:
        """Return the response as bytes."""
        try:
            phrase = HTTPStatus(self.status).phrase
        except ValueError:
            phrase = "Odd"
        fields = {"Content-Type": self.type, "Content-Length": str(len(self.body)), **self.headers}
        if self.close:
            fields["Connection"] = "close"
        lines = [f"HTTP/1.1 {self.status} {phrase}", *(f"{name}: {value}" for name, value in fields.items())]
        return "\r\n".join(lines).encode() + b"\r\n\r\n" + self.body


Answer: TypeAlias = Reply | bytes | AsyncIterator[bytes] | None
AnswerFunction: TypeAlias = Callable[[Request], Answer | Awaitable[Answer]]


def make_redirect(to: str, status: int = 301) -> Reply:
    """Return a redirect response."""
    return Reply(status=status, headers={"Location": to})


def answer_by_path(table: Mapping[str, Answer]) -> AnswerFunction:
    """Return an answer function for a table of paths. Other paths, such as robots.txt, get a 404."""
    return lambda request: table.get(request.path, Reply(status=404))


class Site:
    """The server; `async with` starts and stops it."""

    def __init__(self, answers: AnswerFunction, *, tls: ssl.SSLContext | None = None, port: int = 0) -> None:
        self._answers = answers
        self._tls = tls
        self._open: set[asyncio.StreamWriter] = set()
        self.log: list[Request] = []
        self.connections = 0
        self.port = port  # 0: any free port
        self._started = time.monotonic()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(
            self._serve_connection, "127.0.0.1", self.port, ssl=self._tls, limit=1 << 20
        )
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for writer in list(self._open):
            # Abort at once, because a client may be waiting for an endless response.
            writer.transport.abort()
        await asyncio.sleep(0)

    def make_url(self, path: str = "/", host: str = "127.0.0.1") -> str:
        """Return the URL of a path on this server."""
        scheme = "https" if self._tls else "http"
        return f"{scheme}://{host}:{self.port}{path}"

    def list_paths(self, host: str | None = None) -> list[str]:
        """Return the requested paths in order, optionally of one host name."""
        return [entry.path for entry in self.log if host in (None, entry.host.rpartition(":")[0])]

    def list_early_requests(self, delay: float, host: str | None = None) -> list[str]:
        """Return the paths of requests that arrived before a client with this delay could send them.

        The client sends request n at least n delays after the start of the server. A busy machine can log a request
        late, which shortens the gap to the next one, but it cannot log a request early.
        """
        log = [entry for entry in self.log if host in (None, entry.host.rpartition(":")[0])]
        return [entry.path for number, entry in enumerate(log) if entry.at < self._started + number * delay]

    async def _serve_connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._open.add(writer)
        try:
            while await self._handle_request(reader, writer):
                pass
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            return
        finally:
            self._open.discard(writer)
            writer.close()

    async def _handle_request(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Handle one request. Return whether the connection stays open."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])}
        request = Request(time.monotonic(), headers.get("host", ""), head[0].split(" ")[1], headers)
        self.log.append(request)
        answer = self._answers(request)
        if inspect.isawaitable(answer):
            answer = await answer
        if answer is None:
            return False
        if isinstance(answer, Reply):
            raw = answer.to_bytes()
            if answer.pause:
                head, raw = raw[: len(raw) - len(answer.body)], answer.body
                writer.write(head)
                await asyncio.sleep(answer.pause)
            writer.write(raw)
            await writer.drain()
            return not answer.close
        if isinstance(answer, bytes):
            writer.write(answer)
            await writer.drain()
            return False
        async for piece in answer:
            writer.write(piece)
            await writer.drain()
        return False
