"""Convert Word documents (docx) and OpenDocument texts (odt) to HTML.

Both are zip files that contain XML, which is parsed in one pass without a tree. XML with entity declarations is
rejected: ordinary documents have none, and entities can expand a kilobyte of XML to a gigabyte of text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from html import escape
from xml.parsers import expat
from zipfile import ZipFile

from topicrawl.documents.archives import read_member
from topicrawl.documents.errors import UnreadableDocument
from topicrawl.documents.paragraph_layout import MAX_TEXT_LENGTH, build_html_page, choose_title, clean_text
from topicrawl.models import Failure

_HYPERLINK = re.compile(r'HYPERLINK\s+"([^"]+)"')
_HEADING = re.compile(r"(?:heading|berschrift|titre)\s*([1-6])|(title)", re.I)


class XmlHandler:
    """Streaming XML parser that calls `handle_start`, `handle_end` and `handle_text`, without namespaces."""

    def __init__(self) -> None:
        self._parser = expat.ParserCreate(namespace_separator=" ")
        self._parser.StartElementHandler = lambda tag, attributes: self.handle_start(
            _get_local_name(tag), _strip_namespaces(attributes)
        )
        self._parser.EndElementHandler = lambda tag: self.handle_end(_get_local_name(tag))
        self._parser.CharacterDataHandler = self.handle_text
        self._parser.EntityDeclHandler = self._reject_entity
        self._parser.buffer_text = True

    def parse(self, source: bytes) -> None:
        """Parse an XML file and call the handlers. Raise `UnreadableDocument` for malformed XML."""
        try:
            self._parser.Parse(source, True)
        except expat.ExpatError as error:
            raise UnreadableDocument(Failure.UNPARSED, f"malformed XML: {error}") from error

    def handle_start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Handle a start tag."""

    def handle_end(self, tag: str) -> None:
        """Handle an end tag."""

    def handle_text(self, text: str) -> None:
        """Handle text between tags."""

    def _reject_entity(self, *entity: object) -> None:
        raise UnreadableDocument(Failure.UNPARSED, "XML with entity declarations is not accepted")


def _get_local_name(name: str) -> str:
    """Return a name without its namespace."""
    return name.rpartition(" ")[2]


def _strip_namespaces(attributes: Mapping[str, str]) -> dict[str, str]:
    """Return attributes with names without namespaces."""
    return {_get_local_name(name): value for name, value in attributes.items()}


class OfficeMetadata(XmlHandler):
    """Metadata of an office document: title, language, and link targets by relationship id."""

    def __init__(self) -> None:
        super().__init__()
        self.values: dict[str, str] = {}
        self.link_targets: dict[str, str] = {}
        self._tag = ""

    def handle_start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Record hyperlink targets."""
        self._tag = tag
        if tag == "Relationship" and attributes.get("Type", "").endswith("/hyperlink"):
            self.link_targets[attributes.get("Id", "")] = attributes.get("Target", "")

    def handle_end(self, tag: str) -> None:
        """Leave the current element."""
        self._tag = ""

    def handle_text(self, text: str) -> None:
        """Record title and language."""
        if self._tag in ("title", "language"):
            self.values[self._tag] = (self.values.get(self._tag, "") + text)[:1000]


class HtmlBlockBuilder(XmlHandler):
    """Base class that collects the text of a document as HTML blocks."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks: list[str] = []
        self._pieces: list[str] = []
        self._block_tag = "p"
        self._is_linked = False
        self._hidden_depth = 0  # number of open elements whose text is hidden
        self._size = 0

    def add_text(self, text: str) -> None:
        """Add text to the current block. Hidden text, and text beyond `MAX_TEXT_LENGTH` in total, is dropped."""
        self._size += len(text)
        if self._size <= MAX_TEXT_LENGTH and not self._hidden_depth:
            self._pieces.append(escape(clean_text(text)))

    def open_link(self, url: str) -> None:
        """Start a link in the current block."""
        self.close_link()
        self._pieces.append(f'<a href="{escape(url)}">')
        self._is_linked = True

    def close_link(self) -> None:
        """End the current link, if there is one."""
        if self._is_linked:
            self._pieces.append("</a>")
            self._is_linked = False

    def close_block(self) -> None:
        """End the current block and start a new paragraph."""
        self.close_link()
        inner = "".join(self._pieces).strip()
        if inner:
            self.blocks.append(f"<{self._block_tag}>{inner}</{self._block_tag}>")
        self._pieces, self._block_tag = [], "p"


