"""HTTP client on top of aiohttp: one request gives one `Response`. The only module that uses aiohttp.

The client never follows redirects, never retries and never raises for errors of the web: an unreachable host, a
truncated response or a page that is too large is a `Failure` in the response. The address guard runs where sockets are
created, so every resolved address is checked before a packet is sent. With a proxy, the proxy connects to the host and
is trusted; the guard then checks only IP addresses written in the URL. TLS certificates are always verified.
There is no option to disable this.
"""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import socket
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
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
from msgspec.structs import replace
from yarl import URL

from topicrawl.documents.file_types import CONVERTED_TYPES, SNIFFED_BYTES, detect_type, is_feed, may_be_document
from topicrawl.fetch.cookies import RedirectCookies
from topicrawl.fetch.decoding import BodyTooLarge, DecodingError, decode_body
from topicrawl.fetch.dns import HostResolver
from topicrawl.fetch.guard import AddressGuard
from topicrawl.fetch.headers import normalize_headers
from topicrawl.fetch.http_settings import HttpSettings, add_proxy_password
from topicrawl.fetch.http_status import REDIRECT_STATUSES, classify_status, parse_retry_after
from topicrawl.models import Failure, Response

__all__ = ["HttpClient", "HttpSettings"]

#: Read error pages up to this size completely, so that the connection can be reused for the next request.
_MAX_DRAIN_BYTES = 64 * 1024
_MAX_INTERIM_RESPONSES = 16  # interim responses (1xx, such as 103 Early Hints) before the final response


class SendObserver(Protocol):
    """Callbacks around the moment at which a request is sent."""

    def before_send(self) -> None:
        """Called right before the request is sent. An exception prevents the request."""

    def after_send(self) -> None:
        """Called when the request has been sent."""


