"""From the bytes of a document to something that this package's own parsers read, and the form in which it travels.

one document   HTML
gzip           the file inside, converted if it is a document itself
zip            the files inside as they are; each is converted for itself, within limits of its own
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from typing import NamedTuple

from topicrawl.documents.epub import read_epub
from topicrawl.documents.kinds import magic, sniffed
from topicrawl.documents.office import read_docx, read_odt
from topicrawl.documents.packed import Member, document_kind, gunzipped, members, opened
from topicrawl.documents.pdf import read_pdf
from topicrawl.documents.postscript import read_postscript
from topicrawl.documents.unreadable import Unreadable
from topicrawl.records import Failure

CONVERTED = "text/html; charset=utf-8"
#: The first thing in a message: how long its description is.
LENGTH = struct.Struct(">I")
_PLAIN = {"html": "text/html", "plain": "text/plain"}


class Limits(NamedTuple):
    """What reading one document may take."""

    bytes: int = 10 << 20  # of the document, and of what is unpacked from it
    seconds: float = 20.0  # of computing


class Converted(NamedTuple):
    """What a document became: text with its media type, or the members of an archive, or why it is neither."""

    type: str = ""  # of `body`; "": an archive, or a failure
    body: bytes = b""
    members: tuple[Member, ...] = ()
    failure: Failure | None = None
    detail: str = ""


def converted(body: bytes, limits: Limits) -> Converted:
    """What a document becomes; `Unreadable` when it cannot be read."""
    kind = magic(body)
    if kind == "gzip":
        body = gunzipped(body, limits.bytes)
        kind = magic(body) or sniffed(body)
        if kind == "gzip":
            raise Unreadable(Failure.NESTED, "gzip inside gzip is not opened")
    if kind in _PLAIN:
        return Converted(_PLAIN[kind], body)
    if kind == "pdf":
        return Converted(CONVERTED, read_pdf(body))
    if kind == "ps":
        return Converted(CONVERTED, read_postscript(body, limits.seconds))
    if kind == "zip":
        return _unzipped(body, limits)
    raise Unreadable(Failure.CONTENT_TYPE, "no kind of document that is known here")


def _unzipped(body: bytes, limits: Limits) -> Converted:
    archive = opened(body)
    kind = document_kind(archive)
    readers = {"docx": read_docx, "odt": read_odt, "epub": read_epub}
    if kind in readers:
        return Converted(CONVERTED, readers[kind](archive, limits.bytes))
    if kind:
        raise Unreadable(Failure.CONTENT_TYPE, "tables or slides of an office program")
    found = tuple(members(archive, limits.bytes))
    return Converted(members=found, detail=f"{len(found)} of {len(archive.infolist())} files in it can be read")


def packed(found: Converted) -> bytes:
    """As a message: the length of the description, the description, the contents.

    >>> from io import BytesIO
    >>> unpacked(BytesIO(packed(Converted("text/plain", b"hello"))).read).body
    b'hello'
    """
    about = {
        "type": found.type,
        "size": len(found.body),
        "members": [(m.name, len(m.body), m.failure, m.detail) for m in found.members],
        "failure": found.failure,
        "detail": found.detail,
    }
    head = json.dumps(about).encode()
    return b"".join((LENGTH.pack(len(head)), head, found.body, *(member.body for member in found.members)))


def unpacked(receive: Callable[[int], bytes]) -> Converted:
    """The message that comes in; `receive` gives the next so many bytes."""
    (length,) = LENGTH.unpack(receive(LENGTH.size))
    about = json.loads(receive(length))
    body = receive(about["size"])
    found = tuple(
        Member(name, receive(size), Failure(failure) if failure else None, detail)
        for name, size, failure, detail in about["members"]
    )
    failure = about["failure"]
    return Converted(about["type"], body, found, Failure(failure) if failure else None, about["detail"])
