"""From RDF/XML to triples, as far as thesauri use it.

Read: node elements with `rdf:about`, `rdf:ID` or `rdf:nodeID` and labels as attributes, properties with a text, with
`rdf:resource` or with a nested node, `xml:lang`, `xml:base` of the root. Left out: collections and XML literals.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple
from urllib.parse import urljoin
from xml.parsers import expat

_RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
_XML = "http://www.w3.org/XML/1998/namespace"
#: Entities abbreviate addresses in honest files; none needs to be longer.
_LONGEST_ENTITY = 200


class Triple(NamedTuple):
    subject: str
    predicate: str
    object: str
    language: str | None = None  # of a text, "" when it does not say; None: the object is no text


@dataclass
class _Frame:
    """An element that is open: the root, a node, a property, or something to be passed over."""

    kind: str
    name: str = ""  # address of a node, or of a property
    language: str = ""
    text: list[str] = field(default_factory=list)
    filled: bool = False  # the property has an object already


def triples(text: str, name: str) -> Iterator[Triple]:
    """The triples of an RDF/XML document; what is wrong with it is a ValueError of one line.

    >>> rdf = 'xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:s="http://s/"'
    >>> [tuple(one) for one in triples(f'<rdf:RDF {rdf}><s:C rdf:about="c"><s:p>x</s:p></s:C></rdf:RDF>', "f.rdf")]
    [('c', 'http://s/p', 'x', '')]
    """
    reader = _Reader(name)
    try:
        reader.parser.Parse(text, True)
    except expat.ExpatError as error:
        reason = expat.errors.messages[error.code]
        raise ValueError(f"{name}:{error.lineno}: not valid XML: {reason}") from error
    return iter(reader.found)


class _Reader:
    def __init__(self, name: str) -> None:
        self.found: list[Triple] = []
        self._name = name
        self._open: list[_Frame] = []
        self._base = ""
        self._blank = 0
        self.parser = expat.ParserCreate("utf-8", "")
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._text
        self.parser.EntityDeclHandler = self._entity

    def _entity(self, entity: str, parameter: int, value: str | None, *_: str | None) -> None:
        # Entities within entities can blow a small file up to fill all memory.
        if parameter or value is None or "&" in value or len(value) > _LONGEST_ENTITY:
            where = f"{self._name}:{self.parser.CurrentLineNumber}"
            raise ValueError(f"{where}: the entity {entity!r} is more than a short text: write it out in the document")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        above = self._open[-1] if self._open else None
        language = attributes.get(_XML + "lang", above.language if above else "")
        if above is None and name == _RDF + "RDF":
            self._base = attributes.get(_XML + "base", "")
            self._open.append(_Frame("root", language=language))
        elif above is None or above.kind in ("root", "property"):
            self._node(attributes, language)
        elif above.kind == "node":
            self._property(name, attributes, language)
        else:
            self._open.append(_Frame("skipped"))

    def _node(self, attributes: dict[str, str], language: str) -> None:
        address = self._address(attributes, "about")
        if self._open and self._open[-1].kind == "property":
            self._object(address)
        self._open.append(_Frame("node", address, language))
        for name, value in attributes.items():
            if not name.startswith((_RDF, _XML)):
                self.found.append(Triple(address, name, value, language))

    def _property(self, name: str, attributes: dict[str, str], language: str) -> None:
        parse = attributes.get(_RDF + "parseType", "")
        self._open.append(_Frame("property", name, language))
        if parse == "Resource":
            address = self._address({}, "about")
            self._object(address)
            self._open[-1] = _Frame("node", address, language)
        elif parse:
            self._open[-1] = _Frame("skipped")
        elif _RDF + "resource" in attributes or _RDF + "nodeID" in attributes:
            self._object(self._address(attributes, "resource"))

    def _address(self, attributes: dict[str, str], key: str) -> str:
        if (plain := attributes.get(_RDF + key)) is not None:
            return urljoin(self._base, plain) if self._base else plain
        if (fragment := attributes.get(_RDF + "ID")) is not None:
            return urljoin(self._base, "#" + fragment)
        if (node := attributes.get(_RDF + "nodeID")) is not None:
            return "_:" + node
        self._blank += 1
        return f"_: {self._blank}"  # with a blank, which no name in the document has

    def _object(self, address: str) -> None:
        self._open[-1].filled = True
        self.found.append(Triple(self._open[-2].name, self._open[-1].name, address))

    def _text(self, text: str) -> None:
        if self._open and self._open[-1].kind == "property":
            self._open[-1].text.append(text)

    def _end(self, name: str) -> None:
        frame = self._open.pop()
        if frame.kind == "property" and not frame.filled:
            self.found.append(Triple(self._open[-1].name, frame.name, "".join(frame.text), frame.language))
