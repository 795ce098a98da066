"""Page budget of IP addresses: a server with any number of domains gets a limited part of the crawl.

A domain per page, or per few pages, costs a spam farm little, and the budgets per host and per registered domain do not
stop it. The hosts of a farm usually share a few addresses. Shared hosting and content delivery networks serve many
sites from one address too, so the default limit is larger than that of a registered domain.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping

from topicrawl.fetch.host_groups import OwnHosts, get_host_name

_DEFAULT_LIMIT = 50_000  # pages
_MAX_ADDRESSES = 100_000  # addresses that are counted; the one that was counted first is forgotten


class AddressPageBudget:
    """Pages that were fetched from each IP address, and their limit.

    `find_address` returns an IP address of a host name. `limit` applies to all addresses (0: no limit). None is the
    default limit, which does not apply to the user's own hosts.
    """

    def __init__(
        self, find_address: Callable[[str], Awaitable[str | None]], limit: int | None, *, own_hosts: OwnHosts
    ) -> None:
        self._find_address, self._limit, self._own_hosts = find_address, limit, own_hosts
        self._pages: Counter[str] = Counter()  # by address
        self._has_full_address = False

    async def is_spent(self, host: str) -> bool:
        """Return whether the address of a host has reached its page budget. Until one has, no address is looked up."""
        if not self._has_full_address:
            return False
        name = get_host_name(host)
        address = await self._find_address(name)
        return address is not None and self._pages[address] >= self._get_limit(name, address)

    async def count_page(self, host: str) -> None:
        """Count a page that was fetched from a host."""
        if self._limit == 0:
            return
        name = get_host_name(host)
        address = await self._find_address(name)
        if address is None:
            return
        self._pages[address] += 1
        if self._pages[address] >= self._get_limit(name, address):
            self._has_full_address = True
        if len(self._pages) > _MAX_ADDRESSES:
            del self._pages[next(iter(self._pages))]

    def get_state(self) -> dict[str, int]:
        """Return the number of pages by address."""
        return dict(self._pages)

    def restore_state(self, state: Mapping[str, int]) -> None:
        """Restore a state that `get_state` returned."""
        self._pages = Counter({address: int(pages) for address, pages in state.items()})
        self._has_full_address = any(pages >= (self._limit or _DEFAULT_LIMIT) for pages in self._pages.values())

    def _get_limit(self, name: str, address: str) -> float:
        """Return the page budget of an address, for a host on it."""
        if self._limit is not None:
            return self._limit or float("inf")
        return float("inf") if self._own_hosts.contains(name, address) else _DEFAULT_LIMIT
