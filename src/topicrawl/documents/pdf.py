"""Convert PDF to HTML with PDFium: text in reading order, title, links with their anchor texts.

Runs in the child process (`child_process.py`). PDFium is built without JavaScript and executes nothing.
"""

from __future__ import annotations

import ctypes
from typing import Any

from topicrawl.documents.errors import UnreadableDocument
from topicrawl.documents.paragraph_layout import (
    LINK_END,
    LINK_START,
    MAX_TEXT_LENGTH,
    build_html_page,
    choose_title,
    clean_text,
    join_paragraphs,
    render_paragraphs,
)
from topicrawl.models import Failure

MAX_PAGES = 1000
_MAX_DECLARED_PAGES = 100_000  # a document that declares more pages has a forged page tree
MAX_LINKS = 2000
_MAX_URL_LENGTH = 2000
_MAX_BROKEN_PAGES = 20  # consecutive pages that cannot be loaded; a forged page tree has no end
_PASSWORD_ERROR = 4


def convert_pdf(body: bytes) -> bytes:
    """Convert a PDF document to HTML. Raise `UnreadableDocument` if it is encrypted or corrupt."""
    try:
        import pypdfium2
    except ImportError as error:
        raise UnreadableDocument(
            Failure.NO_READER, "PDF conversion requires pypdfium2: pip install pypdfium2"
        ) from error
    try:
        document = pypdfium2.PdfDocument(body)
    except pypdfium2.PdfiumError as error:
        if getattr(error, "err_code", None) == _PASSWORD_ERROR or "password" in str(error).lower():
            raise UnreadableDocument(Failure.ENCRYPTED, "the PDF is password-protected") from error
        raise UnreadableDocument(Failure.UNPARSED, "the PDF is corrupt") from error
    try:
        return _convert_pages(document, pypdfium2)
    finally:
        document.close()


def _convert_pages(document: Any, library: Any) -> bytes:
    """Convert the first `MAX_PAGES` pages of an open document, up to the text limit.

    Damaged pages are skipped. Raise `UnreadableDocument` if there are too many of them, or no readable page.
    """
    sheets: list[list[str]] = []
    links = _PdfLinkMarker(document.raw, library.raw)
    length = lost = 0
    if len(document) > _MAX_DECLARED_PAGES:
        raise UnreadableDocument(
            Failure.UNPARSED, f"the PDF declares {len(document)} pages; at most {_MAX_DECLARED_PAGES} are accepted"
        )
    for number in range(min(len(document), MAX_PAGES)):
        try:
            sheet = document[number]
        except library.PdfiumError as error:
            lost += 1
            if lost > _MAX_BROKEN_PAGES:
                raise UnreadableDocument(
                    Failure.UNPARSED, f"more than {_MAX_BROKEN_PAGES} consecutive pages of the PDF are corrupt"
                ) from error
            continue
        lost = 0
        text = links.mark_page(sheet)
        sheet.close()
        sheets.append(text.splitlines())
        length += len(text)
        if length > MAX_TEXT_LENGTH:
            break
    if not sheets:
        raise UnreadableDocument(Failure.UNPARSED, "the PDF has no readable pages")
    blocks = join_paragraphs(sheets)
    title = choose_title(document.get_metadata_value("Title"), blocks)
    return build_html_page(title, render_paragraphs([*blocks, *links.unplaced], [*links.urls, *links.unplaced_urls]))


class _PdfLinkMarker:
    """Insert markers around the anchor texts of links, and collect their URLs in the order of the markers."""

    def __init__(self, document: Any, raw: Any) -> None:
        self.document = document
        self.raw = raw
        self.urls: list[str] = []
        self.unplaced: list[str] = []  # marked anchor texts that were not found on their pages
        self.unplaced_urls: list[str] = []

    def mark_page(self, page: Any) -> str:
        """Return the text of a page with markers around its links, and append their URLs to `urls`.

        Links whose anchor text is not found are appended to `unplaced`.
        """
        layer = page.get_textpage()
        text = _normalize_text(layer.get_text_range())
        spans: list[tuple[int, int, str]] = []
        at = 0
        for url, box in self._list_links(page):
            anchor = _normalize_text(layer.get_text_bounded(*box)).strip()
            start = text.find(anchor, at) if anchor else -1
            # Links are mostly in reading order; any other link is searched from the start of the page.
            start = text.find(anchor) if anchor and start < 0 else start
            if start < 0 or any(start < end and first < start + len(anchor) for first, end, _ in spans):
                self.unplaced.append(f"{LINK_START}{' '.join(anchor.split())}{LINK_END}")
                self.unplaced_urls.append(url)
                continue
            at = start + len(anchor)
            spans.append((start, at, url))
        layer.close()
        spans.sort()
        self.urls += [url for _, _, url in spans]
        pieces: list[str] = []
        at = 0
        for start, end, _ in spans:
            pieces += text[at:start], LINK_START, text[start:end], LINK_END
            at = end
        return "".join((*pieces, text[at:]))

    def _list_links(self, page: Any) -> list[tuple[str, tuple[float, float, float, float]]]:
        """Return the URL and the rectangle of each web link on a page, until the document has `MAX_LINKS` links."""
        raw = self.raw
        links: list[tuple[str, tuple[float, float, float, float]]] = []
        position, link, box = ctypes.c_int(0), raw.FPDF_LINK(), raw.FS_RECTF()
        while raw.FPDFLink_Enumerate(page.raw, position, link):
            if len(self.urls) + len(self.unplaced) + len(links) >= MAX_LINKS:
                break
            action = raw.FPDFLink_GetAction(link)
            if not action or raw.FPDFAction_GetType(action) != raw.PDFACTION_URI:
                continue
            size = raw.FPDFAction_GetURIPath(self.document, action, None, 0)
            if 1 < size <= _MAX_URL_LENGTH and raw.FPDFLink_GetAnnotRect(link, box):
                buffer = ctypes.create_string_buffer(size)
                raw.FPDFAction_GetURIPath(self.document, action, buffer, size)
                links.append((buffer.value.decode("utf-8", "replace"), (box.left, box.bottom, box.right, box.top)))
        return links


def _normalize_text(text: str) -> str:
    """Return the extracted text with uniform line ends and without soft hyphenation characters."""
    # PDFium marks a word that is hyphenated at the end of a line with one of these characters instead of a line end.
    return clean_text(text.replace("\r\n", "\n").replace("\ufffe", "").replace("\x02", ""))
