"""Settings of single hosts: delay, limits, proxy, headers, cookies and credentials.

Secret values are references to environment variables, such as `${WIKI_TOKEN}`, or come from a netrc file. Only the
references are part of the settings, so that the secrets are neither stored nor published to other workers.
"""

from __future__ import annotations

import netrc
import os
import re
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, NamedTuple
from urllib.parse import quote

from msgspec import Meta, Struct, field

from topicrawl.errors import SettingError
from topicrawl.fetch.http_settings import HttpSettings
from topicrawl.urls import canonicalize_url

#: Value of `credentials` that reads them from the netrc file.
NETRC = "netrc"

#: Secret values of at least so many characters are masked in responses.
MIN_MASKED_LENGTH = 8

_REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
#: Words in the names of headers with secret values.
_SECRET_NAMES = re.compile(r"auth|cookie|token|key|secret|passw|session|credential|signature", re.I)
#: Headers that the client sets itself.
_RESERVED_HEADERS = frozenset(
    {"host", "connection", "content-length", "transfer-encoding", "accept-encoding", "cookie"}
)

_Seconds = Annotated[float, Meta(ge=0, le=3600)]
_Count = Annotated[int, Meta(ge=0, le=2**62)]


class HostSettings(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Settings of one host, the table `[hosts."example.org"]` of a settings file. None: the setting of the crawl."""

    delay: _Seconds | None = None  # seconds between two requests
    pages: _Count | None = None  # maximum number of pages; 0: no limit
    timeout: _Seconds | None = None  # seconds of one request
    max_bytes: _Count | None = None  # size of a page
    proxy: str | None = None  # URL of an HTTP proxy; "": none
    headers: dict[str, str] = field(default_factory=dict)
    cookies: dict[str, str] = field(default_factory=dict)
    credentials: str = ""  # "netrc", or a user name and a password such as "me:${WIKI_PASSWORD}"
    allow_http: bool = False  # whether headers, cookies and credentials are also sent without TLS

    @property
    def has_session(self) -> bool:
        """Whether requests have headers, cookies or credentials of this host."""
        return bool(self.headers or self.cookies or self.credentials)


class HostSession(NamedTuple):
    """HTTP settings of a host with the values of its headers, and its cookies. The values are secret."""

    http_settings: HttpSettings  # for requests without headers and cookies of the host
    secret_headers: Mapping[str, str]
    cookies: Mapping[str, str]
    allows_http: bool
    secret_values: tuple[str, ...] = ()  # values that no response may repeat

    def is_used_for(self, url: str) -> bool:
        """Return whether requests for a URL have the headers and cookies of the host."""
        return bool(self.secret_headers or self.cookies) and (self.allows_http or url.startswith("https:"))

    def compile_secrets(self) -> re.Pattern[bytes] | None:
        """Return a pattern that finds the secret values in responses, as they are or percent-encoded; None if none.

        Values of less than `MIN_MASKED_LENGTH` characters are left out: they occur in ordinary text.

        >>> pattern = HostSession(HttpSettings(), {}, {}, False, ("a/b12345", "short")).compile_secrets()
        >>> pattern.sub(b"*", b"?key=a%2Fb12345&x=short") if pattern else None
        b'?key=*&x=short'
        """
        values = {value for value in self.secret_values if len(value) >= MIN_MASKED_LENGTH}
        forms = sorted({form for value in values for form in (value, quote(value, safe=""))}, key=len, reverse=True)
        return re.compile(b"|".join(re.escape(form.encode()) for form in forms), re.IGNORECASE) if forms else None

    def __repr__(self) -> str:
        return "HostSession(…)"


def check_host_settings(hosts: Mapping[str, HostSettings]) -> None:
    """Raise `SettingError` for an invalid host name or value. Messages contain no values, which may be secret."""
    for name, settings in hosts.items():
        where = f"hosts.{name.rpartition('@')[2]!r}"
        if canonicalize_url(f"http://{name}/") != f"http://{name}/":
            raise SettingError(
                f"{where} is not a host: write it in lower case, such as example.org or example.org:8080"
            )
        if settings.proxy and canonicalize_url(_REFERENCE.sub("x", settings.proxy)) is None:
            raise SettingError(f"{where}: the proxy is not a URL: write it as http://proxy.example:3128")
        for header, value in settings.headers.items():
            if not _HEADER_NAME.fullmatch(header) or header.lower() in _RESERVED_HEADERS:
                raise SettingError(f"{where}: the header {header!r} cannot be set")
            if _SECRET_NAMES.search(header):
                _require_reference(value, f"{where}: the header {header}")
        for cookie, value in settings.cookies.items():
            if not _HEADER_NAME.fullmatch(cookie):
                raise SettingError(f"{where}: {cookie!r} is not the name of a cookie")
            _require_reference(value, f"{where}: the cookie {cookie}")
        if settings.credentials and settings.credentials != NETRC:
            user, colon, password = settings.credentials.partition(":")
            if not user or not colon:
                raise SettingError(
                    f'{where}: credentials must be "netrc", or a name and a password: "me:${{PASSWORD}}"'
                )
            _require_reference(password, f"{where}: the password")
        if settings.credentials and any(header.lower() == "authorization" for header in settings.headers):
            raise SettingError(f"{where}: give credentials or the header Authorization, not both")


def _require_reference(value: str, what: str) -> None:
    """Raise `SettingError` unless a secret value refers to an environment variable."""
    if _REFERENCE.search(value) is None:
        raise SettingError(
            f'{what} is secret: put it into an environment variable, and write its name, such as "${{WIKI_TOKEN}}"'
        )


def build_host_session(
    name: str, settings: HostSettings, base: HttpSettings, environment: Mapping[str, str] = os.environ
) -> HostSession:
    """Return the HTTP settings, headers and cookies of a host, with the values from the environment or netrc file.

    `base` are the HTTP settings of the crawl. Raise `SettingError` if a variable or the netrc entry is missing.

    >>> session = build_host_session(
    ...     "a.org", HostSettings(headers={"X-Key": "${K}"}, timeout=5.0), HttpSettings(), {"K": "abc"}
    ... )
    >>> session.secret_headers, session.http_settings.total_timeout, session.is_used_for("http://a.org/")
    ({'X-Key': 'abc'}, 5.0, False)
    """
    where = f"hosts.{name!r}"
    headers = {header: _expand(value, where, environment) for header, value in settings.headers.items()}
    secrets = {environment[name] for value in _list_values(settings) for name in _REFERENCE.findall(value)}
    if settings.credentials:
        if settings.credentials == NETRC:
            user, password = _read_netrc(name, where, environment)
        else:
            user, _, password = _expand(settings.credentials, where, environment).partition(":")
        token = b64encode(f"{user}:{password}".encode()).decode()
        headers["Authorization"] = f"Basic {token}"
        secrets |= {password, token}
    cookies = {cookie: _expand(value, where, environment) for cookie, value in settings.cookies.items()}
    for value in (*headers.values(), *cookies.values()):
        if not value.isascii() or not value.isprintable():
            raise SettingError(f"{where}: a header or cookie is not one line of ASCII text")
    if any(";" in value or " " in value for value in cookies.values()):
        raise SettingError(f"{where}: a cookie contains a space or a semicolon: give each cookie its own line")
    http_settings = replace(
        base,
        proxy=base.proxy if settings.proxy is None else _expand(settings.proxy, where, environment),
        total_timeout=base.total_timeout if settings.timeout is None else settings.timeout,
        max_bytes=base.max_bytes if settings.max_bytes is None else settings.max_bytes,
    )
    return HostSession(http_settings, headers, cookies, settings.allow_http, tuple(secrets))


def _list_values(settings: HostSettings) -> list[str]:
    """Return the values that may contain references."""
    return [*settings.headers.values(), *settings.cookies.values(), settings.credentials]


def _expand(value: str, where: str, environment: Mapping[str, str]) -> str:
    """Replace the references in a value by the environment variables."""

    def get_variable(match: re.Match[str]) -> str:
        variable = environment.get(match[1], "")
        if not variable:
            raise SettingError(f"{where} needs the environment variable {match[1]}, which is not set")
        return variable

    return _REFERENCE.sub(get_variable, value)


def _read_netrc(name: str, where: str, environment: Mapping[str, str]) -> tuple[str, str]:
    """Return the user name and the password of a host from the netrc file, $NETRC or ~/.netrc."""
    path = environment.get("NETRC", "") or str(Path("~/.netrc").expanduser())
    try:
        entry = netrc.netrc(path).hosts.get(name.partition(":")[0])
    except OSError as error:
        raise SettingError(f"{where}: {path} cannot be read: {error.strerror}") from error
    except netrc.NetrcParseError as error:
        # The message of the parser may quote a password.
        raise SettingError(f"{where}: {path} is not a netrc file: see line {error.lineno}") from None
    if entry is None:
        raise SettingError(f"{where}: {path} has no entry for this host: add a line machine … login … password …")
    return entry[0], entry[2] or ""
