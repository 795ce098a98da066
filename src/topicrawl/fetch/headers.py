"""Header fields as they came → one mapping with names in lower case and values that can be stored."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import quote_from_bytes

#: Headers that make no sense twice; the first one counts. Others are joined as the standard says.
_SINGLE = frozenset({"content-type", "content-length", "location", "retry-after", "date", "last-modified"})

_ASCII = bytes(range(0x21, 0x7F)).decode()


def lowered(fields: Iterable[tuple[str, str]]) -> dict[str, str]:
    """The headers by name; bytes beyond UTF-8 arrive as escaped surrogates and leave as letters.

    >>> lowered([("Content-Type", "text/html"), ("Vary", "a"), ("vary", "b"), ("Location", "/caf\\udce9")])
    {'content-type': 'text/html', 'vary': 'a, b', 'location': '/caf%E9'}
    """
    found: dict[str, str] = {}
    for key, value in fields:
        name = key.lower()
        if not value.isascii():
            value = _storable(name, value)
        if name in found:
            value = found[name] if name in _SINGLE else f"{found[name]}, {value}"
        found[name] = value
    return found


def _storable(name: str, value: str) -> str:
    raw = value.encode("utf-8", "surrogateescape")
    if name == "location":
        # Browsers send the bytes back as they came, whatever charset they are in.
        return quote_from_bytes(raw, safe=_ASCII)
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw.decode("latin-1")
