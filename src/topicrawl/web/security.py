"""Security middleware: access control for requests and security headers for responses.

| threat | protection |
|---|---|
| DNS rebinding: a foreign host name that resolves to this server | only known names in the Host header |
| other users of the network | a token, if other machines can reach the server |
| CSRF: a form or script on another site | changes only from pages of this server, as JSON, or with the token |
| scripts in crawled pages | pages are shown as text only, and the content security policy allows only our script |
| excessive requests | limits on URL length, body size and time |
"""

from __future__ import annotations

import hmac
import json
from base64 import b64encode
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from hashlib import sha256
from html import escape
from http.cookies import CookieError, SimpleCookie
from ipaddress import ip_address
from typing import Any
from urllib.parse import parse_qsl, urlencode

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
AsgiApp = Callable[[Scope, Receive, Send], Awaitable[None]]

COOKIE_NAME = "topicrawl"
MAX_TARGET_BYTES = 8192  # bytes of path and query
MAX_BODY_BYTES = 1 << 20
MAX_UPLOAD_BYTES = 64 << 20  # for the history of a browser
UPLOAD_SUFFIX = "/history"  # suffix of the paths that accept uploads
#: Style of the page that refuses a request. It is part of the page, because a request without the token gets no file.
_REFUSAL_STYLE = (
    ":root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;max-width:36rem;margin:2rem auto;"
    "padding:0 1rem;background:#fbfbf8;color:#1c2321}label{display:grid;gap:.2rem}input,button{font:inherit;"
    "min-height:44px;padding:.35rem .7rem;border:1px solid #7a8581;border-radius:.4rem;max-width:100%}"
    "button{background:#1a6350;color:#fff;margin-top:.6rem;min-width:44px}p.note{border-left:.3rem solid #a12622;"
    "padding:.4rem .8rem}small,.quiet{color:#57615e}code{overflow-wrap:anywhere}"
    "@media(prefers-color-scheme:dark){body{background:#141817;color:#e6ebe8}small,.quiet{color:#a9b5b0}"
    "input{background:#1d2321;color:#e6ebe8}}"
)
_REFUSAL_STYLE_HASH = b64encode(sha256(_REFUSAL_STYLE.encode()).digest()).decode()
_REFUSAL_PAGE = (
    '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="color-scheme" content="light dark">'
    '<meta name="viewport" content="width=device-width, initial-scale=1"><title>{status} – Topicrawl</title>'
    "<style>{style}</style></head><body><main><h1>{title} <small>Topicrawl, {status}</small></h1>"
    '<p class="note" role="alert">{text}.</p>{form}</main></body></html>'
)
#: The form sends the token in the query string. The response stores it in a cookie and redirects without it.
_TOKEN_FORM = (
    '<form><label>Token <input name="token" type="password" required maxlength="200" autofocus'
    ' autocomplete="current-password"></label><button>Open</button></form>'
    '<p class="quiet">The token is in the address that <code>topicrawl serve</code> printed, after'
    " <code>?token=</code>.</p>"
)
_REFUSAL_TITLES = {401: "Token required", 403: "Refused", 413: "Too large", 414: "Too long", 421: "Unknown host"}
_SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
#: Headers of every response. The referrer policy `same-origin` makes browsers send the Origin header with forms.
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
    """Whether a host name or address is the loopback interface.

    >>> [is_loopback(host) for host in ("127.0.0.1", "::1", "localhost", "0.0.0.0", "example.org")]
    [True, True, True, False, False]
    """
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True)
class SecurityMiddleware:
    """ASGI middleware that checks requests and adds security headers to responses."""

    app: AsgiApp
    host_names: frozenset[str]  # accepted host names, without the port
    token: str = ""  # if empty, no token is required

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        refusal = self._check_request(scope, headers)
        if refusal is not None:
            await _refuse(scope, headers, send, *refusal)
            return
        if self.token and not self._has_token(headers):
            if (location := self._get_login_redirect(scope)) is not None:
                await _send_text(send, 303, "", {"location": location, "set-cookie": self._build_cookie()})
            else:
                is_wrong = b"token=" in scope["query_string"]
                text = (
                    "the token is wrong"
                    if is_wrong
                    else "this server requires a token: open the address that `topicrawl serve` printed"
                )
                await _refuse(scope, headers, send, 401, text)
            return
        await self.app(scope, _limit_body(scope, receive), _add_headers(send))

    def _check_request(self, scope: Scope, headers: dict[str, str]) -> tuple[int, str] | None:
        """Return the status and the message if the request is refused, else None."""
        name = _parse_host_name(headers.get("host", ""))
        if name not in self.host_names:
            return 421, "unknown host name; start the server with --name to allow it"
        if len(scope.get("raw_path") or b"") + len(scope["query_string"]) > MAX_TARGET_BYTES:
            return 414, "the address is too long"
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > _get_body_limit(scope):
            return 413, "the request body is too large"
        if scope["method"] not in _SAFE_METHODS and not self._may_change(scope, headers):
            return 403, "changes are accepted from pages of this server only"
        return None

    def _may_change(self, scope: Scope, headers: dict[str, str]) -> bool:
        """Whether a page of this server or a program sent the request. Pages of other sites cannot send the token."""
        if self.token and "origin" not in headers and _equal_tokens(_get_bearer_token(headers), self.token):
            return True
        return _is_same_origin(scope, headers)

    def _has_token(self, headers: dict[str, str]) -> bool:
        """Whether the request has the token, in the Authorization header or in the cookie."""
        given = _get_bearer_token(headers)
        try:
            cookie = SimpleCookie(headers.get("cookie", "")).get(COOKIE_NAME)
        except CookieError:
            cookie = None
        return any(_equal_tokens(text, self.token) for text in (given, cookie.value if cookie else ""))

    def _get_login_redirect(self, scope: Scope) -> str | None:
        """Return the URL without the token if the query string has the right token, else None.

        The response to such a request stores the token in a cookie and redirects to this URL.
        """
        pairs = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        if not any(key == "token" and _equal_tokens(value, self.token) for key, value in pairs):
            return None
        rest = urlencode([pair for pair in pairs if pair[0] != "token"])
        # Only one slash: a browser would treat the text after two slashes as a host.
        return "/" + str(scope["path"]).lstrip("/\\") + (f"?{rest}" if rest else "")

    def _build_cookie(self) -> str:
        return f"{COOKIE_NAME}={self.token}; HttpOnly; SameSite=Strict; Path=/; Max-Age=31536000"