class DocxBlockBuilder(HtmlBlockBuilder):
    """Collect HTML blocks from WordprocessingML (docx)."""

    def __init__(self, link_targets: Mapping[str, str]) -> None:
        super().__init__()
        self._link_targets = link_targets
        self._is_text = False
        self._field_code: list[str] | None = None  # code of the current field

    def handle_start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Handle the start of text, breaks, styles and hyperlinks."""
        if tag == "t":
            self._is_text = True
        elif tag in ("tab", "br", "cr"):
            self.add_text(" ")
        elif tag == "pStyle" and (style := _HEADING.search(attributes.get("val", ""))):
            self._block_tag = f"h{style[1] or 1}"
        elif tag == "hyperlink" and (url := self._link_targets.get(attributes.get("id", ""))):
            self.open_link(url)
        elif tag == "fldSimple" and (code := _HYPERLINK.search(attributes.get("instr", ""))):
            self.open_link(code[1])
        elif tag == "instrText":
            self._field_code = []
        elif tag == "fldChar" and attributes.get("fldCharType") == "end":
            self.close_link()

    def handle_end(self, tag: str) -> None:
        """Handle the end of text, paragraphs and hyperlinks."""
        if tag == "t":
            self._is_text = False
        elif tag == "p":
            self.close_block()
        elif tag in ("hyperlink", "fldSimple"):
            self.close_link()
        elif tag == "instrText":
            if code := _HYPERLINK.search("".join(self._field_code or ())):
                self.open_link(code[1])
            self._field_code = None

    def handle_text(self, text: str) -> None:
        """Collect text and field codes."""
        if self._field_code is not None:
            self._field_code.append(text)
        elif self._is_text:
            self.add_text(text)


class OdtBlockBuilder(HtmlBlockBuilder):
    """Collect HTML blocks from OpenDocument text (odt)."""

    def handle_start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Handle the start of headings, links, spaces and hidden elements."""
        if tag in ("annotation", "tracked-changes"):
            self._hidden_depth += 1
        elif self._hidden_depth:
            return
        elif tag == "h":
            level = attributes.get("outline-level", "")
            self._block_tag = f"h{level}" if level in tuple("123456") else "h1"
        elif tag == "a" and attributes.get("href"):
            self.open_link(attributes["href"])
        elif tag in ("s", "tab", "line-break"):
            self.add_text(" ")

    def handle_end(self, tag: str) -> None:
        """Handle the end of paragraphs, links and hidden elements."""
        if tag in ("annotation", "tracked-changes"):
            self._hidden_depth -= 1
        elif self._hidden_depth:
            return
        elif tag in ("p", "h"):
            self.close_block()
        elif tag == "a":
            self.close_link()

    def handle_text(self, text: str) -> None:
        """Collect text."""
        self.add_text(text)


def convert_docx(archive: ZipFile, limit: int) -> bytes:
    """Convert a Word document to HTML. Raise `UnreadableDocument` if a part of it is missing or corrupt."""
    facts = _read_metadata(archive, ("docProps/core.xml", "word/_rels/document.xml.rels"), limit)
    body = DocxBlockBuilder(facts.link_targets)
    body.parse(read_member(archive, "word/document.xml", limit))
    return _build_page(facts, body)


def _is_encrypted(archive: ZipFile, limit: int) -> bool:
    """Return whether the manifest of an OpenDocument file lists encrypted members."""
    name = "META-INF/manifest.xml"
    return name in archive.NameToInfo and b"encryption-data" in read_member(archive, name, limit)


def convert_odt(archive: ZipFile, limit: int) -> bytes:
    """Convert an OpenDocument text to HTML.

    Raise `UnreadableDocument` if it requires a password, or a part of it is missing or corrupt.
    """
    if _is_encrypted(archive, limit):
        raise UnreadableDocument(Failure.ENCRYPTED, "the document requires a password")
    facts = _read_metadata(archive, ("meta.xml",), limit)
    body = OdtBlockBuilder()
    body.parse(read_member(archive, "content.xml", limit))
    return _build_page(facts, body)


def _read_metadata(archive: ZipFile, names: tuple[str, ...], limit: int) -> OfficeMetadata:
    """Read metadata and link targets from members of the archive."""
    metadata = OfficeMetadata()
    for name in names:
        if name in archive.NameToInfo:
            part = OfficeMetadata()
            part.parse(read_member(archive, name, limit))
            metadata.values |= part.values
            metadata.link_targets |= part.link_targets
    return metadata


def _build_page(metadata: OfficeMetadata, body: HtmlBlockBuilder) -> bytes:
    """Build the HTML page of a document."""
    plain = [re.sub(r"<[^>]*>", "", block) for block in body.blocks[:1]]
    return build_html_page(
        choose_title(metadata.values.get("title", ""), plain), body.blocks, language=metadata.values.get("language", "")
    )
