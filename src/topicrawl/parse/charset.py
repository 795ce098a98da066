"""Charset detection and decoding of page bodies, by the rules of the HTML standard.

The order is: byte-order mark, HTTP header, `<meta>` in the first 64 KB, XML declaration, then the bytes themselves
(valid UTF-8 is UTF-8; otherwise the most likely legacy charset, by default windows-1252). Browsers search 1,024 bytes
for the `<meta>` before they parse a page, and parse it again if they find the element later. Charset labels have the
same meaning as in browsers: "latin1" is windows-1252. Invalid bytes become U+FFFD.
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
_CHARSET_PARAMETER = re.compile(r"""charset\s*+=\s*+["']?+\s*+([^\s"';,]+)""", re.I)
_MAX_META_OFFSET = 64 * 1024
_PRESCANNED_BYTES = 1024
# An unclosed comment or script ends at the end of the text, and an element is short: the search takes linear time.
_META_CHARSET = re.compile(
    rb"""<!--(?:.*?-->|.*)|<(script|style|title|textarea)\b(?:.*?</\1|.*)"""
    rb"""|<meta\s(?:[^>]{0,500}?[\s;"'])??charset\s*+=\s*+["']?+\s*+([^\s"'/>;]+)""",
    re.I | re.S,
)
_XML_DECLARATION = re.compile(rb"""<\?xml\s[^>]{0,500}?\bencoding\s*+=\s*+["']([^"'>]{1,40})["']""")
#: Python codecs of the charsets whose name in Python is another one. Other charsets have the same name.
_PYTHON_CODECS = {
    "big5": "big5hkscs",
    "euc-kr": "cp949",
    "gbk": "gb18030",
    "iso-8859-8-i": "iso-8859-8",
    "macintosh": "mac_roman",
    "shift_jis": "cp932",
    "windows-874": "cp874",
    "x-mac-cyrillic": "mac_cyrillic",
}
_UTF8_QUERY_CHARSETS = frozenset({"utf-8", "utf-16le", "utf-16be", "replacement", "x-user-defined"})


def get_query_codec(charset: str) -> str:
    """Return the Python codec for the query strings of links on a page with this charset, "" for UTF-8.

    >>> get_query_codec("windows-1251"), get_query_codec("shift_jis"), get_query_codec("utf-8")
    ('windows-1251', 'cp932', '')
    """
    return "" if charset in _UTF8_QUERY_CHARSETS else _PYTHON_CODECS.get(charset, charset)


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
    if late := _find_late_charset(body):
        return late
    if body.startswith(b"<?xml") and not _find_meta_charset(body[:_PRESCANNED_BYTES]):
        declared = _XML_DECLARATION.match(body)
        charset = normalize_charset(declared[1].decode("latin-1")) if declared else ""
        if charset and not charset.startswith("utf-16"):  # the declaration is ASCII, so the page is not UTF-16
            return charset
    # ASCII is the same in all charsets except those with escape sequences.
    if body.isascii() and b"\x1b" not in body and b"charset" not in body[:1024].lower():
        return "windows-1252"
    detected = detect(body)
    return (detected.encoding or "windows-1252").lower()


def _find_late_charset(body: bytes) -> str:
    """Return the charset of the first `<meta>` element if it is after the bytes that `detect` searches, else ""."""
    # Most pages declare their charset in the first bytes. This search takes 3 µs, that of a page of 40 KB 50 µs.
    first = body[:_PRESCANNED_BYTES]
    if b"charset" in first.lower() and _find_meta_charset(first):
        return ""
    start = body[:_MAX_META_OFFSET]
    if start.find(b"charset", _PRESCANNED_BYTES) < 0 and start.find(b"CHARSET", _PRESCANNED_BYTES) < 0:
        return ""
    charset = _find_meta_charset(start)
    # A UTF-16 page could not contain this ASCII element.
    return "utf-8" if charset.startswith("utf-16") else charset


def _find_meta_charset(html: bytes) -> str:
    """Return the charset of the first `<meta>` element that names a known one, else ""."""
    names = (match[2].decode("latin-1") for match in _META_CHARSET.finditer(html) if match[2] is not None)
    return next(filter(None, map(normalize_charset, names)), "")
