"""Which characters the bytes of a page stand for, by the rules browsers follow.

The order of the HTML standard: byte-order mark, HTTP header, `<meta>` in the first 1,024 bytes, then the look
of the bytes themselves (valid UTF-8 is UTF-8; otherwise the likeliest old charset, windows-1252 in doubt).
Labels mean what browsers take them for: "latin1" is windows-1252. Bytes that mean nothing become U+FFFD.
"""

from __future__ import annotations

import codecs
import re
from functools import lru_cache

import turbohtml
from turbohtml.detect import detect

_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_BE, "utf-16be"), (codecs.BOM_UTF16_LE, "utf-16le"))
_PARAMETER = re.compile(r"""charset\s*=\s*["']?\s*([^\s"';,]+)""", re.I)


def decoded(body: bytes, content_type: str = "") -> tuple[str, str]:
    """The text of a body and the charset it was read with; `content_type` is the header as sent.

    >>> decoded(b"caf\\xe9", "text/html; charset=ISO-8859-1")
    ('café', 'windows-1252')
    >>> decoded(b'<meta charset="koi8-r">\\xcd\\xc9\\xd2')
    ('<meta charset="koi8-r">мир', 'koi8-r')
    """
    for mark, charset in _MARKS:
        if body.startswith(mark):
            return body[len(mark) :].decode(charset, "replace"), charset
    declared = _PARAMETER.search(content_type) if content_type else None
    charset = (standard_name(declared[1]) if declared else "") or _guessed(body)
    # The decoder of Python is the fastest for the charset of nearly all pages.
    return body.decode("utf-8" if charset == "utf-8" else f"whatwg-{charset}", "replace"), charset


@lru_cache(maxsize=256)
def standard_name(label: str) -> str:
    """The charset a label stands for in browsers, "" for an unknown one.

    >>> standard_name("Latin1"), standard_name("x-sjis"), standard_name("klingon")
    ('windows-1252', 'shift_jis', '')
    """
    # A label of wild bytes is none: looking one up is not the place for surprises.
    if not label.isascii() or not label.isprintable() or len(label) > 40:
        return ""
    try:
        return (turbohtml.parse(b"", encoding=label).encoding or "").lower()
    except LookupError:
        return ""


def _guessed(body: bytes) -> str:
    # Plain ASCII reads the same in all charsets but those that shift with escapes.
    if body.isascii() and b"\x1b" not in body and b"charset" not in body[:1024].lower():
        return "windows-1252"
    found = detect(body)
    return (found.encoding or "windows-1252").lower()
