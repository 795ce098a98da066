"""Plain text parser: the first line is the title, URLs in the text are the links."""

from __future__ import annotations

import re
from collections.abc import Sequence

import xxhash
from msgspec.structs import replace

from topicrawl.models import Link, LinkContextLevel, Page, Response, Sentence
from topicrawl.parse import text_blocks
from topicrawl.parse.charset import decode_text
from topicrawl.parse.language import UNSPACED_LANGUAGES, detect_language
from topicrawl.parse.link_sentence import find_sentences
from topicrawl.parse.links import MAX_ANCHOR_LENGTH, MAX_LINKS
from topicrawl.parse.parser_cache import ParserCache
from topicrawl.parse.robots_directives import parse_directives
from topicrawl.parse.styled_sentences import MAX_SENTENCES
from topicrawl.text.bag_of_words import VocabularyCache
from topicrawl.text.sentences import split_sentences
from topicrawl.text.tokenizer import tokenise_to_bytes
from topicrawl.text.word_sequence import WordSequence
from topicrawl.urls import canonicalize_url

MAX_TEXT_LENGTH = 500_000
MAX_TITLE_LENGTH = 200

_EMPTY_LINE = re.compile(r"\n[ \t]*\n")
_URL_PATTERN = re.compile(r"https?://[^\s<>\"'`{}|\\^\ue000-\ue00f]{1,2000}", re.I)
# Punctuation that ends a sentence is not part of a URL.
_TRAILING_PUNCTUATION = ".,;:!?*_~"


def parse_plain_text(
    response: Response,
    link: Link,
    *,
    styles: bool = False,
    context: LinkContextLevel | bool = True,
    cache: ParserCache | None = None,
) -> Page:
    """Parse a plain text response to a page; empty lines separate its blocks."""
    source, charset = decode_text(response.body, response.headers.get("content-type", ""))
    source = text_blocks.RESERVED_CHARACTERS.sub("", source[:MAX_TEXT_LENGTH]).replace("\0", "")
    marked, urls = _mark_links(text_blocks.join_blocks(_split_blocks(source)), response.final_url)
    pieces = text_blocks.split_at_links(marked)
    text = "".join(pieces).strip()
    raw = text.encode("utf-8", "replace")
    page = Page(
        url=response.final_url,
        title=text.partition("\n")[0][:MAX_TITLE_LENGTH],
        text=text,
        language=detect_language(text),
        charset=charset,
        directives=parse_directives(response.headers.get("x-robots-tag", "")),
        digest=xxhash.xxh3_128_hexdigest(raw) if raw else "",
    )
    links = [
        Link(url, page.url, anchor[:MAX_ANCHOR_LENGTH].rstrip(), position=position, depth=link.depth + 1)
        for position, (url, anchor) in enumerate(zip(urls, pieces[1::2], strict=True))
    ]
    words: Sequence[str] = ()
    if context:
        vocabularies = VocabularyCache() if cache is None else cache.vocabularies
        words, links = _add_link_context(pieces, links, page.language, vocabularies)
    if not context or page.language in UNSPACED_LANGUAGES:
        words = WordSequence(tokenise_to_bytes(text))
    styled = tuple(_split_sentences(text)[:MAX_SENTENCES]) if styles else ()
    return replace(page, words=words, links=tuple(links), sentences=styled)


def _add_link_context(
    pieces: text_blocks.TextPieces, links: list[Link], language: str, vocabularies: VocabularyCache
) -> tuple[WordSequence, list[Link]]:
    """Return the words of the text, and the links with their context."""
    words, windows = text_blocks.build_words_and_windows(pieces, language, vocabularies)
    link_sentences = find_sentences("".join(pieces), text_blocks.get_link_offsets(pieces), language=language)
    return words, [
        replace(link, before=before, after=after, sentence=sentence)
        for link, before, after, sentence in zip(links, *windows, link_sentences, strict=True)
    ]


def _split_sentences(text: str) -> list[Sentence]:
    """Split a text into sentences with the default style."""
    return [
        Sentence(sentence, number) for number, line in enumerate(text.split("\n")) for sentence in split_sentences(line)
    ]


def _split_blocks(source: str) -> list[str]:
    """Split the source into blocks; the first line is always a separate block."""
    first, _, rest = source.replace("\r\n", "\n").replace("\r", "\n").lstrip().partition("\n")
    return [block for block in map(str.strip, (first, *_EMPTY_LINE.split(rest))) if block]


def _mark_links(text: str, page: str) -> tuple[str, list[str]]:
    """Insert markers around URLs of other pages; return the marked text and the canonical URLs.

    >>> _mark_links("See http://a.org/x, or mail me.", "http://b.org/")
    ('See \\ue000http://a.org/x\\ue001, or mail me.', ['http://a.org/x'])
    """
    urls: list[str] = []

    def mark_url(match: re.Match[str]) -> str:
        address = match[0].rstrip(_TRAILING_PUNCTUATION)
        # A bracket that opens before the URL closes after it.
        if address.endswith(")") and address.count("(") < address.count(")"):
            address = address[:-1]
        url = canonicalize_url(address) if len(urls) < MAX_LINKS else None
        if url is None or url == page:
            return match[0]
        urls.append(url)
        return f"{text_blocks.LINK_START}{address}{text_blocks.LINK_END}{match[0][len(address) :]}"

    return _URL_PATTERN.sub(mark_url, text), urls
