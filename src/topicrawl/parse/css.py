"""The part of CSS that decides whether and how text is seen: simple selectors, a few properties.

Selectors are an element's name, class or id, or several of these at once (`p`, `.ad`, `#top`, `p.ad`). Rules
that need more of the tree (`div p`, `a:hover`) are left out: they seldom hide text, and a wrong match would.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType

#: Characters of style sheets and rules that are read.
LONGEST_SHEET = 500_000
MOST_RULES = 5_000
_KNOWN = frozenset(
    {"display", "visibility", "font-size", "font", "color", "background", "background-color", "opacity"}
    | {"text-indent", "position", "left", "top", "right"}
)

_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)|<!--|-->", re.DOTALL)
_BRACE = re.compile(r"[{}]")
_SIMPLE = re.compile(r"(\*|[a-z][a-z0-9-]*)?((?:[.#][\w-]+)*)", re.I)
_PARTS = re.compile(r"[.#][\w-]+")

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
    tag: str  # "" for any
    names: frozenset[str]  # with their "." or "#"
    rank: tuple[int, int, int]  # ids, classes and names, place in the sheet
    style: Declarations


@dataclass(slots=True)
class Sheet:
    """The rules of a page, by what they ask for first."""

    rules: dict[str, list[_Rule]] = field(default_factory=dict)
    count: int = 0

    def add(self, css: str) -> None:
        """Read the text of one `<style>` element."""
        for selectors, body in _blocks(css[:LONGEST_SHEET]):
            style = declarations(body)
            for selector in selectors.split(",") if style else ():
                self._add_rule(selector.strip(), style)
            if self.count >= MOST_RULES:
                break

    def _add_rule(self, selector: str, style: Declarations) -> None:
        simple = _SIMPLE.fullmatch(selector)
        if not simple or not selector:
            return
        tag = (simple[1] or "").lower().replace("*", "")
        names = _PARTS.findall(simple[2])
        ids = sum(name[0] == "#" for name in names)
        rule = _Rule(tag, frozenset(names), (ids, len(names) - ids + bool(tag), self.count), style)
        self.rules.setdefault(names[0] if names else tag or "*", []).append(rule)
        self.count += 1

    def matching(self, tag: str, names: frozenset[str]) -> list[Declarations]:
        """What the sheet says of an element, the weightiest last.

        >>> sheet = Sheet()
        >>> sheet.add("p.ad {color: red} .ad {color: blue; font-size: 8px} #x p {color: green}")
        >>> [dict(style)["color"][0] for style in sheet.matching("p", frozenset({".ad"}))]
        ['blue', 'red']
        """
        found = [
            rule
            for key in (*sorted(names), tag, "*")
            for rule in self.rules.get(key, ())
            if rule.tag in ("", tag) and rule.names <= names
        ]
        return [rule.style for rule in sorted(found, key=lambda rule: rule.rank)]


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
    return condition.startswith(("@media", "@supports", "@layer")) and (
        "print" not in condition or "screen" in condition
    )
