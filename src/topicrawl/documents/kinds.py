"""What a body is: by its media type, and where that says little or lies, by its first bytes.

    html, plain                   read in this process
    pdf, ps, gzip, zip            read in a process of their own (`reading.py`)

Word documents, OpenDocument texts and e-books are zip files; which is which shows when they are opened.
"""

from __future__ import annotations

import re

HTML = frozenset({"text/html", "application/xhtml+xml"})
UNNAMED = frozenset({"", "application/octet-stream", "binary/octet-stream", "unknown/unknown", "*/*"})
#: Media types of documents that are no web pages.
DOCUMENTS = frozenset(
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
#: How the names of documents end; worth a look even when the host does not say what they are.
SUFFIXES = (".pdf", ".ps", ".gz", ".zip", ".docx", ".odt", ".epub")

_TAG = re.compile(rb"<(?:!doctype|!--|html|head|title|body|meta|a|p|h1|div|table|br|script|style|font|b)[\s>]", re.I)
_BINARY = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
# The first two are what printers of old expect before PostScript.
_MAGIC = ((b"\x04%!", "ps"), (b"\x1b%-12345X", "ps"), (b"%!", "ps"), (b"%PDF-", "pdf"), (b"PK\3\4", "zip"))
_FIRST = frozenset(magic[0] for magic, _ in _MAGIC) | {0x1F}


def kind_of(body: bytes, media_type: str) -> str:
    """The kind of a body, "" when it is nothing that can be read.

    >>> kind_of(b"%PDF-1.7", "application/octet-stream"), kind_of(b"<p>Gone", "application/pdf")
    ('pdf', 'html')
    >>> kind_of(b"%!PS-Adobe", "text/plain"), kind_of(b"GIF89a", "image/gif")
    ('ps', '')
    """
    if media_type in HTML:
        return "html"
    if media_type == "text/plain":
        # Hosts that do not know a name's ending call the file plain text.
        return (magic(body) if body[0] in _FIRST else "") or "plain"
    if media_type in UNNAMED:
        return magic(body) or sniffed(body)
    if media_type in DOCUMENTS:
        # A host that says in HTML that there is no such document may label it like the document.
        return magic(body) or ("html" if sniffed(body) == "html" else "")
    return ""


def magic(body: bytes) -> str:
    """The kind of document that the first bytes tell of, "" for none."""
    for start, kind in _MAGIC:
        if body.startswith(start):
            return kind
    if body.startswith(b"\x1f\x8b"):
        return "gzip"
    # Readers of PDF look for its first line a little further on, and some writers rely on that.
    return "pdf" if b"%PDF-" in body[:1024] else ""


def sniffed(body: bytes) -> str:
    """Whether a body is HTML or plain text, "" when it is neither.

    >>> sniffed(b"  <!DOCTYPE html><p>x"), sniffed(b"Dear all,"), sniffed(b"GIF89a \\x00")
    ('html', 'plain', '')
    """
    start = body[:1024]
    if start.startswith((b"\xff\xfe", b"\xfe\xff")):
        start = start.replace(b"\0", b"")
    if _TAG.search(start):
        return "html"
    return "" if _BINARY.search(start) else "plain"
