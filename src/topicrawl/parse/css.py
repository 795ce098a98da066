"""The part of CSS that decides whether and how text is seen: simple selectors, a few properties.

Selectors are an element's name, class or id, or several of these at once (`p`, `.ad`, `#top`, `p.ad`), inside one
other such element at most (`#foot p.ad`). Rules that need more of the tree (`div > p`, `a:hover`) are left out: they
seldom hide text, and a wrong match would.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType

from .sizes import length
from .unseen import PROPERTIES

#: Characters of style sheets and rules that are read.
LONGEST_SHEET = 500_000
MOST_RULES = 5_000
#: Elements that rules ask to be around, and rules that are compared with elements, in all; no honest page has so many.
MOST_KINDS = 500
MOST_COMPARED = 200_000
_KNOWN = PROPERTIES | {"visibility", "font-size", "font", "color", "background", "background-color", "background-image"}
#: What is shown only in narrower windows is not what a reader at a desk sees.
DESK = 1024.0

_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)|<!--|-->", re.DOTALL)
_BRACE = re.compile(r"[{}]")
_SIMPLE = re.compile(r"(\*|[a-z][a-z0-9-]*)?((?:[.#][\w-]+)*)", re.I)
_PARTS = re.compile(r"[.#][\w-]+")
_WIDEST = re.compile(r"max-(?:device-)?width\s*:\s*([\d.]+[a-z]*)")

#: The name of an element, "" for any, with classes and ids and their "." or "#".
Kind = tuple[str, frozenset[str]]

#: Property → value in lower case, and whether it is important.
Declarations = Mapping[str, tuple[str, bool]]


@lru_cache(maxsize=4096)
def declarations(text: str) -> Declarations:
    """The properties in a style attribute or a rule that say how text is seen.

    >>> dict(declarations("COLOR: Red; margin: 0; display:none !important"))
    {'color': ('red', False), 'display': ('none', True)}
    """
    found: dict[str, tuple[str, bool]] = {}
    for part in text[:10_000].split(";"):
        name, colon, value = part.partition(":")
        name = name.strip().lower()
        if colon and name in _KNOWN:
            value, important, _ = value.lower().partition("!important")
            if important or not found.get(name, ("", False))[1]:
                found[name] = (value.strip(), bool(important))
    # The cache hands out the same object again: nobody may change it.
    return MappingProxyType(found)


@dataclass(slots=True)
class _Rule:
    kind: Kind
    around: int  # the number of the kind that must be around, -1 for none
    rank: tuple[int, int, int]  # ids, classes and names, place in the sheet
    style: Declarations


@dataclass(slots=True)
class Sheet:
    """The rules of a page, by what they ask for first."""

    rules: dict[str, list[_Rule]] = field(default_factory=dict)
    count: int = 0
    outer: dict[str, dict[Kind, int]] = field(default_factory=dict)  # what rules ask to be around, numbered
    kinds: int = 0  # of these
    compared: int = 0

    def add(self, css: str) -> None:
        """Read the text of one `<style>` element."""
        for selectors, body in _blocks(css[:LONGEST_SHEET]):
            style = declarations(body)
            for selector in selectors.split(",") if style else ():
                self._add_rule(selector.split(), style)
            if self.count >= MOST_RULES:
                break

    def _add_rule(self, selector: list[str], style: Declarations) -> None:
        kinds = [_kind(part) for part in selector] if len(selector) in (1, 2) else []
        found = [kind for kind in kinds if kind is not None]
        if not found or len(found) < len(kinds) or (len(found) == 2 and self.kinds >= MOST_KINDS):
            return
        ids = sum(name[0] == "#" for _, names in found for name in names)
        others = sum(len(names) + bool(tag) for tag, names in found) - ids
        around = self._numbered(found[0]) if len(found) == 2 else -1
        rule = _Rule(found[-1], around, (ids, others, self.count), style)
        self.rules.setdefault(_key(rule.kind), []).append(rule)
        self.count += 1

    def _numbered(self, kind: Kind) -> int:
        known = self.outer.setdefault(_key(kind), {})
        if kind not in known:
            known[kind] = self.kinds
            self.kinds += 1
        return known[kind]

    def matching(
        self, tag: str, names: frozenset[str] = frozenset(), within: frozenset[int] = frozenset()
    ) -> list[Declarations]:
        """What the sheet says of an element inside elements of the kinds `within`, the weightiest last.

        >>> sheet = Sheet()
        >>> sheet.add("p.ad {color: red} .ad {color: blue; font-size: 8px} #x p {color: green} i > p {color: black}")
        >>> [dict(style)["color"][0] for style in sheet.matching("p", frozenset({".ad"}))]
        ['blue', 'red']
        >>> [dict(style)["color"][0] for style in sheet.matching("p", within=sheet.inside("b", frozenset({"#x"})))]
        ['green']
        """
        filed = [self.rules[key] for key in (*sorted(names), tag, "*") if key in self.rules]
        self.compared += sum(map(len, filed))
        if self.compared > MOST_COMPARED:
            return []
        found = [
            rule
            for rules in filed
            for rule in rules
            if _matches(rule.kind, tag, names) and (rule.around < 0 or rule.around in within)
        ]
        return [rule.style for rule in sorted(found, key=lambda rule: rule.rank)]

    def inside(self, tag: str, names: frozenset[str]) -> frozenset[int]:
        """The numbers of the kinds an element is of, for what is inside it."""
        filed = [self.outer[key] for key in (*names, tag, "*") if key in self.outer]
        self.compared += sum(map(len, filed))
        if self.compared > MOST_COMPARED:
            return frozenset()
        return frozenset(number for kinds in filed for kind, number in kinds.items() if _matches(kind, tag, names))


def _kind(selector: str) -> Kind | None:
    """What a selector without spaces asks for; None when it is more than names.

    >>> _kind("P.ad"), _kind("a:hover")
    (('p', frozenset({'.ad'})), None)
    """
    simple = _SIMPLE.fullmatch(selector)
    if not simple or not selector:
        return None
    return (simple[1] or "").lower().replace("*", ""), frozenset(_PARTS.findall(simple[2]))


def _key(kind: Kind) -> str:
    """Where a kind is filed: under one of the things that an element must have."""
    return min(kind[1], default=kind[0] or "*")


def _matches(kind: Kind, tag: str, names: frozenset[str]) -> bool:
    return kind[0] in ("", tag) and kind[1] <= names


def _blocks(css: str) -> Iterator[tuple[str, str]]:
    """Selectors and bodies; rules for paper and of other kinds (@font-face, @keyframes) left out."""
    css = _COMMENT.sub(" ", css)
    stack: list[str] = []
    start = 0
    for brace in _BRACE.finditer(css):
        text = css[start : brace.start()].strip()
        start = brace.end()
        if brace[0] == "{":
            stack.append(text.rpartition(";")[2].strip().lower() if text.startswith("@") else text)
        elif stack:
            selectors = stack.pop()
            if not selectors.startswith("@") and all(map(_is_for_screens, stack)):
                yield selectors, text


def _is_for_screens(condition: str) -> bool:
    """Does a condition hold for somebody at a desk who has asked for nothing special?

    >>> _is_for_screens("@media screen and (min-width: 40em)"), _is_for_screens("@media (max-width: 48em)")
    (True, False)
    """
    if (
        not condition.startswith(("@media", "@supports", "@layer"))
        or "prefers-" in condition
        or "portrait" in condition
    ):
        return False
    widest = _WIDEST.search(condition)
    if widest and (length(widest[1], 16.0) or DESK) < DESK:
        return False
    return "print" not in condition or "screen" in condition
