"""Delays between requests to the hosts of one IP address and of one registered domain.

A server may have thousands of host names, and the delay per host does not protect it. Therefore requests to its hosts
take turns. The delay between two turns is shorter than the delay of a host, so that many sites on a shared server or a
content delivery network are crawled faster than one site.

A turn is reserved right before the request is sent. If the next turn is far away, the link goes back to the frontier
until a later turn, and the fetch is free for other hosts. Each worker of a shared crawl has turns of its own.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass
from ipaddress import ip_address

from topicrawl.fetch.guard import Network
from topicrawl.text.public_suffix import RegisteredDomains

_MAX_WAIT = 2.0  # seconds that a fetch waits for its turn
_MAX_POSTPONEMENT = 600.0  # seconds
_MIN_SWEEP_SIZE = 1024


@dataclass(frozen=True, slots=True)
class GroupDelays:
    """Seconds between two requests to the hosts of a group. None: the default, which does not apply to own hosts."""

    default: float
    domain: float | None = None
    address: float | None = None


@dataclass(frozen=True, slots=True)
class OwnHosts:
    """Hosts whose address the user has set, and hosts in networks that the user has opened."""

    fixed_hosts: Collection[str] = ()
    allowed_networks: Sequence[Network] = ()

    def contains(self, name: str, address: str | None) -> bool:
        """Return whether the user has opened the address of a host, or has set it."""
        if name in self.fixed_hosts:
            return True
        if address is None or not self.allowed_networks:
            return False
        parsed = ip_address(address.partition("%")[0])
        return any(parsed in network for network in self.allowed_networks)


_NO_HOSTS = OwnHosts()


def get_host_name(host: str) -> str:
    """Return a host without its port and without the brackets of an IPv6 address.

    >>> get_host_name("a.org:8080"), get_host_name("[2001:db8::1]:80")
    ('a.org', '2001:db8::1')
    """
    return host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]


class HostGroups:
    """Turns of the hosts of each IP address and each registered domain.

    `find_address` returns an IP address of a host name. The default delay does not apply to the user's `own_hosts`, but
    explicit delays do.
    """

    def __init__(
        self,
        find_address: Callable[[str], Awaitable[str | None]],
        delays: GroupDelays,
        *,
        own_hosts: OwnHosts = _NO_HOSTS,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self._find_address = find_address
        self._delays = delays
        self._own_hosts = own_hosts
        self._clock = clock
        self._sleep = sleep
        self._domains = RegisteredDomains()
        self._next_turns: dict[str, float] = {}  # group → earliest time of its next request
        self._postponed_turns: dict[str, float] = {}  # group → last turn of a link that went back to the frontier
        self._sweep_size = _MIN_SWEEP_SIZE

    async def wait_for_turn(self, host: str) -> None:
        """Reserve the next turn of the groups of a host, and wait for it."""
        groups = await self._find_groups(host)
        if not groups:
            return
        now = self._clock()
        turn = max(now, *(self._next_turns.get(name, now) for name, _ in groups))
        for name, delay in groups:
            self._next_turns[name] = turn + delay
        self._forget_past_turns(now)
        # Timers may fire early, so the clock is checked again after each sleep.
        while (remaining := turn - self._clock()) > 0:
            await self._sleep(remaining)

    async def postpone_turn(self, host: str) -> float:
        """Return 0 if the next turn of a host is near. Otherwise return the seconds until a later turn of its own."""
        groups, now = await self._find_groups(host), self._clock()
        if all(self._next_turns.get(name, now) - now <= _MAX_WAIT for name, _ in groups):
            return 0.0
        turn = now
        for name, delay in groups:
            turn = max(turn, max(self._next_turns.get(name, now), self._postponed_turns.get(name, now)) + delay)
        turn = min(turn, now + _MAX_POSTPONEMENT)
        for name, _ in groups:
            self._postponed_turns[name] = turn
        return turn - now

    async def _find_groups(self, host: str) -> list[tuple[str, float]]:
        """Return the groups of a host with their delays, without those that have no delay."""
        delays = self._delays
        if not any((delays.default, delays.domain, delays.address)):
            return []
        name = get_host_name(host)
        address = await self._find_address(name)
        default = 0.0 if self._own_hosts.contains(name, address) else delays.default
        groups = [(f"domain {self._domains.get_domain(host)}", default if delays.domain is None else delays.domain)]
        if address is not None:
            groups.append((f"address {address}", default if delays.address is None else delays.address))
        return [(group, delay) for group, delay in groups if delay > 0]

    def _forget_past_turns(self, now: float) -> None:
        """Sometimes forget the groups whose turns have passed."""
        if len(self._next_turns) >= self._sweep_size:
            self._next_turns = {name: turn for name, turn in self._next_turns.items() if turn > now}
            self._postponed_turns = {name: turn for name, turn in self._postponed_turns.items() if turn > now}
            self._sweep_size = max(_MIN_SWEEP_SIZE, 2 * len(self._next_turns))
