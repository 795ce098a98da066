"""From plain text to a page: the first line is the title, addresses in the text are the links."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import xxhash

from ..records import Around, Link, Page, Response, Sentence
from ..text.sentences import sentences
from ..text.tokens import spelled
from ..text.wording import Wording
from ..urls import canonical
from . import flow
from .charset import decoded
from .directives import directives
from .language import UNSPACED, language_of
from .links import LONGEST_ANCHOR, MOST_LINKS
from .sentence import sentences_at

LONGEST_TEXT = 2_000_000
LONGEST_TITLE = 200

_EMPTY_LINE = re.compile(r"\n[ \t]*\n")
_ADDRESS = re.compile(r"https?://[^\s<>\"'`{}|\\^\ue000-\ue00f]{1,2000}", re.I)
# Marks that end a sentence are not part of an address.
_NOT_LAST = ".,;:!?*_~"


def read_plain(response: Response, link: Link, *, styles: bool = False, context: Around | bool = True) -> Page:
    """The page in a body of plain text; empty lines separate its blocks."""
    source, charset = decoded(response.body, response.headers.get("content-type", ""))
    source = flow.FORGED.sub("", source[:LONGEST_TEXT]).replace("\0", "")
    marked, urls = _marked(flow.flat(_blocks(source)), response.final_url)
    pieces = flow.cut(marked)
    text = "".join(pieces).strip()
    raw = text.encode("utf-8", "replace")
    page = Page(
        url=response.final_url,
        title=text.partition("\n")[0][:LONGEST_TITLE],
        text=text,
        language=language_of(text),
        charset=charset,
        directives=directives(response.headers.get("x-robots-tag", "")),
        digest=xxhash.xxh3_128_hexdigest(raw) if raw else "",
    )
    links = [
        Link(url, page.url, anchor[:LONGEST_ANCHOR].rstrip(), position=position, depth=link.depth + 1)
        for position, (url, anchor) in enumerate(zip(urls, pieces[1::2], strict=True))
    ]
    found: Sequence[str] = ()
    if context:
        found, links = _in_context(pieces, links, page.language)
    if not context or page.language in UNSPACED:
        found = Wording(spelled(text))
    shown = tuple(_plainly(text)) if styles else ()
    return replace(page, words=found, links=tuple(links), sentences=shown)


def _in_context(pieces: flow.Pieces, links: list[Link], language: str) -> tuple[Wording, list[Link]]:
    """The words of the text, and the links with what stands around them."""
    found, windows = flow.words_and_windows(pieces, language)
    around = sentences_at("".join(pieces), flow.offsets(pieces), language=language)
    return found, [
        replace(link, before=before, after=after, sentence=sentence)
        for link, before, after, sentence in zip(links, *windows, around, strict=True)
    ]


def _plainly(text: str) -> list[Sentence]:
    """The sentences of a text that is shown as it comes."""
    return [Sentence(each, number) for number, line in enumerate(text.split("\n")) for each in sentences(line)]


def _blocks(source: str) -> list[str]:
    """The first line is a block of its own, whatever follows it."""
    first, _, rest = source.replace("\r\n", "\n").replace("\r", "\n").lstrip().partition("\n")
    return [block for block in map(str.strip, (first, *_EMPTY_LINE.split(rest))) if block]


def _marked(text: str, page: str) -> tuple[str, list[str]]:
    """The text with marks around the addresses that lead to other pages, and these in canonical form.

    >>> _marked("See http://a.org/x, or mail me.", "http://b.org/")
    ('See \\ue000http://a.org/x\\ue001, or mail me.', ['http://a.org/x'])
    """
    urls: list[str] = []

    def mark(found: re.Match[str]) -> str:
        address = found[0].rstrip(_NOT_LAST)
        # A bracket that was opened before the address is closed after it.
        if address.endswith(")") and address.count("(") < address.count(")"):
            address = address[:-1]
        url = canonical(address) if len(urls) < MOST_LINKS else None
        if url is None or url == page:
            return found[0]
        urls.append(url)
        return f"{flow.START}{address}{flow.END}{found[0][len(address) :]}"

    return _ADDRESS.sub(mark, text), urls
