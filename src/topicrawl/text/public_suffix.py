"""Registered domains of hosts, by the Public Suffix List (see NOTICE).

A public suffix is a name under which the public registers domains, such as `com`, `co.uk` or `github.io`. The
registered domain of a host is its public suffix with one more label. The hosts of a registered domain have one owner.
"""

from __future__ import annotations

import zlib
from functools import cache
from importlib.resources import files

_MAX_CACHED_HOSTS = 50_000


class RegisteredDomains:
    """Lookup of registered domains, with a cache of the hosts that were looked up.

    >>> domains = RegisteredDomains()
    >>> [domains.get_domain(host) for host in ("a.b.example.co.uk", "me.github.io", "10.0.0.1:81")]
    ['example.co.uk', 'me.github.io', '10.0.0.1']
    """

    def __init__(self) -> None:
        self._cache: dict[str, str] = {}  # oldest entry first

    def get_domain(self, host: str) -> str:
        """Return the registered domain of a host, without the port.

        A host without a registered domain, such as an IP address or a public suffix, is returned as it is.
        """
        domain = self._cache.get(host)
        if domain is None:
            if len(self._cache) >= _MAX_CACHED_HOSTS:
                del self._cache[next(iter(self._cache))]
            domain = self._cache[host] = find_registered_domain(host)
        return domain


def find_registered_domain(host: str) -> str:
    """Return the registered domain of a host in ASCII form. See `RegisteredDomains.get_domain`.

    >>> find_registered_domain("www.ck"), find_registered_domain("a.b.c.ck"), find_registered_domain("[::1]:8080")
    ('www.ck', 'b.c.ck', '[::1]')
    >>> find_registered_domain("shop.unknown-suffix"), find_registered_domain("localhost")
    ('shop.unknown-suffix', 'localhost')
    """
    if host.startswith("["):
        return host.partition("]")[0] + "]"
    name = host.partition(":")[0].rstrip(".")
    labels = name.split(".")
    if labels[-1].isdecimal():
        return name
    size = min(_count_suffix_labels(labels) + 1, len(labels))
    return ".".join(labels[-size:])


def _count_suffix_labels(labels: list[str]) -> int:
    """Return the number of labels of the public suffix. A name that no rule matches has a suffix of one label."""
    rules = load_rules()
    for start in range(len(labels)):
        suffix = ".".join(labels[start:])
        if f"!{suffix}" in rules:
            return len(labels) - start - 1
        if suffix in rules or f"*.{'.'.join(labels[start + 1 :])}" in rules:
            return len(labels) - start
    return 1


@cache
def load_rules() -> frozenset[str]:
    """Load the rules of the Public Suffix List: suffixes, `*.` wildcards and `!` exceptions."""
    data = (files("topicrawl.text") / "data" / "public_suffixes.txt.z").read_bytes()
    return frozenset(zlib.decompress(data).decode().split("\n"))
