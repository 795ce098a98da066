"""From PDF to a page for the web, by PDFium: text in reading order, title, links with their texts.

Runs in a process of its own (`child.py`). Nothing in a document is executed: the library is built without scripts.
"""

from __future__ import annotations

import ctypes
from typing import Any

from topicrawl.documents.layout import END, LONGEST_TEXT, START, clean, linked, page, paragraphs, titled
from topicrawl.documents.unreadable import Unreadable
from topicrawl.records import Failure

MOST_SHEETS = 1000
_CLAIMED = 100_000  # no document for readers has as many sheets: the tree that leads to them is forged
MOST_LINKS = 2000
_LONGEST_URL = 2000
_LOST = 20  # sheets in a row that cannot be opened: there is no end to a forged tree of sheets
_PASSWORD = 4


def read_pdf(body: bytes) -> bytes:
    """The document as HTML."""
    try:
        import pypdfium2
    except ImportError as error:
        raise Unreadable(Failure.NO_READER, "PDF needs a library: pip install pypdfium2") from error
    try:
        document = pypdfium2.PdfDocument(body)
    except pypdfium2.PdfiumError as error:
        if getattr(error, "err_code", None) == _PASSWORD or "password" in str(error).lower():
            raise Unreadable(Failure.ENCRYPTED, "the PDF asks for a password") from error
        raise Unreadable(Failure.UNPARSED, "a broken PDF") from error
    try:
        return _read(document, pypdfium2)
    finally:
        document.close()


def _read(document: Any, library: Any) -> bytes:
    sheets: list[list[str]] = []
    links = _Links(document.raw, library.raw)
    length = lost = 0
    if len(document) > _CLAIMED:
        raise Unreadable(Failure.UNPARSED, f"a PDF that claims to have {len(document)} sheets")
    for number in range(min(len(document), MOST_SHEETS)):
        try:
            sheet = document[number]
        except library.PdfiumError as error:
            lost += 1
            if lost > _LOST:
                raise Unreadable(Failure.UNPARSED, "the PDF has no end of broken sheets") from error
            continue
        lost = 0
        text = links.marked(sheet)
        sheet.close()
        sheets.append(text.splitlines())
        length += len(text)
        if length > LONGEST_TEXT:
            break
    if not sheets:
        raise Unreadable(Failure.UNPARSED, "a PDF without a sheet")
    blocks = paragraphs(sheets)
    title = titled(document.get_metadata_value("Title"), blocks)
    return page(title, linked([*blocks, *links.placeless], [*links.urls, *links.placeless_urls]))


class _Links:
    """Puts marks around the texts of links, and remembers where they lead, in the order of the marks."""

    def __init__(self, document: Any, raw: Any) -> None:
        self.document = document
        self.raw = raw
        self.urls: list[str] = []
        self.placeless: list[str] = []  # marked texts that were not found on their sheets
        self.placeless_urls: list[str] = []

    def marked(self, sheet: Any) -> str:
        """The text of a sheet with marks in it."""
        layer = sheet.get_textpage()
        text = _text(layer.get_text_range())
        spans: list[tuple[int, int, str]] = []
        at = 0
        for url, box in self._leads(sheet):
            anchor = _text(layer.get_text_bounded(*box)).strip()
            start = text.find(anchor, at) if anchor else -1
            # Links mostly come in reading order; one that does not is looked for from the top.
            start = text.find(anchor) if anchor and start < 0 else start
            if start < 0 or any(start < end and first < start + len(anchor) for first, end, _ in spans):
                self.placeless.append(f"{START}{' '.join(anchor.split())}{END}")
                self.placeless_urls.append(url)
                continue
            at = start + len(anchor)
            spans.append((start, at, url))
        layer.close()
        spans.sort()
        self.urls += [url for _, _, url in spans]
        pieces: list[str] = []
        at = 0
        for start, end, _ in spans:
            pieces += text[at:start], START, text[start:end], END
            at = end
        return "".join((*pieces, text[at:]))

    def _leads(self, sheet: Any) -> list[tuple[str, tuple[float, float, float, float]]]:
        raw = self.raw
        found: list[tuple[str, tuple[float, float, float, float]]] = []
        position, link, box = ctypes.c_int(0), raw.FPDF_LINK(), raw.FS_RECTF()
        while raw.FPDFLink_Enumerate(sheet.raw, position, link):
            if len(self.urls) + len(self.placeless) + len(found) >= MOST_LINKS:
                break
            action = raw.FPDFLink_GetAction(link)
            if not action or raw.FPDFAction_GetType(action) != raw.PDFACTION_URI:
                continue
            size = raw.FPDFAction_GetURIPath(self.document, action, None, 0)
            if 1 < size <= _LONGEST_URL and raw.FPDFLink_GetAnnotRect(link, box):
                buffer = ctypes.create_string_buffer(size)
                raw.FPDFAction_GetURIPath(self.document, action, buffer, size)
                found.append((buffer.value.decode("utf-8", "replace"), (box.left, box.bottom, box.right, box.top)))
        return found


def _text(text: str) -> str:
    # Where a word is parted at the end of a line, the library writes one of these, and no line's end.
    return clean(text.replace("\r\n", "\n").replace("\ufffe", "").replace("\x02", ""))
