"""Build the links of a page from its link elements: markers, tag paths and link records."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import repeat

from turbohtml import Element, Node, Text

from topicrawl.models import Link
from topicrawl.parse.head import LinkElement
from topicrawl.parse.text_blocks import LINK_END, LINK_START, RESERVED_CHARACTERS
from topicrawl.urls import LinkResolver

#: Largest number of links per page; only generated pages have more.
MAX_LINKS = 2000
MAX_ANCHOR_LENGTH = 500
#: Largest length of an element name, a class name or `rel`.
MAX_NAME_LENGTH = 100
#: Length of a tag path: the elements nearest to the link.
MAX_PATH_ELEMENTS = 6
#: Largest number of ancestors to visit; ordinary pages are not half as deep.
MAX_DEPTH = 64


@dataclass(slots=True)
class LinkBatch:
    """Link elements of a page in document order, with URL and `rel`, before their context is known."""

    elements: list[Element] = field(default_factory=list)
    urls: list[str] = field(default_factory=list)
    rels: list[str] = field(default_factory=list)
    heading_counts: list[int] = field(default_factory=list)  # for each link, the number of headings before or around it
    alts: list[str] = field(default_factory=list)
    unplaced_count: int = 0  # number of links at the start that have no position in the text: refreshes, frames

    def add(self, link_elements: Sequence[LinkElement], resolver: LinkResolver, page: str) -> None:
        """Add the elements that link to other web pages, until there are `MAX_LINKS` links.

        Elements without a valid http or https URL, and links to `page` itself, are skipped.
        """
        elements, urls, rels, headings = self.elements, self.urls, self.rels, self.heading_counts
        resolved = resolver.resolve_links([href for _, href, _, _ in link_elements])
        for (element, _, rel, heading), url in zip(link_elements, resolved, strict=True):
            if url is not None and url != page:
                elements.append(element)
                urls.append(url)
                rels.append(" ".join(rel[:MAX_NAME_LENGTH].lower().split()) if rel else "")
                headings.append(heading)
                if len(urls) >= MAX_LINKS:
                    break


@dataclass(slots=True)
class LinkContexts:
    """Context of the links of a page: each sequence has one entry per link."""

    before: Sequence[Sequence[str]]
    after: Sequence[Sequence[str]]
    sentences: Sequence[str]
    headings: Sequence[str]
    paths: Sequence[str]


def insert_markers(elements: Sequence[Element]) -> list[str]:
    """Insert markers around the text of each link into the tree; return the alternative texts of the links."""
    alts = [element.attr("title") or "" for element in elements]
    for number, element in enumerate(elements):
        # Most links contain a single text node. Changing it is three times as fast as inserting new nodes.
        if len(element) == 1 and type(child := element[0]) is Text and element.tag == "a":
            child.data = f"{LINK_START}{child.data}{LINK_END}"
        else:
            alts[number] = _insert_marker_nodes(element) or alts[number]
    return alts


def _insert_marker_nodes(element: Element) -> str:
    """Insert the markers of a link as new text nodes into the tree; return the alternative text, "" if none."""
    if element.tag != "a":
        # The content of an iframe is for browsers without frames.
        if element.tag == "iframe":
            element.clear()
        element.insert_after(Text(LINK_START + LINK_END))
        return element.attr("alt") or ""
    if len(element) == 1 and isinstance(image := element[0], Element) and image.tag == "img":
        element.append(Text(LINK_START + LINK_END))
        return image.attr("alt") or ""
    inner = element.find("a")
    element.insert(0, Text(LINK_START))
    if inner is not None:
        # Markers must not nest, so a link that contains links ends where the first of them begins.
        inner.insert_before(Text(LINK_END))
        return ""
    element.append(Text(LINK_END))
    return " ".join(filter(None, (image.attr("alt") for image in element.find_all("img", limit=20))))


def build_tag_paths(elements: Iterable[Element]) -> list[str]:
    """Return the tag path of each link: its ancestors, outermost first, each with its first class.

    Neighbouring links often share their parents, or have parents of the same form, so both are cached.
    """
    node_paths: dict[Node | None, str] = {None: ""}
    extended: dict[tuple[str, str, str | None], str] = {}
    paths = []
    for element in elements:
        parent = element.parent
        path = node_paths.get(parent)
        paths.append(_build_path(parent, MAX_DEPTH, node_paths, extended) if path is None else path)
    return paths


def _build_path(
    node: Node | None, depth: int, node_paths: dict[Node | None, str], extended: dict[tuple[str, str, str | None], str]
) -> str:
    """Return the tag path of a node, using the caches of `build_tag_paths`."""
    if not depth or not isinstance(node, Element):
        return ""
    parent = node.parent
    path = node_paths.get(parent)
    if path is None:
        path = _build_path(parent, depth - 1, node_paths, extended)
    step = (path, node.tag, node.attr("class"))
    path = extended.get(step)
    if path is None:
        path = extended[step] = _extend_path(*step)
    node_paths[node] = path
    return path


def _extend_path(path: str, tag: str, classes: str | None) -> str:
    """Append an element to a tag path; the root element is left out, because every path would start with it.

    >>> _extend_path("body", "div", "nav wide"), _extend_path("", "html", None), _extend_path("b/c/d/e/f/g", "p", "")
    ('body/div.nav', '', 'c/d/e/f/g/p')
    """
    if tag == "html":
        return ""
    first = classes[:MAX_NAME_LENGTH].split(None, 1) if classes else None
    if path.count("/") == MAX_PATH_ELEMENTS - 1:
        path = path.partition("/")[2]
    name = f"{tag[:MAX_NAME_LENGTH]}.{first[0]}" if first else tag[:MAX_NAME_LENGTH]
    return f"{path}/{name}" if path else name


def build_links(
    batch: LinkBatch, anchors: Sequence[str], context: LinkContexts | None, source: str, depth: int
) -> tuple[Link, ...]:
    """Build the links of the page `source`. Without `context`, they have only URL, texts, rel and position."""
    count = len(anchors)
    if context is None:
        context = LinkContexts([()] * count, [()] * count, [""] * count, [""] * count, [""] * count)
    if max(map(len, anchors), default=0) > MAX_ANCHOR_LENGTH:
        anchors = [
            anchor[:MAX_ANCHOR_LENGTH].rstrip() if len(anchor) > MAX_ANCHOR_LENGTH else anchor for anchor in anchors
        ]
    alts: Sequence[str] = batch.alts
    joined = "".join(alts)
    if len(joined) > MAX_ANCHOR_LENGTH or not joined.isascii():
        alts = [
            alt
            if alt.isascii() and len(alt) <= MAX_ANCHOR_LENGTH
            else RESERVED_CHARACTERS.sub("", alt[:MAX_ANCHOR_LENGTH])
            for alt in alts
        ]
    columns = context.before, context.after, context.sentences, context.headings, context.paths
    return tuple(
        map(Link, batch.urls, repeat(source), anchors, alts, *columns, range(count), batch.rels, repeat(depth))
    )
