"""Find the main text of an HTML tree: the element with the largest total weight, without the boilerplate in it.

A *block* is an element together with the text between its child elements; inline elements belong to the block around
them. A block of prose has a positive weight, a block of links a negative one, and the weight of an element is the sum
over the blocks in it. An article has more weight than each of its paragraphs, and also more than the body of the page,
whose menus and link lists reduce the sum. An article in several containers is found as the element around them.

The time is linear in the number of nodes: one pass in document order collects the blocks as parallel lists, in which
the parent of an element has a smaller number than the element.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from turbohtml import Element, Node, Text

from topicrawl.parse.boilerplate import ContentHint, classify_attributes

#: Characters that each block of prose must have to increase the weight, about the length of a menu entry or a label.
BLOCK_COST = 20
#: Share of characters in links from which a block is a list of links and not prose.
MAX_LINK_SHARE = 0.5
#: Share of characters in links from which a list or a division within the main text is navigation.
MAX_SECTION_LINK_SHARE = 0.8
#: Largest share of the text of the page in an element that is removed because of a hint: a wrong hint costs little.
MAX_HINTED_SHARE = 0.6
#: Smallest share of the prose of any element around it that the main text must have.
MIN_MAIN_SHARE = 0.5
#: Share of prose in the main text below which its lists of links are its content.
MIN_PROSE_SHARE = 0.5
#: Share of the weight that a part with a content hint must have to replace the element around it.
MIN_CONTENT_SHARE = 0.8

# Short blocks of these elements are a normal part of prose, and do not reduce the weight.
_PARAGRAPH_TAGS = frozenset({"p", "h1", "h2", "h3", "h4", "h5", "h6", "pre", "dt", "dd", "blockquote"})
_SHORT_TAGS = _PARAGRAPH_TAGS | {"li", "td", "th"}
_SECTION_TAGS = frozenset({"blockquote", "center", "div", "dl", "header", "ol", "p", "section", "ul"})


@dataclass(slots=True)
class BlockTree:
    """Blocks of a page as parallel lists; a block is identified by its number in document order."""

    elements: list[Element] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    are_linked: list[bool] = field(default_factory=list)  # whether the block is inside a link
    text_lengths: list[int] = field(default_factory=list)  # characters outside of links
    link_lengths: list[int] = field(default_factory=list)  # characters in links
    lines: list[list[str]] = field(default_factory=list)  # parts of each line of text
    owners: list[int] = field(default_factory=list)  # block of each line

    def sum_subtrees(self, values: list[int]) -> list[int]:
        """Return for each block the sum of the values of the block and of all blocks inside."""
        sums, parents = values.copy(), self.parents
        for block in range(len(sums) - 1, 0, -1):
            sums[parents[block]] += sums[block]
        return sums

    def find_end(self, block: int) -> int:
        """Return the number after the last block inside a block."""
        return next(
            (number for number in range(block + 1, len(self.tags)) if self.parents[number] < block), len(self.tags)
        )


def collect_blocks(body: Element) -> BlockTree:
    """Collect the blocks of a tree from which inline elements other than links were unwrapped."""
    tree = BlockTree([body], ["body"], [-1], [False], [0], [0])
    numbers: dict[Node | None, int] = {body: 0}
    linked: set[Node | None] = set()  # links, and the blocks in links
    line_owner = -1
    for node in body.descendants:
        if type(node) is Text:
            parent = node.parent
            number, length = numbers[parent], len(node.data.strip())
            if number != line_owner:
                if not length:
                    continue
                tree.lines.append([])
                tree.owners.append(line_owner := number)
            tree.lines[-1].append(node.data)
            (tree.link_lengths if parent in linked else tree.text_lengths)[number] += length
        elif isinstance(node, Element):
            parent, tag = node.parent, node.tag
            if tag == "a":
                numbers[node] = numbers[parent]
                linked.add(node)
                continue
            line_owner = -1
            if is_linked := parent in linked:
                linked.add(node)
            tree.parents.append(numbers[parent])
            numbers[node] = len(tree.tags)
            tree.elements.append(node)
            tree.tags.append(tag)
            tree.are_linked.append(is_linked)
            tree.text_lengths.append(0)
            tree.link_lengths.append(0)
    return tree


def select_main_lines(tree: BlockTree, *, is_declared: bool) -> list[str]:
    """Return the lines of the main text.

    `is_declared` is whether the tree is a part of a page that its markup declares as main content. Lists of links stay
    if they are most of the main content, as in an index. If no part of a page is prose, the main text is all text that
    is not boilerplate.
    """
    texts, links = tree.sum_subtrees(tree.text_lengths), tree.sum_subtrees(tree.link_lengths)
    removed, containers = _classify_blocks(tree, texts, links)
    main = _choose_main_block(tree, containers, _weigh_blocks(tree, removed))
    lines = _list_lines(tree, main, removed)
    prose = _list_lines(tree, main, _mark_navigation(tree, removed, texts, links))
    is_index = not prose or ((main or is_declared) and sum(map(len, prose)) < MIN_PROSE_SHARE * sum(map(len, lines)))
    return lines if is_index else prose


def _classify_blocks(tree: BlockTree, texts: list[int], links: list[int]) -> tuple[list[bool], list[int]]:
    """Return for each block whether it is in boilerplate, and the blocks that their attributes mark as main content."""
    limit = MAX_HINTED_SHARE * texts[0]
    removed, in_article, in_main = [False], [False], [False]
    containers = []
    known: dict[tuple[str, str, str, str], ContentHint] = {}
    for block, (tag, parent) in enumerate(zip(tree.tags[1:], tree.parents[1:], strict=True), start=1):
        is_nested = in_article[parent]
        in_article.append(is_nested or tag == "article")
        in_main.append(in_main[parent] or tag == "main")
        # The attributes of all other blocks have no effect; reading them takes a third of the time of the extraction.
        if removed[parent] or not (texts[block] or links[block]):
            removed.append(removed[parent])
            continue
        element = tree.elements[block]
        key = (tag, element.attr("class") or "", element.attr("id") or "", element.attr("itemprop") or "")
        if (hint := known.get(key)) is None:
            hint = known[key] = classify_attributes(*key)
        if hint is ContentHint.CONTENT:
            containers.append(block)
        is_boilerplate = (
            hint is ContentHint.BOILERPLATE
            # An article in an article is a comment or a teaser; a header outside of the content is that of the site.
            or (tag == "article" and is_nested)
            or (tag == "header" and not is_nested and not in_main[parent])
        )
        removed.append(is_boilerplate and texts[block] <= limit)
    return removed, containers


def _weigh_blocks(tree: BlockTree, removed: list[bool]) -> list[int]:
    """Return the weight of each block without the blocks inside it."""
    weights = [0] * len(tree.tags)
    for block, (text, link) in enumerate(zip(tree.text_lengths, tree.link_lengths, strict=True)):
        if not (text or link) or removed[block]:
            continue
        if link > MAX_LINK_SHARE * (text + link):
            weights[block] = -link - BLOCK_COST
        else:
            weight = text + link - BLOCK_COST
            weights[block] = max(1, weight) if tree.tags[block] in _SHORT_TAGS else weight
    return weights


def _choose_main_block(tree: BlockTree, containers: list[int], own_weights: list[int]) -> int:
    """Return the block with the main text: the innermost one of the largest weight, or its part with a content hint."""
    weights = tree.sum_subtrees(own_weights)
    largest = max(weights)
    if largest <= 0:
        return 0
    main = len(weights) - 1 - weights[::-1].index(largest)
    prose = tree.sum_subtrees([max(0, weight) for weight in own_weights])
    # Links divide a text only if most of the text is on one side: a table of links does not end a chapter.
    outer = main
    while outer:
        outer = tree.parents[outer]
        if prose[main] < MIN_MAIN_SHARE * prose[outer]:
            main = outer
    # One long paragraph can outweigh the short ones and the links around it.
    while tree.tags[main] in _PARAGRAPH_TAGS:
        main = tree.parents[main]
    end = tree.find_end(main)
    hinted = [block for block in containers if main < block < end and weights[block] >= MIN_CONTENT_SHARE * largest]
    return hinted[-1] if hinted else main


def _mark_navigation(tree: BlockTree, removed: list[bool], texts: list[int], links: list[int]) -> list[bool]:
    """Return for each block whether it is boilerplate or in a section that consists of links."""
    marked = removed.copy()
    for block in range(1, len(marked)):
        if marked[tree.parents[block]]:
            marked[block] = True
        elif tree.tags[block] in _SECTION_TAGS and not tree.are_linked[block]:
            marked[block] |= links[block] > MAX_SECTION_LINK_SHARE * (texts[block] + links[block])
    return marked


def _list_lines(tree: BlockTree, main: int, removed: list[bool]) -> list[str]:
    """Return the lines in a block that are not in removed blocks."""
    end = tree.find_end(main)
    return [
        "".join(line)
        for owner, line in zip(tree.owners, tree.lines, strict=True)
        if main <= owner < end and not removed[owner]
    ]
