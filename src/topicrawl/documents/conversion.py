"""Convert the bytes of a document to a form that the page parsers read.

single document   HTML
gzip              the compressed file, converted if it is a document
zip archive       the members unchanged; each is converted separately, with its own limits
"""

from __future__ import annotations

from topicrawl.documents.archives import decompress_gzip, detect_document_type, iter_members, open_zip
from topicrawl.documents.epub import convert_epub
from topicrawl.documents.errors import UnreadableDocument
from topicrawl.documents.file_types import detect_magic, sniff_text
from topicrawl.documents.messages import ConversionLimits, ConvertedDocument
from topicrawl.documents.office import convert_docx, convert_odt
from topicrawl.documents.pdf import convert_pdf
from topicrawl.documents.postscript import convert_postscript
from topicrawl.models import Failure

CONVERTED_TYPE = "text/html; charset=utf-8"
_TEXT_TYPES = {"html": "text/html", "plain": "text/plain"}


def convert_document(body: bytes, limits: ConversionLimits) -> ConvertedDocument:
    """Convert a document to HTML, or an archive to its members, by its first bytes.

    Raise `UnreadableDocument` with the failure if it cannot be read.
    """
    kind = detect_magic(body)
    if kind == "gzip":
        body = decompress_gzip(body, limits.max_bytes)
        kind = detect_magic(body) or sniff_text(body)
        if kind == "gzip":
            raise UnreadableDocument(Failure.NESTED, "nested gzip files are not unpacked")
    if kind in _TEXT_TYPES:
        return ConvertedDocument(_TEXT_TYPES[kind], body)
    if kind == "pdf":
        return ConvertedDocument(CONVERTED_TYPE, convert_pdf(body))
    if kind == "ps":
        return ConvertedDocument(CONVERTED_TYPE, convert_postscript(body, limits.cpu_seconds))
    if kind == "zip":
        return _convert_zip(body, limits)
    if kind == "ole":
        raise UnreadableDocument(Failure.ENCRYPTED, "the office document requires a password")
    raise UnreadableDocument(Failure.CONTENT_TYPE, "unsupported document type")


def _convert_zip(body: bytes, limits: ConversionLimits) -> ConvertedDocument:
    """Convert a zip file: a document to HTML, an archive to its members.

    Raise `UnreadableDocument` for spreadsheets and presentations, and for corrupt files.
    """
    archive = open_zip(body)
    kind = detect_document_type(archive)
    readers = {"docx": convert_docx, "odt": convert_odt, "epub": convert_epub}
    if kind in readers:
        return ConvertedDocument(CONVERTED_TYPE, readers[kind](archive, limits.max_bytes))
    if kind:
        raise UnreadableDocument(Failure.CONTENT_TYPE, "spreadsheets and presentations are not supported")
    extracted = tuple(iter_members(archive, limits.max_bytes))
    detail = f"extracted {len(extracted)} of {len(archive.infolist())} files from the archive"
    return ConvertedDocument(members=extracted, detail=detail)
