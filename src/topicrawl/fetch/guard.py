"""Address guard: allow connections to web servers of the public internet only (protection against SSRF).

The guard checks the address to which a socket is about to connect, never a host name or a URL. DNS rebinding, redirects
and unusual spellings of an address therefore cannot bypass it. Ports of other services, such as mail servers and
databases, are refused too, because such a service may execute the lines of an HTTP request as commands.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from topicrawl.errors import SettingError
from topicrawl.urls import get_host

Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network
Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address

#: Ranges that are not public, although some versions of `ipaddress` report them as global.
_BLOCKED_NETWORKS = tuple(
    ipaddress.ip_network(text)
    for text in (
        "0.0.0.0/8",  # this network
        "100.64.0.0/10",  # carrier-grade NAT
        "192.0.0.0/24",  # protocol assignments
        "192.88.99.0/24",  # the former 6to4 relay
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, including broadcast
        "2001::/23",  # protocol assignments, including Teredo, which embeds two IPv4 addresses
        "3fff::/20",  # documentation
    )
)
#: All public IPv6 addresses. The rest is reserved, private, link-local, multicast or an address with embedded IPv4.
_GLOBAL_UNICAST = ipaddress.IPv6Network("2000::/3")
#: Prefixes of addresses that contain an IPv4 address, with the prefix lengths (RFC 6052) that a translator may use.
_TRANSLATION_PREFIXES = (
    (ipaddress.IPv6Network("::ffff:0:0/96"), (96,)),  # IPv4-mapped
    (ipaddress.IPv6Network("::ffff:0:0:0/96"), (96,)),  # IPv4-translated
    (ipaddress.IPv6Network("64:ff9b::/96"), (96,)),  # NAT64
    (ipaddress.IPv6Network("64:ff9b:1::/48"), (48, 56, 64, 96)),  # NAT64, for local use
)
_THIS_NETWORK = ipaddress.IPv4Network("0.0.0.0/8")

_AFTER_SCHEME = len("https:")  # no earlier colon than this can belong to a port
#: Ports that browsers refuse: the "bad ports" of the Fetch standard.
_BROWSER_BLOCKED_PORTS = (
    "0 1 7 9 11 13 15 17 19 20 21 22 23 25 37 42 43 53 69 77 79 87 95 101 102 103 104 109 110 111 113 115 117 119 123 "
    "135 137 139 143 161 179 389 427 465 512 513 514 515 526 530 531 532 540 548 554 556 563 587 601 636 989 990 993 "
    "995 1719 1720 1723 2049 3659 4045 4190 5060 5061 6000 6566 6665 6666 6667 6668 6669 6679 6697 10080"
)
#: SQL Server, Oracle, Docker, etcd, MySQL, PostgreSQL, Redis, Cassandra, Elasticsearch (two), memcached, MongoDB.
_DATABASE_PORTS = "1433 1521 2375 2379 3306 5432 6379 9042 9200 9300 11211 27017"
#: Ports to which the crawler connects only in allowed networks.
BLOCKED_PORTS = frozenset(map(int, f"{_BROWSER_BLOCKED_PORTS} {_DATABASE_PORTS}".split()))


class AddressGuard:
    """Decide whether the crawler may connect to an address. `allowed_networks` lists additional, non-public networks.

    `fixed_addresses` maps host names to addresses, which may be private: each is allowed for its name only. In an
    allowed network, the crawler may connect to every port; elsewhere not to `BLOCKED_PORTS`.

    >>> (
    ...     AddressGuard().is_allowed("93.184.215.14"),
    ...     AddressGuard().is_allowed("127.0.0.1"),
    ...     AddressGuard().is_allowed("::ffff:10.0.0.1"),
    ... )
    (True, False, False)
    >>> AddressGuard(parse_networks(["127.0.0.0/8"])).is_allowed("127.0.0.1")
    True
    """

    def __init__(
        self, allowed_networks: Sequence[Network] = (), fixed_addresses: Mapping[str, str] | None = None
    ) -> None:
        self._allowed_networks = tuple(allowed_networks)
        self._fixed_addresses = fixed_addresses or {}
        self._opened_addresses = frozenset(self._fixed_addresses.values())

    def is_allowed(self, address: str, name: str = "") -> bool:
        """Return whether a socket may connect to an IP address; False for text that is not an address.

        `name` is the host name of the request. The fixed address of a name is allowed for this name only.

        >>> guard = AddressGuard(fixed_addresses={"wiki.example": "10.0.0.5"})
        >>> guard.is_allowed("10.0.0.5", "wiki.example"), guard.is_allowed("10.0.0.5", "evil.example")
        (True, False)
        """
        parsed = _parse_address(address)
        if parsed is None:
            return False
        if self._is_in_allowed_network(parsed):
            return True
        if address in self._opened_addresses and self._fixed_addresses.get(name) == address:
            return True
        embedded = _list_embedded_ipv4(parsed)
        if embedded:
            # A gateway or the kernel forwards the packet to the embedded address, so that address decides.
            # The address of a name is not opened in this form.
            return all(self.is_allowed(str(inner)) for inner in embedded)
        if parsed.version == 6 and parsed not in _GLOBAL_UNICAST:
            return False
        return parsed.is_global and not any(parsed in network for network in _BLOCKED_NETWORKS)

    def is_port_allowed(self, address: str, port: int) -> bool:
        """Return whether a socket may connect to a port of an IP address that `is_allowed` allows.

        >>> AddressGuard().is_port_allowed("93.184.215.14", 8080), AddressGuard().is_port_allowed("93.184.215.14", 6379)
        (True, False)
        >>> AddressGuard(parse_networks(["10.0.0.0/8"])).is_port_allowed("10.0.0.1", 9200)
        True
        """
        if port not in BLOCKED_PORTS:
            return True
        parsed = _parse_address(address)
        return parsed is not None and self._is_in_allowed_network(parsed)

    def find_refused_port(self, url: str, *, decides_names: bool = False) -> int | None:
        """Return the port of a canonical URL if no connection to it is allowed, otherwise None.

        If there are allowed networks, the address of a host name decides, and the result for the name is None. With
        `decides_names`, such a name is refused too, because the address will not be known.

        >>> (
        ...     AddressGuard().find_refused_port("http://example.org:25/"),
        ...     AddressGuard().find_refused_port("http://a.org/"),
        ... )
        (25, None)
        """
        if url.find(":", _AFTER_SCHEME) < 0:
            return None  # most URLs have no port, and this test runs for every link
        host, separator, digits = get_host(url).rpartition(":")
        if not separator or not digits.isdecimal() or int(digits) not in BLOCKED_PORTS:
            return None
        parsed = _parse_address(host.strip("[]"))
        if parsed is None:
            is_refused = decides_names or not self._allowed_networks
        else:
            is_refused = not self._is_in_allowed_network(parsed)
        return int(digits) if is_refused else None

    def _is_in_allowed_network(self, address: Address) -> bool:
        """Return whether an address, or every IPv4 address embedded in it, is in an allowed network."""
        if any(address in network for network in self._allowed_networks):
            return True
        embedded = _list_embedded_ipv4(address)
        return bool(embedded) and all(self._is_in_allowed_network(inner) for inner in embedded)


def _parse_address(text: str) -> Address | None:
    """Parse an IP address, with or without a zone. Return None for other text."""
    try:
        return ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None


def is_ip_address(host: str) -> bool:
    """Return whether a host, without brackets, is an IP address rather than a name.

    >>> is_ip_address("::1"), is_ip_address("a.org")
    (True, False)
    """
    return _parse_address(host) is not None


def parse_networks(specs: Iterable[str]) -> tuple[Network, ...]:
    """Parse networks from user input; a single address is a network of size one.

    Raise `SettingError` for a text that is neither.

    >>> parse_networks(["10.0.0.0/8", "::1"])
    (IPv4Network('10.0.0.0/8'), IPv6Network('::1/128'))
    """
    parsed: list[Network] = []
    for spec in specs:
        try:
            parsed.append(ipaddress.ip_network(spec.strip(), strict=False))
        except ValueError as error:
            raise SettingError(
                f"{spec!r} is not a network; write an address or a range such as 192.168.0.0/16"
            ) from error
    return tuple(parsed)


def _list_embedded_ipv4(address: Address) -> list[ipaddress.IPv4Address]:
    """Return the IPv4 addresses to which a translator may forward an IPv6 address; empty if it embeds none.

    The range for local use does not show the prefix length of the translator, so every possible length is applied. A
    result in 0.0.0.0/8 is dropped if another length has a result outside: it consists of bits of the prefix.

    >>> _list_embedded_ipv4(ipaddress.ip_address("64:ff9b:1::8.8.4.4"))
    [IPv4Address('8.8.4.4')]
    >>> _list_embedded_ipv4(ipaddress.ip_address("64:ff9b:1:a00:0:100::"))
    [IPv4Address('10.0.0.1')]
    """
    if isinstance(address, ipaddress.IPv4Address):
        return []
    if address.sixtofour is not None:
        return [address.sixtofour]
    for prefix, lengths in _TRANSLATION_PREFIXES:
        if address in prefix:
            embedded = [_extract_ipv4(address, length) for length in lengths]
            return [inner for inner in embedded if inner not in _THIS_NETWORK] or embedded
    return []


def _extract_ipv4(address: ipaddress.IPv6Address, prefix_length: int) -> ipaddress.IPv4Address:
    """Return the IPv4 address after a translation prefix of 32 to 96 bits (RFC 6052, section 2.2).

    >>> str(_extract_ipv4(ipaddress.IPv6Address("2001:db8:1c0:2:21::"), 40))
    '192.0.2.33'
    """
    packed = address.packed
    # Bits 64 to 71 are always zero and not part of the embedded address.
    data = packed if prefix_length == 96 else packed[:8] + packed[9:]
    start = prefix_length // 8
    return ipaddress.IPv4Address(data[start : start + 4])
