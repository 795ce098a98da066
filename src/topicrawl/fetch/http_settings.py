"""Settings of the HTTP client: identification, timeouts, size limits, media types, proxy, allowed networks."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import quote, urlsplit, urlunsplit

from topicrawl import __version__
from topicrawl.fetch.guard import Network

#: Media types that the crawler downloads by default.
DEFAULT_ACCEPTED_TYPES = ("text/html", "application/xhtml+xml", "text/plain")


#: Environment variable with the proxy password, so that the password need not be stored in the settings.
PROXY_PASSWORD_VARIABLE = "TOPICRAWL_PROXY_PASSWORD"


def add_proxy_password(proxy: str, environment: Mapping[str, str] = os.environ) -> str:
    """Return the proxy URL with the password from the environment.

    The URL stays unchanged if it names no user or already contains a password.

    >>> add_proxy_password("http://me@proxy.example:3128", {"TOPICRAWL_PROXY_PASSWORD": "a@b"})
    'http://me:a%40b@proxy.example:3128'
    """
    parts, password = urlsplit(proxy), environment.get(PROXY_PASSWORD_VARIABLE, "")
    if not password or not parts.username or parts.password:
        return proxy
    user, _, address = parts.netloc.rpartition("@")
    return urlunsplit(parts._replace(netloc=f"{user}:{quote(password, safe='')}@{address}"))


@dataclass(frozen=True, slots=True)
class HttpSettings:
    """Settings of `HttpClient`."""

    contact: str = ""  # web or mail address for site owners, part of the User-Agent
    agent: str = f"topicrawl/{__version__}"  # product token and version for the User-Agent
    connect_timeout: float = 10.0  # seconds to connect to one address
    total_timeout: float = 30.0  # seconds from the DNS lookup to the last byte
    max_bytes: int = 10 * 1024 * 1024  # largest body, before and after decoding
    max_header_bytes: int = 256 * 1024  # the limit of Chromium
    accepted_types: tuple[str, ...] = DEFAULT_ACCEPTED_TYPES  # media types to download, named in the Accept header
    document_types: frozenset[str] = frozenset()  # further media types, not named in the Accept header
    document_suffixes: tuple[str, ...] = ()  # file name suffixes to download as octet streams
    detects_types: bool = False  # also download web pages and documents with other media types, by their first bytes
    reads_feeds: bool = False  # with `detects_types`: also download sitemaps and feeds
    proxy: str | None = None  # URL of an HTTP proxy
    max_connections: int = 256  # largest number of open connections
    dns_cache_seconds: int = 60  # lifetime of cached DNS results
    allowed_networks: tuple[Network, ...] = ()  # non-public networks that the crawler may connect to
    host_overrides: Mapping[str, str] = field(default_factory=dict)  # host name → address, like a hosts file
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)  # e.g. API keys; not archived

    @property
    def user_agent(self) -> str:
        """Value of the User-Agent header.

        >>> HttpSettings(contact="https://example.org/bot", agent="topicrawl/1").user_agent
        'topicrawl/1 (+https://example.org/bot)'
        """
        return f"{self.agent} (+{self.contact})" if self.contact else self.agent
