"""Only the public internet may be connected to."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topicrawl.errors import SettingError
from topicrawl.fetch.guard import Guard, networks

PUBLIC = [
    "1.1.1.1",
    "93.184.215.14",
    "2606:4700::1111",
    "2a00:1450:4001::5e",
    "::ffff:8.8.8.8",
    "64:ff9b::8.8.8.8",
]

REFUSED = [
    "0.0.0.0",
    "0.1.2.3",
    "10.0.0.1",
    "100.64.0.1",
    "127.0.0.1",
    "127.255.255.254",
    "169.254.169.254",  # cloud metadata
    "172.16.0.1",
    "192.0.0.1",
    "192.0.2.1",
    "192.88.99.1",
    "192.168.1.1",
    "198.18.0.1",
    "198.51.100.1",
    "203.0.113.1",
    "224.0.0.1",
    "239.255.255.250",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::127.0.0.1",  # IPv4 written as IPv6
    "::ffff:127.0.0.1",  # mapped
    "::ffff:10.0.0.1",
    "::ffff:a9fe:a9fe",  # mapped metadata address
    "64:ff9b::127.0.0.1",  # NAT64
    "64:ff9b::a9fe:a9fe",
    "64:ff9b:1::10.0.0.1",
    "2002:7f00:1::",  # 6to4
    "2002:a9fe:a9fe::1",
    "2001:0:7f00:1::",  # Teredo
    "2001:db8::1",
    "100::1",
    "fc00::1",
    "fd00:ec2::254",  # cloud metadata
    "fe80::1",
    "fe80::1%eth0",
    "fec0::1",
    "ff02::1",
    "",
    "localhost",
    "2130706433",
    "0x7f000001",
    "127.1",
    "999.1.1.1",
]


@pytest.mark.parametrize("address", PUBLIC)
def test_public_addresses_are_allowed(address: str) -> None:
    assert Guard().allowed(address)


@pytest.mark.parametrize("address", REFUSED)
def test_everything_else_is_refused(address: str) -> None:
    assert not Guard().allowed(address)


@given(st.ip_addresses(v=4))
def test_wrapping_an_address_never_changes_the_answer(address: ipaddress.IPv4Address) -> None:
    plain = Guard().allowed(str(address))
    number = int(address)
    mapped = ipaddress.IPv6Address(0xFFFF << 32 | number)
    sixtofour = ipaddress.IPv6Address(0x2002 << 112 | number << 80 | 1)
    nat64 = ipaddress.IPv6Address(0x64FF9B << 96 | number)
    assert [Guard().allowed(str(wrapped)) for wrapped in (mapped, sixtofour, nat64)] == [plain] * 3


def test_a_listed_network_is_open_and_its_neighbour_is_not() -> None:
    guard = Guard(networks(["10.1.0.0/16", "::1"]))
    assert guard.allowed("10.1.2.3")
    assert guard.allowed("::ffff:10.1.2.3")
    assert guard.allowed("::1")
    assert not guard.allowed("10.2.0.1")
    assert not guard.allowed("127.0.0.1")


@pytest.mark.parametrize("spec", ["", "localhost", "10.0.0.0/33", "10.0.0", "all", "::/129"])
def test_what_is_not_a_network_is_a_setting_error_that_names_it(spec: str) -> None:
    with pytest.raises(SettingError, match="is not a network") as caught:
        networks([spec])
    assert repr(spec) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_network_may_be_given_by_any_address_in_it() -> None:
    assert networks([" 192.168.1.7/16 "]) == (ipaddress.ip_network("192.168.0.0/16"),)
