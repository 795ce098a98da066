"""HTTP/1.1 connections over asyncio: connect under the address guard, keep connections open, send requests.

The guard checks every address right before the socket connects to it, so neither DNS rebinding nor a redirect can
bypass it. With a proxy, the proxy connects to the host and is trusted. TLS certificates are always verified.
"""

from __future__ import annotations

import asyncio
import errno
import math
import select
import socket
import ssl
from base64 import b64encode
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import NamedTuple, TypeAlias, cast
from urllib.parse import unquote, urlsplit

from topicrawl.fetch.dns import HostResolver
from topicrawl.fetch.guard import AddressGuard, is_ip_address
from topicrawl.fetch.http_parser import ResponseError, ResponseParser
from topicrawl.fetch.http_settings import HttpSettings, add_proxy_password

#: Seconds for which an unused connection stays open. A new TLS connection costs as much CPU time as parsing a page.
_IDLE_SECONDS = 15.0
_MIN_KEEP_ALIVE_SECONDS = 0.5  # no host closes a connection that was idle for less
_ATTEMPT_DELAY = 0.25  # seconds before the next address of a host is tried too (RFC 8305 recommends this value)
_MAX_ADDRESSES = 8  # addresses of a host that are tried

#: Decides after each received piece whether to read on. False ends the response; an exception is passed to the caller.
ProgressFunction: TypeAlias = Callable[[ResponseParser], bool]


class AddressRefused(OSError):
    """The address guard refused an address."""

    def __init__(self, address: str) -> None:
        super().__init__(errno.EPERM, f"{address} is not on the public internet")


class PortRefused(OSError):
    """The address guard refused a port."""

    def __init__(self, port: int) -> None:
        super().__init__(errno.EPERM, f"port {port} belongs to a service other than a web server")


class LookupFailed(OSError):
    """A host name has no address."""


class Endpoint(NamedTuple):
    """Scheme, host and port of a URL. The host has neither brackets nor a trailing dot."""

    scheme: str
    host: str
    port: int


