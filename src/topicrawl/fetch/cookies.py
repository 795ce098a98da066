"""Cookies of one redirect chain (RFC 6265): some sites set a cookie and redirect back to the same URL."""

from __future__ import annotations

import ipaddress
import time
from collections.abc import Callable, Iterable, Mapping
from email.utils import parsedate_to_datetime
from typing import NamedTuple
from urllib.parse import urlsplit

#: Limits of one redirect chain. Browsers keep at least 50 cookies of 4,096 bytes per host.
MAX_COOKIES = 50
MAX_COOKIE_BYTES = 4096
MAX_TOTAL_BYTES = 16 * 1024


class _ChainCookie(NamedTuple):
    """A cookie with the requests that it belongs to."""

    name: str
    value: str
    host: str  # without the port
    is_for_subdomains: bool
    path: str
    is_secure: bool

    def matches(self, scheme: str, host: str, path: str) -> bool:
        """Return whether the cookie is sent with a request."""
        if self.is_secure and scheme != "https":
            return False
        if host != self.host and not (self.is_for_subdomains and host.endswith(f".{self.host}")):
            return False
        directory = self.path if self.path.endswith("/") else f"{self.path}/"
        return path == self.path or path.startswith(directory)


class RedirectCookies:
    """Cookies that the responses of one redirect chain have set. The caller discards them with the chain.

    `get_session_cookies` returns the cookies that the user has set for a URL. They are sent too, unless a response has
    set a cookie with the same name.

    >>> cookies = RedirectCookies()
    >>> cookies.add("http://a.org/login", ["visitor=1; Path=/", "part=2; Path=/shop"])
    >>> cookies.format_header("http://a.org/"), cookies.format_header("http://a.org/shop/1")
    ('visitor=1', 'part=2; visitor=1')
    >>> cookies.format_header("http://b.org/")
    ''
    """

    def __init__(
        self,
        clock: Callable[[], float] = time.time,
        *,
        get_session_cookies: Callable[[str], Mapping[str, str]] | None = None,
    ) -> None:
        self._clock = clock
        self._get_session_cookies = get_session_cookies
        self._cookies: dict[tuple[str, str, str], _ChainCookie] = {}

    def add(self, url: str, fields: Iterable[str]) -> None:
        """Store the cookies in the Set-Cookie fields of the response at `url`.

        A cookie that is malformed, expired, too large or for another host is ignored. An expired cookie deletes the
        stored one. Above `MAX_COOKIES` cookies or `MAX_TOTAL_BYTES` bytes, new cookies are ignored.
        """
        for field in fields:
            parsed = _parse_cookie(url, field, self._clock())
            if parsed is None:
                continue
            cookie, is_expired = parsed
            key = (cookie.name, cookie.host, cookie.path)
            self._cookies.pop(key, None)
            size = sum(len(stored.name) + len(stored.value) for stored in self._cookies.values())
            has_space = len(self._cookies) < MAX_COOKIES and size + len(field) <= MAX_TOTAL_BYTES
            if not is_expired and has_space:
                self._cookies[key] = cookie

    def format_header(self, url: str) -> str:
        """Return the Cookie header of a request for `url`, "" if no cookie belongs to it. Longer paths come first."""
        session = self._get_session_cookies(url) if self._get_session_cookies is not None else {}
        if not self._cookies and not session:
            return ""
        parts = urlsplit(url)
        host = parts.hostname or ""
        found = [cookie for cookie in self._cookies.values() if cookie.matches(parts.scheme, host, parts.path or "/")]
        found.sort(key=lambda cookie: -len(cookie.path))
        pairs = [f"{cookie.name}={cookie.value}" if cookie.name else cookie.value for cookie in found]
        names = {cookie.name for cookie in found}
        return "; ".join([*pairs, *(f"{name}={value}" for name, value in session.items() if name not in names)])


def _parse_cookie(url: str, field: str, now: float) -> tuple[_ChainCookie, bool] | None:
    """Return the cookie of a Set-Cookie field and whether it has expired; None if it must be ignored."""
    pair, *attributes = field.split(";")
    name, equals, value = pair.partition("=")
    name, value = (name.strip(), value.strip()) if equals else ("", pair.strip())
    # Other characters cannot be sent back in a header.
    if not (name or value) or len(field) > MAX_COOKIE_BYTES or not (field.isascii() and field.isprintable()):
        return None
    options = {key.strip().lower(): text.strip() for key, _, text in (part.partition("=") for part in attributes)}
    parts = urlsplit(url)
    host, is_secure = parts.hostname or "", "secure" in options
    domain = options.get("domain", "").lower().removeprefix(".")
    if domain and domain != host and not _is_parent_domain(domain, host):
        return None
    if is_secure and parts.scheme != "https":
        return None
    path = options.get("path", "")
    if not path.startswith("/"):
        path = (parts.path or "/").rpartition("/")[0] or "/"
    return _ChainCookie(name, value, domain or host, bool(domain), path, is_secure), _is_expired(options, now)


def _is_parent_domain(domain: str, host: str) -> bool:
    """Return whether a host may set cookies for a domain: a parent domain with at least two labels."""
    if "." not in domain or not host.endswith(f".{domain}"):
        return False
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return True
    return False


def _is_expired(options: dict[str, str], now: float) -> bool:
    """Return whether the attributes say that a cookie has expired. Max-Age has priority over Expires."""
    age = options.get("max-age", "")
    if age.removeprefix("-").isdecimal():
        return age.startswith("-") or not age.strip("0")
    try:
        return parsedate_to_datetime(options.get("expires", "")).timestamp() <= now
    except (ValueError, OverflowError):
        return False