def _get_bearer_token(headers: dict[str, str]) -> str:
    return headers.get("authorization", "").removeprefix("Bearer ")


def _equal_tokens(given: str, token: str) -> bool:
    """Compare two tokens in constant time."""
    return hmac.compare_digest(given.encode(), token.encode())


def _parse_host_name(host: str) -> str:
    """Return the host name of a Host header, without the port.

    >>> _parse_host_name("localhost:8000"), _parse_host_name("[::1]:80"), _parse_host_name("EXAMPLE.org")
    ('localhost', '::1', 'example.org')
    """
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.partition(":")[0].lower()


def _is_same_origin(scope: Scope, headers: dict[str, str]) -> bool:
    """Whether a page of this server or a program sent the request.

    A page of another site cannot send JSON to this server, because the server does not allow cross-origin requests.
    """
    origin = headers.get("origin")
    if origin is not None:
        return origin == f"{scope.get('scheme', 'http')}://{headers.get('host', '')}"
    if headers.get("sec-fetch-site", "same-origin") != "same-origin":
        return False
    return headers.get("content-type", "").partition(";")[0].strip().lower() == "application/json"


def _get_body_limit(scope: Scope) -> int:
    return MAX_UPLOAD_BYTES if str(scope["path"]).endswith(UPLOAD_SUFFIX) else MAX_BODY_BYTES


class BodyTooLargeError(ValueError):
    """The request body is larger than the limit."""


def _limit_body(scope: Scope, receive: Receive) -> Receive:
    """Return a receive function that raises `BodyTooLargeError` if the request body exceeds its limit.

    This also covers requests without a Content-Length header.
    """
    left = _get_body_limit(scope)

    async def read() -> Message:
        nonlocal left
        message = await receive()
        left -= len(message.get("body", b""))
        if left < 0:
            raise BodyTooLargeError("the request body is too large")
        return message

    return read


def _add_headers(send: Send) -> Send:
    """Add the security headers that a response does not set itself."""

    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            names = {name.lower() for name, _ in message.get("headers", ())}
            added = [(name.encode(), value.encode()) for name, value in HEADERS.items() if name.encode() not in names]
            message = {**message, "headers": [*message.get("headers", ()), *added]}
        await send(message)

    return send_with_headers


def _accepts_html(headers: dict[str, str]) -> bool:
    """Whether the client accepts HTML."""
    return "text/html" in headers.get("accept", "")


async def _refuse(scope: Scope, headers: dict[str, str], send: Send, status: int, text: str) -> None:
    """Send an error: an HTML page for browsers, JSON for requests of the API, else plain text."""
    if not _accepts_html(headers) and str(scope["path"]).startswith("/api/"):
        await _send_text(send, status, json.dumps({"error": text}), {"content-type": "application/json"})
    else:
        await _send_text(send, status, text, as_html=_accepts_html(headers))


async def _send_text(
    send: Send, status: int, text: str, headers: dict[str, str] | None = None, *, as_html: bool = False
) -> None:
    """Send a short text as a response, as plain text or as an HTML page."""
    all_headers = {
        "content-type": f"text/{'html' if as_html else 'plain'}; charset=utf-8",
        **HEADERS,
        **(headers or {}),
    }
    if as_html:
        text = _REFUSAL_PAGE.format(
            status=status,
            title=_REFUSAL_TITLES.get(status, "Error"),
            text=escape(text[:1].upper() + text[1:]),
            form=_TOKEN_FORM if status == 401 else "",
            style=_REFUSAL_STYLE,
        )
        policy = HEADERS["content-security-policy"]
        all_headers["content-security-policy"] = policy.replace(
            "style-src 'self'", f"style-src 'sha256-{_REFUSAL_STYLE_HASH}'"
        )
    rows = [(name.encode(), value.encode("latin-1")) for name, value in all_headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": rows})
    await send({"type": "http.response.body", "body": f"{text}\n".encode()})
