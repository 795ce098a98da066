"""Which network addresses a crawl may connect to: those of the public internet, and no others.

The guard looks at the address a socket is about to connect to, never at a name or a URL, so a name that
resolves to something else the second time, a redirect, or an odd spelling of an address cannot get around it.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Sequence
from typing import TypeAlias

from topicrawl.errors import SettingError

Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network
Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address

#: Ranges where nobody on the internet answers, although some versions of the library call them global.
_NEVER = tuple(
    ipaddress.ip_network(text)
    for text in (
        "0.0.0.0/8",  # this network
        "100.64.0.0/10",  # shared by a provider's customers
        "192.0.0.0/24",  # protocol assignments
        "192.88.99.0/24",  # the old 6to4 relay
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, and broadcast
        "::/96",  # IPv4 written as IPv6, withdrawn
        "100::/64",  # discard
        "2001::/23",  # protocol assignments, Teredo among them
        "3fff::/20",  # documentation
        "5f00::/16",  # segment routing
        "fc00::/7",  # private, a cloud's metadata address among them
        "fe80::/9",  # link-local, and the site-local range before it
        "ff00::/8",  # multicast
    )
)
_NAT64 = (ipaddress.IPv6Network("64:ff9b::/96"), ipaddress.IPv6Network("64:ff9b:1::/48"))


class Guard:
    """Says whether an address may be connected to; `allow` opens the networks it lists.

    >>> Guard().allowed("93.184.215.14"), Guard().allowed("127.0.0.1"), Guard().allowed("::ffff:10.0.0.1")
    (True, False, False)
    >>> Guard(networks(["127.0.0.0/8"])).allowed("127.0.0.1")
    True
    """

    def __init__(self, allow: Sequence[Network] = ()) -> None:
        self._allow = tuple(allow)

    def allowed(self, address: str) -> bool:
        """May a socket connect to this address? What is not an address is refused."""
        try:
            parsed = ipaddress.ip_address(address.partition("%")[0])
        except ValueError:
            return False
        if any(parsed in network for network in self._allow):
            return True
        inner = _embedded(parsed)
        if inner is not None:
            # A gateway or the kernel passes the packet on to the address inside, so that one decides.
            return self.allowed(str(inner))
        return parsed.is_global and not any(parsed in network for network in _NEVER)


def networks(specs: Iterable[str]) -> tuple[Network, ...]:
    """The networks that a user's words name; a single address is a network of one.

    >>> networks(["10.0.0.0/8", "::1"])
    (IPv4Network('10.0.0.0/8'), IPv6Network('::1/128'))
    """
    found: list[Network] = []
    for spec in specs:
        try:
            found.append(ipaddress.ip_network(spec.strip(), strict=False))
        except ValueError as error:
            raise SettingError(
                f"{spec!r} is not a network; write an address or a range such as 192.168.0.0/16"
            ) from error
    return tuple(found)


def _embedded(address: Address) -> ipaddress.IPv4Address | None:
    """The IPv4 address that a packet to this IPv6 address ends at, if it is one of the wrapping kinds."""
    if isinstance(address, ipaddress.IPv4Address):
        return None
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address.sixtofour is not None:
        return address.sixtofour
    if any(address in network for network in _NAT64):
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return None
