"""Read RDF/XML, Turtle and N-Triples with rdflib, the library of the extra `rdf`.

rdflib gets the text of the file and opens neither files nor connections. XML entities that expand are rejected.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, Self, cast
from xml.parsers import expat
from xml.sax import SAXParseException
from xml.sax.handler import ContentHandler, feature_external_ges
from xml.sax.xmlreader import AttributesNSImpl, Locator

from topicrawl.errors import UsageError

if TYPE_CHECKING:
    from rdflib import Graph
    from rdflib.parser import InputSource
    from rdflib.term import Node

_PARSE_TYPE = ("http://www.w3.org/1999/02/22-rdf-syntax-ns#", "parseType")
#: Maximum length of an entity. Valid files use entities only to abbreviate addresses.
_MAX_ENTITY_LENGTH = 200
#: Base of relative addresses, if the file declares none.
_BASE = "file:///"

# rdflib warns about literals and addresses that are not valid. Without a handler, Python prints the warnings.
logging.getLogger("rdflib").addHandler(logging.NullHandler())


class RdfTriple(NamedTuple):
    """RDF triple. The names of blank nodes begin with `_:`."""

    subject: str
    predicate: str
    object: str
    language: str | None = None  # of a literal, "" if it has none; None: the object is not a literal


def parse_rdf_xml(text: str, name: str) -> list[RdfTriple]:
    """Return the triples of an RDF/XML document, without XML literals.

    Raise a one-line `ValueError` if the document is not valid, and `UsageError` if rdflib is not installed.

    >>> rdf = 'xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:s="http://s/"'
    >>> triples = parse_rdf_xml(f'<rdf:RDF {rdf}><s:C rdf:about="http://c"><s:p>x</s:p></s:C></rdf:RDF>', "f.rdf")
    >>> tuple(triples[1])
    ('http://c', 'http://s/p', 'x', '')
    """
    source = _create_source(text, name)
    _check_entities(text, name)
    from rdflib.exceptions import ParserError
    from rdflib.plugins.parsers.rdfxml import create_parser

    graph, triples = _create_collector()
    parser = create_parser(source, graph)
    parser.setFeature(feature_external_ges, False)
    parser.setContentHandler(_RdfXmlFilter(cast("ContentHandler", parser.getContentHandler())))
    try:
        with _keep_literals():
            parser.parse(source)
    except SAXParseException as error:
        raise ValueError(f"{name}:{error.getLineNumber()}: not valid XML: {error.getMessage()}") from error
    except ParserError as error:  # its message begins with the name of the source, line and column
        line, _, reason = str(error).removeprefix(f"{name}:").split(":", 2)
        raise ValueError(f"{name}:{line}: not valid RDF/XML:{reason}") from error
    except Exception as error:  # rdflib rejects files with exceptions of many classes
        raise ValueError(f"{name}: not valid RDF/XML: {_describe_error(error)}") from error
    return triples


def parse_turtle(text: str, name: str) -> list[RdfTriple]:
    """Return the triples of a Turtle or N-Triples document.

    Raise a one-line `ValueError` if the document is not valid, and `UsageError` if rdflib is not installed.

    >>> [tuple(one) for one in parse_turtle('@prefix s: <http://s/> . s:c s:p "x"@en, s:d .', "f.ttl")]
    [('http://s/c', 'http://s/p', 'x', 'en'), ('http://s/c', 'http://s/p', 'http://s/d', None)]
    """
    source = _create_source(text, name)
    from rdflib.plugins.parsers.notation3 import BadSyntax

    graph, triples = _create_collector()
    try:
        with _keep_literals():
            graph.parse(source, format="turtle")
    except BadSyntax as error:
        _, line, rest, position, reason = error.args
        found = rest[position : position + 30].strip()
        raise ValueError(f"{name}:{line + 1}: not valid Turtle: {reason}, found {found!r}") from error
    except Exception as error:  # rdflib rejects files with exceptions of many classes
        raise ValueError(f"{name}: not valid Turtle: {_describe_error(error)}") from error
    return triples


def _describe_error(error: Exception) -> str:
    """Return the reason of an exception of rdflib in one line."""
    if isinstance(error, IndexError):
        return "unexpected end of the file"
    if isinstance(error, RecursionError):
        return "brackets are nested too deeply"
    return (str(error).splitlines() or [type(error).__name__])[0]


def _create_source(text: str, name: str) -> InputSource:
    """Return the text as an input of rdflib. Raise `UsageError` if rdflib is not installed."""
    try:
        from rdflib.parser import StringInputSource
    except ImportError as error:
        raise UsageError(
            f"{name}: RDF thesauri need rdflib: pip install 'topicrawl[rdf]', or write the thesaurus as a table"
        ) from error
    source = StringInputSource(text)
    source.setPublicId(_BASE)
    source.setSystemId(name)  # for messages; the text is not read again
    return source


def _create_collector() -> tuple[Graph, list[RdfTriple]]:
    """Return a graph, and the list to which it appends triples in the order of the document."""
    from rdflib import BNode, Graph, Literal

    triples: list[RdfTriple] = []
    blank_names: dict[BNode, str] = {}

    def get_name(node: Node) -> str:
        if isinstance(node, BNode):
            return blank_names.setdefault(node, f"_:{len(blank_names) + 1}")
        return str(node)

    class TripleCollector(Graph):
        """Graph without an index."""

        def add(self, triple: tuple[Node, Node, Node]) -> Self:
            """Append a triple to the list."""
            subject, predicate, value = triple
            language = (value.language or "") if isinstance(value, Literal) else None
            triples.append(RdfTriple(get_name(subject), str(predicate), get_name(value), language))
            return self

        def bind(self, *_: Any, **__: Any) -> None:
            """Ignore prefixes, which are needed only to write RDF."""

    return TripleCollector(bind_namespaces="none"), triples


@contextmanager
def _keep_literals() -> Iterator[None]:
    """Keep literals as they are written. Otherwise rdflib writes the decimal 1e999999999 with a billion digits."""
    import rdflib

    before = rdflib.NORMALIZE_LITERALS
    rdflib.NORMALIZE_LITERALS = False
    try:
        yield
    finally:
        rdflib.NORMALIZE_LITERALS = before


def _check_entities(text: str, name: str) -> None:
    """Raise a one-line `ValueError` if a document declares entities that are external, nested or long."""
    parser = expat.ParserCreate("utf-8")

    def check_entity(entity: str, parameter: int, value: str | None, *_: str | None) -> None:
        # Nested entities can expand a small file until it fills the memory.
        if parameter or value is None or "&" in value or len(value) > _MAX_ENTITY_LENGTH:
            where = f"{name}:{parser.CurrentLineNumber}"
            raise ValueError(f"{where}: the entity {entity!r} is not a short text: replace it by its value in the file")

    parser.EntityDeclHandler = check_entity
    try:
        parser.Parse(text, True)
    except expat.ExpatError as error:
        reason = expat.errors.messages[error.code]
        raise ValueError(f"{name}:{error.lineno}: not valid XML: {reason}") from error


class _RdfXmlFilter(ContentHandler):
    """SAX handler between the XML parser and rdflib.

    rdflib needs quadratic time for texts in many parts, for XML literals and for many namespaces. The filter joins the
    parts of a text, and omits properties that contain XML literals. rdflib needs namespace prefixes only for these.
    """

    def __init__(self, target: ContentHandler) -> None:
        super().__init__()
        self._target = target
        self._text: list[str] = []
        self._skipped_depth = 0  # number of open elements in an XML literal, with its property

    def setDocumentLocator(self, locator: Locator) -> None:
        """Pass on the locator, which gives the line for messages."""
        self._target.setDocumentLocator(locator)

    def startElementNS(self, name: tuple[str | None, str], qname: str | None, attrs: AttributesNSImpl) -> None:
        """Pass on the start of an element."""
        if self._skipped_depth or attrs.get(_PARSE_TYPE) == "Literal":
            self._skipped_depth += 1
            return
        self._pass_text()
        self._target.startElementNS(name, qname, attrs)

    def endElementNS(self, name: tuple[str | None, str], qname: str | None) -> None:
        """Pass on the end of an element."""
        if self._skipped_depth:
            self._skipped_depth -= 1
            return
        self._pass_text()
        self._target.endElementNS(name, qname)

    def characters(self, content: str) -> None:
        """Store a part of a text."""
        if not self._skipped_depth:
            self._text.append(content)

    def _pass_text(self) -> None:
        if self._text:
            self._target.characters("".join(self._text))
            self._text.clear()
