"""From an e-book (EPUB) to a page for the web: its chapters in reading order, one after the other."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from urllib.parse import unquote
from zipfile import ZipFile

from topicrawl.documents.layout import LONGEST_TEXT, page, titled
from topicrawl.documents.office import Pass
from topicrawl.documents.packed import content
from topicrawl.documents.unreadable import Unreadable
from topicrawl.records import Failure

_BODY = re.compile(r"<body[^>]*>(.*?)(?:</body\s*>|\Z)", re.I | re.S)
_UNSEEN = re.compile(r"<(script|style)\b.*?</\1\s*>|<!--.*?-->", re.I | re.S)
# From chapter to chapter, or to pictures: inside the book, and nowhere on the web.
_INWARD = re.compile(r"""\b(?:href|src|action)\s*=\s*(?:"(?!https?:)[^"]*"|'(?!https?:)[^']*')""", re.I)


class Book(Pass):
    """The book's own description: title, language, and its files in reading order."""

    def __init__(self) -> None:
        super().__init__()
        self.found: dict[str, str] = {}
        self.root = ""
        self._files: dict[str, str] = {}
        self._order: list[str] = []
        self._tag = ""

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        self._tag = tag
        if tag == "rootfile":
            self.root = self.root or attributes.get("full-path", "")
        elif tag == "item":
            self._files[attributes.get("id", "")] = attributes.get("href", "")
        elif tag == "itemref":
            self._order.append(attributes.get("idref", ""))

    def end(self, tag: str) -> None:
        self._tag = ""

    def text(self, text: str) -> None:
        if self._tag in ("title", "language") and text.strip():
            self.found.setdefault(self._tag, text.strip()[:1000])

    def chapters(self, folder: str) -> list[str]:
        """The names of the files, as they stand in the archive."""
        files = [self._files[name] for name in self._order if name in self._files]
        return [posixpath.normpath(posixpath.join(folder, unquote(file))) for file in files]


def read_epub(archive: ZipFile, limit: int) -> bytes:
    """An e-book as HTML."""
    start, book = Book(), Book()
    start.read(content(archive, "META-INF/container.xml", limit))
    book.read(content(archive, start.root, limit))
    blocks: list[str] = []
    size = 0
    for name in book.chapters(posixpath.dirname(start.root)):
        if name not in archive.NameToInfo:
            continue
        source = content(archive, name, limit)
        # A book is in UTF-8, or in UTF-16 with a mark that says so.
        text = source.decode("utf-16" if source.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8", "replace")
        body = _BODY.search(_UNSEEN.sub("", text))
        if body is None:
            continue
        block = _INWARD.sub("", body[1])
        blocks.append(f"<div>{block}</div>")
        size += len(block)
        if size > 2 * LONGEST_TEXT:
            break
    if not blocks:
        raise Unreadable(Failure.UNPARSED, "an e-book without a chapter")
    return page(titled(book.found.get("title", ""), []), blocks, language=book.found.get("language", ""))
