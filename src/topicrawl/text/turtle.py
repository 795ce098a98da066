"""From Turtle and N-Triples to triples, as far as thesauri use them.

Read: prefixes and base, lists of predicates and objects, texts with language or type, numbers, blank nodes and
`[ … ]`. The members of `( … )` are read and left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import urljoin

from topicrawl.text.rdf_xml import Triple

_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
_TOKEN = re.compile(
    r"""(?P<space>(?:\s|\#[^\n]*)+)
    |(?P<address><[^<>\s]*>)
    |(?P<long>\"{3}(?:[^"\\]|\\.|"(?!""))*\"{3}|'{3}(?:[^'\\]|\\.|'(?!''))*'{3})
    |(?P<text>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
    |(?P<at>@[A-Za-z]+(?:-[A-Za-z0-9]+)*)
    |(?P<of>\^\^)
    |(?P<name>(?:[^\W\d][\w.-]*)?:(?:(?:[\w:.-]|%[0-9A-Fa-f]{2}|\\.)*(?:[\w:-]|%[0-9A-Fa-f]{2}|\\.))?)
    |(?P<number>[+-]?(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?)
    |(?P<word>[A-Za-z]+)
    |(?P<mark>[.;,\[\]()])""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\(u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|.)", re.DOTALL)
_SHORT = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f"}
_DEEPEST = 50


def triples(text: str, name: str) -> Iterator[Triple]:
    """The triples of a Turtle document; what is wrong with it is a ValueError of one line.

    >>> [tuple(one) for one in triples('@prefix s: <http://s/> . s:c s:p "x"@en, s:d .', "f.ttl")]
    [('http://s/c', 'http://s/p', 'x', 'en'), ('http://s/c', 'http://s/p', 'http://s/d', None)]
    """
    return iter(_Reader(text, name).document())


class _Reader:
    def __init__(self, text: str, name: str) -> None:
        self.found: list[Triple] = []
        self._text = text
        self._name = name
        self._at = 0
        self._prefixes: dict[str, str] = {}
        self._base = ""
        self._blank = 0
        self._kind = self._value = ""
        self._advance()

    def _error(self, reason: str) -> ValueError:
        line = self._text.count("\n", 0, self._at) + 1
        return ValueError(f"{self._name}:{line}: not valid Turtle: {reason}")

    def _advance(self) -> str:
        """Go to the next token; what was the current one."""
        passed = self._value
        self._kind, self._value = "space", ""
        while self._kind == "space" and self._at < len(self._text):
            match = _TOKEN.match(self._text, self._at)
            if match is None:
                raise self._error(f"cannot read {self._text[self._at : self._at + 30]!r}")
            self._at = match.end()
            self._kind, self._value = match.lastgroup or "", match[0]
        if self._kind == "space":
            self._kind, self._value = "end", ""
        return passed

    def _expect(self, mark: str) -> None:
        if self._value != mark:
            raise self._error(f"expected {mark!r}, found {self._value[:30]!r}")
        self._advance()

    def document(self) -> list[Triple]:
        while self._kind != "end":
            directive = self._value.lower()
            if directive in ("@prefix", "prefix"):
                self._advance()
                prefix = self._advance()
                self._prefixes[prefix.removesuffix(":")] = self._reference()
            elif directive in ("@base", "base"):
                self._advance()
                self._base = self._reference()
            else:
                bracketed = self._value == "["
                subject = self._node(0)
                if not (bracketed and self._value == "."):
                    self._properties(subject, 0)
            if directive not in ("prefix", "base"):
                self._expect(".")
        return self.found

    def _properties(self, subject: str, depth: int) -> None:
        while self._value not in (".", "]"):
            if self._value == "a":
                self._advance()
                predicate = _TYPE
            else:
                predicate = self._reference()
            self._object(subject, predicate, depth)
            while self._value == ",":
                self._advance()
                self._object(subject, predicate, depth)
            while self._value == ";":
                self._advance()

    def _object(self, subject: str, predicate: str, depth: int) -> None:
        if self._kind in ("text", "long"):
            size = 3 if self._kind == "long" else 1
            text = _ESCAPE.sub(_plain, self._advance()[size:-size])
            language = self._advance()[1:] if self._kind == "at" else ""
            if self._kind == "of":
                self._advance()
                self._reference()
            self.found.append(Triple(subject, predicate, text, language))
        elif self._kind in ("number", "word"):
            self.found.append(Triple(subject, predicate, self._advance(), ""))
        else:
            self.found.append(Triple(subject, predicate, self._node(depth)))

    def _node(self, depth: int) -> str:
        """The address of a subject or object that is no text."""
        if self._value not in ("[", "("):
            return self._reference()
        if depth >= _DEEPEST:
            raise self._error(f"brackets nested more than {_DEEPEST} deep")
        self._blank += 1
        node = f"_: {self._blank}"
        if self._advance() == "[":
            self._properties(node, depth + 1)
            self._expect("]")
        else:
            while self._value != ")":
                self._object("", "", depth + 1)
            self._advance()
        return node

    def _reference(self) -> str:
        if self._kind == "address":
            address = _ESCAPE.sub(_plain, self._advance()[1:-1])
            return urljoin(self._base, address) if self._base else address
        if self._kind != "name":
            raise self._error(f"expected an address, found {self._value[:30]!r}")
        prefix, _, local = self._value.partition(":")
        if prefix not in self._prefixes and prefix != "_":
            raise self._error(f"the prefix {prefix + ':'!r} is not declared")
        self._advance()
        return f"_:{local}" if prefix == "_" else self._prefixes[prefix] + local.replace("\\", "")


def _plain(escape: re.Match[str]) -> str:
    code = escape[1]
    if len(code) > 1:
        number = int(code[1:], 16)
        return chr(number) if number < 0xD800 or 0xDFFF < number < 0x110000 else "\ufffd"
    return _SHORT.get(code, code)
