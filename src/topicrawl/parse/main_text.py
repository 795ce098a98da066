"""Extract the main text of a page, without menus, sidebars, footers, advertisements and comments.

The extraction parses the page on its own, and runs only on request: for exports, for the reviewer, and for crawls that
judge pages by their main text.
"""

from __future__ import annotations

from msgspec.structs import replace
from turbohtml import Element

from topicrawl.documents.file_types import detect_type
from topicrawl.models import Failure, Link, LinkContextLevel, Page, Response
from topicrawl.parse import parse_response
from topicrawl.parse.boilerplate import BOILERPLATE_SELECTOR
from topicrawl.parse.charset import decode_text
from topicrawl.parse.head import INLINE_SELECTOR
from topicrawl.parse.hidden_text import remove_hidden_text
from topicrawl.parse.html import MAX_TEXT_LENGTH
from topicrawl.parse.main_blocks import collect_blocks, select_main_lines
from topicrawl.parse.parser_cache import ParserCache
from topicrawl.parse.text_blocks import RESERVED_CHARACTERS, contains_markers, join_blocks
from topicrawl.parse.tree import build_tree
from topicrawl.text.tokenizer import tokenise_to_bytes
from topicrawl.text.word_sequence import WordSequence

#: Elements that may contain the main content, the most specific first, with the fewest characters that they must have.
_CONTENT_SELECTORS = {"[itemprop~=articleBody]": 250, "article": 250, "main,[role=main]": 1}
_UNWRAPPED_SELECTOR = ",".join(name for name in INLINE_SELECTOR.split(",") if name != "a")


def extract_main_text(response: Response) -> str | Failure:
    """Return the main text of a response, one block per line, or the failure if it cannot be parsed.

    If no part of the page is prose, this is the text outside of its menus, sidebars and footers. The main text of
    formats other than HTML is their whole text.

    >>> page = b"<title>Owls</title><nav><a href=/>Home</a></nav><p>Most <b>owls</b> hunt at <a href=/n>night</a>."
    >>> extract_main_text(Response("u", "u", 200, {"content-type": "text/html"}, page))
    'Most owls hunt at night.'
    """
    if response.readable is None and detect_type(response.body, response.content_type) == "html":
        return _extract_from_html(response)
    page = parse_response(response, Link(response.final_url), context=False)
    return page.text if isinstance(page, Page) else page


def _extract_from_html(response: Response) -> str:
    """Return the main text of an HTML response."""
    source, charset = decode_text(response.body, response.headers.get("content-type", ""))
    tree = build_tree(source, response.body if charset == "utf-8" else b"")
    body = tree.find("body")
    if body is None:  # a page of frames
        page = parse_response(response, Link(response.final_url), context=False)
        return page.text if isinstance(page, Page) else ""
    tree.remove(BOILERPLATE_SELECTOR)
    remove_hidden_text(tree)
    tree.strip_tags(_UNWRAPPED_SELECTOR)
    declared = _find_declared_content(body)
    blocks = collect_blocks(declared or body)
    text = join_blocks(select_main_lines(blocks, is_declared=declared is not None))[:MAX_TEXT_LENGTH]
    return RESERVED_CHARACTERS.sub("", text) if contains_markers(text.encode("utf-8", "replace")) else text


def _find_declared_content(body: Element) -> Element | None:
    """Return the element that the markup declares as the main content; None unless exactly one does."""
    for selector, min_length in _CONTENT_SELECTORS.items():
        declared = [element for element in body.select(selector) if len(element.text.strip()) >= min_length]
        if len(declared) == 1:
            return declared[0]
    return None


def parse_main_text(
    response: Response,
    link: Link,
    *,
    styles: bool = False,
    context: LinkContextLevel | bool = True,
    cache: ParserCache | None = None,
) -> Page | Failure:
    """Parse a response like `parse_response`, but take the words of the page from its main text only.

    The text and the links are those of the whole page.
    """
    page = parse_response(response, link, styles=styles, context=context, cache=cache)
    if isinstance(page, Failure):
        return page
    text = extract_main_text(response)
    return page if isinstance(text, Failure) else replace(page, words=WordSequence(tokenise_to_bytes(text)))
