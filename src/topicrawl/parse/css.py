"""CSS parser for the subset that affects the visibility of text: simple selectors and a few properties.

A selector is an element name, a class or an id, or a combination of them (`p`, `.ad`, `#top`, `p.ad`), with at most one
ancestor of the same form (`#foot p.ad`). Rules with other selectors (`div > p`, `a:hover`) are ignored: they seldom
hide text, and a wrong match would hide visible text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType

from topicrawl.parse.css_sizes import parse_length
from topicrawl.parse.visibility import HIDING_PROPERTIES

#: Limits on the characters and rules of a style sheet.
MAX_SHEET_LENGTH = 500_000
MAX_RULES = 5_000
#: Limits on ancestor selectors and on comparisons of rules with elements; ordinary pages stay far below them.
MAX_ANCESTOR_SELECTORS = 500
MAX_COMPARISONS = 200_000
_SUPPORTED_PROPERTIES = HIDING_PROPERTIES | {
    "visibility",
    "font-size",
    "font",
    "color",
    "background",
    "background-color",
    "background-image",
}
#: Assumed window width in pixels; rules for narrower windows do not apply.
DESKTOP_WIDTH = 1024.0

_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)|<!--|-->", re.DOTALL)
_BRACE = re.compile(r"[{}]")
_SIMPLE_SELECTOR = re.compile(r"(\*|[a-z][a-z0-9-]*)?((?:[.#][\w-]+)*)", re.I)
_SELECTOR_NAMES = re.compile(r"[.#][\w-]+")
_MAX_WIDTH = re.compile(r"max-(?:device-)?width\s*:\s*([\d.]+[a-z]*)")

#: Element name ("" for any), and classes and ids with their "." or "#".
SimpleSelector = tuple[str, frozenset[str]]

#: Property → value in lower case, and whether it is `!important`.
Declarations = Mapping[str, tuple[str, bool]]


@lru_cache(maxsize=4096)
def parse_declarations(text: str) -> Declarations:
    """Parse the supported properties of a `style` attribute or a rule body.

    >>> dict(parse_declarations("COLOR: Red; margin: 0; display:none !important"))
    {'color': ('red', False), 'display': ('none', True)}
    """
    properties: dict[str, tuple[str, bool]] = {}
    for part in text[:10_000].split(";"):
        name, colon, value = part.partition(":")
        name = name.strip().lower()
        if colon and name in _SUPPORTED_PROPERTIES:
            value, important, _ = value.lower().partition("!important")
            if important or not properties.get(name, ("", False))[1]:
                properties[name] = (value.strip(), bool(important))
    # The cache returns the same object to all callers, so it must be read-only.
    return MappingProxyType(properties)


@dataclass(slots=True)
class _CssRule:
    """One selector with its declarations."""

    selector: SimpleSelector
    ancestor: int  # number of the ancestor selector, -1 for none
    specificity: tuple[int, int, int]  # specificity: ids, classes and names, position in the sheet
    style: Declarations


@dataclass(slots=True)
class StyleSheet:
    """Style sheet of a page: rules indexed by one name that an element must have."""

    rules: dict[str, list[_CssRule]] = field(default_factory=dict)
    rule_count: int = 0
    ancestor_selectors: dict[str, dict[SimpleSelector, int]] = field(
        default_factory=dict
    )  # ancestor selectors with their numbers
    ancestor_count: int = 0  # number of ancestor selectors
    comparisons: int = 0  # comparisons of rules with elements so far

    def add(self, css: str) -> None:
        """Add the rules of one `<style>` element."""
        for selectors, body in _iter_rules(css[:MAX_SHEET_LENGTH]):
            style = parse_declarations(body)
            for selector in selectors.split(",") if style else ():
                self._add_rule(selector.split(), style)
            if self.rule_count >= MAX_RULES:
                break

    def _add_rule(self, selector: list[str], style: Declarations) -> None:
        """Add a rule; ignore it if its selector is not supported."""
        parsed = [_parse_selector(part) for part in selector] if len(selector) in (1, 2) else []
        kinds = [kind for kind in parsed if kind is not None]
        if not kinds or len(kinds) < len(parsed) or (len(kinds) == 2 and self.ancestor_count >= MAX_ANCESTOR_SELECTORS):
            return
        ids = sum(name[0] == "#" for _, names in kinds for name in names)
        others = sum(len(names) + bool(tag) for tag, names in kinds) - ids
        around = self._number_selector(kinds[0]) if len(kinds) == 2 else -1
        rule = _CssRule(kinds[-1], around, (ids, others, self.rule_count), style)
        self.rules.setdefault(_index_key(rule.selector), []).append(rule)
        self.rule_count += 1

    def _number_selector(self, selector: SimpleSelector) -> int:
        """Return the number of an ancestor selector, and assign one to a new selector."""
        numbers = self.ancestor_selectors.setdefault(_index_key(selector), {})
        if selector not in numbers:
            numbers[selector] = self.ancestor_count
            self.ancestor_count += 1
        return numbers[selector]

    def match_rules(
        self, tag: str, names: frozenset[str] = frozenset(), ancestors: frozenset[int] = frozenset()
    ) -> list[Declarations]:
        """Return the declarations that apply to an element, in ascending order of specificity.

        `names` are its classes and ids with their "." or "#", `ancestors` the numbers of its ancestor selectors.

        >>> sheet = StyleSheet()
        >>> sheet.add("p.ad {color: red} .ad {color: blue; font-size: 8px} #x p {color: green} i > p {color: black}")
        >>> [dict(style)["color"][0] for style in sheet.match_rules("p", frozenset({".ad"}))]
        ['blue', 'red']
        >>> [
        ...     dict(style)["color"][0]
        ...     for style in sheet.match_rules("p", ancestors=sheet.match_ancestors("b", frozenset({"#x"})))
        ... ]
        ['green']
        """
        candidates = [self.rules[key] for key in (*sorted(names), tag, "*") if key in self.rules]
        self.comparisons += sum(map(len, candidates))
        if self.comparisons > MAX_COMPARISONS:
            return []
        matches = [
            rule
            for rules in candidates
            for rule in rules
            if _matches_element(rule.selector, tag, names) and (rule.ancestor < 0 or rule.ancestor in ancestors)
        ]
        return [rule.style for rule in sorted(matches, key=lambda rule: rule.specificity)]

    def match_ancestors(self, tag: str, names: frozenset[str]) -> frozenset[int]:
        """Return the numbers of the ancestor selectors that an element matches."""
        candidates = [self.ancestor_selectors[key] for key in (*names, tag, "*") if key in self.ancestor_selectors]
        self.comparisons += sum(map(len, candidates))
        if self.comparisons > MAX_COMPARISONS:
            return frozenset()
        return frozenset(
            number for kinds in candidates for kind, number in kinds.items() if _matches_element(kind, tag, names)
        )


def _parse_selector(selector: str) -> SimpleSelector | None:
    """Parse a selector without spaces; return None if it has more than names.

    >>> _parse_selector("P.ad"), _parse_selector("a:hover")
    (('p', frozenset({'.ad'})), None)
    """
    simple = _SIMPLE_SELECTOR.fullmatch(selector)
    if not simple or not selector:
        return None
    return (simple[1] or "").lower().replace("*", ""), frozenset(_SELECTOR_NAMES.findall(simple[2]))


def _index_key(selector: SimpleSelector) -> str:
    """Return the index key of a selector: one name that a matching element must have."""
    return min(selector[1], default=selector[0] or "*")


def _matches_element(selector: SimpleSelector, tag: str, names: frozenset[str]) -> bool:
    """Return whether a selector matches an element name with its classes and ids."""
    return selector[0] in ("", tag) and selector[1] <= names


def _iter_rules(css: str) -> Iterator[tuple[str, str]]:
    """Yield selectors and bodies of rules; skip print rules and other at-rules (@font-face, @keyframes)."""
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
            if not selectors.startswith("@") and all(map(_applies_to_desktop, stack)):
                yield selectors, text


def _applies_to_desktop(condition: str) -> bool:
    """Return whether an at-rule condition applies to a desktop window with default preferences.

    >>> _applies_to_desktop("@media screen and (min-width: 40em)"), _applies_to_desktop("@media (max-width: 48em)")
    (True, False)
    """
    if (
        not condition.startswith(("@media", "@supports", "@layer"))
        or "prefers-" in condition
        or "portrait" in condition
    ):
        return False
    widest = _MAX_WIDTH.search(condition)
    if widest and (parse_length(widest[1], 16.0) or DESKTOP_WIDTH) < DESKTOP_WIDTH:
        return False
    return "print" not in condition or "screen" in condition
