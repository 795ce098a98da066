"""From the bytes of a document to something that the parsers of web pages read.

one document   HTML
gzip           the file inside, converted if it is a document itself
zip            the files inside as they are; each is converted for itself, within limits of its own
"""

from __future__ import annotations

from topicrawl.documents.epub import read_epub
from topicrawl.documents.kinds import magic, sniffed
from topicrawl.documents.message import Converted, Limits
from topicrawl.documents.office import read_docx, read_odt
from topicrawl.documents.packed import document_kind, gunzipped, members, opened
from topicrawl.documents.pdf import read_pdf
from topicrawl.documents.postscript import read_postscript
from topicrawl.documents.unreadable import Unreadable
from topicrawl.records import Failure

CONVERTED = "text/html; charset=utf-8"
_PLAIN = {"html": "text/html", "plain": "text/plain"}


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
    return Converted(members=found, detail=f"{len(found)} of {len(archive.infolist())} files in it are taken")
