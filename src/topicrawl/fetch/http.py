"""One HTTP request → one `Response`; the only module that knows the HTTP client.

It never follows redirects, never retries and never raises for what the web does: a dead host, a torn answer
or a page that is too large is a named failure. The address guard sits where sockets are made, so whatever
a name resolves to, at whatever time, is checked before a packet is sent. With a proxy it is the proxy that
connects: it is trusted, and only addresses written in the URL itself are checked. Certificates are always
verified; there is no switch.
"""

from __future__ import annotations

import errno
import ipaddress
import socket
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from types import TracebackType
from typing import Any, Protocol, Self, cast

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.client_proto import ResponseHandler
from aiohttp.client_reqrep import ClientRequest, ClientResponse
from aiohttp.connector import AddrInfoType, Connection
from aiohttp.http import HttpProcessingError, RawResponseMessage
from aiohttp.streams import StreamReader
from yarl import URL

from topicrawl.fetch.decode import TooLarge, Undecodable, decode
from topicrawl.fetch.guard import Guard
from topicrawl.fetch.headers import lowered
from topicrawl.fetch.names import Names
from topicrawl.fetch.settings import HttpSettings, with_password
from topicrawl.fetch.status import REDIRECTS, failure_of, retry_after
from topicrawl.records import Failure, Response

__all__ = ["Http", "HttpSettings"]

#: An error page up to this size is read to its end, because that keeps the connection for the next request.
_DRAINED = 64 * 1024
_PRELIMINARY = 16  # answers such as 103 Early Hints before the one that counts


class Departure(Protocol):
    """Somebody who wants to know when a request leaves."""

    def leaves(self) -> None:
        """It is about to leave; whatever this raises keeps it from that."""

    def started(self) -> None:
        """It has left."""


