"""Normalise HTTP header fields: names in lower case, values that can be stored as UTF-8."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import quote_from_bytes

#: Headers with a single value; the first one counts. Repeated other headers are joined by commas, as in RFC 9110.
_SINGLE_VALUE_HEADERS = frozenset(
    {"content-type", "content-length", "location", "retry-after", "date", "last-modified"}
)

_PRINTABLE_ASCII = bytes(range(0x21, 0x7F)).decode()


def normalize_headers(fields: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return the header fields by lower-case name, with bytes that are not UTF-8 (surrogate escapes) made storable.

    The values of a repeated field are joined by commas. Of the fields in `_SINGLE_VALUE_HEADERS`, the first value
    counts.

    >>> normalize_headers([("Content-Type", "text/html"), ("Vary", "a"), ("vary", "b"), ("Location", "/caf\\udce9")])
    {'content-type': 'text/html', 'vary': 'a, b', 'location': '/caf%E9'}
    """
    headers: dict[str, str] = {}
    for key, value in fields:
        name = key.lower()
        if not value.isascii():
            value = _decode_value(name, value)
        if name in headers:
            value = headers[name] if name in _SINGLE_VALUE_HEADERS else f"{headers[name]}, {value}"
        headers[name] = value
    return headers


def _decode_value(name: str, value: str) -> str:
    """Decode a value with surrogate escapes; a Location is percent-encoded instead."""
    raw = value.encode("utf-8", "surrogateescape")
    if name == "location":
        # Browsers request the same bytes again, whatever their charset is.
        return quote_from_bytes(raw, safe=_PRINTABLE_ASCII)
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw.decode("latin-1")
