"""Remove hidden text from an HTML tree; links in hidden parts stay."""

from __future__ import annotations

import re

from turbohtml import Document, Element, Node, Text

from topicrawl.parse.text_blocks import RESERVED_CHARACTERS

_HIDDEN_CANDIDATES = 'noscript,[hidden],[style*="none" i],[style*="hidden" i]'
_HIDING_STYLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.I)
#: Largest number of characters of hidden anchor texts to return.
MAX_ANCHOR_TEXT = 1_000_000
#: Scripts show pages that hide their root element.
_ALWAYS_VISIBLE_TAGS = frozenset({"html", "body"})


def remove_hidden_text(tree: Document) -> dict[Node, str]:
    """Remove the text of all hidden elements from the tree; return the anchor texts of the links in them.

    Hidden are `<noscript>`, elements with the attribute `hidden`, and elements with `display: none` or `visibility:
    hidden` in their `style` attribute.
    """
    anchors: dict[Node, str] = {}
    size = 0
    covered: set[Node] = set()
    for element in tree.select(_HIDDEN_CANDIDATES):
        # Skip hidden elements inside hidden elements, so that nesting does not cost one pass per level.
        if element not in covered and _is_hidden(element):
            for node in element.descendants:
                if isinstance(node, Text):
                    node.data = ""
                elif isinstance(node, Element):
                    covered.add(node)
                    # Nested links repeat their text, so the total needs a limit.
                    if node.tag == "a" and size < MAX_ANCHOR_TEXT:
                        anchors[node] = node.text
                        size += len(anchors[node])
            # An invisible element must not separate text blocks.
            if element.tag == "noscript":
                element.unwrap()
    return anchors


def _is_hidden(element: Element) -> bool:
    """Return whether an element hides its content."""
    if element.tag in _ALWAYS_VISIBLE_TAGS:
        return False
    if element.tag == "noscript" or element.attr("hidden") is not None:
        return True
    return _HIDING_STYLE.search(element.attr("style") or "") is not None


def remove_markers(tree: Document) -> None:
    """Remove the reserved characters that serve as link markers from the text nodes of a tree."""
    for node in tree.descendants:
        if isinstance(node, Text):
            data = node.data
            if not data.isascii() and RESERVED_CHARACTERS.search(data):
                node.data = RESERVED_CHARACTERS.sub("", data)
