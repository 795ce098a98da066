"""What a page holds but does not show, taken out of the tree's text; links in it stay."""

from __future__ import annotations

import re

from turbohtml import Document, Element, Node, Text

from .flow import FORGED

_UNSEEN = 'noscript,[hidden],[style*="none" i],[style*="hidden" i]'
_HIDES = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.I)
#: Characters of hidden anchors that are kept.
MOST_TEXT = 1_000_000
#: Pages that hide themselves are shown by their scripts.
_ALWAYS_SHOWN = frozenset({"html", "body"})


def hush(tree: Document) -> dict[Node, str]:
    """Blank all hidden text; the links that stood in it are returned with the text they had.

    Hidden are `<noscript>`, the attribute `hidden`, and `display: none` or `visibility: hidden` in a `style` attribute.
    """
    spoken: dict[Node, str] = {}
    spent = 0
    covered: set[Node] = set()
    for element in tree.select(_UNSEEN):
        # A hidden element inside a hidden one is done: nesting must not cost a pass for each level.
        if element not in covered and _is_hidden(element):
            for node in element.descendants:
                if isinstance(node, Text):
                    node.data = ""
                elif isinstance(node, Element):
                    covered.add(node)
                    # Links that nest in links repeat their text.
                    if node.tag == "a" and spent < MOST_TEXT:
                        spoken[node] = node.text
                        spent += len(spoken[node])
            # It shows nothing and so it parts nothing.
            if element.tag == "noscript":
                element.unwrap()
    return spoken


def _is_hidden(element: Element) -> bool:
    if element.tag in _ALWAYS_SHOWN:
        return False
    if element.tag == "noscript" or element.attr("hidden") is not None:
        return True
    return _HIDES.search(element.attr("style") or "") is not None


def purge(tree: Document) -> None:
    """Take the private characters that serve as marks out of a page's own text."""
    for node in tree.descendants:
        if isinstance(node, Text):
            data = node.data
            if not data.isascii() and FORGED.search(data):
                node.data = FORGED.sub("", data)