class Http:
    """A pool of connections. `async with Http(settings) as http: response = await http.get(url)`."""

    def __init__(self, settings: HttpSettings | None = None, *, clock: Callable[[], float] = time.time) -> None:
        self.settings = settings = settings or HttpSettings()
        self.clock = clock
        #: URL → headers such as If-None-Match, for a page that is here already; None: every page is asked for anew.
        self.validators: Callable[[str], Mapping[str, str]] | None = None
        self._guard = Guard(settings.allow)
        self._accept = frozenset(settings.accept)
        self._headers = {
            "User-Agent": settings.user_agent,
            "Accept": ", ".join((*settings.accept, "*/*;q=0.1")),
            "Accept-Encoding": "gzip, deflate, br, zstd",
            **settings.headers,
        }

    async def __aenter__(self) -> Self:
        settings = self.settings
        # A field of a quarter leaves room for a few long ones; the sum is checked when they are in.
        field_bytes = settings.max_header_bytes // 4
        self._session = aiohttp.ClientSession(
            connector=_Connector(
                limit=settings.connections,
                ttl_dns_cache=settings.name_seconds,
                resolver=_Resolver(Names(settings.resolve)),
                socket_factory=None if settings.proxy else self._socket,
            ),
            headers=self._headers,
            proxy=with_password(settings.proxy) if settings.proxy else None,
            request_class=_Request,
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=settings.total_timeout, sock_connect=settings.connect_timeout),
            auto_decompress=False,
            max_line_size=field_bytes,
            max_field_size=field_bytes,
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._session.close()

    async def get(
        self,
        url: str,
        *,
        limit: int | None = None,
        any_type: bool = False,
        cut: bool = False,
        turn: Departure | None = None,
    ) -> Response:
        """Ask for a canonical URL once.

        `limit` replaces the largest body, `any_type` reads whatever the media type is, `cut` keeps the
        beginning of a body that is too large, `turn` is told before and after the request goes out.
        """
        plan = _Reading(self.settings.max_bytes if limit is None else limit, any_type, cut)
        return await self._exchange(url, _Trip(self.clock, turn), plan)

    async def post(self, url: str, body: bytes, *, limit: int) -> Response:
        """Hand something in at a canonical URL, and read whatever comes back."""
        return await self._exchange(url, _Trip(self.clock, None), _Reading(limit, True, False), body)

    async def _exchange(self, url: str, trip: _Trip, plan: _Reading, given: bytes | None = None) -> Response:
        begun = time.perf_counter()
        status, headers, body, request = 0, {}, b"", self._headers
        failure: Failure | None
        try:
            if self.settings.proxy and not self._is_open(url):
                raise _Refused(url)
            target = URL(url, encoded=True)  # as it is: the client would respell it
            known = self.validators(url) if self.validators is not None else None
            ask = self._session.get if given is None else partial(self._session.post, data=given)
            async with ask(target, headers=known, allow_redirects=False, middlewares=(trip,)) as answer:
                status, headers = answer.status, lowered(answer.headers.items())
                request = _told(answer.request_info.headers)
                failure, detail, body = await self._read(answer, headers, plan)
        except (aiohttp.ClientError, OSError, ValueError) as error:
            failure, detail = _named(error)
        wait = retry_after(headers.get("retry-after", ""), self.clock()) if failure and headers else None
        seconds = time.perf_counter() - begun
        if self.settings.headers:
            request = {}  # a key among them is not to be archived
        answered = Response(url, url, status, headers, body, trip.at, seconds=seconds, request=request)
        return replace(answered, failure=failure, detail=detail, wait=wait) if failure else answered

    async def _read(
        self, answer: ClientResponse, headers: Mapping[str, str], plan: _Reading
    ) -> tuple[Failure | None, str, bytes]:
        """The body, or why it is not read."""
        status = answer.status
        if sum(map(len, headers.values())) > self.settings.max_header_bytes:
            return Failure.BAD_RESPONSE, "the headers are too large", b""
        failure = failure_of(status)
        if failure is not None or status in REDIRECTS:
            await _drain(answer)
            return failure, f"status {status}" if failure else "", b""
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind and not plan.any_type and kind not in self._accept and not self._is_document(kind, answer.url):
            return Failure.CONTENT_TYPE, kind[:100], b""
        length = headers.get("content-length", "")
        try:
            if length.isdecimal() and len(length) < 20 and int(length) > plan.limit and not plan.cut:
                raise TooLarge
            raw = await _collected(answer, plan)
            body = decode(raw, headers.get("content-encoding", ""), limit=plan.limit, cut=plan.cut)
        except TooLarge:
            return Failure.TOO_LARGE, f"more than {plan.limit} bytes", b""
        except Undecodable as error:
            return Failure.BAD_RESPONSE, _line(error), b""
        if not body:
            return Failure.EMPTY, f"status {status} without a body", b""
        return None, "", body

    def _is_document(self, kind: str, url: URL) -> bool:
        if kind in self.settings.documents:
            return True
        return kind.endswith("/octet-stream") and url.raw_path.lower().endswith(self.settings.suffixes)

    def _socket(self, info: AddrInfoType) -> socket.socket:
        family, kind, protocol, _, address = info
        if not self._guard.allowed(str(address[0])):
            raise _Refused(str(address[0]))
        return socket.socket(family, kind, protocol)

    def _is_open(self, url: str) -> bool:
        host = URL(url, encoded=True).host or ""
        try:
            ipaddress.ip_address(host)
        except ValueError:
            return True
        return self._guard.allowed(host)


@dataclass(frozen=True, slots=True)
class _Reading:
    """How a body is to be read."""

    limit: int
    any_type: bool
    cut: bool


class _Refused(OSError):
    """The guard does not let this address through."""

    def __init__(self, address: str) -> None:
        super().__init__(errno.EPERM, f"{address} is not on the public internet")


class _Broken(aiohttp.ClientError):
    """The connection broke during the exchange."""


class _Trip:
    """Follows one request: notes when it leaves, and keeps the client from silently sending it twice."""

    __slots__ = ("_clock", "_turn", "at")

    def __init__(self, clock: Callable[[], float], turn: Departure | None) -> None:
        self._clock = clock
        self._turn = turn
        self.at = clock()

    def leaves(self) -> None:
        if self._turn is not None:
            self._turn.leaves()

    def left(self) -> None:
        # The process may have had to wait since `leaves`; the host sees the request no later than now.
        self.at = self._clock()
        if self._turn is not None:
            self._turn.started()

    async def __call__(self, request: ClientRequest, handler: aiohttp.ClientHandlerType) -> ClientResponse:
        if isinstance(request, _Request):
            request.trip = self
        try:
            return await handler(request)
        except aiohttp.ClientConnectorError:
            raise
        except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError) as error:
            # On these two the client would ask again at once, inside the host's delay.
            raise _Broken(_line(error)) from error