class HttpConnection(asyncio.Protocol):
    """One connection, with at most one request at a time. `on_lost` is called when the connection has ended."""

    def __init__(self, on_lost: Callable[[HttpConnection], None]) -> None:
        self.endpoint: Endpoint | None = None  # what the pool uses the connection for
        self.is_open = False
        self.idle_since = math.inf  # when the response before the last request ended
        self._has_answered = False  # whether a part of the response to the last request has arrived
        self._sent_at = 0.0
        self._on_lost = on_lost
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._parser: ResponseParser | None = None
        self._progress: ProgressFunction | None = None
        self._done: asyncio.Future[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Store the transport (callback of asyncio)."""
        self._transport = cast(asyncio.Transport, transport)  # the transports of uvloop are no subclasses
        self.is_open = True

    def data_received(self, data: bytes) -> None:
        """Parse received bytes (callback of asyncio). Bytes without a request close the connection."""
        parser, progress = self._parser, self._progress
        if parser is None or progress is None:
            self.abort()
            return
        self._has_answered = True
        try:
            parser.feed(data)
            reads_on = parser.head is None or progress(parser)
        except Exception as error:  # noqa: BLE001  # passed to the task that waits for the response
            self._finish(error)
            return
        if parser.is_complete or not reads_on:
            self._finish(None)

    def connection_lost(self, error: Exception | None) -> None:
        """End the response in progress, if any (callback of asyncio)."""
        self.is_open = False
        if self._parser is not None:
            try:
                if error is not None:
                    self._parser.note_reset()
                self._parser.feed_end()
            except EOFError as end:
                self._finish(error or ConnectionResetError(errno.ECONNRESET, str(end)))
            except ResponseError as damage:
                self._finish(damage)
            else:
                self._finish(None)
        self._on_lost(self)

    async def exchange(self, request: bytes, parser: ResponseParser, progress: ProgressFunction) -> None:
        """Send a request and feed the response to `parser`, until it is complete or `progress` returns False.

        Raise OSError if the connection breaks before the headers are complete, `ResponseError` for a response that is
        not acceptable, and exceptions of `progress`. The connection stays open only after a complete response.
        """
        self.send(request, parser, progress)
        await self.wait_for_response()

    def send(self, request: bytes, parser: ResponseParser, progress: ProgressFunction) -> None:
        """Send a request. `wait_for_response` waits for the response."""
        assert self._transport is not None
        self._done = self._loop.create_future()
        self._parser, self._progress = parser, progress
        self._has_answered, self._sent_at = False, self._loop.time()
        if not self.is_open:
            self._finish(ConnectionResetError(errno.ECONNRESET, "the host closed the connection"))
            return
        self._transport.write(request)

    @property
    def was_closed_idle(self) -> bool:
        """Whether the host has probably closed the connection before it received the last request.

        It has not answered, and the connection was idle before that. At once after a response, the host probably
        breaks the connection because of the request.
        """
        return not self._has_answered and self._sent_at - self.idle_since >= _MIN_KEEP_ALIVE_SECONDS

    def has_input(self) -> bool:
        """Return whether the host has sent something that the event loop has not read yet, such as the end of the data.

        This takes 2 µs.
        """
        connected = self._transport.get_extra_info("socket") if self._transport is not None else None
        if connected is None or not hasattr(select, "poll"):  # Windows has no poll
            return False
        poll = select.poll()
        poll.register(connected.fileno(), select.POLLIN)
        return bool(poll.poll(0))

    async def wait_for_response(self) -> None:
        """Wait for the response to the request that was sent. Exceptions as in `exchange`."""
        assert self._done is not None
        try:
            await self._done
        except asyncio.CancelledError:
            self._parser = self._progress = None
            self.abort()
            raise

    async def start_tls(self, context: ssl.SSLContext, host: str) -> None:
        """Start TLS on a connection through a proxy."""
        assert self._transport is not None
        transport = await self._loop.start_tls(self._transport, self, context, server_hostname=host)
        if transport is None:
            raise ConnectionResetError(errno.ECONNRESET, "the host closed the connection")
        self._transport = transport

    def abort(self) -> None:
        """Close the connection at once."""
        self.is_open = False
        if self._transport is not None:
            self._transport.abort()

    def _finish(self, error: Exception | None) -> None:
        """End the exchange, and close the connection unless it can be used again."""
        parser, done = self._parser, self._done
        self._parser = self._progress = None
        if error is not None or parser is None or not (parser.is_complete and parser.can_reuse):
            self.abort()
        if done is not None and not done.done():
            if error is None:
                done.set_result(None)
            else:
                done.set_exception(error)


class ConnectionPool:
    """Open connections by endpoint. A connection is in use by one request, or idle for at most `_IDLE_SECONDS`."""

    def __init__(self, settings: HttpSettings, resolver: HostResolver, guard: AddressGuard) -> None:
        self._settings, self._resolver, self._guard = settings, resolver, guard
        self._loop = asyncio.get_running_loop()
        self._slots = asyncio.Semaphore(settings.max_connections)
        self._idle: dict[Endpoint, list[HttpConnection]] = {}
        self._idle_until: dict[HttpConnection, float] = {}  # in the order of their release
        self._in_use: set[HttpConnection] = set()
        self._tls_context: ssl.SSLContext | None = None
        self._proxy = _parse_proxy(settings.proxy) if settings.proxy else None

    @property
    def proxy_authorization(self) -> str:
        """Value of the header Proxy-Authorization for requests that the proxy reads; "" if there is none."""
        return self._proxy.authorization if self._proxy else ""

    async def acquire(self, endpoint: Endpoint, *, is_new: bool = False) -> HttpConnection:
        """Return an idle connection to an endpoint, or open one. Call `release` afterwards. `is_new`: always open one.

        Raise OSError if no connection is possible: `LookupFailed`, `AddressRefused`, `PortRefused`, `ssl.SSLError`,
        TimeoutError or another one.
        """
        if self._proxy is not None and endpoint.scheme == "http":
            endpoint = self._proxy.endpoint  # the proxy serves all hosts over one connection
        await self._slots.acquire()
        try:
            connection = (None if is_new else self._take_idle(endpoint)) or await self._connect(endpoint)
        except BaseException:
            self._slots.release()
            raise
        connection.endpoint = endpoint
        self._in_use.add(connection)
        return connection

    def release(self, connection: HttpConnection) -> None:
        """Take a connection back. If it is still open, it becomes idle."""
        self._in_use.discard(connection)
        self._slots.release()
        if not connection.is_open or connection.endpoint is None:
            return
        now = self._loop.time()
        connection.idle_since = now
        self._idle.setdefault(connection.endpoint, []).append(connection)
        self._idle_until[connection] = now + _IDLE_SECONDS
        while self._idle_until:
            oldest, until = next(iter(self._idle_until.items()))
            if until > now and len(self._idle_until) <= self._settings.max_connections:
                break
            self._forget_idle(oldest)
            oldest.abort()

    async def close(self) -> None:
        """Close all connections."""
        for connection in (*self._idle_until, *self._in_use):
            connection.abort()
        await asyncio.sleep(0)  # the transports close their sockets in the next iteration of the loop

    def _take_idle(self, endpoint: Endpoint) -> HttpConnection | None:
        """Return the idle connection that was used last, or None."""
        while connections := self._idle.get(endpoint):
            connection = connections[-1]
            until = self._idle_until[connection]
            self._forget_idle(connection)
            if connection.is_open and until > self._loop.time() and not connection.has_input():
                return connection
            connection.abort()
        return None

    def _forget_idle(self, connection: HttpConnection) -> None:
        """Remove a connection from the idle ones, if it is among them."""
        if self._idle_until.pop(connection, None) is None or connection.endpoint is None:
            return
        connections = self._idle[connection.endpoint]
        connections.remove(connection)
        if not connections:
            del self._idle[connection.endpoint]

    async def _connect(self, endpoint: Endpoint) -> HttpConnection:
        """Open a connection to an endpoint, through the proxy if there is one."""
        if self._proxy is None or endpoint == self._proxy.endpoint:
            return await self._open_direct(endpoint)
        connection = await self._open_direct(self._proxy.endpoint)
        try:
            await self._open_tunnel(connection, endpoint)
        except BaseException:
            connection.abort()
            raise
        return connection

    async def _open_direct(self, endpoint: Endpoint) -> HttpConnection:
        """Open a connection to a host or to the proxy."""
        if is_ip_address(endpoint.host):
            addresses: Sequence[str] = [endpoint.host]
        else:
            try:
                addresses = await self._resolver.resolve(endpoint.host)
            except OSError as error:
                raise LookupFailed(error.errno, error.strerror or str(error)) from error
        connected = await self._connect_any(addresses[:_MAX_ADDRESSES], endpoint)
        is_tls = endpoint.scheme == "https"
        try:
            _, connection = await self._loop.create_connection(
                lambda: HttpConnection(self._forget_idle),
                sock=connected,
                ssl=self._get_tls_context() if is_tls else None,
                server_hostname=endpoint.host if is_tls else None,
            )
        except BaseException:
            connected.close()
            raise
        return connection

    async def _connect_any(self, addresses: Sequence[str], endpoint: Endpoint) -> socket.socket:
        """Return a socket that is connected to one of the addresses, which are tried in order and overlapping.

        Raise the last error if no address can be reached.
        """
        if len(addresses) == 1:
            return await self._connect_address(addresses[0], endpoint)
        attempts: set[asyncio.Task[socket.socket]] = set()
        waiting = list(addresses)
        failure = OSError(errno.EADDRNOTAVAIL, "the host has no address")
        try:
            while waiting or attempts:
                if waiting:
                    attempts.add(asyncio.create_task(self._connect_address(waiting.pop(0), endpoint)))
                delay = _ATTEMPT_DELAY if waiting else None
                finished, attempts = await asyncio.wait(attempts, timeout=delay, return_when=asyncio.FIRST_COMPLETED)
                for attempt in finished:
                    error = attempt.exception()
                    if error is None:
                        attempts |= finished - {attempt}
                        return attempt.result()
                    if not isinstance(error, OSError):
                        raise error
                    failure = error
            raise failure
        finally:
            for attempt in attempts:
                attempt.cancel()
                attempt.add_done_callback(_close_late_socket)

    async def _connect_address(self, address: str, endpoint: Endpoint) -> socket.socket:
        """Connect a socket to an address. Raise `AddressRefused` or `PortRefused` if the guard forbids it."""
        if self._proxy is None:
            if not self._guard.is_allowed(address, endpoint.host):
                raise AddressRefused(address)
            if not self._guard.is_port_allowed(address, endpoint.port):
                raise PortRefused(endpoint.port)
        opened = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM)
        try:
            opened.setblocking(False)
            with suppress(OSError):
                opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            async with asyncio.timeout(self._settings.connect_timeout):
                await self._loop.sock_connect(opened, (address, endpoint.port))
        except BaseException:
            opened.close()
            raise
        return opened

    async def _open_tunnel(self, connection: HttpConnection, endpoint: Endpoint) -> None:
        """Ask the proxy for a tunnel to an endpoint, and start TLS in it."""
        assert self._proxy is not None
        name = f"[{endpoint.host}]" if ":" in endpoint.host else endpoint.host
        authority = f"{name}:{endpoint.port}"
        lines = [f"CONNECT {authority} HTTP/1.1", f"Host: {authority}"]
        if self._proxy.authorization:
            lines.append(f"Proxy-Authorization: {self._proxy.authorization}")
        parser = ResponseParser(max_header_bytes=self._settings.max_header_bytes, has_body=False)
        request = "\r\n".join([*lines, "", ""]).encode()
        await connection.exchange(request, parser, lambda _: True)
        status = parser.head.status if parser.head else 0
        if not 200 <= status < 300:
            raise ResponseError(f"the proxy refused the connection with status {status}")
        await connection.start_tls(self._get_tls_context(), endpoint.host)

    def _get_tls_context(self) -> ssl.SSLContext:
        """Return the TLS context, which verifies certificates.

        Python leaves out cipher suites that hosts with old software need. The default of OpenSSL is that of curl, and
        Chromium accepts these suites too.
        """
        if self._tls_context is None:
            self._tls_context = ssl.create_default_context()
            self._tls_context.set_ciphers("DEFAULT")
            self._tls_context.set_alpn_protocols(["http/1.1"])
        return self._tls_context


class _ProxyAddress(NamedTuple):
    """Endpoint of the proxy, and the value of Proxy-Authorization."""

    endpoint: Endpoint
    authorization: str


def _parse_proxy(url: str) -> _ProxyAddress:
    """Return the endpoint and the authorization of a proxy URL, with the password from the environment."""
    parts = urlsplit(add_proxy_password(url))
    port = parts.port or (443 if parts.scheme == "https" else 80)
    authorization = ""
    if parts.username:
        user = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        authorization = f"Basic {b64encode(user.encode()).decode()}"
    return _ProxyAddress(Endpoint(parts.scheme, parts.hostname or "", port), authorization)


def _close_late_socket(attempt: asyncio.Task[socket.socket]) -> None:
    """Close the socket of an attempt that succeeded after another one."""
    if not attempt.cancelled() and attempt.exception() is None:
        attempt.result().close()
