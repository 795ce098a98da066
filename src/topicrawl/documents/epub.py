"""Convert EPUB e-books to HTML: one page with all chapters in reading order."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from urllib.parse import unquote
from zipfile import ZipFile

from topicrawl.documents.archives import read_member
from topicrawl.documents.errors import UnreadableDocument
from topicrawl.documents.office import XmlHandler
from topicrawl.documents.paragraph_layout import MAX_TEXT_LENGTH, build_html_page, choose_title
from topicrawl.models import Failure

_BODY = re.compile(r"<body[^>]*>(.*?)(?:</body\s*>|\Z)", re.I | re.S)
_INVISIBLE_ELEMENTS = re.compile(r"<(script|style)\b.*?</\1\s*>|<!--.*?-->", re.I | re.S)
# Links between chapters and to images, which have no URL on the web.
_INTERNAL_LINK = re.compile(r"""\b(?:href|src|action)\s*=\s*(?:"(?!https?:)[^"]*"|'(?!https?:)[^']*')""", re.I)


class EpubPackage(XmlHandler):
    """Package document of an EPUB: title, language, and the files in reading order."""

    def __init__(self) -> None:
        super().__init__()
        self.metadata: dict[str, str] = {}
        self.root_file = ""
        self._files: dict[str, str] = {}
        self._order: list[str] = []
        self._tag = ""

    def handle_start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Record the root file, the manifest items and the reading order."""
        self._tag = tag
        if tag == "rootfile":
            self.root_file = self.root_file or attributes.get("full-path", "")
        elif tag == "item":
            self._files[attributes.get("id", "")] = attributes.get("href", "")
        elif tag == "itemref":
            self._order.append(attributes.get("idref", ""))

    def handle_end(self, tag: str) -> None:
        """Leave the current element."""
        self._tag = ""

    def handle_text(self, text: str) -> None:
        """Record title and language."""
        if self._tag in ("title", "language") and text.strip():
            self.metadata.setdefault(self._tag, text.strip()[:1000])

    def list_chapters(self, folder: str) -> list[str]:
        """Return the archive names of the chapter files in reading order; `folder` contains the package document."""
        files = [self._files[name] for name in self._order if name in self._files]
        return [posixpath.normpath(posixpath.join(folder, unquote(file))) for file in files]


class EpubEncryption(XmlHandler):
    """File `encryption.xml` of an EPUB: the names of its encrypted files."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    def handle_start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Record the encrypted files."""
        if tag == "CipherReference":
            self.names.add(posixpath.normpath(unquote(attributes.get("URI", ""))))


def convert_epub(archive: ZipFile, limit: int) -> bytes:
    """Convert an EPUB e-book to one HTML page. Encrypted chapters are skipped.

    Raise `UnreadableDocument` if it has no readable chapters.
    """
    container, book = EpubPackage(), EpubPackage()
    container.parse(read_member(archive, "META-INF/container.xml", limit))
    book.parse(read_member(archive, container.root_file, limit))
    encryption = EpubEncryption()
    # Many books encrypt only their fonts.
    if "META-INF/encryption.xml" in archive.NameToInfo:
        encryption.parse(read_member(archive, "META-INF/encryption.xml", limit))
    blocks: list[str] = []
    size, encrypted_count = 0, 0
    for name in book.list_chapters(posixpath.dirname(container.root_file)):
        if name not in archive.NameToInfo:
            continue
        if name in encryption.names:
            encrypted_count += 1
            continue
        source = read_member(archive, name, limit)
        # EPUB files are UTF-8, or UTF-16 with a byte-order mark.
        text = source.decode("utf-16" if source.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8", "replace")
        body = _BODY.search(_INVISIBLE_ELEMENTS.sub("", text))
        if body is None:
            continue
        block = _INTERNAL_LINK.sub("", body[1])
        blocks.append(f"<div>{block}</div>")
        size += len(block)
        if size > 2 * MAX_TEXT_LENGTH:
            break
    if not blocks and encrypted_count:
        raise UnreadableDocument(Failure.ENCRYPTED, "the chapters of the EPUB are encrypted")
    if not blocks:
        raise UnreadableDocument(Failure.UNPARSED, "the EPUB has no readable chapters")
    return build_html_page(
        choose_title(book.metadata.get("title", ""), []), blocks, language=book.metadata.get("language", "")
    )
