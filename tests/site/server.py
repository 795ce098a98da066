"""A small web on loopback that can misbehave, for every test that needs a host on the other end.

    from tests.site.server import Reply, Request, Site

    async def visit():
        async with Site(lambda request: Reply(body=b"<p>hello")) as site:
            url = site.url("/page")                     # http://127.0.0.1:<port>/page
            other = site.url("/page", host="a.test")    # needs HttpSettings(resolve={"a.test": "127.0.0.1"})
            ...
            assert site.paths() == ["/page"]

The answer function gets a `Request` and returns a `Reply`, raw bytes that are written as they are, or an
async iterator of bytes (written piece by piece, for slow and endless answers); it may be `async`. `None`
hangs up without a word. `site.log` holds one `Request` for each request, in the order of arrival, with the
monotonic time at which its last header line was read: the exact record that politeness is judged by.

It speaks just enough HTTP/1.1 to keep connections alive, over plain asyncio streams, so nothing stands in
the way of an answer that no HTTP library would send. Clients need
`HttpSettings(allow=networks(["127.0.0.0/8"]))`.
"""

from __future__ import annotations

import asyncio
import inspect
import ssl
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from itertools import pairwise
from typing import Self, TypeAlias


@dataclass(frozen=True, slots=True)
class Request:
    at: float  # time.monotonic()
    host: str  # the Host header, with the port
    path: str  # with the query
    headers: Mapping[str, str]  # names in lower case


@dataclass(frozen=True, slots=True)
class Reply:
    """A well-formed answer."""

    body: bytes = b""
    status: int = 200
    type: str = "text/html; charset=utf-8"
    headers: Mapping[str, str] = field(default_factory=dict)
    close: bool = False
    pause: float = 0.0  # seconds between the headers and the body

    def raw(self) -> bytes:
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
Answers: TypeAlias = Callable[[Request], Answer | Awaitable[Answer]]


def redirect(to: str, status: int = 301) -> Reply:
    return Reply(status=status, headers={"Location": to})


def routes(table: Mapping[str, Answer]) -> Answers:
    """Answers by path; what is not in the table, robots.txt among it, is a 404."""
    return lambda request: table.get(request.path, Reply(status=404))


class Site:
    """The server; `async with` starts and stops it."""

    def __init__(self, answers: Answers, *, tls: ssl.SSLContext | None = None) -> None:
        self._answers = answers
        self._tls = tls
        self._open: set[asyncio.StreamWriter] = set()
        self.log: list[Request] = []
        self.connections = 0
        self.port = 0

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self._tls, limit=1 << 20)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for writer in list(self._open):
            # A client may be waiting for bytes that never come: nobody is asked.
            writer.transport.abort()
        await asyncio.sleep(0)

    def url(self, path: str = "/", host: str = "127.0.0.1") -> str:
        scheme = "https" if self._tls else "http"
        return f"{scheme}://{host}:{self.port}{path}"

    def paths(self, host: str | None = None) -> list[str]:
        """The paths asked for, in order; of one host name, if given."""
        return [entry.path for entry in self.log if host in (None, entry.host.rpartition(":")[0])]

    def gaps(self, host: str | None = None) -> list[float]:
        """The seconds between one request and the next."""
        times = [entry.at for entry in self.log if host in (None, entry.host.rpartition(":")[0])]
        return [later - earlier for earlier, later in pairwise(times)]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._open.add(writer)
        try:
            while await self._exchange(reader, writer):
                pass
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            return
        finally:
            self._open.discard(writer)
            writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """One request and its answer; says whether the connection stays open."""
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
            raw = answer.raw()
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
