"""Tests of the address guard: only public addresses and allowed networks are accepted."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from topicrawl.errors import SettingError
from topicrawl.fetch.guard import AddressGuard, parse_networks

PUBLIC = [
    "1.1.1.1",
    "93.184.215.14",
    "2606:4700::1111",
    "2a00:1450:4001::5e",
    "::ffff:8.8.8.8",
    "64:ff9b::8.8.8.8",
    "64:ff9b:1::8.8.8.8",  # NAT64 for local use, /96
    "64:ff9b:1:808:8:800::",  # the same, /48
    "2002:808:808::1",  # 6to4
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
    "64:ff9b:1:a00:0:100::",  # /48
    "64:ff9b:1:a:0:1::",  # /56
    "64:ff9b:1:0:a:0:100:0",  # /64
    "64:ff9b:1:7f00:0:100:808:808",  # loopback in /48, a public address in /96
    "64:ff9b:1:808:8:800:a00:1",  # a public address in /48, a private address in /96
    "64:ff9b:1::",
    "64:ff9b:2::8.8.8.8",
    "::ffff:0:127.0.0.1",  # IPv4-translated
    "::ffff:0:a9fe:a9fe",
    "::8.8.8.8",  # IPv4-compatible
    "2002:7f00:1::",  # 6to4
    "2002:a9fe:a9fe::1",
    "2002:a00:1::1",
    "2001:0:7f00:1::",  # Teredo
    "2001:0:808:808::f7f7:f7f7",  # Teredo with public addresses
    "4000::1",  # not assigned
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
    assert AddressGuard().is_allowed(address)


@pytest.mark.parametrize("address", REFUSED)
def test_other_addresses_are_refused(address: str) -> None:
    assert not AddressGuard().is_allowed(address)


@given(st.ip_addresses(v=4))
def test_an_embedded_ipv4_address_decides(address: ipaddress.IPv4Address) -> None:
    plain = AddressGuard().is_allowed(str(address))
    number = int(address)
    mapped = ipaddress.IPv6Address(0xFFFF << 32 | number)
    sixtofour = ipaddress.IPv6Address(0x2002 << 112 | number << 80 | 1)
    translated = ipaddress.IPv6Address(0xFFFF << 48 | number)
    nat64 = ipaddress.IPv6Address(0x64FF9B << 96 | number)
    wrapped = (mapped, sixtofour, translated, nat64)
    assert [AddressGuard().is_allowed(str(address)) for address in wrapped] == [plain] * 4


@given(st.ip_addresses(v=4), st.sampled_from([48, 56, 64, 96]))
def test_an_ipv4_address_at_any_position_of_local_nat64_is_checked(address: ipaddress.IPv4Address, length: int) -> None:
    assume(address.packed[0] != 0)  # no translator forwards to 0.0.0.0/8
    prefix = ipaddress.IPv6Address("64:ff9b:1::").packed
    gap = b"" if length == 96 else b"\0"
    before_gap = max(0, 8 - length // 8)
    packed = prefix[: length // 8] + address.packed[:before_gap] + gap + address.packed[before_gap:]
    wrapped = ipaddress.IPv6Address(packed.ljust(16, b"\0"))
    assert AddressGuard().is_allowed(str(address)) or not AddressGuard().is_allowed(str(wrapped))


def test_an_allowed_network_is_accepted_inside_a_translation_prefix() -> None:
    guard = AddressGuard(parse_networks(["10.1.0.0/16"]))
    assert guard.is_allowed("64:ff9b:1::10.1.2.3")
    assert guard.is_allowed("64:ff9b::10.1.2.3")
    assert not guard.is_allowed("64:ff9b::10.2.2.3")
    assert not guard.is_allowed("64:ff9b:1:a02:3:400:a01:203")


def test_an_allowed_network_is_accepted_and_its_neighbour_is_not() -> None:
    guard = AddressGuard(parse_networks(["10.1.0.0/16", "::1"]))
    assert guard.is_allowed("10.1.2.3")
    assert guard.is_allowed("::ffff:10.1.2.3")
    assert guard.is_allowed("::1")
    assert not guard.is_allowed("10.2.0.1")
    assert not guard.is_allowed("127.0.0.1")


@pytest.mark.parametrize("spec", ["", "localhost", "10.0.0.0/33", "10.0.0", "all", "::/129"])
def test_an_invalid_network_raises_a_setting_error_that_names_it(spec: str) -> None:
    with pytest.raises(SettingError, match="is not a network") as caught:
        parse_networks([spec])
    assert repr(spec) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_network_may_be_written_with_any_address_in_it() -> None:
    assert parse_networks([" 192.168.1.7/16 "]) == (ipaddress.ip_network("192.168.0.0/16"),)