class HttpClient:
    """HTTP client with a connection pool: `async with HttpClient(settings) as http: response = await http.get(url)`."""

    def __init__(
        self,
        settings: HttpSettings | None = None,
        *,
        clock: Callable[[], float] = time.time,
        conditional_headers: Callable[[str], Mapping[str, str]] | None = None,
    ) -> None:
        self.settings = settings = settings or HttpSettings()
        self.clock = clock
        #: Returns conditional headers (such as If-None-Match) for a stored URL. None: all requests are unconditional.
        self.conditional_headers = conditional_headers
        self._guard = AddressGuard(settings.allowed_networks, settings.host_overrides)
        self._resolver: HostResolver | None = None
        self._accepted_types = frozenset(settings.accepted_types)
        self._request_headers = {
            "User-Agent": settings.user_agent,
            "Accept": ", ".join((*settings.accepted_types, "*/*;q=0.1")),
            "Accept-Encoding": "gzip, deflate, br, zstd",
            **settings.headers,
        }

    async def __aenter__(self) -> Self:
        settings = self.settings
        # One field may use a quarter of the limit; `_read_body` checks the sum of all fields.
        field_bytes = settings.max_header_bytes // 4
        self._resolver = HostResolver(settings.host_overrides, cache_seconds=settings.dns_cache_seconds)
        self._session = aiohttp.ClientSession(
            connector=_LimitedConnector(
                limit=settings.max_connections,
                ttl_dns_cache=settings.dns_cache_seconds,
                resolver=_ResolverAdapter(self._resolver, self._guard),
                socket_factory=None if settings.proxy else self._create_socket,
            ),
            headers=self._request_headers,
            proxy=add_proxy_password(settings.proxy) if settings.proxy else None,
            request_class=_TrackedRequest,
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
        max_bytes: int | None = None,
        any_type: bool = False,
        truncate: bool = False,
        observer: SendObserver | None = None,
        cookies: RedirectCookies | None = None,
    ) -> Response:
        """Send one GET request for a canonical URL. Return the response; if the request failed, its `failure` is set.

        `max_bytes` replaces the size limit of the settings, `any_type` accepts every media type, `truncate` keeps the
        beginning of a body that is too large, and `observer` is called before and after the request is sent. An
        exception of `observer.before_send`, such as `LeaseExpired`, is passed on. `cookies` are sent, and those of the
        response are added to them.
        """
        plan = _BodyOptions(self.settings.max_bytes if max_bytes is None else max_bytes, any_type, truncate)
        return await self._send_request(url, _SendTracker(self.clock, observer), plan, cookies=cookies)

    async def post(self, url: str, body: bytes, *, max_bytes: int) -> Response:
        """Send one POST request to a canonical URL. Read at most `max_bytes` bytes of a response of any media type."""
        options = _BodyOptions(max_bytes, any_type=True, truncate=False)
        return await self._send_request(url, _SendTracker(self.clock, None), options, request_body=body)

    async def find_address(self, name: str) -> str | None:
        """Return an IP address of a host name: the lowest one, so that hosts with the same addresses have the same.

        Return None if the lookup fails; the request then reports the failure. The resolver caches the addresses.
        """
        assert self._resolver is not None
        if _is_ip_address(name):
            return name
        try:
            async with asyncio.timeout(self.settings.connect_timeout):
                return min(await self._resolver.resolve(name), default=None)
        except OSError:  # includes TimeoutError
            return None

    async def _send_request(
        self,
        url: str,
        tracker: _SendTracker,
        options: _BodyOptions,
        *,
        request_body: bytes | None = None,
        cookies: RedirectCookies | None = None,
    ) -> Response:
        """Send a request (POST if it has a body) and return the response or its failure."""
        started = time.perf_counter()
        status, headers, body, request = 0, {}, b"", self._request_headers
        failure: Failure | None
        try:
            target = URL(url, encoded=True)  # prevents aiohttp from re-quoting the URL
            if self.settings.proxy:
                self._check_target(url)
            elif not self._guard.may_reach(target.host or "", [target.host or ""]):
                raise _AddressRefused(target.host or "")
            extra = dict(self.conditional_headers(url)) if self.conditional_headers is not None else {}
            if cookies is not None and (cookie_header := cookies.format_header(url)):
                extra["Cookie"] = cookie_header
            send = self._session.get if request_body is None else partial(self._session.post, data=request_body)
            async with send(target, headers=extra or None, allow_redirects=False, middlewares=(tracker,)) as reply:
                status, headers = reply.status, normalize_headers(reply.headers.items())
                if cookies is not None and "set-cookie" in headers:
                    cookies.add(url, reply.headers.getall("Set-Cookie"))
                request = _remove_proxy_password(reply.request_info.headers)
                failure, detail, body = await self._read_body(reply, headers, options)
        except (aiohttp.ClientError, OSError, ValueError) as error:
            failure, detail = _classify_error(error)
        wait = parse_retry_after(headers.get("retry-after", ""), self.clock()) if failure and headers else None
        seconds = time.perf_counter() - started
        if self.settings.headers:
            request = {}  # API keys must not be archived
        response = Response(url, url, status, headers, body, tracker.sent_at, seconds=seconds, request=request)
        return replace(response, failure=failure, detail=detail, wait=wait) if failure else response

    async def _read_body(
        self, reply: ClientResponse, headers: Mapping[str, str], options: _BodyOptions
    ) -> tuple[Failure | None, str, bytes]:
        """Read and decode the body of a reply. Return (None, "", body), or the failure, its detail and an empty body.

        The body of a redirect is discarded, and its failure is None.
        """
        status = reply.status
        if sum(map(len, headers.values())) > self.settings.max_header_bytes:
            return Failure.BAD_RESPONSE, f"the response headers exceed {self.settings.max_header_bytes} bytes", b""
        failure = classify_status(status)
        if failure is not None or status in REDIRECT_STATUSES:
            await _drain_body(reply)
            return failure, f"status {status}" if failure else "", b""
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        encoding, start = headers.get("content-encoding", ""), b""
        is_labelled = not kind or kind in self._accepted_types or self._is_document_type(kind, reply.url)
        if not is_labelled and not options.any_type:
            start = await self._read_start(reply, kind)
            if not self._accepts_start(start, kind, encoding):
                return Failure.CONTENT_TYPE, kind[:100], b""
        length = headers.get("content-length", "")
        try:
            if length.isdecimal() and len(length) < 20 and int(length) > options.max_bytes and not options.truncate:
                raise BodyTooLarge
            raw = await _read_limited(reply, options, start)
            body = decode_body(raw, encoding, limit=options.max_bytes, truncate=options.truncate)
        except BodyTooLarge:
            return Failure.TOO_LARGE, f"the body exceeds {options.max_bytes} bytes", b""
        except DecodingError as error:
            return Failure.BAD_RESPONSE, _format_error(error), b""
        if not body:
            return Failure.EMPTY, f"status {status} with an empty body", b""
        return None, "", body

    def _is_document_type(self, kind: str, url: URL) -> bool:
        """Return whether the media type, or the file name suffix of an octet stream, belongs to a document."""
        if kind in self.settings.document_types:
            return True
        return kind.endswith("/octet-stream") and url.raw_path.lower().endswith(self.settings.document_suffixes)

    async def _read_start(self, reply: ClientResponse, kind: str) -> bytes:
        """Read the first bytes of a body if its type is detected by them, else nothing."""
        start = b""
        if self.settings.detects_types and may_be_document(kind):
            while len(start) < SNIFFED_BYTES and (part := await reply.content.readany()):
                start += part
        return start

    def _accepts_start(self, start: bytes, kind: str, encoding: str) -> bool:
        """Return whether the first bytes are those of a web page or, if the crawl reads them, of a document or feed."""
        try:
            start = decode_body(start, encoding, limit=SNIFFED_BYTES, truncate=True)
        except DecodingError:
            return False
        found = detect_type(start, kind) if start else ""
        is_document = found in CONVERTED_TYPES and bool(self.settings.document_types)
        return found == "html" or is_document or (self.settings.reads_feeds and is_feed(start))

    def _create_socket(self, info: AddrInfoType) -> socket.socket:
        """Create a socket (`socket_factory` of aiohttp).

        Raise `_AddressRefused` or `_PortRefused` if the guard forbids the address or the port.
        """
        family, kind, protocol, _, address = info
        if not self._guard.is_allowed(str(address[0])):
            raise _AddressRefused(str(address[0]))
        if not self._guard.is_port_allowed(str(address[0]), int(address[1])):
            raise _PortRefused(int(address[1]))
        return socket.socket(family, kind, protocol)

    def _check_target(self, url: str) -> None:
        """Check the URL of a request through a proxy, which connects to the host in place of `_create_socket`.

        Raise `_AddressRefused` for an IP address that the guard forbids; host names are always allowed. Raise
        `_PortRefused` for a blocked port, except on an IP address in an allowed network.
        """
        host = URL(url, encoded=True).host or ""
        if _is_ip_address(host) and not self._guard.is_allowed(host, host):
            raise _AddressRefused(url)
        port = self._guard.find_refused_port(url, decides_names=True)
        if port is not None:
            raise _PortRefused(port)


