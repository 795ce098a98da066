"""HTML parser: title, visible text, words, language, and links with their context.

The parser uses a few bulk operations of turbohtml, each implemented in C: remove elements, collect elements, extract
all text. It walks the tree node by node only if a page hides text or contains the reserved marker characters.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import xxhash
from turbohtml import Document, Element, Node
from turbohtml.clean import strip_comments_node

from topicrawl.models import Link, LinkContextLevel, Page, Response
from topicrawl.parse import text_blocks
from topicrawl.parse.charset import decode_text, get_query_codec
from topicrawl.parse.head import PageElements, collect_elements
from topicrawl.parse.hidden_text import remove_hidden_text, remove_markers
from topicrawl.parse.language import UNSPACED_LANGUAGES, detect_language
from topicrawl.parse.link_sentence import find_sentences
from topicrawl.parse.links import LinkBatch, LinkContexts, build_links, build_tag_paths, insert_markers
from topicrawl.parse.parser_cache import ParserCache
from topicrawl.parse.robots_directives import parse_directives
from topicrawl.parse.styled_sentences import extract_styled_sentences
from topicrawl.parse.tree import build_tree
from topicrawl.text.bag_of_words import VocabularyCache
from topicrawl.text.tokenizer import tokenise_to_bytes
from topicrawl.text.word_sequence import WordSequence
from topicrawl.urls import LinkResolver

#: Characters of the text of a page; the rest of a longer text is ignored.
MAX_TEXT_LENGTH = 500_000
MAX_TITLE_LENGTH = 1000

NON_TEXT_SELECTOR = "script,style,template,noframes"

#: Creates the resolver for the links of a page from its URL or its base URL.
ResolverFactory: TypeAlias = Callable[[str], LinkResolver]


@dataclass(slots=True)
class ParsedTree:
    """Result of one pass over the tree of a page."""

    elements: PageElements
    links: LinkBatch
    hidden_anchors: dict[Node, str]  # anchor texts of links in hidden elements
    paths: list[str]
    pieces: text_blocks.TextPieces
    text: str
    encoded_text: bytes  # the text in UTF-8

    @property
    def has_valid_markers(self) -> bool:
        """Whether each link has its markers and the text contains no others."""
        placed = len(self.links.urls) - self.links.unplaced_count
        return len(self.pieces) // 2 == placed and not text_blocks.contains_markers(self.encoded_text)


def parse_html(
    response: Response,
    link: Link,
    *,
    styles: bool = False,
    context: LinkContextLevel | bool = True,
    cache: ParserCache | None = None,
) -> Page:
    """Parse an HTML response to a page.

    With `styles`, the page has its styled sentences. Without `context`, links have only URL, anchor and alternative
    text, rel and position.
    """
    source, charset = decode_text(response.body, response.headers.get("content-type", ""))
    url = response.final_url
    cache = ParserCache() if cache is None else cache
    tree = build_tree(source, response.body if charset == "utf-8" else b"")
    make_resolver = partial(LinkResolver, cache=cache.links, query_codec=get_query_codec(charset))
    reading = _read_tree(tree, url, make_resolver, context=bool(context))
    if not reading.has_valid_markers:
        tree = build_tree(source)
        reading = _read_tree(tree, url, make_resolver, context=bool(context), has_forged_markers=True)
    elements, text = reading.elements, reading.text
    headings = tuple(_fold_text(heading) for heading in elements.headings)
    language = detect_language(text, (tree.root and tree.root.attr("lang")) or "")
    link_context = None
    if context:
        words, link_context = _build_link_context(
            reading, headings, language, cache.vocabularies, sentences=context != LinkContextLevel.WITHOUT_SENTENCE
        )
    # Languages without spaces use pairs of characters as words, and link boundaries must not split these pairs.
    if not context or language in UNSPACED_LANGUAGES:
        words = WordSequence(tokenise_to_bytes(text))
    return Page(
        url=url,
        title=_fold_text(elements.title) if elements.title is not None else "",
        headings=headings,
        text=text,
        words=words,
        # The pass above modifies the tree, so the styles need a second, complete tree.
        sentences=extract_styled_sentences(build_tree(source)) if styles else (),
        language=language,
        charset=charset,
        canonical=elements.canonical,
        directives=parse_directives(response.headers.get("x-robots-tag", ""), elements.robots_metas),
        links=build_links(reading.links, _get_anchors(reading), link_context, url, link.depth + 1),
        # Pages without text (frames, images) have no digest, so that they are not duplicates of each other.
        digest=xxhash.xxh3_128_hexdigest(reading.encoded_text) if reading.encoded_text else "",
    )


def _read_tree(
    tree: Document, url: str, make_resolver: ResolverFactory, *, context: bool, has_forged_markers: bool = False
) -> ParsedTree:
    """Extract elements, links and marked text from a tree. Removes hidden text from the tree and inserts markers."""
    inner = tree if tree.find("body") is not None else _parse_noframes(tree)
    if has_forged_markers:
        remove_markers(inner)
    inner.remove(NON_TEXT_SELECTOR)
    strip_comments_node(inner)
    hidden_anchors = remove_hidden_text(inner)
    elements = collect_elements(tree)
    if inner is not tree:
        inner_elements = collect_elements(inner)
        elements.links = inner_elements.links
        elements.headings = inner_elements.headings
        elements.rare_inline = inner_elements.rare_inline
    links = _collect_links(elements, url, make_resolver)
    paths = build_tag_paths(links.elements) if context else []
    links.alts = [""] * links.unplaced_count + insert_markers(links.elements[links.unplaced_count :])
    pieces = text_blocks.split_at_links(_extract_marked_text(inner, elements.inline_selector))
    text = "".join(pieces).strip()
    return ParsedTree(elements, links, hidden_anchors, paths, pieces, text, text.encode("utf-8", "replace"))


def _collect_links(elements: PageElements, url: str, make_resolver: ResolverFactory) -> LinkBatch:
    """Resolve the URLs of all links and of the canonical link; links without a position in the text come first."""
    base = (make_resolver(url)(elements.base) or url) if elements.base else url
    resolver = make_resolver(base)
    elements.canonical = (resolver(elements.canonical) or "") if elements.canonical else ""
    links = LinkBatch()
    links.add(elements.refreshes, resolver, url)
    links.add(elements.frames, resolver, url)
    links.unplaced_count = len(links.urls)
    links.add(elements.links, resolver, url)
    return links


def _extract_marked_text(tree: Document, inline: str) -> str:
    """Return the text of a tree with link markers, one block per line."""
    tree.strip_tags(inline)
    body = tree.find("body")
    if body is None:
        return ""
    body.normalize()
    return text_blocks.join_blocks(body.stripped_strings)[:MAX_TEXT_LENGTH]


def _parse_noframes(tree: Document) -> Document:
    """Parse the `<noframes>` content of a frameset page to a tree of its own; an empty tree without it."""
    noframes = tree.find("noframes")
    return build_tree(noframes.text if noframes is not None else "")


def _build_link_context(
    reading: ParsedTree, headings: tuple[str, ...], language: str, vocabularies: VocabularyCache, *, sentences: bool
) -> tuple[WordSequence, LinkContexts]:
    """Return the words of the page and the context of its links."""
    pieces, unplaced = reading.pieces, reading.links.unplaced_count
    words, (before, after) = text_blocks.build_words_and_windows(pieces, language, vocabularies)
    if sentences:
        link_sentences = find_sentences("".join(pieces), text_blocks.get_link_offsets(pieces), language=language)
    else:
        link_sentences = [""] * len(before)
    link_headings = list(map(["", *headings].__getitem__, reading.links.heading_counts))
    no_words: list[Sequence[str]] = [()] * unplaced
    return words, LinkContexts(
        [*no_words, *before], [*no_words, *after], [""] * unplaced + link_sentences, link_headings, reading.paths
    )


def _get_anchors(reading: ParsedTree) -> list[str]:
    """Return the anchor texts of all links, including those in hidden elements."""
    links = reading.links
    anchors = [""] * links.unplaced_count + text_blocks.get_anchors(reading.pieces)
    if reading.hidden_anchors:
        for position, element in enumerate(links.elements[: len(anchors)]):
            if element in reading.hidden_anchors:
                anchors[position] = text_blocks.RESERVED_CHARACTERS.sub(
                    "", " ".join(reading.hidden_anchors[element].split())
                )
    return anchors


def _fold_text(element: Element) -> str:
    """Return the text of an element on one line, without marker characters."""
    text = " ".join(" ".join(element.stripped_strings).split())[:MAX_TITLE_LENGTH]
    return text if text.isascii() else text_blocks.RESERVED_CHARACTERS.sub("", text)
