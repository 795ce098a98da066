"""From the elements that lead elsewhere to the links of a page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import repeat

from turbohtml import Element, Node, Text

from ..records import Link, draft
from ..urls import Joiner
from .flow import END, FORGED, START
from .survey import Lead

#: More links than this on one page are the work of a program; the first ones serve.
MOST_LINKS = 2000
LONGEST_ANCHOR = 500
#: Of the name of an element or a class, or of `rel`.
LONGEST_NAME = 100
#: A tag path names this many elements, those nearest to the link.
PATH_ELEMENTS = 6
#: Elements around a link that are looked at; pages for readers are not half as deep.
DEEPEST = 64

_Draft = draft(Link)


@dataclass(slots=True)
class Leads:
    """The elements that lead elsewhere, in the order of the page, before their surroundings are known."""

    elements: list[Element] = field(default_factory=list)
    urls: list[str] = field(default_factory=list)
    rels: list[str] = field(default_factory=list)
    headings: list[int] = field(default_factory=list)  # how many headings stand above or around each
    alts: list[str] = field(default_factory=list)
    placeless: int = 0  # so many at the beginning have no place in the text: refreshes, frames

    def add(self, leads: Iterable[Lead], joiner: Joiner, page: str) -> None:
        """Those of the elements that lead to other pages of the web."""
        elements, urls, rels, headings = self.elements, self.urls, self.rels, self.headings
        rooted, absolute = joiner.rooted, joiner.absolute
        for element, href, rel, heading in leads:
            url = rooted.get(href) or absolute.get(href) or joiner(href)
            if url is not None and url != page:
                elements.append(element)
                urls.append(url)
                rels.append(" ".join(rel[:LONGEST_NAME].lower().split()) if rel else "")
                headings.append(heading)
                if len(urls) >= MOST_LINKS:
                    break


@dataclass(slots=True)
class Context:
    """What stands around the links of a page, one of each for every link."""

    before: Sequence[Sequence[str]]
    after: Sequence[Sequence[str]]
    sentences: Sequence[str]
    headings: Sequence[str]
    paths: Sequence[str]


def mark(elements: Sequence[Element]) -> list[str]:
    """Put marks around each link's text in the tree, and read the alternative texts on the way."""
    alts = [element.attr("title") or "" for element in elements]
    for number, element in enumerate(elements):
        # Most links hold one piece of text: writing the marks into it is three times as fast as new nodes.
        if len(element) == 1 and type(child := element[0]) is Text and element.tag == "a":
            child.data = f"{START}{child.data}{END}"
        else:
            alts[number] = _mark_slowly(element) or alts[number]
    return alts


def _mark_slowly(element: Element) -> str:
    if element.tag != "a":
        # What stands inside a frame is for browsers without frames.
        if element.tag == "iframe":
            element.clear()
        element.insert_after(Text(START + END))
        return element.attr("alt") or ""
    if len(element) == 1 and isinstance(image := element[0], Element) and image.tag == "img":
        element.append(Text(START + END))
        return image.attr("alt") or ""
    inner = element.find("a")
    element.insert(0, Text(START))
    if inner is not None:
        # A link around links ends where the first of them begins: marks must not nest.
        inner.insert_before(Text(END))
        return ""
    element.append(Text(END))
    return " ".join(filter(None, (image.attr("alt") for image in element.find_all("img", limit=20))))


def tag_paths(elements: Iterable[Element]) -> list[str]:
    """The elements around each link, the outermost first, each with its first class.

    Links in a row share their parents, or at least their parents' looks, so both are remembered.
    """
    known: dict[Node | None, str] = {None: ""}
    longer: dict[tuple[str, str, str | None], str] = {}
    paths = []
    for element in elements:
        parent = element.parent
        path = known.get(parent)
        paths.append(_path(parent, DEEPEST, known, longer) if path is None else path)
    return paths


def _path(
    node: Node | None, depth: int, known: dict[Node | None, str], longer: dict[tuple[str, str, str | None], str]
) -> str:
    if not depth or not isinstance(node, Element):
        return ""
    parent = node.parent
    path = known.get(parent)
    if path is None:
        path = _path(parent, depth - 1, known, longer)
    step = (path, node.tag, node.attr("class"))
    path = longer.get(step)
    if path is None:
        path = longer[step] = _longer(*step)
    known[node] = path
    return path


def _longer(path: str, tag: str, classes: str | None) -> str:
    """A path with one more element; the root is left out, as every path would start with it.

    >>> _longer("body", "div", "nav wide"), _longer("", "html", None), _longer("b/c/d/e/f/g", "p", "")
    ('body/div.nav', '', 'c/d/e/f/g/p')
    """
    if tag == "html":
        return ""
    first = classes[:LONGEST_NAME].split(None, 1) if classes else None
    if path.count("/") == PATH_ELEMENTS - 1:
        path = path.partition("/")[2]
    name = f"{tag[:LONGEST_NAME]}.{first[0]}" if first else tag[:LONGEST_NAME]
    return f"{path}/{name}" if path else name


def sealed(found: Leads, anchors: Sequence[str], context: Context | None, source: str, depth: int) -> tuple[Link, ...]:
    """The links of the page `source`; without context they have no more than their address and texts."""
    count = len(anchors)
    if context is None:
        context = Context([()] * count, [()] * count, [""] * count, [""] * count, [""] * count)
    if max(map(len, anchors), default=0) > LONGEST_ANCHOR:
        anchors = [anchor[:LONGEST_ANCHOR].rstrip() if len(anchor) > LONGEST_ANCHOR else anchor for anchor in anchors]
    alts: Sequence[str] = found.alts
    told = "".join(alts)
    if len(told) > LONGEST_ANCHOR or not told.isascii():
        alts = [
            alt if alt.isascii() and len(alt) <= LONGEST_ANCHOR else FORGED.sub("", alt[:LONGEST_ANCHOR])
            for alt in alts
        ]
    around = context.before, context.after, context.sentences, context.headings, context.paths
    links: list[Link] = list(
        map(_Draft, found.urls, repeat(source), anchors, alts, *around, range(count), found.rels, repeat(depth))
    )
    for link in links:
        link.__class__ = Link
    return tuple(links)