@dataclass(frozen=True, slots=True)
class _BodyOptions:
    """Size limit and media type rules for reading a body."""

    max_bytes: int
    any_type: bool
    truncate: bool


class _AddressRefused(OSError):
    """The address guard refused an address."""

    def __init__(self, address: str) -> None:
        super().__init__(errno.EPERM, f"{address} is not on the public internet")


class _PortRefused(OSError):
    """The address guard refused a port."""

    def __init__(self, port: int) -> None:
        super().__init__(errno.EPERM, f"port {port} belongs to a service other than a web server")


class _ConnectionBroken(aiohttp.ClientError):
    """The connection broke while the request was in progress."""


class _SendTracker:
    """aiohttp middleware for one request: record when it is sent, and prevent aiohttp from silently resending it."""

    __slots__ = ("_clock", "_observer", "sent_at")

    def __init__(self, clock: Callable[[], float], observer: SendObserver | None) -> None:
        self._clock = clock
        self._observer = observer
        self.sent_at = clock()

    def before_send(self) -> None:
        """Call the observer before the request is sent."""
        if self._observer is not None:
            self._observer.before_send()

    def after_send(self) -> None:
        """Record the send time and call the observer."""
        # The process may have been suspended since `before_send`; the host received the request no later than now.
        self.sent_at = self._clock()
        if self._observer is not None:
            self._observer.after_send()

    async def __call__(self, request: ClientRequest, handler: aiohttp.ClientHandlerType) -> ClientResponse:
        if isinstance(request, _TrackedRequest):
            request.tracker = self
        try:
            return await handler(request)
        except aiohttp.ClientConnectorError:
            raise
        except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError) as error:
            # aiohttp would retry these two errors at once, within the crawl delay of the host.
            raise _ConnectionBroken(_format_error(error)) from error


class _TrackedRequest(ClientRequest):
    """Request that notifies its tracker when it is sent, because connecting may take seconds."""

    tracker: _SendTracker | None = None

    async def send(self, conn: Connection) -> ClientResponse:
        """Send the request and notify the tracker before and after."""
        if self.tracker is None:
            return await super().send(conn)
        self.tracker.before_send()
        try:
            return await super().send(conn)
        finally:
            self.tracker.after_send()


