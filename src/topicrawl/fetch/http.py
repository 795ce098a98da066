"""HTTP client: one request gives one `Response`. No other module sends HTTP requests.

The client never follows redirects, never retries and never raises for errors of the web: an unreachable host, a
response that is not HTTP or a page that is too large is a `Failure` in the response. Responses that browsers display
although they deviate from the HTTP standard are accepted and marked as damaged. The address guard runs where sockets
are created, so every resolved address is checked before a packet is sent. With a proxy, the proxy connects to the host
and is trusted; the guard then checks only IP addresses written in the URL. TLS certificates are always verified.
There is no option to disable this.
"""

from __future__ import annotations

import asyncio
import re
import ssl
import time
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import NamedTuple, Protocol, Self

from topicrawl.fetch.body_reader import BodyOptions, BodyReader, BodyRefused
from topicrawl.fetch.connections import (
    AddressRefused,
    ConnectionPool,
    Endpoint,
    LookupFailed,
    PortRefused,
)
from topicrawl.fetch.cookies import RedirectCookies
from topicrawl.fetch.decoding import BodyTooLarge
from topicrawl.fetch.dns import HostResolver
from topicrawl.fetch.guard import AddressGuard, is_ip_address
from topicrawl.fetch.http_parser import ResponseError, ResponseParser
from topicrawl.fetch.http_settings import HttpSettings
from topicrawl.fetch.http_status import classify_status, parse_retry_after
from topicrawl.models import Failure, Response

__all__ = ["HttpClient", "HttpSettings"]

