"""Page budget per IP address: counts, exemptions and the saved state."""

from __future__ import annotations

import asyncio

import pytest

from topicrawl.errors import SettingError
from topicrawl.fetch import address_budget
from topicrawl.fetch.address_budget import AddressPageBudget
from topicrawl.fetch.guard import parse_networks
from topicrawl.fetch.host_groups import OwnHosts
from topicrawl.fetch.http import HttpClient, HttpSettings
from topicrawl.fetch.polite import PoliteFetcher
from topicrawl.settings import Settings

FARM, OTHER = "192.0.2.1", "192.0.2.9"
OWN = OwnHosts(frozenset({"fixed.org"}), parse_networks(["127.0.0.0/8"]))


async def find_address(name: str) -> str | None:
    return {"other.org": OTHER, "own.org": "127.0.0.1", "missing.org": None}.get(name, FARM)


def count_pages(budget: AddressPageBudget, *hosts: str) -> None:
    async def run() -> None:
        for host in hosts:
            await budget.count_page(host)

    asyncio.run(run())


def is_spent(budget: AddressPageBudget, host: str) -> bool:
    return asyncio.run(budget.is_spent(host))


def test_hosts_of_an_address_share_its_budget() -> None:
    budget = AddressPageBudget(find_address, 3, own_hosts=OWN)
    count_pages(budget, "a.org", "b.net:8080", "other.org", "missing.org")
    assert not is_spent(budget, "c.com")
    count_pages(budget, "c.com")
    assert is_spent(budget, "d.info")
    assert not is_spent(budget, "other.org")
    assert not is_spent(budget, "missing.org")


def test_the_default_budget_does_not_apply_to_own_hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(address_budget, "_DEFAULT_LIMIT", 2)
    budget = AddressPageBudget(find_address, None, own_hosts=OWN)
    count_pages(budget, *["own.org", "fixed.org", "a.org"] * 2)
    assert [is_spent(budget, host) for host in ("own.org", "fixed.org", "a.org")] == [False, False, True]
    explicit = AddressPageBudget(find_address, 2, own_hosts=OWN)
    count_pages(explicit, *["own.org"] * 2)
    assert is_spent(explicit, "own.org")


def test_no_limit_counts_nothing() -> None:
    budget = AddressPageBudget(find_address, 0, own_hosts=OWN)
    count_pages(budget, "a.org")
    assert budget.get_state() == {}


def test_a_restored_budget_continues() -> None:
    first, second = (AddressPageBudget(find_address, 2, own_hosts=OWN) for _ in range(2))
    count_pages(first, "a.org", "b.org")
    second.restore_state(first.get_state())
    assert is_spent(second, "c.org")


def test_addresses_behind_a_proxy_have_no_budget() -> None:
    async def run(settings: HttpSettings) -> bool:
        async with HttpClient(settings) as http:
            return PoliteFetcher(http, address_pages=5).address_budget is not None

    assert asyncio.run(run(HttpSettings()))
    assert not asyncio.run(run(HttpSettings(proxy="http://127.0.0.1:9")))


def test_the_setting_is_a_number_or_automatic() -> None:
    assert Settings().address_pages is None
    with pytest.raises(SettingError, match="address_pages"):
        Settings(address_pages=-1)
