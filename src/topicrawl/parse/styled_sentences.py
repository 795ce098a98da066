"""Extract the sentences of a page with their style: hidden or visible, font size, colours.

Hidden sentences are included, because pages hide text that is meant for search engines only. The style comes from
`style` attributes, the simple rules of `<style>` elements, and presentational elements and attributes of older HTML. It
is inherited down the tree as in browsers. External style sheets and scripts are ignored. Text is hidden if it is not
displayed, outside the window, in a box without space, of size zero, or in a colour too similar to its background. The
background of text on an image is "".
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate, groupby, islice

from turbohtml import Document, Element, Node, Text

from topicrawl.models import Sentence, Style
from topicrawl.parse.computed_style import ComputedStyle, StyleResolver
from topicrawl.parse.css import StyleSheet
from topicrawl.parse.head import INLINE_SELECTOR
from topicrawl.parse.text_blocks import RESERVED_CHARACTERS
from topicrawl.text.sentences import split_sentences

#: Limits on nodes, characters and sentences; few pages have a fifth of these.
MAX_NODES = 50_000
MAX_TEXT_LENGTH = 500_000
MAX_SENTENCES = 20_000
MAX_SHEETS = 50

_INLINE_TAGS = frozenset(INLINE_SELECTOR.split(",")) | {"noscript"}
#: Inline elements that, without attributes and rules, change neither size nor colour.
_NEUTRAL_INLINE_TAGS = frozenset(
    {"b", "i", "span", "em", "strong", "tt", "u", "code", "s", "cite", "q", "abbr", "img", "var", "a"}
)
_NON_TEXT_TAGS = frozenset({"script", "style", "template", "noframes", "iframe"})

#: A text with its computed style.
StyledRun = tuple[str, ComputedStyle]


def extract_styled_sentences(tree: Document) -> tuple[Sentence, ...]:
    """Return all sentences of a page in order, with their styles.

    A block is split where its text changes between visible and hidden. A sentence with several styles gets the style of
    most of its characters.
    """
    styled: list[Sentence] = []
    paragraph = 0
    for block in _iter_blocks(tree):
        count_before = len(styled)
        look = block[0][1]
        # Most blocks have a single style.
        if len(block) == 1 or all([run[1] is look for run in block]):
            text = block[0][0] if len(block) == 1 else "".join([data for data, _ in block])
            split = split_sentences(text if text.isascii() else RESERVED_CHARACTERS.sub("", text))
            styled += [Sentence(" ".join(sentence.split()), paragraph, look.text_style) for sentence in split]
        else:
            for _, runs in groupby(block, key=lambda run: run[1].is_visible):
                styled += (Sentence(text, paragraph, style) for text, style in _split_runs(list(runs)))
        paragraph += len(styled) > count_before
        if len(styled) > MAX_SENTENCES:
            break
    return tuple(styled[:MAX_SENTENCES])


class _StyledTreeWalk:
    """Top-down walk over a tree that records the style and the block number of each element."""

    def __init__(self, sheet: StyleSheet) -> None:
        self.resolve_style = StyleResolver(sheet).resolve
        self.has_no_rules = not sheet.rule_count  # the page has no style rules
        self.styles_and_blocks: dict[Node | None, tuple[ComputedStyle, int]] = {}
        self.block_count = 0  # number of blocks so far

    def enter_element(self, element: Element, parent: tuple[ComputedStyle, int]) -> None:
        """Record the style and block of an element, given those of its parent."""
        tag = element.tag
        if tag in _NON_TEXT_TAGS:
            return
        look, block = parent
        if tag not in _INLINE_TAGS:
            self.block_count += 1
            block = self.block_count
        elif self.has_no_rules and tag in _NEUTRAL_INLINE_TAGS and not element.attrs:
            self.styles_and_blocks[element] = parent
            return
        self.styles_and_blocks[element] = (self.resolve_style(element, look), block)


def _iter_blocks(tree: Document) -> Iterator[list[StyledRun]]:
    """Yield the text runs of each block. Every node is visited once, after its parent."""
    sheet = StyleSheet()
    for element in tree.find_all("style", limit=MAX_SHEETS):
        sheet.add(element.text)
    root, body = tree.root, tree.find("body")
    if root is None or body is None:
        return
    walk = _StyledTreeWalk(sheet)
    walk.enter_element(root, (ComputedStyle(), 0))
    walk.enter_element(body, walk.styles_and_blocks[root])
    runs: list[StyledRun] = []
    last_block = last_count = size = 0
    for node in islice(body.descendants, MAX_NODES):
        around = walk.styles_and_blocks.get(node.parent)
        if around is None:
            continue
        if isinstance(node, Element):
            walk.enter_element(node, around)
        elif isinstance(node, Text) and size < MAX_TEXT_LENGTH:
            data = node.data[: MAX_TEXT_LENGTH - size]
            if not runs and data.isspace():
                continue
            look, block = around
            # A block boundary between two texts separates them, even that of an empty block such as <br>.
            if runs and (block != last_block or last_count != walk.block_count):
                yield runs
                runs = []
            last_block, last_count = block, walk.block_count
            runs.append((data, look))
            size += len(data)
    if runs:
        yield runs


def _split_runs(runs: list[StyledRun]) -> Iterator[tuple[str, Style]]:
    """Yield the sentences of adjacent runs, each with the style of most of its characters."""
    pieces = [data if data.isascii() else RESERVED_CHARACTERS.sub("", data) for data, _ in runs]
    styles = [look.text_style for _, look in runs]
    text = "".join(pieces)
    ends = list(accumulate(map(len, pieces)))
    position = run = 0
    for sentence in split_sentences(text):
        start = text.index(sentence, position)
        position = start + len(sentence)
        shares: list[tuple[int, int]] = []
        while True:
            shares.append((min(ends[run], position) - max(ends[run] - len(pieces[run]), start), run))
            if ends[run] >= position:
                break
            run += 1
        yield " ".join(sentence.split()), _most_common_style(styles, shares)


def _most_common_style(styles: list[Style], shares: list[tuple[int, int]]) -> Style:
    """Return the style with the most characters, given (characters, run number) pairs; the first one in a tie."""
    if len(shares) == 1:
        return styles[shares[0][1]]
    # Runs of equal style share one object, and its id is faster to hash than its values.
    characters: dict[int, int] = {}
    for share, run in shares:
        characters[id(styles[run])] = characters.get(id(styles[run]), 0) + share
    most = max(characters, key=characters.__getitem__)
    return next(styles[run] for _, run in shares if id(styles[run]) == most)