_URL = re.compile(r"(https?)://(?:[^/?#@]*@)?(\[[0-9A-Fa-f:.]+\]|[^/?#:@\[\]]+)(?::(\d{1,5}))?([/?][^#]*)?")
_UNSAFE_CHARACTERS = re.compile(r"[^!-~]")
_CONTROL_CHARACTERS = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")


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
        self._request_headers = {
            "User-Agent": settings.user_agent,
            "Accept": ", ".join((*settings.accepted_types, "*/*;q=0.1")),
            "Accept-Encoding": "gzip, deflate, br, zstd",
            **settings.headers,
        }

    async def __aenter__(self) -> Self:
        settings = self.settings
        self._resolver = HostResolver(settings.host_overrides, cache_seconds=settings.dns_cache_seconds)
        self._pool = ConnectionPool(settings, self._resolver, self._guard)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._pool.close()

    async def get(
        self,
        url: str,
        *,
        max_bytes: int | None = None,
        any_type: bool = False,
        truncate: bool = False,
        observer: SendObserver | None = None,
        cookies: RedirectCookies | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Response:
        """Send one GET request for a canonical URL. Return the response; if the request failed, its `failure` is set.

        `max_bytes` replaces the size limit of the settings, `any_type` accepts every media type, `truncate` keeps the
        beginning of a body that is too large, and `observer` is called before and after the request is sent. An
        exception of `observer.before_send`, such as `LeaseExpired`, is passed on. `cookies` are sent, and those of the
        response are added to them. `headers` are added to those of the client, in place of conditional headers.
        """
        options = BodyOptions(self.settings.max_bytes if max_bytes is None else max_bytes, any_type, truncate)
        return await self._send_request(url, options, observer=observer, cookies=cookies, added_headers=headers)

    async def post(self, url: str, body: bytes, *, max_bytes: int) -> Response:
        """Send one POST request to a canonical URL. Read at most `max_bytes` bytes of a response of any media type."""
        options = BodyOptions(max_bytes, any_type=True, truncate=False)
        return await self._send_request(url, options, request_body=body)

    async def find_address(self, name: str) -> str | None:
        """Return an IP address of a host name: the lowest one, so that hosts with the same addresses have the same.

        Return None if the lookup fails; the request then reports the failure. The resolver caches the addresses.
        """
        assert self._resolver is not None
        if is_ip_address(name):
            return name
        try:
            async with asyncio.timeout(self.settings.connect_timeout):
                return min(await self._resolver.resolve(name), default=None)
        except OSError:  # includes TimeoutError
            return None

    async def _send_request(
        self,
        url: str,
        options: BodyOptions,
        *,
        request_body: bytes | None = None,
        observer: SendObserver | None = None,
        cookies: RedirectCookies | None = None,
        added_headers: Mapping[str, str] | None = None,
    ) -> Response:
        """Send a request (POST if it has a body) and return the response or its failure."""
        started = time.perf_counter()
        tracker = _SendTracker(self.clock, observer)
        parser = ResponseParser(max_header_bytes=self.settings.max_header_bytes)
        reader = BodyReader(self.settings, url, options)
        request: Mapping[str, str] = {}
        failure: Failure | None
        body = b""
        try:
            target = _parse_target(url)
            request = self._build_headers(url, target, cookies, added_headers)
            data = self._format_request(target, request, request_body)
            async with asyncio.timeout(self.settings.total_timeout):
                await self._exchange(target, data, tracker, parser, reader)
            failure, detail, body = reader.finish(parser)
        except (OSError, ResponseError, ValueError, BodyTooLarge, BodyRefused) as error:
            failure, detail = _classify_error(error, options.max_bytes)
        if cookies is not None and reader.set_cookies:
            cookies.add(url, reader.set_cookies)
        headers = reader.headers
        wait = parse_retry_after(headers.get("retry-after", ""), self.clock()) if failure and headers else None
        return Response(
            url,
            url,
            reader.status,
            headers,
            body,
            tracker.sent_at,
            failure=failure,
            detail=detail,
            wait=wait,
            seconds=time.perf_counter() - started,
            request={} if self.settings.headers else request,  # API keys must not be archived
            damage=tuple(parser.damage),
            # Responses that are refused for their body are not archived, and may be large.
            wire=None
            if failure is not None and classify_status(reader.status) is None
            else reader.build_wire(parser, body),
        )

    async def _exchange(
        self, target: _RequestTarget, data: bytes, tracker: _SendTracker, parser: ResponseParser, reader: BodyReader
    ) -> None:
        """Send a request over a connection of the pool, and read the response as far as `reader` wants it.

        A host may close an idle connection at any time. A GET request to which it has not responded at all is then
        sent again over a new connection (RFC 9112, section 9.3.1).
        """
        if self.settings.proxy:
            self._check_target(target)
        is_repeated = False
        while True:
            connection = await self._pool.acquire(target.endpoint, is_new=is_repeated)
            try:
                tracker.before_send()
                try:
                    connection.send(data, parser, reader.check_progress)
                finally:
                    tracker.after_send()
                await connection.wait_for_response()
            except ConnectionError:
                if is_repeated or not connection.was_closed_idle or not data.startswith(b"GET "):
                    raise
                is_repeated = True
            else:
                return
            finally:
                self._pool.release(connection)

    def _build_headers(
        self,
        url: str,
        target: _RequestTarget,
        cookies: RedirectCookies | None,
        added_headers: Mapping[str, str] | None,
    ) -> dict[str, str]:
        """Return the headers of a request, without those for the proxy."""
        headers = {"Host": target.authority, **self._request_headers}
        if added_headers is not None:
            headers.update(added_headers)
        elif self.conditional_headers is not None:
            headers.update(self.conditional_headers(url))
        if cookies is not None and (cookie_header := cookies.format_header(url)):
            headers["Cookie"] = cookie_header
        return headers

    def _format_request(self, target: _RequestTarget, headers: Mapping[str, str], body: bytes | None) -> bytes:
        """Return the bytes of a request. A control character in a header value becomes a space."""
        lines = [f"{name}: {_CONTROL_CHARACTERS.sub(' ', value)}\r\n" for name, value in headers.items()]
        path = target.path
        if self.settings.proxy and target.endpoint.scheme == "http":
            path = f"http://{target.authority}{path}"
            if authorization := self._pool.proxy_authorization:
                lines.append(f"Proxy-Authorization: {authorization}\r\n")
        if body is not None:
            lines.append(f"Content-Length: {len(body)}\r\n")
        method = "GET" if body is None else "POST"
        head = f"{method} {path} HTTP/1.1\r\n{''.join(lines)}\r\n".encode("utf-8", "surrogateescape")
        return head + body if body else head

    def _check_target(self, target: _RequestTarget) -> None:
        """Check the target of a request through a proxy, which connects to the host in place of the pool.

        Raise `AddressRefused` for an IP address that the guard forbids; host names are always allowed. Raise
        `PortRefused` for a blocked port, except on an IP address in an allowed network.
        """
        host = target.endpoint.host
        if is_ip_address(host) and not self._guard.is_allowed(host, host):
            raise AddressRefused(host)
        url = f"{target.endpoint.scheme}://{target.authority}/"
        refused = self._guard.find_refused_port(url, decides_names=True)
        if refused is not None:
            raise PortRefused(refused)


class _RequestTarget(NamedTuple):
    """Parts of a URL that a request needs."""

    endpoint: Endpoint
    authority: str  # value of the Host header
    path: str  # with the query


class _SendTracker:
    """Time at which a request was sent; connecting may take seconds before that."""

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


def _parse_target(url: str) -> _RequestTarget:
    """Return the endpoint, the authority and the path of a canonical URL. Raise ValueError for other text.

    >>> _parse_target("https://[2606::1]/a?b")
    _RequestTarget(endpoint=Endpoint(scheme='https', host='2606::1', port=443), authority='[2606::1]', path='/a?b')
    >>> _parse_target("http://a.org.:8080?b").authority, _parse_target("http://a.org.:8080?b").path
    ('a.org:8080', '/?b')
    """
    found = _URL.fullmatch(url.partition("#")[0])
    if found is None or _UNSAFE_CHARACTERS.search(found[0]):
        raise ValueError("the URL cannot be requested")
    scheme, host, digits, path = found[1], found[2].rstrip("."), found[3], found[4] or "/"
    port = int(digits) if digits else (443 if scheme == "https" else 80)
    authority = f"{host}:{digits}" if digits else host
    return _RequestTarget(Endpoint(scheme, host.strip("[]"), port), authority, path if path[0] == "/" else f"/{path}")


def _classify_error(error: Exception, max_bytes: int) -> tuple[Failure, str]:
    """Map an exception of a request to a failure and its detail."""
    if isinstance(error, BodyTooLarge):
        return Failure.TOO_LARGE, f"the body exceeds {max_bytes} bytes"
    if isinstance(error, BodyRefused):
        return Failure.CONTENT_TYPE, str(error)
    if isinstance(error, TimeoutError):
        return Failure.TIMEOUT, _format_error(error) or "no response within the timeout"
    if not isinstance(error, OSError):
        return Failure.BAD_RESPONSE, _format_error(error)
    failure = Failure.CONNECTION
    for kind, name in _ERROR_FAILURES:
        if isinstance(error, kind):
            failure = name
    return failure, _format_error(error)


_ERROR_FAILURES = (
    (AddressRefused, Failure.ADDRESS),
    (PortRefused, Failure.PORT),
    (LookupFailed, Failure.DNS),
    (ssl.SSLError, Failure.TLS),
)


def _format_error(error: BaseException) -> str:
    """Return the message of an error as one readable line."""
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return " ".join(text.split())[:200] or ("the connection broke" if isinstance(error, OSError) else "")
