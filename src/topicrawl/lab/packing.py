"""Parsed pages as bytes, and back: five to ten times as fast as parsing them again.

Plain values go through `marshal`, which only ever makes plain values again; columns of short texts are joined first,
because one long text is read in a tenth of the time of a thousand short ones. How deep a page lies is no part of it:
that depends on the crawl.
"""

from __future__ import annotations

import marshal
from collections.abc import Sequence
from itertools import chain, starmap
from typing import Any

import numpy as np
import xxhash
import zstandard

from topicrawl.parse.flow import Windows, spoken
from topicrawl.parse.links import Context, Leads, sealed
from topicrawl.records import Failure, Page, Sentence, Style
from topicrawl.text.wording import Stretch, Wording

_END = "\0"  # between two texts of a column; parsed text holds none, and where it does the column stays a tuple
_BLANK = " "  # between two words
_SUM = 8  # bytes of the checksum

#: What does not read back: cut off, overwritten, or written by something else.
Unreadable = (zstandard.ZstdError, EOFError, ValueError, TypeError, IndexError, KeyError)


def packed(value: Any) -> bytes:
    """Plain values (numbers, texts, tuples, lists, dictionaries) as few bytes, with a checksum.

    >>> unpacked(packed({"a": (1, 2.5, None)}))
    {'a': (1, 2.5, None)}
    """
    data = zstandard.ZstdCompressor(level=1).compress(marshal.dumps(value))
    return xxhash.xxh3_64_digest(data) + data


def unpacked(data: bytes) -> Any:
    """What `packed` made bytes of; raises one of `Unreadable` when they are not whole."""
    # Looked at first: a damaged header may ask for more memory than there is.
    if xxhash.xxh3_64_digest(data[_SUM:]) != data[:_SUM]:
        raise ValueError("the checksum is another")
    return marshal.loads(zstandard.ZstdDecompressor().decompress(data[_SUM:]))


def page_values(page: Page | Failure) -> tuple[Any, ...]:
    """A page as plain values; for what was read and is no page, the name of the reason."""
    if isinstance(page, Failure):
        return (page.value,)
    links = page.links
    around = (
        _windows(page),
        _column([link.sentence for link in links]),
        _column([link.heading for link in links]),
        _column([link.tag_path for link in links]),
    )
    told = any(link.before or link.after or link.sentence or link.heading or link.tag_path for link in links)
    return (
        (page.url, page.title, page.text, page.language, page.charset, page.canonical, page.digest),
        page.headings,
        tuple(sorted(page.directives)),
        page.words.plain if isinstance(page.words, Wording) else _column(page.words, _BLANK),
        tuple((s.text, s.paragraph, *_look(s.style)) for s in page.sentences),
        tuple(_column([getattr(link, name) for link in links]) for name in ("url", "anchor", "alt", "rel")),
        around if told else (),
    )


def page_of(values: Sequence[Any], depth: int) -> Page | Failure:
    """The page that `page_values` took apart; its links are `depth` links from a seed."""
    if len(values) == 1:
        return Failure(values[0])
    (url, title, text, language, charset, canonical, digest), headings, directives, words, sentences, links, near = (
        values
    )
    urls, anchors, alts, rels = map(_texts, links)
    words = Wording(words) if isinstance(words, bytes) else tuple(_texts(words, _BLANK))
    context = Context(*_around(near[0], words, language), *map(_texts, near[1:])) if near else None
    return Page(
        url=url,
        title=title,
        headings=headings,
        text=text,
        words=words,
        sentences=tuple(Sentence(said, paragraph, Style(*look)) for said, paragraph, *look in sentences),
        language=language,
        charset=charset,
        canonical=canonical,
        directives=frozenset(directives),
        links=sealed(Leads(urls=urls, rels=rels, alts=alts), anchors, context, url, depth),
        digest=digest,
    )


def _windows(page: Page) -> tuple[object, ...]:
    """What stands before and after links: where in the page's words, or these words themselves."""
    sides = [link.before for link in page.links], [link.after for link in page.links]
    if isinstance(page.words, Wording):
        spans = [_span(side, page.words) for side in chain.from_iterable(sides)]
        if None not in spans:
            return (np.array(spans, "<i4").tobytes(),)
    return tuple(joined(side, _BLANK) for side in sides)


def _span(side: Sequence[str], words: Wording) -> tuple[int, int] | None:
    if isinstance(side, Stretch) and side.wording is words:
        return side.start, side.stop
    return None if side else (0, 0)


def _around(windows: Sequence[Any], words: Sequence[str], language: str) -> Windows:
    """What `_windows` took apart."""
    if len(windows) > 1 or not isinstance(words, Wording):
        return split(windows[0], _BLANK), split(windows[1], _BLANK)
    places = spoken(words, language)
    spans = np.frombuffer(windows[0], "<i4").reshape(2, -1, 2).tolist()
    before, after = ([Stretch(words, places, start, stop) for start, stop in side] for side in spans)
    return before, after


def joined(rows: Sequence[Sequence[str]], blank: str) -> object:
    """Rows of words as one column, or as they are when a word holds what would stand between two."""
    texts = [blank.join(row) for row in rows]
    if all(starmap(_parts_as_often, ((row, text, blank) for row, text in zip(rows, texts, strict=True)))):
        return _column(texts)
    return (tuple(map(tuple, rows)),)


def split(column: object, blank: str) -> list[tuple[str, ...]]:
    """
    >>> split(joined([("a", "b"), (), ("c d",)], " "), " "), split(joined([("a", "b"), ()], " "), " ")
    ([('a', 'b'), (), ('c d',)], [('a', 'b'), ()])
    """
    if isinstance(column, tuple) and column and isinstance(column[0], tuple):
        return list(column[0])
    return [tuple(text.split(blank)) if text else () for text in _texts(column)]


def _parts_as_often(row: Sequence[str], text: str, blank: str) -> bool:
    return (text.count(blank) == len(row) - 1 and text != "") if row else True


def _column(texts: Sequence[str], end: str = _END) -> str | tuple[str, ...]:
    text = end.join(texts)
    # No text at all and one empty text would look the same.
    return text if texts and text and text.count(end) == len(texts) - 1 else tuple(texts)


def _texts(column: object, end: str = _END) -> list[str]:
    return column.split(end) if isinstance(column, str) else list(column)  # type: ignore[call-overload]


def _look(style: Style) -> tuple[bool, float, str, str]:
    return style.hidden, style.font_size, style.colour, style.background
