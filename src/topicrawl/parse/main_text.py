"""Extract the main text of a page, without menus, sidebars, footers, advertisements and comments.

turbohtml scores the elements by the amount of prose outside links, after Readability. The extraction costs as much as
parsing the page a second time, so it runs only on request.
"""

from __future__ import annotations

from msgspec.structs import replace

from topicrawl.documents.file_types import detect_type
from topicrawl.models import Failure, Link, LinkContextLevel, Page, Response
from topicrawl.parse import parse_response, text_blocks
from topicrawl.parse.charset import decode_text
from topicrawl.parse.head import INLINE_SELECTOR
from topicrawl.parse.hidden_text import remove_hidden_text
from topicrawl.parse.html import MAX_TEXT_LENGTH, NON_TEXT_SELECTOR
from topicrawl.parse.parser_cache import ParserCache
from topicrawl.parse.tree import build_tree
from topicrawl.text.tokenizer import tokenise_to_bytes
from topicrawl.text.word_sequence import WordSequence

MIN_MAIN_SHARE = 0.25  # share of the visible text; below it, the page is a list or a portal, and its whole text is used
_MIN_MAIN_LENGTH = 200


def extract_main_text(response: Response, page: Page) -> str:
    """Return the main text of a page, one block per line; the whole text if no main content stands out."""
    if detect_type(response.body, response.content_type) != "html":
        return page.text
    source, _ = decode_text(response.body, response.headers.get("content-type", ""))
    tree = build_tree(source)
    tree.remove(NON_TEXT_SELECTOR)
    remove_hidden_text(tree)
    content = tree.main_content()
    if content is None:
        return page.text
    content.strip_tags(INLINE_SELECTOR)
    content.normalize()
    text = text_blocks.RESERVED_CHARACTERS.sub("", text_blocks.join_blocks(content.stripped_strings))[
        :MAX_TEXT_LENGTH
    ].strip()
    return text if len(text) >= max(_MIN_MAIN_LENGTH, MIN_MAIN_SHARE * len(page.text)) else page.text


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
    return (
        replace(page, words=WordSequence(tokenise_to_bytes(extract_main_text(response, page))))
        if isinstance(page, Page)
        else page
    )
