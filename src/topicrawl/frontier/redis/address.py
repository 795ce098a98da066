"""Redis address: validation, password lookup, and display without the password.

    redis://crawler@10.0.0.5:6379/0
        the password is read from REDISCLI_AUTH, or from the file that TOPICRAWL_REDIS_PASSWORD_FILE names
    rediss://crawler@redis.example.org:6380/0?ssl_ca_certs=/etc/ca.pem
        TLS with a private certificate authority; &ssl_certfile=… &ssl_keyfile=… name a client certificate

Addresses are printed and stored. Passwords are not.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from topicrawl.errors import SettingError

PASSWORD_VARIABLE, PASSWORD_FILE_VARIABLE = "REDISCLI_AUTH", "TOPICRAWL_REDIS_PASSWORD_FILE"
_FILE_OPTIONS = ("ssl_ca_certs", "ssl_certfile", "ssl_keyfile")
_TLS_OPTIONS = (*_FILE_OPTIONS, "ssl_check_hostname")
_PASSWORD_OPTIONS = ("password", "ssl_password")


def strip_password(address: str) -> str:
    """Return an address without its password, for display and storage.

    >>> strip_password("rediss://me:secret@example.org:6380/1?ssl_ca_certs=/ca.pem&password=secret")
    'rediss://me@example.org:6380/1?ssl_ca_certs=/ca.pem'
    """
    parts = urlsplit(address)
    user, at, location = parts.netloc.rpartition("@")
    netloc = f"{user.partition(':')[0]}{at}{location}".removeprefix("@")
    query = [(name, value) for name, value in parse_qsl(parts.query) if name not in _PASSWORD_OPTIONS]
    return urlunsplit(parts._replace(netloc=netloc, query=urlencode(query, safe="/")))


def has_password(address: str) -> bool:
    """Return whether an address contains a password, which any process listing would reveal.

    >>> [has_password(address) for address in ("redis://r/0", "redis://me@r/0", "redis://:secret@r/0")]
    [False, False, True]
    """
    parts = urlsplit(address)
    return bool(parts.password) or any(name in _PASSWORD_OPTIONS for name, _ in parse_qsl(parts.query))


def check_address(address: str) -> None:
    """Raise SettingError for an address that redis-py would reject later, or that is less secure than it looks."""
    shown, parts = strip_password(address), urlsplit(address)
    if parts.scheme not in ("redis", "rediss", "unix"):
        raise SettingError(f"{shown} is not a Redis address: use redis://host:6379/0, or rediss:// for TLS")
    for name, value in parse_qsl(parts.query):
        if name in _PASSWORD_OPTIONS:
            raise SettingError(f"{shown}: remove {name} from the address and put it into {PASSWORD_VARIABLE} or a file")
        if name not in _TLS_OPTIONS:
            raise SettingError(f"{shown}: unknown option {name!r}; the options are {', '.join(_TLS_OPTIONS)}")
        if parts.scheme != "rediss":
            raise SettingError(f"{shown}: {name} requires TLS: use rediss:// instead of {parts.scheme}://")
        if name in _FILE_OPTIONS and not os.access(value, os.R_OK):
            raise SettingError(f"{shown}: the file of {name} cannot be read: {value}")


def find_password(address: str, environment: Mapping[str, str] = os.environ) -> str | None:
    """Return the password from the environment or the password file.

    Return None if there is none, or if the address contains one.

    >>> (
    ...     find_password("redis://me@r/0", {"REDISCLI_AUTH": "secret"}),
    ...     find_password("redis://me:x@r/0", {"REDISCLI_AUTH": "y"}),
    ... )
    ('secret', None)
    """
    if urlsplit(address).password:
        return None
    if path := environment.get(PASSWORD_FILE_VARIABLE):
        try:
            return Path(path).read_text("utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise SettingError(f"the file of {PASSWORD_FILE_VARIABLE} cannot be read: {path}: {error}") from error
    return environment.get(PASSWORD_VARIABLE) or None


def get_connection_advice(text: str) -> str:
    """Return advice for a failed connection, based on the error message of redis-py, or an empty string.

    >>> get_connection_advice("Error 1 connecting to r:6380. [SSL: WRONG_VERSION_NUMBER] wrong version number.")
    'the port does not use TLS: use redis://, or the TLS port of the server'
    """
    return next((line for sign, line in _CONNECTION_ADVICE.items() if sign in text), "")


_CONNECTION_ADVICE = {
    "WRONG_VERSION_NUMBER": "the port does not use TLS: use redis://, or the TLS port of the server",
    "Hostname mismatch": "its certificate is for another name: use the host name in the certificate",
    "IP address mismatch": "its certificate is for another name: use the host name in the certificate",
    "CERTIFICATE_VERIFY_FAILED": "its certificate is not trusted: add its authority: ?ssl_ca_certs=/path/ca.pem",
    "CERTIFICATE_REQUIRED": "it requires a client certificate: ?ssl_certfile=/path/own.pem&ssl_keyfile=/path/own.key",
}


def get_connection_hint(address: str, text: str) -> str:
    """Return a likely cause if the server closes the connection immediately or does not answer.

    >>> get_connection_hint("rediss://r:6379/0", "Timeout connecting to server")
    ': if the port does not use TLS, use redis://'
    """
    # In newer Python versions the message depends on when the connection was closed.
    is_cut = any(message in text for message in ("Connection closed by server", "Connection reset", "Connection lost"))
    if "Timeout" in text and address.startswith("rediss://"):
        return ": if the port does not use TLS, use redis://"
    if is_cut and address.startswith("rediss://") and "ssl_certfile=" not in address:
        return ": if it requires a client certificate: ?ssl_certfile=/path/own.pem&ssl_keyfile=/path/own.key"
    return ": if the port uses TLS, use rediss://" if is_cut and address.startswith("redis://") else ""
