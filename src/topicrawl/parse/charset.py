"""Charset detection and decoding of page bodies, by the rules of the HTML standard.

The order is: byte-order mark, HTTP header, `<meta>` in the first 1,024 bytes, then the bytes themselves (valid UTF-8 is
UTF-8; otherwise the most likely legacy charset, by default windows-1252). Charset labels have the same meaning as in
browsers: "latin1" is windows-1252. Invalid bytes become U+FFFD.
"""

from __future__ import annotations

import codecs
import re
from functools import lru_cache

import turbohtml
from turbohtml.detect import detect

#: Bytes of a body that are decoded; the rest of a longer body is ignored.
MAX_SOURCE_BYTES = 2_000_000
_BYTE_ORDER_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_BE, "utf-16be"), (codecs.BOM_UTF16_LE, "utf-16le"))
# The quantifiers are possessive, because backtracking over a header of blanks would take many seconds.
_CHARSET_PARAMETER = re.compile(r"""charset\s*+=\s*+["']?\s*+([^\s"';,]+)""", re.I)


def decode_text(body: bytes, content_type: str = "") -> tuple[str, str]:
    """Decode the first `MAX_SOURCE_BYTES` bytes of a body; return the text and the charset.

    `content_type` is the value of the HTTP header.

    >>> decode_text(b"caf\\xe9", "text/html; charset=ISO-8859-1")
    ('café', 'windows-1252')
    >>> decode_text(b'<meta charset="koi8-r">\\xcd\\xc9\\xd2')
    ('<meta charset="koi8-r">мир', 'koi8-r')
    """
    body = body[:MAX_SOURCE_BYTES]
    for mark, charset in _BYTE_ORDER_MARKS:
        if body.startswith(mark):
            return body[len(mark) :].decode(charset, "replace"), charset
    declared = _CHARSET_PARAMETER.search(content_type) if content_type else None
    charset = (normalize_charset(declared[1]) if declared else "") or _detect_charset(body)
    # For UTF-8, the charset of nearly all pages, the decoder of Python is the fastest.
    return body.decode("utf-8" if charset == "utf-8" else f"whatwg-{charset}", "replace"), charset


@lru_cache(maxsize=256)
def normalize_charset(label: str) -> str:
    """Return the charset that browsers use for a label, "" for an unknown label.

    >>> normalize_charset("Latin1"), normalize_charset("x-sjis"), normalize_charset("klingon")
    ('windows-1252', 'shift_jis', '')
    """
    # Arbitrary bytes are no label, and the lookup should not have to handle them.
    if not label.isascii() or not label.isprintable() or len(label) > 40:
        return ""
    try:
        return (turbohtml.parse(b"", encoding=label).encoding or "").lower()
    except LookupError:
        return ""


def _detect_charset(body: bytes) -> str:
    """Detect the charset from `<meta>` and the bytes of the body."""
    # ASCII is the same in all charsets except those with escape sequences.
    if body.isascii() and b"\x1b" not in body and b"charset" not in body[:1024].lower():
        return "windows-1252"
    detected = detect(body)
    return (detected.encoding or "windows-1252").lower()
