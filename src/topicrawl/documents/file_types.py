"""Detect the type of a body by its first bytes and its media type, which is often unspecific or wrong.

    html, plain                   parsed in this process
    pdf, ps, gzip, zip, ole       converted in a child process (`reader.py`)

Word documents, OpenDocument texts and e-books are zip files; `archives.py` tells them apart.
"""

from __future__ import annotations

import re

HTML_TYPES = frozenset({"text/html", "application/xhtml+xml"})
#: Media types that browsers display as plain text.
PLAIN_TYPES = frozenset({"text/plain", "text/markdown", "text/x-markdown", "text/x-rst"})
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
    "ole": "application/x-ole-storage",  # only office documents with a password
}
#: File name suffixes of documents; the crawler downloads them even with an unspecific media type.
DOCUMENT_SUFFIXES = (".pdf", ".ps", ".gz", ".zip", ".docx", ".odt", ".epub")

#: Bytes from the start of a body that decide on its type.
SNIFFED_BYTES = 1024
#: The same for sitemaps and feeds: comments may precede the root element.
FEED_SNIFFED_BYTES = 8 * 1024

_HTML_TAG = re.compile(
    rb"<(?:!doctype|!--|html|head|title|body|meta|a|p|h1|div|table|br|script|style|font|b)[\s>]", re.I
)
# Atomic groups: without them, many comments before another root element would take exponential time.
_HTML_DOCUMENT = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*+(?>(?:<\?.*?\?>|<!--.*?-->|<!doctype(?!\s+(?!html))[^>]*+>)\s*+)*+<html[\s>]", re.I | re.S
)
_FEED_ROOT = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*+(?>(?:<\?.*?\?>|<!--.*?-->|<!doctype[^>]*+>)\s*+)*+"
    rb"<(?:[a-z0-9]{1,20}:)?(?:urlset|sitemapindex|rss|feed|rdf)[\s>]",
    re.I | re.S,
)
_CONTROL_BYTES = bytes({*range(9), *range(0x0E, 0x1B), *range(0x1C, 0x20)})
_BINARY_BYTES = re.compile(b"[" + re.escape(_CONTROL_BYTES) + b"]")
_MAX_CONTROL_SHARE = 0.05  # control characters of a text; random bytes have more than 0.1
_MAX_CONTROLS = 32  # a short text may have a larger share
# The first two are printer control sequences that may precede PostScript.
_MAGIC_PREFIXES = (
    (b"\x04%!", "ps"),
    (b"\x1b%-12345X", "ps"),
    (b"%!", "ps"),
    (b"%PDF-", "pdf"),
    (b"PK\3\4", "zip"),
    (b"\x1f\x8b", "gzip"),
)
# An office document with a password is an OLE file that contains a stream of this name. Other OLE files, such as
# documents of Word 97, are not read.
_OLE_PREFIX = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_ENCRYPTED_STREAM = "EncryptedPackage".encode("utf-16-le")
#: First bytes of formats that are never read: images, programs, audio, video, fonts, other archives and databases.
_BINARY_PREFIXES = (
    *(b"\x89PNG\r\n", b"GIF87a", b"GIF89a", b"\xff\xd8\xff", b"II*\0", b"MM\0*", b"\0\0\1\0", b"RIFF"),
    *(b"\x7fELF", b"MZ\x90\0", b"\xca\xfe\xba\xbe", b"\xcf\xfa\xed\xfe", b"\0asm", b"!<arch>\n"),
    *(b"OggS", b"ID3\2", b"ID3\3", b"ID3\4", b"fLaC", b"\x1aE\xdf\xa3", b"wOFF", b"wOF2", b"\0\1\0\0\0"),
    *(b"7z\xbc\xaf\x27\x1c", b"Rar!\x1a", b"\xfd7zXZ\0", b"\x28\xb5\x2f\xfd", b"BZh9", b"SQLite format 3\0"),
    _OLE_PREFIX,
)
#: Wrong labels of documents that begin like those of other files.
_DOCUMENT_LABELS = frozenset({"image/pdf", "image/x-pdf", "image/x-eps", "image/eps"})
#: Types of the files that belong to a page. Their content is neither HTML nor text to read.
_RESOURCE_TYPES = ("image/", "audio/", "video/", "font/", "text/css", "text/javascript", "application/javascript")


