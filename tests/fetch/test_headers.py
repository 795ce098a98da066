"""Headers end up as text that can be stored and compared."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from topicrawl.fetch.headers import lowered


def test_a_list_header_sent_twice_is_joined_and_a_single_one_keeps_its_first_value() -> None:
    fields = [
        ("X-Robots-Tag", "noindex"),
        ("Content-Type", "text/html"),
        ("x-robots-tag", "nofollow"),
        ("CONTENT-TYPE", "image/png"),
    ]
    assert lowered(fields) == {"x-robots-tag": "noindex, nofollow", "content-type": "text/html"}


def test_a_location_beyond_ascii_keeps_its_bytes() -> None:
    latin1, utf8 = "/caf\udce9?a=%20#x", "/café"
    assert lowered([("Location", latin1)]) == {"location": "/caf%E9?a=%20#x"}
    assert lowered([("Location", utf8)]) == {"location": "/caf%C3%A9"}


def test_other_headers_beyond_ascii_become_letters() -> None:
    assert lowered([("Server", "caf\udce9"), ("Via", "café")]) == {"server": "café", "via": "café"}


@given(st.lists(st.tuples(st.text(min_size=1), st.binary())))
def test_whatever_bytes_come_the_values_can_be_encoded(fields: list[tuple[str, bytes]]) -> None:
    found = lowered([(name, value.decode("utf-8", "surrogateescape")) for name, value in fields])
    for value in found.values():
        json.dumps(value).encode()
        value.encode()
