"""Tests of header normalisation: lower-case names, joined values, storable text."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from topicrawl.fetch.headers import normalize_headers


def test_list_headers_are_joined_and_single_value_headers_keep_the_first_value() -> None:
    fields = [
        ("X-Robots-Tag", "noindex"),
        ("Content-Type", "text/html"),
        ("x-robots-tag", "nofollow"),
        ("CONTENT-TYPE", "image/png"),
    ]
    assert normalize_headers(fields) == {"x-robots-tag": "noindex, nofollow", "content-type": "text/html"}


def test_a_location_beyond_ascii_keeps_its_bytes() -> None:
    latin1, utf8 = "/caf\udce9?a=%20#x", "/café"
    assert normalize_headers([("Location", latin1)]) == {"location": "/caf%E9?a=%20#x"}
    assert normalize_headers([("Location", utf8)]) == {"location": "/caf%C3%A9"}


def test_other_headers_beyond_ascii_are_decoded() -> None:
    assert normalize_headers([("Server", "caf\udce9"), ("Via", "café")]) == {"server": "café", "via": "café"}


@given(st.lists(st.tuples(st.text(min_size=1), st.binary())))
def test_values_of_any_bytes_can_be_encoded(fields: list[tuple[str, bytes]]) -> None:
    found = normalize_headers([(name, value.decode("utf-8", "surrogateescape")) for name, value in fields])
    for value in found.values():
        json.dumps(value).encode()
        value.encode()
