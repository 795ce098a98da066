"""From plain text to a page: the first line is the title, addresses in the text are the links."""

from __future__ import annotations

import re

import xxhash

from ..records import Link, Page, Response
from ..text.lexicon import lexicon
from ..text.tokens import words
from ..urls import canonical
from . import flow
from .charset import decoded
from .directives import directives
from .language import UNSPACED, language_of
from .links import LONGEST_ANCHOR, MOST_LINKS
from .sentence import sentences_at

LONGEST_TEXT = 2_000_000
LONGEST_TITLE = 200
# Marks that end a sentence or enclose an address are not part of it.
_ADDRESS = re.compile(r"https?://[^\s<>\"'`{}|\\^\ue000-\ue00f]{1,2000}", re.I)
_NOT_LAST = ".,;:!?*_~"


def read_plain(response: Response, link: Link, *, context: bool = True) -> Page:
    """The page in a body of plain text; empty lines separate its blocks."""
    source, charset = decoded(response.body, response.headers.get("content-type", ""))
    source = flow.FORGED.sub("", source[:LONGEST_TEXT]).replace("\0", "")
    marked, urls = _marked(flow.flat(_blocks(source)), response.final_url)
    pieces = flow.cut(marked)
    text = "".join(pieces).strip()
    language = language_of(text)
    found: tuple[str, ...] = ()
    links = tuple(
        Link(url, response.final_url, anchor[:LONGEST_ANCHOR], position=i, depth=link.depth + 1)
        for i, (url, anchor) in enumerate(zip(urls, pieces[1::2], strict=True))
    )
    if context:
        found, windows = flow.words_and_windows(pieces, lexicon(language or "en").stop)
        around = sentences_at("".join(pieces), flow.offsets(pieces), language=language)
        links = tuple(
            Link(one.url, one.source, one.anchor, before=before, after=after, sentence=sentence,
                 position=one.position, depth=one.depth)
            for one, (before, after), sentence in zip(links, windows, around, strict=True)
        )  # fmt: skip
    if not context or language in UNSPACED:
        found = tuple(words(text))
    raw = text.encode("utf-8", "replace")
    return Page(
        url=response.final_url,
        title=text.partition("\n")[0][:LONGEST_TITLE],
        text=text,
        words=found,
        language=language,
        charset=charset,
        directives=directives(response.headers.get("x-robots-tag", "")),
        links=links,
        digest=xxhash.xxh3_128_hexdigest(raw) if raw else "",
    )


def _blocks(source: str) -> list[str]:
    """The first line is a block of its own, whatever follows it."""
    first, _, rest = source.replace("\r\n", "\n").replace("\r", "\n").lstrip().partition("\n")
    return [block for block in map(str.strip, (first, *re.split(r"\n[ \t]*\n", rest))) if block]


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
        url = canonical(address)
        if url is None or url == page or len(urls) >= MOST_LINKS:
            return found[0]
        urls.append(url)
        return f"{flow.START}{address}{flow.END}{found[0][len(address) :]}"

    return _ADDRESS.sub(mark, text), urls
