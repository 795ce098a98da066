"""From Word documents (docx) and OpenDocument texts (odt) to a page for the web.

Both are zip files with XML in them, which is read in one pass, without a tree. Declarations of entities, which
honest documents have none of, are refused: they are how a kilobyte of XML becomes a gigabyte of text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from html import escape
from xml.parsers import expat
from zipfile import ZipFile

from topicrawl.documents.layout import LONGEST_TEXT, clean, page, titled
from topicrawl.documents.packed import content
from topicrawl.documents.unreadable import Unreadable
from topicrawl.records import Failure

_HYPERLINK = re.compile(r'HYPERLINK\s+"([^"]+)"')
_HEADING = re.compile(r"(?:heading|berschrift|titre)\s*([1-6])|(title)", re.I)


class Pass:
    """One pass over an XML file: tags without their namespaces are handed to `start` and `end`."""

    def __init__(self) -> None:
        self._parser = expat.ParserCreate(namespace_separator=" ")
        self._parser.StartElementHandler = lambda tag, found: self.start(_local(tag), _plain(found))
        self._parser.EndElementHandler = lambda tag: self.end(_local(tag))
        self._parser.CharacterDataHandler = self.text
        self._parser.EntityDeclHandler = self._refused
        self._parser.buffer_text = True

    def read(self, source: bytes) -> None:
        try:
            self._parser.Parse(source, True)
        except expat.ExpatError as error:
            raise Unreadable(Failure.UNPARSED, f"broken XML: {error}") from error

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """A tag is opened."""

    def end(self, tag: str) -> None:
        """A tag is closed."""

    def text(self, text: str) -> None:
        """Characters between tags."""

    def _refused(self, *entity: object) -> None:
        raise Unreadable(Failure.UNPARSED, "XML that declares entities")


def _local(name: str) -> str:
    return name.rpartition(" ")[2]


def _plain(attributes: Mapping[str, str]) -> dict[str, str]:
    return {_local(name): value for name, value in attributes.items()}


class Facts(Pass):
    """Title and language among a document's facts, and the targets of its links by their names."""

    def __init__(self) -> None:
        super().__init__()
        self.found: dict[str, str] = {}
        self.targets: dict[str, str] = {}
        self._tag = ""

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        self._tag = tag
        if tag == "Relationship" and attributes.get("Type", "").endswith("/hyperlink"):
            self.targets[attributes.get("Id", "")] = attributes.get("Target", "")

    def end(self, tag: str) -> None:
        self._tag = ""

    def text(self, text: str) -> None:
        if self._tag in ("title", "language"):
            self.found[self._tag] = (self.found.get(self._tag, "") + text)[:1000]


class Blocks(Pass):
    """The text of a document as blocks of HTML."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks: list[str] = []
        self._pieces: list[str] = []
        self._level = "p"
        self._is_linked = False
        self._silent = 0  # open tags whose text nobody sees
        self._size = 0

    def add(self, text: str) -> None:
        self._size += len(text)
        if self._size <= LONGEST_TEXT and not self._silent:
            self._pieces.append(escape(clean(text)))

    def open_link(self, url: str) -> None:
        self.close_link()
        self._pieces.append(f'<a href="{escape(url)}">')
        self._is_linked = True

    def close_link(self) -> None:
        if self._is_linked:
            self._pieces.append("</a>")
            self._is_linked = False

    def close_block(self) -> None:
        self.close_link()
        inner = "".join(self._pieces).strip()
        if inner:
            self.blocks.append(f"<{self._level}>{inner}</{self._level}>")
        self._pieces, self._level = [], "p"


class Docx(Blocks):
    """WordprocessingML."""

    def __init__(self, targets: Mapping[str, str]) -> None:
        super().__init__()
        self._targets = targets
        self._is_text = False
        self._code: list[str] | None = None  # of a field, while it is read

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        if tag == "t":
            self._is_text = True
        elif tag in ("tab", "br", "cr"):
            self.add(" ")
        elif tag == "pStyle" and (style := _HEADING.search(attributes.get("val", ""))):
            self._level = f"h{style[1] or 1}"
        elif tag == "hyperlink" and (url := self._targets.get(attributes.get("id", ""))):
            self.open_link(url)
        elif tag == "fldSimple" and (code := _HYPERLINK.search(attributes.get("instr", ""))):
            self.open_link(code[1])
        elif tag == "instrText":
            self._code = []
        elif tag == "fldChar" and attributes.get("fldCharType") == "end":
            self.close_link()

    def end(self, tag: str) -> None:
        if tag == "t":
            self._is_text = False
        elif tag == "p":
            self.close_block()
        elif tag in ("hyperlink", "fldSimple"):
            self.close_link()
        elif tag == "instrText":
            if code := _HYPERLINK.search("".join(self._code or ())):
                self.open_link(code[1])
            self._code = None

    def text(self, text: str) -> None:
        if self._code is not None:
            self._code.append(text)
        elif self._is_text:
            self.add(text)


class Odt(Blocks):
    """OpenDocument text."""

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        if tag in ("annotation", "tracked-changes"):
            self._silent += 1
        elif self._silent:
            return
        elif tag == "h":
            level = attributes.get("outline-level", "")
            self._level = f"h{level}" if level in tuple("123456") else "h1"
        elif tag == "a" and attributes.get("href"):
            self.open_link(attributes["href"])
        elif tag in ("s", "tab", "line-break"):
            self.add(" ")

    def end(self, tag: str) -> None:
        if tag in ("annotation", "tracked-changes"):
            self._silent -= 1
        elif self._silent:
            return
        elif tag in ("p", "h"):
            self.close_block()
        elif tag == "a":
            self.close_link()

    def text(self, text: str) -> None:
        self.add(text)


def read_docx(archive: ZipFile, limit: int) -> bytes:
    """A Word document as HTML."""
    facts = _facts(archive, ("docProps/core.xml", "word/_rels/document.xml.rels"), limit)
    body = Docx(facts.targets)
    body.read(content(archive, "word/document.xml", limit))
    return _page(facts, body)


def read_odt(archive: ZipFile, limit: int) -> bytes:
    """An OpenDocument text as HTML."""
    facts = _facts(archive, ("meta.xml",), limit)
    body = Odt()
    body.read(content(archive, "content.xml", limit))
    return _page(facts, body)


def _facts(archive: ZipFile, names: tuple[str, ...], limit: int) -> Facts:
    found = Facts()
    for name in names:
        if name in archive.NameToInfo:
            facts = Facts()
            facts.read(content(archive, name, limit))
            found.found |= facts.found
            found.targets |= facts.targets
    return found


def _page(facts: Facts, body: Blocks) -> bytes:
    plain = [re.sub(r"<[^>]*>", "", block) for block in body.blocks[:1]]
    return page(titled(facts.found.get("title", ""), plain), body.blocks, language=facts.found.get("language", ""))
