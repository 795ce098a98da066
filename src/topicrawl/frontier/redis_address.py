"""The address of a Redis: what may stand in it, where the password comes from, and how it is shown.

    redis://crawler@10.0.0.5:6379/0
        the password is read from REDISCLI_AUTH, or from the file that TOPICRAWL_REDIS_PASSWORD_FILE names
    rediss://crawler@redis.example.org:6380/0?ssl_ca_certs=/etc/ca.pem
        TLS, with an authority of one's own; &ssl_certfile=… &ssl_keyfile=… are the client's own certificate

An address is printed and written down; a password is neither.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from topicrawl.errors import SettingError

PASSWORD, PASSWORD_FILE = "REDISCLI_AUTH", "TOPICRAWL_REDIS_PASSWORD_FILE"
_FILES = ("ssl_ca_certs", "ssl_certfile", "ssl_keyfile")
_OPTIONS = (*_FILES, "ssl_check_hostname")
_SECRET = ("password", "ssl_password")


def without_password(address: str) -> str:
    """An address as it may be shown and stored.

    >>> without_password("rediss://me:secret@example.org:6380/1?ssl_ca_certs=/ca.pem&password=secret")
    'rediss://me@example.org:6380/1?ssl_ca_certs=/ca.pem'
    """
    parts = urlsplit(address)
    user, at, place = parts.netloc.rpartition("@")
    netloc = f"{user.partition(':')[0]}{at}{place}".removeprefix("@")
    query = [(name, value) for name, value in parse_qsl(parts.query) if name not in _SECRET]
    return urlunsplit(parts._replace(netloc=netloc, query=urlencode(query, safe="/")))


def has_password(address: str) -> bool:
    """Whether a password stands in an address, where whoever lists processes can read it.

    >>> [has_password(address) for address in ("redis://r/0", "redis://me@r/0", "redis://:secret@r/0")]
    [False, False, True]
    """
    parts = urlsplit(address)
    return bool(parts.password) or any(name in _SECRET for name, _ in parse_qsl(parts.query))


def checked(address: str) -> None:
    """Refuse an address that the library would stumble over later, or that is less safe than it looks."""
    shown, parts = without_password(address), urlsplit(address)
    if parts.scheme not in ("redis", "rediss", "unix"):
        raise SettingError(f"{shown} is no address of a Redis: write redis://host:6379/0, or rediss:// for TLS")
    for name, value in parse_qsl(parts.query):
        if name in _SECRET:
            raise SettingError(f"{shown}: write no {name} behind the address, but into {PASSWORD} or a file")
        if name not in _OPTIONS:
            raise SettingError(f"{shown}: unknown option {name!r}; there are {', '.join(_OPTIONS)}")
        if parts.scheme != "rediss":
            raise SettingError(f"{shown}: {name} is for TLS: write rediss:// in place of {parts.scheme}://")
        if name in _FILES and not os.access(value, os.R_OK):
            raise SettingError(f"{shown}: {name} names a file that cannot be read: {value}")


def password(address: str, environment: Mapping[str, str] = os.environ) -> str | None:
    """The password that does not stand in the address; None: there is none, or it does.

    >>> password("redis://me@r/0", {"REDISCLI_AUTH": "secret"}), password("redis://me:x@r/0", {"REDISCLI_AUTH": "y"})
    ('secret', None)
    """
    if urlsplit(address).password:
        return None
    if path := environment.get(PASSWORD_FILE):
        try:
            return Path(path).read_text("utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise SettingError(f"{PASSWORD_FILE} names a file that cannot be read: {path}: {error}") from error
    return environment.get(PASSWORD) or None


def advice(text: str) -> str:
    """What to do about a connection that never came about, from the library's words for it; "": nobody knows.

    >>> advice("Error 1 connecting to r:6380. [SSL: WRONG_VERSION_NUMBER] wrong version number.")
    'it does not speak TLS there: write redis://, or name its TLS port'
    """
    return next((line for sign, line in _ADVICE.items() if sign in text), "")


_ADVICE = {
    "WRONG_VERSION_NUMBER": "it does not speak TLS there: write redis://, or name its TLS port",
    "Hostname mismatch": "its certificate is for another name: write the name that stands in it",
    "IP address mismatch": "its certificate is for another name: write the name that stands in it",
    "CERTIFICATE_VERIFY_FAILED": "its certificate is not known here: name its authority: ?ssl_ca_certs=/path/ca.pem",
    "CERTIFICATE_REQUIRED": "it wants a certificate of us: ?ssl_certfile=/path/worker.pem&ssl_keyfile=/path/worker.key",
}


def hint(address: str, text: str) -> str:
    """What may be behind a server that hangs up at once, or says nothing.

    >>> hint("rediss://r:6379/0", "Timeout connecting to server")
    ': if it does not speak TLS there, write redis://'
    """
    # How newer Pythons say that they were hung up on depends on when it came.
    is_cut = any(said in text for said in ("Connection closed by server", "Connection reset", "Connection lost"))
    if "Timeout" in text and address.startswith("rediss://"):
        return ": if it does not speak TLS there, write redis://"
    if is_cut and address.startswith("rediss://") and "ssl_certfile=" not in address:
        return ": if it wants a certificate of its clients: ?ssl_certfile=/path/own.pem&ssl_keyfile=/path/own.key"
    return ": if it speaks TLS there, write rediss://" if is_cut and address.startswith("redis://") else ""
