"""How requests are made: the settings of the HTTP client."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import quote, urlsplit, urlunsplit

from topicrawl import __version__
from topicrawl.fetch.guard import Network

#: Media types that are worth a download unless the settings say otherwise.
READABLE = ("text/html", "application/xhtml+xml", "text/plain")


#: The variable that holds the password of a proxy: an address is written down, a password is not.
PROXY_PASSWORD = "TOPICRAWL_PROXY_PASSWORD"


def with_password(proxy: str, environment: Mapping[str, str] = os.environ) -> str:
    """The address of a proxy, with the password of the environment where it names a user and no password.

    >>> with_password("http://me@proxy.example:3128", {"TOPICRAWL_PROXY_PASSWORD": "a@b"})
    'http://me:a%40b@proxy.example:3128'
    """
    parts, secret = urlsplit(proxy), environment.get(PROXY_PASSWORD, "")
    if not secret or not parts.username or parts.password:
        return proxy
    user, _, place = parts.netloc.rpartition("@")
    return urlunsplit(parts._replace(netloc=f"{user}:{quote(secret, safe='')}@{place}"))


@dataclass(frozen=True, slots=True)
class HttpSettings:
    """How requests are made."""

    contact: str = ""  # a web or mail address for the owners of the sites that are visited
    agent: str = f"topicrawl/{__version__}"  # who we say we are; the contact is added
    connect_timeout: float = 10.0  # seconds for one address to accept a connection
    total_timeout: float = 30.0  # seconds from the lookup of the name to the last byte
    max_bytes: int = 10 * 1024 * 1024  # of a body, before and after decoding
    max_header_bytes: int = 64 * 1024
    accept: tuple[str, ...] = READABLE  # media types worth reading
    documents: frozenset[str] = frozenset()  # further ones, which hosts are not told to prefer
    suffixes: tuple[str, ...] = ()  # names that are worth reading when the host does not know their media type
    proxy: str | None = None  # the URL of an HTTP proxy
    connections: int = 256  # open at once
    name_seconds: int = 60  # how long the addresses of a name are remembered
    allow: tuple[Network, ...] = ()  # networks that are opened although they are not public
    resolve: Mapping[str, str] = field(default_factory=dict)  # addresses of names, as in a hosts file
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)  # more of them; a key is shown to nobody else

    @property
    def user_agent(self) -> str:
        """
        >>> HttpSettings(contact="https://example.org/bot", agent="topicrawl/1").user_agent
        'topicrawl/1 (+https://example.org/bot)'
        """
        return f"{self.agent} (+{self.contact})" if self.contact else self.agent
