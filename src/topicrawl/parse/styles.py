"""How each sentence of a page is shown: hidden or not, its size, its colours.

Here hidden text counts too: who writes for search engines only, hides. Read from `style` attributes, the
simple rules of `<style>`, and the elements and attributes of older HTML; handed down the tree as browsers do.
Sheets in other files and scripts are not asked. Hidden is what nobody can see: not displayed, out of the window, shut
in a box without room, of no size, or in a colour that cannot be told from its background. The background of text on a
picture is "".
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate, groupby, islice

from turbohtml import Document, Element, Node, Text

from ..records import Sentence, Style
from ..text.sentences import sentences
from .css import Sheet
from .flow import FORGED
from .looks import Look, Wardrobe
from .survey import INLINE

#: Nodes and characters that are looked at; few pages for readers have a fifth.
MOST_NODES = 50_000
MOST_TEXT = 500_000
MOST_SHEETS = 50

_INLINE = frozenset(INLINE.split(",")) | {"noscript"}
#: Inline elements that, without attributes and rules, change neither size nor colour.
_PLAIN = frozenset({"b", "i", "span", "em", "strong", "tt", "u", "code", "s", "cite", "q", "abbr", "img", "var", "a"})
_SILENT = frozenset({"script", "style", "template", "noframes", "iframe"})

#: A piece of text with its look.
Run = tuple[str, Look]


def styled_sentences(tree: Document) -> tuple[Sentence, ...]:
    """All sentences of a page in order. What changes between seen and unseen inside a block is cut there;
    of several sizes and colours in one sentence, those of most of its letters count.
    """
    found: list[Sentence] = []
    paragraph = 0
    for block in _blocks(tree):
        before = len(found)
        look = block[0][1]
        # Most blocks look the same all over.
        if len(block) == 1 or all([run[1] is look for run in block]):
            text = block[0][0] if len(block) == 1 else "".join([data for data, _ in block])
            said = sentences(text if text.isascii() else FORGED.sub("", text))
            found += [Sentence(" ".join(sentence.split()), paragraph, look.shown) for sentence in said]
        else:
            for _, runs in groupby(block, key=lambda run: run[1].is_visible):
                found += (Sentence(text, paragraph, style) for text, style in _sentences(list(runs)))
        paragraph += len(found) > before
    return tuple(found)


class _Walk:
    """Goes down the tree and knows of each element how it looks, and which block it belongs to."""

    def __init__(self, sheet: Sheet) -> None:
        self.look = Wardrobe(sheet).look
        self.is_bare = not sheet.count  # no rules
        self.places: dict[Node | None, tuple[Look, int]] = {}
        self.blocks = 0  # how many have begun

    def enter(self, element: Element, around: tuple[Look, int]) -> None:
        tag = element.tag
        if tag in _SILENT:
            return
        look, block = around
        if tag not in _INLINE:
            self.blocks += 1
            block = self.blocks
        elif self.is_bare and tag in _PLAIN and not element.attrs:
            self.places[element] = around
            return
        self.places[element] = (self.look(element, look), block)


def _blocks(tree: Document) -> Iterator[list[Run]]:
    """The text of the page block by block. Every node is met once, after its parent."""
    sheet = Sheet()
    for element in tree.find_all("style", limit=MOST_SHEETS):
        sheet.add(element.text)
    root, body = tree.root, tree.find("body")
    if root is None or body is None:
        return
    walk = _Walk(sheet)
    walk.enter(root, (Look(), 0))
    walk.enter(body, walk.places[root])
    runs: list[Run] = []
    last = begun = spent = 0
    for node in islice(body.descendants, MOST_NODES):
        around = walk.places.get(node.parent)
        if around is None:
            continue
        if isinstance(node, Element):
            walk.enter(node, around)
        elif isinstance(node, Text) and spent < MOST_TEXT:
            data = node.data
            if not runs and data.isspace():
                continue
            look, block = around
            # A block that begins or ends between two texts parts them, even an empty one such as <br>.
            if runs and (block != last or begun != walk.blocks):
                yield runs
                runs = []
            last, begun = block, walk.blocks
            runs.append((data, look))
            spent += len(data)
    if runs:
        yield runs


def _sentences(runs: list[Run]) -> Iterator[tuple[str, Style]]:
    """The sentences of runs that belong together, each with the style of most of its letters."""
    pieces = [data if data.isascii() else FORGED.sub("", data) for data, _ in runs]
    styles = [look.shown for _, look in runs]
    text = "".join(pieces)
    found = sentences(text)
    ends = list(accumulate(map(len, pieces)))
    position = run = 0
    for sentence in found:
        start = text.index(sentence, position)
        position = start + len(sentence)
        shares: list[tuple[int, int]] = []
        while True:
            shares.append((min(ends[run], position) - max(ends[run] - len(pieces[run]), start), run))
            if ends[run] >= position:
                break
            run += 1
        yield " ".join(sentence.split()), _commonest(styles, shares)


def _commonest(styles: list[Style], shares: list[tuple[int, int]]) -> Style:
    """The style with the most letters, given the letters and the number of each run; the first in doubt."""
    if len(shares) == 1:
        return styles[shares[0][1]]
    # Runs of one look share one object, and its address is faster to look up than its values.
    letters: dict[int, int] = {}
    for share, run in shares:
        letters[id(styles[run])] = letters.get(id(styles[run]), 0) + share
    most = max(letters, key=letters.__getitem__)
    return next(styles[run] for _, run in shares if id(styles[run]) == most)
