"""Files inside files: gzip around one, zip around many, with bounds on all that comes out.

A few kilobytes can unpack to gigabytes, and an archive can hold itself. Everything here stops at the limit it was
given, and what was packed twice is not opened.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from io import BytesIO
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from topicrawl.documents.kinds import magic, sniffed
from topicrawl.documents.message import LARGEST, Member
from topicrawl.documents.unreadable import Unreadable
from topicrawl.records import Failure

MOST_MEMBERS = 500
_LONGEST_NAME = 500
_HEAD = 1024
_MOST_STREAMS = 100
_PIECE = 1 << 16
_LONGEST_KIND = 100
_ENCRYPTED = 0x1
# Of other text files (programs, tables), an archive may hold thousands.
_TEXTS = ("", "txt", "text", "asc", "md", "rst", "html", "htm", "xhtml")
# What the standard library raises for a file that is no zip, or a torn one.
_BROKEN = (BadZipFile, EOFError, NotImplementedError, RuntimeError, ValueError, zlib.error, struct.error)


def gunzipped(body: bytes, limit: int) -> bytes:
    """What a gzip file holds; more than `limit` bytes are refused.

    >>> import gzip
    >>> gunzipped(gzip.compress(b"hello"), 100)
    b'hello'
    """
    parts: list[bytes] = []
    size = 0
    for _ in range(_MOST_STREAMS):
        stream = zlib.decompressobj(31)
        try:
            part = stream.decompress(body, limit + 1 - size)
        except zlib.error as error:
            raise Unreadable(Failure.UNPARSED, "a broken gzip file") from error
        parts.append(part)
        size += len(part)
        if size > limit:
            raise Unreadable(Failure.TOO_LARGE, f"unpacks to more than {limit} bytes")
        if not stream.eof:
            raise Unreadable(Failure.UNPARSED, "a gzip file that ends too early")
        body = stream.unused_data
        if not body.startswith(b"\x1f\x8b"):
            return b"".join(parts)
    raise Unreadable(Failure.UNPARSED, f"a gzip file of more than {_MOST_STREAMS} streams")


def opened(body: bytes) -> ZipFile:
    """The table of contents of a zip file."""
    try:
        return ZipFile(BytesIO(body))
    except _BROKEN as error:
        raise Unreadable(Failure.UNPARSED, "a broken zip file") from error


def content(archive: ZipFile, info: ZipInfo | str, limit: int) -> bytes:
    """One file of a zip file; more than `limit` bytes are refused, whatever the table of contents says."""
    try:
        info = archive.getinfo(info) if isinstance(info, str) else info
    except KeyError as error:
        raise Unreadable(Failure.UNPARSED, f"there is no {info} in it") from error
    if info.flag_bits & _ENCRYPTED:
        raise Unreadable(Failure.ENCRYPTED, "it asks for a password")
    if info.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
        raise Unreadable(Failure.UNPARSED, "packed in a way that is seldom used")
    parts: list[bytes] = []
    size = 0
    try:
        with archive.open(info) as file:
            while part := file.read(min(_PIECE, limit + 1 - size)):
                parts.append(part)
                size += len(part)
                if size > limit:
                    raise Unreadable(Failure.TOO_LARGE, f"unpacks to more than {limit} bytes")
    except _BROKEN as error:
        raise Unreadable(Failure.UNPARSED, "broken inside the zip file") from error
    return b"".join(parts)


def members(archive: ZipFile, limit: int) -> Iterator[Member]:
    """The files of an archive that can be read, in their order; others are passed over.

    Each has room for `limit` bytes, and all together for `LARGEST` times as many.
    """
    count, room = 0, LARGEST * limit
    for info in archive.infolist():
        name = info.filename[:_LONGEST_NAME]
        # The library stumbles over a file without a name when it is asked whether that is a folder.
        if not name or name.endswith("/") or name.startswith("__MACOSX/") or not is_readable(archive, info):
            continue
        count += 1
        if count > MOST_MEMBERS:
            return
        try:
            body = content(archive, info, min(limit, room))
            if body.startswith(b"PK\3\4") and is_archive(body):
                raise Unreadable(Failure.NESTED, "an archive inside an archive is not opened")
        except Unreadable as error:
            yield Member(name, failure=error.failure, detail=error.detail)
            continue
        room -= len(body)
        yield Member(name, body)


def is_readable(archive: ZipFile, info: ZipInfo) -> bool:
    """Whether a member is a page or a document, by its first bytes and its name."""
    if info.flag_bits & _ENCRYPTED or info.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
        return info.filename.lower().endswith((".pdf", ".ps", ".html", ".htm", ".txt", ".docx", ".odt", ".epub"))
    try:
        with archive.open(info) as file:
            head = file.read(_HEAD)
    except _BROKEN:
        return False
    if not head:
        return False
    suffix = info.filename.rpartition("/")[2].rpartition(".")
    ending = suffix[2].lower() if suffix[1] else ""
    return bool(magic(head)) or (bool(sniffed(head)) and ending in _TEXTS)


def is_archive(body: bytes) -> bool:
    """Whether a zip file is a bundle of files, rather than one document."""
    return not document_kind(opened(body))


def document_kind(archive: ZipFile) -> str:
    """The document that a zip file is: docx, odt, epub, "other" (tables, slides); "" for a bundle of files."""
    names = archive.NameToInfo
    if "word/document.xml" in names:
        return "docx"
    if "[Content_Types].xml" in names:
        return "other"
    kind = _named_kind(archive) if "mimetype" in names else b""
    if kind == b"application/epub+zip":
        return "epub"
    if kind.startswith(b"application/vnd.oasis.opendocument.text"):
        return "odt"
    return "other" if kind.startswith(b"application/vnd.oasis.") else ""


def _named_kind(archive: ZipFile) -> bytes:
    try:
        return content(archive, "mimetype", _LONGEST_KIND).strip()
    except Unreadable:
        # A file that happens to have this name.
        return b""