def detect_type(body: bytes, media_type: str) -> str:
    """Return the type of a body, "" if it cannot be read.

    The first bytes of a document or of a binary file count more than the media type.

    >>> detect_type(b"%PDF-1.7", "application/octet-stream"), detect_type(b"<p>Gone", "application/pdf")
    ('pdf', 'html')
    >>> (
    ...     detect_type(b"%!PS-Adobe", "text/plain"),
    ...     detect_type(b"GIF89a", "text/html"),
    ...     detect_type(b"# A", "text/markdown"),
    ... )
    ('ps', '', 'plain')
    """
    # Nearly all web pages begin with a tag.
    if media_type in HTML_TYPES:
        return "html" if body.startswith(b"<") else _detect_labelled_text(body, "html")
    if media_type in PLAIN_TYPES:
        return _detect_labelled_text(body, "plain")
    if media_type in UNSPECIFIC_TYPES:
        return detect_magic(body) or sniff_text(body)
    if media_type in DOCUMENT_TYPES:
        # Servers may send an HTML error page with the media type of the document.
        return detect_magic(body) or ("html" if sniff_text(body) == "html" else "")
    if media_type.startswith(_RESOURCE_TYPES):
        return _detect_prefix(body)
    return detect_magic(body) or ("html" if _HTML_DOCUMENT.match(body[:SNIFFED_BYTES]) else "")


def is_feed(body: bytes) -> bool:
    """Return whether a body is a sitemap, a sitemap index, or a feed (RSS, Atom, JSON Feed), by its first bytes.

    >>> is_feed(b'<?xml version="1.0"?><rss version="2.0">'), is_feed(b"<html><p>rss")
    (True, False)
    """
    start = body[:FEED_SNIFFED_BYTES]
    if start.startswith((b"\xff\xfe", b"\xfe\xff")):  # UTF-16
        start = start[2:].replace(b"\0", b"")
    if start.lstrip().startswith(b"{"):
        return b"jsonfeed.org/version" in start.replace(b"\\/", b"/")
    return _FEED_ROOT.match(start) is not None


def may_be_document(media_type: str) -> bool:
    """Return whether a body of a media type that is not accepted may be a document or a web page with a wrong label.

    >>> may_be_document("application/x-download"), may_be_document("image/pdf"), may_be_document("image/png")
    (True, True, False)
    """
    return not media_type.startswith(_RESOURCE_TYPES) or media_type in _DOCUMENT_LABELS


def detect_magic(body: bytes) -> str:
    """Return the document type by the first bytes (magic number), "" for none."""
    if body.startswith(_OLE_PREFIX):
        return "ole" if _ENCRYPTED_STREAM in body else ""
    # PDF readers accept the PDF header within the first 1,024 bytes, and some writers rely on that.
    return _detect_prefix(body) or ("pdf" if b"%PDF-" in body[:1024] else "")


def _detect_prefix(body: bytes) -> str:
    """Return the document type by the prefix of a body, "" for none."""
    for start, kind in _MAGIC_PREFIXES:
        if body.startswith(start):
            return kind
    return ""


def _detect_labelled_text(body: bytes, text_type: str) -> str:
    """Return the type of a body with the media type of a text: a document, "" for a binary file, else `text_type`."""
    start = body[:SNIFFED_BYTES].lstrip(b"\t\n\r ")
    if start.startswith((b"<", b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")):
        return text_type
    if kind := _detect_prefix(start):
        return kind
    controls = len(start) - len(start.translate(None, _CONTROL_BYTES))
    is_binary = start.startswith(_BINARY_PREFIXES) or controls > max(_MAX_CONTROLS, _MAX_CONTROL_SHARE * len(start))
    # UTF-16 without a byte order mark has a NUL in every character of its tags.
    return text_type if not is_binary or _HTML_TAG.search(start.replace(b"\0", b"")) else ""


def sniff_text(body: bytes) -> str:
    """Return "html" or "plain" by the first bytes of a body, "" if it is neither.

    >>> sniff_text(b"  <!DOCTYPE html><p>x"), sniff_text(b"Dear all,"), sniff_text(b"GIF89a \\x00")
    ('html', 'plain', '')
    """
    start = body[:SNIFFED_BYTES]
    if start.startswith((b"\xff\xfe", b"\xfe\xff")):
        start = start.replace(b"\0", b"")
    if _HTML_TAG.search(start):
        return "html"
    return "" if _BINARY_BYTES.search(start) else "plain"
