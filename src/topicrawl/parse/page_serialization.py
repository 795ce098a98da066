"""Serialise parsed pages to bytes. Loading a page is five to ten times as fast as parsing it again.

A page becomes plain values. Files contain them as `marshal`, which is fast; the child process that parses pages sends
them as MessagePack, whose decoder is safe with any input. Columns of short strings are joined into one string first,
because loading one long string takes a tenth of the time of a thousand short ones. The depth of a page is not stored,
because it depends on the crawl.
"""

from __future__ import annotations

import marshal
from collections.abc import Sequence
from itertools import chain, starmap
from typing import Any

import msgspec
import numpy as np
import xxhash
import zstandard

from topicrawl.models import Failure, Page, Sentence, Style
from topicrawl.parse.links import LinkBatch, LinkContexts, build_links
from topicrawl.parse.text_blocks import LinkWindows, find_content_words
from topicrawl.text.bag_of_words import VocabularyCache
from topicrawl.text.word_sequence import WordSequence, WordWindow

_SEPARATOR = "\0"  # separator of the texts in a column; a column with a text that contains it stays a tuple
_WORD_SEPARATOR = " "  # separator of words
_CHECKSUM_BYTES = 8  # bytes of the checksum

#: Exceptions raised for data that is truncated, damaged or in another format.
UNPACK_ERRORS = (zstandard.ZstdError, EOFError, ValueError, TypeError, IndexError, KeyError)


def pack_value(value: Any) -> bytes:
    """Serialise and compress a plain value (numbers, strings, tuples, lists, dictionaries), with a checksum.

    >>> unpack_value(pack_value({"a": (1, 2.5, None)}))
    {'a': (1, 2.5, None)}
    """
    data = zstandard.ZstdCompressor(level=1).compress(marshal.dumps(value))
    return xxhash.xxh3_64_digest(data) + data


def unpack_value(data: bytes) -> Any:
    """Load a value from the output of `pack_value`. Damaged data raises one of `UNPACK_ERRORS`."""
    # Verified before decompression, because a damaged header may request more memory than the machine has.
    if xxhash.xxh3_64_digest(data[_CHECKSUM_BYTES:]) != data[:_CHECKSUM_BYTES]:
        raise ValueError("the checksum does not match: the data is damaged")
    return marshal.loads(zstandard.ZstdDecompressor().decompress(data[_CHECKSUM_BYTES:]))


def encode_page(page: Page | Failure) -> bytes:
    """Encode a page or failure as MessagePack."""
    return msgspec.msgpack.encode(page_to_values(page))


def decode_page(data: bytes, depth: int, vocabularies: VocabularyCache) -> Page | Failure:
    """Decode a page from the output of `encode_page`. Data in another format raises one of `UNPACK_ERRORS`.

    `depth` is the link distance of its links from a seed.

    >>> decode_page(encode_page(Page("http://a/", "Owls", ("One", "Two"))), 1, VocabularyCache()).headings
    ('One', 'Two')
    """
    return page_from_values(msgspec.msgpack.decode(data), depth, vocabularies)


def page_to_values(page: Page | Failure) -> tuple[Any, ...]:
    """Convert a page to plain values. A failure becomes a tuple with its name."""
    if isinstance(page, Failure):
        return (page.value,)
    links = page.links
    contexts = (
        _pack_windows(page),
        _join_column([link.sentence for link in links]),
        _join_column([link.heading for link in links]),
        _join_column([link.tag_path for link in links]),
    )
    has_context = any(link.before or link.after or link.sentence or link.heading or link.tag_path for link in links)
    return (
        (page.url, page.title, page.text, page.language, page.charset, page.canonical, page.digest),
        page.headings,
        tuple(sorted(page.directives)),
        page.words.source_bytes if isinstance(page.words, WordSequence) else _join_column(page.words, _WORD_SEPARATOR),
        tuple((s.text, s.paragraph, *_style_to_values(s.style)) for s in page.sentences),
        (
            _join_column([link.url for link in links]),
            _join_column([link.anchor for link in links]),
            _join_column([link.alt for link in links]),
            _join_column([link.rel for link in links]),
        ),
        contexts if has_context else (),
    )


