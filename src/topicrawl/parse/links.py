"""From the elements that lead elsewhere to the links of a page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields, make_dataclass

from turbohtml import Element, Node, Text

from ..records import Link
from ..urls import Joiner
from .flow import END, FORGED, START, Surroundings

#: More links than this on one page are the work of a program; the first ones serve.
MOST_LINKS = 2000
LONGEST_ANCHOR = 500
#: Of the name of an element or a class, or of `rel`.
LONGEST_NAME = 100
#: A tag path names this many elements, those nearest to the link.
PATH_ELEMENTS = 6
#: Elements around a link that are looked at; pages for readers are not half as deep.
DEEPEST = 64

# A frozen dataclass pays for every field it sets: 2 µs a link, a tenth of all that is done with a page.
# The twin has the same slots without the lock; changing its class afterwards locks it. 0.4 µs.
_Draft = make_dataclass("_Draft", [each.name for each in fields(Link)], slots=True)


@dataclass(slots=True)
class Leads:
    """The elements that lead elsewhere, in the order of the page, before their surroundings are known."""

    elements: list[Element] = field(default_factory=list)
    urls: list[str] = field(default_factory=list)
    rels: list[str] = field(default_factory=list)
    headings: list[int] = field(default_factory=list)  # how many headings stand above or around each
    alts: list[str] = field(default_factory=list)
    placeless: int = 0  # so many at the beginning have no place in the text: refreshes, frames

    def add(self, elements: Iterable[tuple[Element, int]], joiner: Joiner, page: str) -> None:
        """Those of the elements that lead to other pages of the web."""
        append = self.append
        for element, heading in elements:
            tag = element.tag
            url = joiner(element.attr("src" if tag == "iframe" or tag == "frame" else "href"))
            if url is not None and url != page:
                rel = element.attr("rel") if tag == "a" or tag == "area" else tag
                append(element, url, " ".join(rel[:LONGEST_NAME].lower().split()) if rel else "", heading)
                if len(self.urls) >= MOST_LINKS:
                    break

    def append(self, element: Element, url: str, rel: str, heading: int) -> None:
        self.elements.append(element)
        self.urls.append(url)
        self.rels.append(rel)
        self.headings.append(heading)


@dataclass(slots=True)
class Context:
    """What stands around the links of a page, one of each for every link."""

    windows: Sequence[Surroundings]
    sentences: Sequence[str]
    headings: Sequence[str]
    paths: Sequence[str]


def mark(elements: Iterable[Element]) -> list[str]:
    """Put marks around each link's text in the tree, and read the alternative texts on the way."""
    alts = []
    for element in elements:
        # Most links hold one piece of text: writing the marks into it is three times as fast as new nodes.
        if len(element) == 1 and type(child := element[0]) is Text and element.tag == "a":
            child.data = START + child.data + END
            alt = ""
        else:
            alt = _mark_slowly(element)
        alts.append(alt or element.attr("title") or "")
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
        paths.append(_path(parent, known, longer) if path is None else path)
    return paths


def _path(node: Node | None, known: dict[Node | None, str], longer: dict[tuple[str, str, str | None], str]) -> str:
    chain: list[Element] = []
    path = None
    while path is None and isinstance(node, Element) and len(chain) < DEEPEST:
        chain.append(node)
        node = node.parent
        path = known.get(node)
    path = path or ""
    while chain:
        element = chain.pop()
        step = (path, element.tag, element.attr("class"))
        path = longer.get(step)
        if path is None:
            path = longer[step] = _longer(*step)
        known[element] = path
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
        context = Context([((), ())] * count, [""] * count, [""] * count, [""] * count)
    around = zip(context.windows, context.sentences, context.headings, context.paths, strict=False)
    columns = zip(found.urls, anchors, found.alts, found.rels, around, strict=False)
    links: list[Link] = []
    for position, (url, anchor, alt, rel, ((before, after), sentence, heading, path)) in enumerate(columns):
        if len(anchor) > LONGEST_ANCHOR:
            anchor = anchor[:LONGEST_ANCHOR].rstrip()
        if not alt.isascii() or len(alt) > LONGEST_ANCHOR:
            alt = FORGED.sub("", alt[:LONGEST_ANCHOR])
        draft = _Draft(url, source, anchor, alt, before, after, sentence, heading, path, position, rel, depth)
        draft.__class__ = Link
        links.append(draft)
    return tuple(links)
