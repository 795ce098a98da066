"""Detect the type of a body by its media type and, if that is unspecific or wrong, by its first bytes.

    html, plain                   parsed in this process
    pdf, ps, gzip, zip            converted in a child process (`reader.py`)

Word documents, OpenDocument texts and e-books are zip files; `archives.py` tells them apart.
"""

from __future__ import annotations

import re

HTML_TYPES = frozenset({"text/html", "application/xhtml+xml"})
UNSPECIFIC_TYPES = frozenset({"", "application/octet-stream", "binary/octet-stream", "unknown/unknown", "*/*"})
#: Media types of documents other than web pages.
DOCUMENT_TYPES = frozenset(
    {
        "application/pdf",
        "application/x-pdf",
        "application/postscript",
        "application/eps",
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        "application/vnd.oasis.opendocument.text",
        "application/epub+zip",
        "application/zip",
        "application/x-zip",
        "application/x-zip-compressed",
        "application/gzip",
        "application/x-gzip",
    }
)
#: Document types that a converter reads, as `detect_type` returns them, with their media types.
CONVERTED_TYPES = {
    "pdf": "application/pdf",
    "ps": "application/postscript",
    "gzip": "application/gzip",
    "zip": "application/zip",
}
#: File name suffixes of documents; the crawler downloads them even with an unspecific media type.
DOCUMENT_SUFFIXES = (".pdf", ".ps", ".gz", ".zip", ".docx", ".odt", ".epub")

_HTML_TAG = re.compile(
    rb"<(?:!doctype|!--|html|head|title|body|meta|a|p|h1|div|table|br|script|style|font|b)[\s>]", re.I
)
_BINARY_BYTES = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
# The first two are printer control sequences that may precede PostScript.
_MAGIC_PREFIXES = ((b"\x04%!", "ps"), (b"\x1b%-12345X", "ps"), (b"%!", "ps"), (b"%PDF-", "pdf"), (b"PK\3\4", "zip"))
_FIRST_BYTES = frozenset(prefix[0] for prefix, _ in _MAGIC_PREFIXES) | {0x1F}


def detect_type(body: bytes, media_type: str) -> str:
    """Return the type of a body, "" if it cannot be read.

    >>> detect_type(b"%PDF-1.7", "application/octet-stream"), detect_type(b"<p>Gone", "application/pdf")
    ('pdf', 'html')
    >>> detect_type(b"%!PS-Adobe", "text/plain"), detect_type(b"GIF89a", "image/gif")
    ('ps', '')
    """
    if media_type in HTML_TYPES:
        return "html"
    if media_type == "text/plain":
        # Servers label files with unknown suffixes as plain text.
        return (detect_magic(body) if body[0] in _FIRST_BYTES else "") or "plain"
    if media_type in UNSPECIFIC_TYPES:
        return detect_magic(body) or sniff_text(body)
    if media_type in DOCUMENT_TYPES:
        # Servers may send an HTML error page with the media type of the document.
        return detect_magic(body) or ("html" if sniff_text(body) == "html" else "")
    return ""


def detect_magic(body: bytes) -> str:
    """Return the document type by the first bytes (magic number), "" for none."""
    for start, kind in _MAGIC_PREFIXES:
        if body.startswith(start):
            return kind
    if body.startswith(b"\x1f\x8b"):
        return "gzip"
    # PDF readers accept the PDF header within the first 1,024 bytes, and some writers rely on that.
    return "pdf" if b"%PDF-" in body[:1024] else ""


def sniff_text(body: bytes) -> str:
    """Return "html" or "plain" by the first bytes of a body, "" if it is neither.

    >>> sniff_text(b"  <!DOCTYPE html><p>x"), sniff_text(b"Dear all,"), sniff_text(b"GIF89a \\x00")
    ('html', 'plain', '')
    """
    start = body[:1024]
    if start.startswith((b"\xff\xfe", b"\xfe\xff")):
        start = start.replace(b"\0", b"")
    if _HTML_TAG.search(start):
        return "html"
    return "" if _BINARY_BYTES.search(start) else "plain"
