"""From HTML to a page: title, visible text, words, language, links with what stands around them.

The tree is asked in few, large questions, each answered in C: what to remove, which elements matter, all
text at once. Nothing here walks the tree node by node, unless a page hides text or forges our marks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import turbohtml
import xxhash
from turbohtml import Document, Element, Node
from turbohtml.clean import strip_comments_node

from ..records import Around, Link, Page, Response
from ..text.tokens import spelled
from ..text.wording import Wording
from ..urls import Joiner
from . import flow
from .charset import decoded
from .directives import directives
from .hidden import hush, purge
from .language import UNSPACED, language_of
from .links import Context, Leads, mark, sealed, tag_paths
from .sentence import sentences_at
from .styles import styled_sentences
from .survey import Survey, survey

#: Characters of source and of text that are read; what is longer is no page for readers.
LONGEST_SOURCE = 4_000_000
LONGEST_TEXT = 2_000_000
LONGEST_TITLE = 1000

SILENT = "script,style,template,noframes"


@dataclass(slots=True)
class Reading:
    """What one pass over a page's tree gave."""

    seen: Survey
    found: Leads
    spoken: dict[Node, str]  # the texts of links in hidden parts
    paths: list[str]
    pieces: flow.Pieces
    text: str
    raw: bytes  # the text in UTF-8

    @property
    def is_sound(self) -> bool:
        """Does each link have its marks, and are there no others?"""
        places = len(self.found.urls) - self.found.placeless
        return len(self.pieces) // 2 == places and not flow.is_marked(self.raw)


def read_html(response: Response, link: Link, *, styles: bool = False, context: Around | bool = True) -> Page:
    """The page in a response's body, with its styled sentences if they are wanted.

    Without `context`, links carry no more than their address, texts and rel.
    """
    source, charset = decoded(response.body, response.headers.get("content-type", ""))
    url = response.final_url
    tree = _parsed(source)
    reading = _reading(tree, url, context=bool(context))
    if not reading.is_sound:
        tree = _parsed(source)
        reading = _reading(tree, url, context=bool(context), is_forged=True)
    seen, text = reading.seen, reading.text
    headings = tuple(_folded(heading) for heading in seen.headings)
    language = language_of(text, (tree.root and tree.root.attr("lang")) or "")
    around = None
    if context:
        found, around = _surroundings(reading, headings, language, sentences=context != Around.WORDS)
    # Where words are not parted by spaces, they are pairs of characters, and links must not part these either.
    if not context or language in UNSPACED:
        found = Wording(spelled(text))
    return Page(
        url=url,
        title=_folded(seen.title) if seen.title is not None else "",
        headings=headings,
        text=text,
        words=found,
        # Reading changes the tree, and styles need it whole; they are seldom wanted.
        sentences=styled_sentences(_parsed(source)) if styles else (),
        language=language,
        charset=charset,
        canonical=seen.canonical,
        directives=directives(response.headers.get("x-robots-tag", ""), seen.robots),
        links=sealed(reading.found, _anchors(reading), around, url, link.depth + 1),
        # Pages without text (frames, pictures) are not all the same page.
        digest=xxhash.xxh3_128_hexdigest(reading.raw) if reading.raw else "",
    )


def _parsed(source: str) -> Document:
    return turbohtml.parse(source[:LONGEST_SOURCE], positions=False, allow_declarative_shadow_roots=False)


def _reading(tree: Document, url: str, *, context: bool, is_forged: bool = False) -> Reading:
    inner = tree if tree.find("body") is not None else _without_frames(tree)
    if is_forged:
        purge(inner)
    inner.remove(SILENT)
    strip_comments_node(inner)
    spoken = hush(inner)
    seen = survey(tree)
    if inner is not tree:
        framed = survey(inner)
        seen.links, seen.headings, seen.rare = framed.links, framed.headings, framed.rare
    found = _leads(seen, url)
    paths = tag_paths(found.elements) if context else []
    found.alts = [""] * found.placeless + mark(found.elements[found.placeless :])
    pieces = flow.cut(_marked_text(inner, seen.inline))
    text = "".join(pieces).strip()
    return Reading(seen, found, spoken, paths, pieces, text, text.encode("utf-8", "replace"))


def _leads(seen: Survey, url: str) -> Leads:
    """Where the page leads, those without a place in the text first."""
    joiner = Joiner((Joiner(url)(seen.base) or url) if seen.base else url)
    seen.canonical = (joiner(seen.canonical) or "") if seen.canonical else ""
    found = Leads()
    found.add(seen.refresh, joiner, url)
    found.add(seen.frames, joiner, url)
    found.placeless = len(found.urls)
    found.add(seen.links, joiner, url)
    return found


def _marked_text(tree: Document, inline: str) -> str:
    tree.strip_tags(inline)
    body = tree.find("body")
    if body is None:
        return ""
    body.normalize()
    return flow.flat(body.stripped_strings)[:LONGEST_TEXT]


def _without_frames(tree: Document) -> Document:
    """What a page of frames shows to those who cannot see frames."""
    found = tree.find("noframes")
    return _parsed(found.text if found is not None else "")


def _surroundings(
    reading: Reading, headings: tuple[str, ...], language: str, *, sentences: bool
) -> tuple[Wording, Context]:
    pieces, none = reading.pieces, reading.found.placeless
    found, (before, after) = flow.words_and_windows(pieces, language)
    if sentences:
        around = sentences_at("".join(pieces), flow.offsets(pieces), language=language)
    else:
        around = [""] * len(before)
    above = list(map(["", *headings].__getitem__, reading.found.headings))
    nowhere: list[Sequence[str]] = [()] * none
    return found, Context([*nowhere, *before], [*nowhere, *after], [""] * none + around, above, reading.paths)


def _anchors(reading: Reading) -> list[str]:
    found = reading.found
    anchors = [""] * found.placeless + flow.anchors(reading.pieces)
    if reading.spoken:
        for position, element in enumerate(found.elements[: len(anchors)]):
            if element in reading.spoken:
                anchors[position] = flow.FORGED.sub("", " ".join(reading.spoken[element].split()))
    return anchors


def _folded(element: Element) -> str:
    text = " ".join(" ".join(element.stripped_strings).split())[:LONGEST_TITLE]
    return text if text.isascii() else flow.FORGED.sub("", text)