def page_from_values(values: Sequence[Any], depth: int, vocabularies: VocabularyCache) -> Page | Failure:
    """Build a page from the output of `page_to_values`. `depth` is the link distance of its links from a seed."""
    if len(values) == 1:
        return Failure(values[0])
    (
        (url, title, text, language, charset, canonical, digest),
        headings,
        directives,
        words,
        sentences,
        links,
        contexts,
    ) = values
    urls, anchors, alts, rels = map(_split_column, links)
    words = WordSequence(words) if isinstance(words, bytes) else tuple(_split_column(words, _WORD_SEPARATOR))
    context = (
        LinkContexts(*_unpack_windows(contexts[0], words, language, vocabularies), *map(_split_column, contexts[1:]))
        if contexts
        else None
    )
    return Page(
        url=url,
        title=title,
        headings=tuple(headings),
        text=text,
        words=words,
        sentences=tuple(Sentence(sentence, paragraph, Style(*style)) for sentence, paragraph, *style in sentences),
        language=language,
        charset=charset,
        canonical=canonical,
        directives=frozenset(directives),
        links=build_links(LinkBatch(urls=urls, rels=rels, alts=alts), anchors, context, url, depth),
        digest=digest,
    )


def _pack_windows(page: Page) -> tuple[object, ...]:
    """Pack the words before and after each link: as positions in the words of the page, or as the words themselves."""
    sides = [link.before for link in page.links], [link.after for link in page.links]
    if isinstance(page.words, WordSequence):
        spans = [_find_word_span(side, page.words) for side in chain.from_iterable(sides)]
        if None not in spans:
            return (np.array(spans, "<i4").tobytes(),)
    return tuple(join_rows(side, _WORD_SEPARATOR) for side in sides)


def _find_word_span(side: Sequence[str], words: WordSequence) -> tuple[int, int] | None:
    if isinstance(side, WordWindow) and side.wording is words:
        return side.start, side.stop
    return None if side else (0, 0)


def _unpack_windows(
    windows: Sequence[Any], words: Sequence[str], language: str, vocabularies: VocabularyCache
) -> LinkWindows:
    """Build the words before and after each link from the output of `_pack_windows`."""
    if len(windows) > 1 or not isinstance(words, WordSequence):
        return split_rows(windows[0], _WORD_SEPARATOR), split_rows(windows[1], _WORD_SEPARATOR)
    positions = find_content_words(words, language, vocabularies)
    spans = np.frombuffer(windows[0], "<i4").reshape(2, -1, 2).tolist()
    before, after = ([WordWindow(words, positions, start, stop) for start, stop in side] for side in spans)
    return before, after


def join_rows(rows: Sequence[Sequence[str]], separator: str) -> object:
    """Join rows of words into one column. The rows stay tuples if a word contains the separator."""
    texts = [separator.join(row) for row in rows]
    if all(starmap(_splits_back, ((row, text, separator) for row, text in zip(rows, texts, strict=True)))):
        return _join_column(texts)
    return (tuple(map(tuple, rows)),)


def split_rows(column: object, separator: str) -> list[tuple[str, ...]]:
    """Split a column from `join_rows` into rows of words.

    >>> split_rows(join_rows([("a", "b"), (), ("c d",)], " "), " "), split_rows(join_rows([("a", "b"), ()], " "), " ")
    ([('a', 'b'), (), ('c d',)], [('a', 'b'), ()])
    """
    # MessagePack has no tuples.
    if isinstance(column, tuple | list) and column and isinstance(column[0], tuple | list):
        return list(map(tuple, column[0]))
    return [tuple(text.split(separator)) if text else () for text in _split_column(column)]


def _splits_back(row: Sequence[str], text: str, separator: str) -> bool:
    return (text.count(separator) == len(row) - 1 and text != "") if row else True


def _join_column(texts: Sequence[str], separator: str = _SEPARATOR) -> str | tuple[str, ...]:
    text = separator.join(texts)
    # An empty column and a column with one empty text have the same joined form, so both stay tuples.
    return text if texts and text and text.count(separator) == len(texts) - 1 else tuple(texts)


def _split_column(column: object, separator: str = _SEPARATOR) -> list[str]:
    return column.split(separator) if isinstance(column, str) else list(column)  # type: ignore[call-overload]


def _style_to_values(style: Style) -> tuple[bool, float, str, str]:
    return style.hidden, style.font_size, style.colour, style.background