class _LimitedResponseHandler(ResponseHandler):
    """Response handler that fails after too many interim (1xx) responses, which would delay the crawl without end."""

    _interim_count = 0

    async def read(self) -> tuple[RawResponseMessage, StreamReader]:
        """Read the next response message. Raise `HttpProcessingError` after too many interim responses in a row."""
        message, body = await super().read()
        self._interim_count = self._interim_count + 1 if 100 <= message.code < 200 else 0
        if self._interim_count > _MAX_INTERIM_RESPONSES:
            raise HttpProcessingError(
                code=message.code, message=f"more than {_MAX_INTERIM_RESPONSES} interim responses"
            )
        return message, body


class _LimitedConnector(aiohttp.TCPConnector):
    """Connector whose connections use `_LimitedResponseHandler`."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._factory = cast("partial[ResponseHandler]", partial(_LimitedResponseHandler, loop=self._loop))


class _ResolverAdapter(AbstractResolver):
    """Adapter that lets aiohttp use `HostResolver`."""

    def __init__(self, resolver: HostResolver, guard: AddressGuard) -> None:
        self._resolver = resolver
        self._guard = guard

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """Resolve a host name to the address records of aiohttp."""
        addresses = await self._resolver.resolve(host)
        if not self._guard.may_reach(host, addresses):
            raise _AddressRefused(addresses[0])
        return [
            ResolveResult(
                hostname=host,
                host=address,
                port=port,
                family=socket.AF_INET6 if ":" in address else socket.AF_INET,
                proto=0,
                flags=0,
            )
            for address in addresses
        ]

    async def close(self) -> None:
        """Do nothing: the resolver holds no resources."""


def _is_ip_address(host: str) -> bool:
    """Return whether the host of a URL is an IP address rather than a name."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _remove_proxy_password(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the request headers for the archive, without the proxy password."""
    return {name: value for name, value in headers.items() if name != "Proxy-Authorization"}


async def _read_limited(reply: ClientResponse, options: _BodyOptions, start: bytes) -> bytes:
    """Read the encoded body after its first bytes `start`; return all of it.

    Above the size limit, raise `BodyTooLarge`, or cut the body off with `options.truncate`.
    """
    parts = [start]
    size = len(start)
    while part := await reply.content.readany():
        parts.append(part)
        size += len(part)
        if size > options.max_bytes:
            if options.truncate:
                break
            raise BodyTooLarge
    return b"".join(parts)


async def _drain_body(reply: ClientResponse) -> None:
    """Read and discard a body to reuse the connection. Errors are ignored, because only the status is needed."""
    size = 0
    with suppress(aiohttp.ClientError, TimeoutError):
        while size < _MAX_DRAIN_BYTES and (part := await reply.content.readany()):
            size += len(part)


def _classify_error(error: Exception) -> tuple[Failure, str]:
    """Map an exception of aiohttp to a failure and its detail."""
    cause = error.os_error if isinstance(error, aiohttp.ClientConnectorError) else error
    if isinstance(cause, _AddressRefused):
        return Failure.ADDRESS, _format_error(cause)
    if isinstance(cause, _PortRefused):
        return Failure.PORT, _format_error(cause)
    if isinstance(error, TimeoutError):
        return Failure.TIMEOUT, _format_error(error) or "no response within the timeout"
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return Failure.DNS, _format_error(cause)
    if isinstance(error, aiohttp.ClientSSLError):
        return Failure.TLS, _format_error(error)
    if isinstance(error, (aiohttp.ClientConnectionError, _ConnectionBroken, OSError)):
        return Failure.CONNECTION, _format_error(error)
    return Failure.BAD_RESPONSE, _format_error(error)


def _format_error(error: BaseException) -> str:
    """Return the message of an error as one readable line."""
    text = str(error)
    if isinstance(error, aiohttp.ServerDisconnectedError):
        is_closed = isinstance(error.message, str)
        text = "the host closed the connection" if is_closed else "the response headers are truncated"
    elif isinstance(error, aiohttp.ClientResponseError):
        text = error.message
    elif isinstance(error, aiohttp.ClientPayloadError):
        text = "the response body is truncated"
    elif isinstance(error, OSError) and error.strerror:
        text = error.strerror
    return " ".join(text.split())[:200]