class _Request(ClientRequest):
    """A request that tells its trip when it is sent: connecting may have taken seconds."""

    trip: _Trip | None = None

    async def send(self, conn: Connection) -> ClientResponse:
        if self.trip is None:
            return await super().send(conn)
        self.trip.leaves()
        try:
            return await super().send(conn)
        finally:
            self.trip.left()


class _Line(ResponseHandler):
    """A connection that hangs up on a host which goes on announcing its answer: each announcement costs time."""

    _announced = 0

    async def read(self) -> tuple[RawResponseMessage, StreamReader]:
        message, body = await super().read()
        self._announced = self._announced + 1 if 100 <= message.code < 200 else 0
        if self._announced > _PRELIMINARY:
            raise HttpProcessingError(code=message.code, message=f"more than {_PRELIMINARY} preliminary answers")
        return message, body


class _Connector(aiohttp.TCPConnector):
    """Makes such connections."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._factory = cast("partial[ResponseHandler]", partial(_Line, loop=self._loop))


class _Resolver(AbstractResolver):
    """Lets the client ask our `Names`."""

    def __init__(self, names: Names) -> None:
        self._names = names

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        return [
            ResolveResult(
                hostname=host,
                host=address,
                port=port,
                family=socket.AF_INET6 if ":" in address else socket.AF_INET,
                proto=0,
                flags=0,
            )
            for address in await self._names.addresses(host)
        ]

    async def close(self) -> None:
        """Nothing is held open."""


def _told(headers: Mapping[str, str]) -> dict[str, str]:
    """What was asked with, for the archive; the password of a proxy is nobody's business."""
    return {name: value for name, value in headers.items() if name != "Proxy-Authorization"}


async def _collected(answer: ClientResponse, plan: _Reading) -> bytes:
    """The body as it was sent, up to the limit."""
    parts: list[bytes] = []
    size = 0
    while part := await answer.content.readany():
        parts.append(part)
        size += len(part)
        if size > plan.limit:
            if plan.cut:
                break
            raise TooLarge
    return b"".join(parts)


async def _drain(answer: ClientResponse) -> None:
    """Read an unwanted body; that it is torn does not matter, the status has said all."""
    size = 0
    with suppress(aiohttp.ClientError, TimeoutError):
        while size < _DRAINED and (part := await answer.content.readany()):
            size += len(part)


def _named(error: Exception) -> tuple[Failure, str]:
    """The failure that stands for an error of the client."""
    cause = error.os_error if isinstance(error, aiohttp.ClientConnectorError) else error
    if isinstance(cause, _Refused):
        return Failure.ADDRESS, _line(cause)
    if isinstance(error, TimeoutError):
        return Failure.TIMEOUT, _line(error) or "no answer in time"
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return Failure.DNS, _line(cause)
    if isinstance(error, aiohttp.ClientSSLError):
        return Failure.TLS, _line(error)
    if isinstance(error, (aiohttp.ClientConnectionError, _Broken, OSError)):
        return Failure.CONNECTION, _line(error)
    return Failure.BAD_RESPONSE, _line(error)


def _line(error: BaseException) -> str:
    """An error's message as one line for people."""
    text = str(error)
    if isinstance(error, aiohttp.ServerDisconnectedError):
        text = "the host hung up" if isinstance(error.message, str) else "the answer breaks off in its headers"
    elif isinstance(error, aiohttp.ClientResponseError):
        text = error.message
    elif isinstance(error, aiohttp.ClientPayloadError):
        text = "the answer breaks off before its end"
    elif isinstance(error, OSError) and error.strerror:
        text = error.strerror
    return " ".join(text.split())[:200]
