"""Unpack gzip and zip files with limits on the output.

A few kilobytes can unpack to gigabytes, and an archive can contain itself. Every function stops at the given limit, and
nested archives are not unpacked.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from io import BytesIO
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from topicrawl.documents.errors import UnreadableDocument
from topicrawl.documents.file_types import detect_magic, sniff_text
from topicrawl.documents.messages import MAX_ARCHIVE_FACTOR, ArchiveMember
from topicrawl.models import Failure

MAX_MEMBERS = 500
_MAX_NAME_LENGTH = 500
_SNIFF_BYTES = 1024
_MAX_GZIP_STREAMS = 100
_READ_SIZE = 1 << 16
_MAX_MIMETYPE_BYTES = 100
_ENCRYPTED_FLAG = 0x1
# File name suffixes of text to extract; archives may contain thousands of other text files (programs, tables).
_TEXT_SUFFIXES = ("", "txt", "text", "asc", "md", "rst", "html", "htm", "xhtml")
# Exceptions of the standard library for files that are not zip files, or are damaged.
_ZIP_ERRORS = (BadZipFile, EOFError, NotImplementedError, RuntimeError, ValueError, zlib.error, struct.error)


def decompress_gzip(body: bytes, limit: int) -> bytes:
    """Decompress a gzip file; raise `UnreadableDocument` if it expands to more than `limit` bytes.

    >>> import gzip
    >>> decompress_gzip(gzip.compress(b"hello"), 100)
    b'hello'
    """
    parts: list[bytes] = []
    size = 0
    for _ in range(_MAX_GZIP_STREAMS):
        stream = zlib.decompressobj(31)
        try:
            part = stream.decompress(body, limit + 1 - size)
        except zlib.error as error:
            raise UnreadableDocument(Failure.UNPARSED, "the gzip file is corrupt") from error
        parts.append(part)
        size += len(part)
        if size > limit:
            raise UnreadableDocument(Failure.TOO_LARGE, f"unpacks to more than {limit} bytes")
        if not stream.eof:
            raise UnreadableDocument(Failure.UNPARSED, "the gzip file is truncated")
        body = stream.unused_data
        if not body.startswith(b"\x1f\x8b"):
            return b"".join(parts)
    raise UnreadableDocument(Failure.UNPARSED, f"the gzip file has more than {_MAX_GZIP_STREAMS} streams")


def open_zip(body: bytes) -> ZipFile:
    """Open a zip file and read its table of contents. Raise `UnreadableDocument` if it is corrupt."""
    try:
        return ZipFile(BytesIO(body))
    except _ZIP_ERRORS as error:
        raise UnreadableDocument(Failure.UNPARSED, "the zip file is corrupt") from error


def read_member(archive: ZipFile, info: ZipInfo | str, limit: int) -> bytes:
    """Read one member of a zip file, by its entry or its name.

    Raise `UnreadableDocument` if it is missing, encrypted, corrupt or larger than `limit` bytes, whatever size the
    table of contents declares.
    """
    try:
        info = archive.getinfo(info) if isinstance(info, str) else info
    except KeyError as error:
        raise UnreadableDocument(Failure.UNPARSED, f"the zip file has no member {info}") from error
    if info.flag_bits & _ENCRYPTED_FLAG:
        raise UnreadableDocument(Failure.ENCRYPTED, "the file is password-protected")
    if info.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
        raise UnreadableDocument(Failure.UNPARSED, "unsupported zip compression method")
    parts: list[bytes] = []
    size = 0
    try:
        with archive.open(info) as file:
            while part := file.read(min(_READ_SIZE, limit + 1 - size)):
                parts.append(part)
                size += len(part)
                if size > limit:
                    raise UnreadableDocument(Failure.TOO_LARGE, f"unpacks to more than {limit} bytes")
    except _ZIP_ERRORS as error:
        raise UnreadableDocument(Failure.UNPARSED, "a member of the zip file is corrupt") from error
    return b"".join(parts)


def iter_members(archive: ZipFile, limit: int) -> Iterator[ArchiveMember]:
    """Yield the readable members of an archive in their order; skip all others.

    Each member may have `limit` bytes, and all together `MAX_ARCHIVE_FACTOR` times as many. A member that cannot be
    extracted is yielded with its failure. At most `MAX_MEMBERS` members are yielded.
    """
    count, room = 0, MAX_ARCHIVE_FACTOR * limit
    for info in archive.infolist():
        name = info.filename[:_MAX_NAME_LENGTH]
        # `ZipInfo.is_dir` fails for a member without a name.
        if not name or name.endswith("/") or name.startswith("__MACOSX/") or not is_readable(archive, info):
            continue
        count += 1
        if count > MAX_MEMBERS:
            return
        try:
            body = read_member(archive, info, min(limit, room))
            if body.startswith(b"PK\3\4") and is_archive(body):
                raise UnreadableDocument(Failure.NESTED, "nested archives are not unpacked")
        except UnreadableDocument as error:
            yield ArchiveMember(name, failure=error.failure, detail=error.detail)
            continue
        room -= len(body)
        yield ArchiveMember(name, body)


def is_readable(archive: ZipFile, info: ZipInfo) -> bool:
    """Return whether a member is a page or a document, by its first bytes and its name.

    The first bytes of encrypted members, and of members with an unusual compression, are unknown. For these, the suffix
    decides.
    """
    if info.flag_bits & _ENCRYPTED_FLAG or info.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
        return info.filename.lower().endswith((".pdf", ".ps", ".html", ".htm", ".txt", ".docx", ".odt", ".epub"))
    try:
        with archive.open(info) as file:
            head = file.read(_SNIFF_BYTES)
    except _ZIP_ERRORS:
        return False
    if not head:
        return False
    _, dot, extension = info.filename.rpartition("/")[2].rpartition(".")
    suffix = extension.lower() if dot else ""
    return bool(detect_magic(head)) or (bool(sniff_text(head)) and suffix in _TEXT_SUFFIXES)


def is_archive(body: bytes) -> bool:
    """Return whether a zip file is an archive of files, not a single document (docx, odt, EPUB, …).

    Raise `UnreadableDocument` if it is corrupt.
    """
    return not detect_document_type(open_zip(body))


def detect_document_type(archive: ZipFile) -> str:
    """Return the document type of a zip file: docx, odt, epub, "other" (spreadsheets, slides); "" for an archive."""
    names = archive.NameToInfo
    if "word/document.xml" in names:
        return "docx"
    if "[Content_Types].xml" in names:
        return "other"
    kind = _read_mimetype(archive) if "mimetype" in names else b""
    if kind == b"application/epub+zip":
        return "epub"
    if kind.startswith(b"application/vnd.oasis.opendocument.text"):
        return "odt"
    return "other" if kind.startswith(b"application/vnd.oasis.") else ""


def _read_mimetype(archive: ZipFile) -> bytes:
    """Return the content of the member `mimetype`, or b"" if it cannot be read."""
    try:
        return read_member(archive, "mimetype", _MAX_MIMETYPE_BYTES).strip()
    except UnreadableDocument:
        # An ordinary file that happens to have this name.
        return b""
