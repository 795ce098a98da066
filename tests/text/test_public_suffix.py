"""Registered domains: the cases of the test data of the Public Suffix List, hosts with ports, and addresses."""

from __future__ import annotations

import pytest

from topicrawl.text import public_suffix
from topicrawl.text.public_suffix import RegisteredDomains, find_registered_domain, load_rules


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("example.com", "example.com"),
        ("b.example.com", "example.com"),
        ("a.b.example.com", "example.com"),
        ("b.c.mm", "b.c.mm"),
        ("a.b.c.mm", "b.c.mm"),
        ("test.jp", "test.jp"),
        ("www.test.ac.jp", "test.ac.jp"),
        ("a.b.ide.kyoto.jp", "b.ide.kyoto.jp"),
        ("b.c.kobe.jp", "b.c.kobe.jp"),
        ("www.city.kobe.jp", "city.kobe.jp"),
        ("test.k12.ak.us", "test.k12.ak.us"),
        ("www.xn--85x722f.xn--55qx5d.cn", "xn--85x722f.xn--55qx5d.cn"),
        ("a.b.blogspot.com", "b.blogspot.com"),
        ("www.example.org:8443", "example.org"),
        ("com", "com"),
        ("192.168.0.1:80", "192.168.0.1"),
        ("[2001:db8::1]:80", "[2001:db8::1]"),
        ("h7.farm.example", "farm.example"),
    ],
)
def test_registered_domains(host: str, expected: str) -> None:
    assert find_registered_domain(host) == expected
    assert RegisteredDomains().get_domain(host) == expected


def test_the_cache_of_hosts_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(public_suffix, "_MAX_CACHED_HOSTS", 10)
    domains = RegisteredDomains()
    assert [domains.get_domain(f"h{n}.example.org") for n in range(100)] == ["example.org"] * 100
    assert len(domains._cache) <= 10


def test_the_list_has_both_sections() -> None:
    assert {"co.uk", "*.ck", "!www.ck", "github.io"} <= load_rules()
