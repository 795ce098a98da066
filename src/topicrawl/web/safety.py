"""Who may ask the server, and what a browser may do with its answers.

| danger | what stands against it |
|---|---|
| a name of a stranger's site that leads here (DNS rebinding) | only known names in the Host header |
| other people on the network | a token, as soon as the server can be reached from other machines |
| a form or script on another site (CSRF) | changes only from pages of our own, or from programs that send JSON |
| crawled pages that carry scripts | no page of theirs is shown as such, and the policy allows no script but ours |
| requests without end | bounds on addresses, bodies and time |
"""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from html import escape
from http.cookies import CookieError, SimpleCookie
from ipaddress import ip_address
from typing import Any
from urllib.parse import parse_qsl, urlencode

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Asgi = Callable[[Scope, Receive, Send], Awaitable[None]]

COOKIE = "topicrawl"
LONGEST_TARGET = 8192  # bytes of path and query
LARGEST_BODY = 1 << 20
LARGEST_UPLOAD = 64 << 20  # a browser's history
UPLOADS = "/history"  # how the paths end that take one
#: It has no style: who has not come in yet gets no other file.
_PAGE = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="color-scheme" content="light dark">'
    '<meta name="viewport" content="width=device-width, initial-scale=1"><title>{status} – Topicrawl</title>'
    "<h1>Topicrawl <small>{status}</small></h1><p>{text}.</p>"
)
_SAFE = ("GET", "HEAD", "OPTIONS")
#: Sent with every answer. `same-origin`: with less, a browser would not say where a form comes from.
HEADERS = {
    "content-security-policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self';"
        " form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
    "cache-control": "no-store",
}


def is_loopback(host: str) -> bool:
    """
    >>> [is_loopback(host) for host in ("127.0.0.1", "::1", "localhost", "0.0.0.0", "example.org")]
    [True, True, True, False, False]
    """
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True)
class Safety:
    """Wraps the application."""

    app: Asgi
    names: frozenset[str]  # that the server may be called by, without the port
    token: str = ""  # "": whoever reaches the server may ask

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        refusal = self._refusal(scope, headers)
        if refusal is not None:
            await _plain(send, *refusal, page=_for_people(headers))
            return
        if self.token and not self._allowed(headers):
            if (where := self._entered(scope)) is not None:
                await _plain(send, 303, "", {"location": where, "set-cookie": self._cookie()})
            else:
                text = "this server asks for its token: open the address that `topicrawl serve` printed"
                await _plain(send, 401, text, page=_for_people(headers))
            return
        await self.app(scope, _bounded(scope, receive), _dressed(send))

    def _refusal(self, scope: Scope, headers: dict[str, str]) -> tuple[int, str] | None:
        name = _name(headers.get("host", ""))
        if name not in self.names:
            return 421, "this server is not called so; start it with --name to allow a name"
        if len(scope.get("raw_path") or b"") + len(scope["query_string"]) > LONGEST_TARGET:
            return 414, "the address is too long"
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > _largest(scope):
            return 413, "that is too much at once"
        if scope["method"] not in _SAFE and not _own(scope, headers):
            return 403, "changes are accepted from pages of this server only"
        return None

    def _allowed(self, headers: dict[str, str]) -> bool:
        given = headers.get("authorization", "").removeprefix("Bearer ")
        try:
            cookie = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
        except CookieError:
            cookie = None
        return any(_same(text, self.token) for text in (given, cookie.value if cookie else ""))

    def _entered(self, scope: Scope) -> str | None:
        """Where to go on for whoever has the token in the address; it leaves the address for a cookie."""
        pairs = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        if not any(key == "token" and _same(value, self.token) for key, value in pairs):
            return None
        rest = urlencode([pair for pair in pairs if pair[0] != "token"])
        # One slash: with two, a browser would take what follows for a host.
        return "/" + str(scope["path"]).lstrip("/\\") + (f"?{rest}" if rest else "")

    def _cookie(self) -> str:
        return f"{COOKIE}={self.token}; HttpOnly; SameSite=Strict; Path=/; Max-Age=31536000"


def _same(given: str, token: str) -> bool:
    return hmac.compare_digest(given.encode(), token.encode())


def _name(host: str) -> str:
    """A Host header without its port.

    >>> _name("localhost:8000"), _name("[::1]:80"), _name("EXAMPLE.org")
    ('localhost', '::1', 'example.org')
    """
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.partition(":")[0].lower()


def _own(scope: Scope, headers: dict[str, str]) -> bool:
    """Whether a change is asked for by a page of ours, or by a program: no other site can send JSON here unasked."""
    origin = headers.get("origin")
    if origin is not None:
        return origin == f"{scope.get('scheme', 'http')}://{headers.get('host', '')}"
    if headers.get("sec-fetch-site", "same-origin") != "same-origin":
        return False
    return headers.get("content-type", "").partition(";")[0].strip().lower() == "application/json"


def _largest(scope: Scope) -> int:
    return LARGEST_UPLOAD if str(scope["path"]).endswith(UPLOADS) else LARGEST_BODY


class TooMuch(ValueError):
    """A body that grew beyond its bound while it came in."""


def _bounded(scope: Scope, receive: Receive) -> Receive:
    """Reads no more than is allowed, also from whoever does not say how much will come."""
    left = _largest(scope)

    async def read() -> Message:
        nonlocal left
        message = await receive()
        left -= len(message.get("body", b""))
        if left < 0:
            raise TooMuch("that is too much at once")
        return message

    return read


def _dressed(send: Send) -> Send:
    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            here = {name.lower() for name, _ in message.get("headers", ())}
            more = [(name.encode(), value.encode()) for name, value in HEADERS.items() if name.encode() not in here]
            message = {**message, "headers": [*message.get("headers", ()), *more]}
        await send(message)

    return sent


def _for_people(headers: dict[str, str]) -> bool:
    return "text/html" in headers.get("accept", "")


async def _plain(
    send: Send, status: int, text: str, headers: dict[str, str] | None = None, *, page: bool = False
) -> None:
    """A few words; as a page, they can be read on a small screen and in the dark too."""
    told = {"content-type": f"text/{'html' if page else 'plain'}; charset=utf-8", **HEADERS, **(headers or {})}
    text = _PAGE.format(status=status, text=escape(text[:1].upper() + text[1:])) if page else text
    rows = [(name.encode(), value.encode("latin-1")) for name, value in told.items()]
    await send({"type": "http.response.start", "status": status, "headers": rows})
    await send({"type": "http.response.body", "body": f"{text}\n".encode()})
