"""How often each page says a part of a query, read from the segments once and remembered.

An occurrence in the title counts three, one elsewhere counts one. Of a phrase, the places of its words must follow
each other: a place is page · 2²⁰ + where in the page, so shifting and intersecting plain numbers finds it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import zstandard
from numpy.typing import NDArray

from topicrawl.database import Database
from topicrawl.errors import DamagedError
from topicrawl.search.query import Part
from topicrawl.search.segments import SPAN, TEXT_AT, TITLE, URL_AT, pages_of, places_of

_REMEMBERED = 8_000_000  # occurrences in pages, at 8 bytes
_BEGINNINGS = 500  # terms that a * stands for
_COLUMNS = {"": (0, SPAN), "title": (0, TEXT_AT), "text": (TEXT_AT, URL_AT), "url": (URL_AT, SPAN)}
_FIND = "SELECT key, terms, {} FROM blocks WHERE key BETWEEN ? AND ? ORDER BY key DESC LIMIT 1"
_HEADS, _PAGES = _FIND.format("NULL"), _FIND.format("pages")
_WIDE = SPAN.bit_length() - 1
_FEW = 16  # times as many: from there on each is looked up
_MARK = _WIDE - 9  # bits: pages of 512 words do not meet in the table

Numbers = NDArray[np.int32]
Counts = NDArray[np.float32]
Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Postings:
    """The pages that match, by number and ascending, and how often."""

    numbers: Numbers
    counts: Counts


NOBODY = Postings(np.zeros(0, np.int32), np.zeros(0, np.float32))


class Reader:
    """Looks things up for one connection, as of the moment when it was last told to `cover` the pages."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._unpacked = zstandard.ZstdDecompressor().decompress
        self._known: OrderedDict[Part, tuple[int, Postings]] = OrderedDict()  # with the last page that it covers
        self._held = 0
        self._frequencies: dict[str, int] = {}
        self._segments: list[tuple[int, int, int]] = []
        self._pages = 0

    def cover(self, pages: int) -> None:
        """So many pages there are; what is known of the first ones stays."""
        self._frequencies.clear()
        self._pages = pages
        self._segments = self._database.execute("SELECT key, first, last FROM segments ORDER BY first").fetchall()

    def postings(self, part: Part) -> Postings:
        """The pages that match a part whose words are stems."""
        until, known = self._known.pop(part, (0, NOBODY))
        self._held -= len(known.numbers)
        if until < self._pages:
            with _whole(self._database.path):
                known = _appended(known, self._read(part, until))
        self._known[part] = self._pages, known
        self._held += len(known.numbers)
        while self._held > _REMEMBERED and len(self._known) > 1:
            _, (_, dropped) = self._known.popitem(last=False)
            self._held -= len(dropped.numbers)
        return known

    def frequency(self, stem: str) -> int:
        """In how many pages a stem occurs, without reading in which."""
        part = Part((stem,))
        if part in self._known:
            return len(self.postings(part).numbers)
        known = self._frequencies.get(stem)
        if known is None:
            ids = self._ids(part)[0]
            with _whole(self._database.path):
                blocks = (self._block(_HEADS, key, term) for term in ids for key, _, _ in self._segments)
                known = sum(stop - start for _, start, stop, _ in filter(None, blocks))
            self._frequencies[stem] = known
        return known

    def _read(self, part: Part, until: int) -> list[Postings]:
        """What pages behind a number say, segment by segment."""
        ids = self._ids(part)
        if not all(ids):
            return []
        newer = [it for it in self._segments if it[2] > until]
        if len(ids) > 1 or part.column:
            low, high = _COLUMNS[part.column]
            read = (self._phrase(key, first, ids, low, high) for key, first, _ in newer)
        elif len(ids[0]) > 1:
            read = (merged([self._word(key, first, term) for term in ids[0]]) for key, first, _ in newer)
        else:
            read = (self._word(key, first, ids[0][0]) for key, first, _ in newer)
        return [_behind(it, until) for it in read if len(it.numbers)]

    def _ids(self, part: Part) -> list[list[int]]:
        """The terms of each word, ascending; several where only the beginning is given."""
        if part.is_prefix:
            start = part.words[-1]
            sql = "SELECT id FROM terms WHERE term >= ? AND term < ? LIMIT ?"
            found = self._database.execute(sql, (start, f"{start}\U0010ffff", _BEGINNINGS))
            return [sorted(int(number) for (number,) in found)]
        sql = "SELECT id FROM terms WHERE term = ?"
        return [[int(number) for (number,) in self._database.execute(sql, (word,))] for word in part.words]

    def _block(self, sql: str, key: int, term: int) -> tuple[int, int, int, bytes] | None:
        """The block of a segment that has a term: its key, from which posting to which one, and what was asked for."""
        row = self._database.execute(sql, (key << 32, key << 32 | term)).fetchone()
        if row is None:
            return None
        head = np.frombuffer(row[1], "<u4")
        terms = len(head) // 2
        at = int(head[:terms].searchsorted(term))
        if at == terms or head[at] != term:
            return None
        start = int(head[terms : terms + at].sum())
        return row[0], start, start + int(head[terms + at]), row[2]

    def _word(self, key: int, first: int, term: int) -> Postings:
        found = self._block(_PAGES, key, term)
        if found is None:
            return NOBODY
        _, start, stop, body = found
        pages, counts = pages_of(self._unpacked(body))
        return Postings(pages[start:stop] + np.int32(first), counts[start:stop].astype(np.float32))

    def _phrase(self, key: int, first: int, words: Sequence[Sequence[int]], low: int, high: int) -> Postings:
        read = [[it for it in (self._said(key, term) for term in ids) if it is not None] for ids in words]
        # The rarest word first: of the others, only what stands in the same pages is looked at.
        order = sorted(range(len(words)), key=lambda behind: sum(len(it.pages) for it in read[behind]))
        found = _places(read[order[0]], None) - order[0]
        for behind in order[1:]:
            if not len(found):
                break
            found = _common(found, _places(read[behind], found >> _WIDE) - behind)
        place = found & (SPAN - 1)
        inside = (place >= low) & (place < high)
        found, place = found[inside], place[inside]
        if not len(found):
            return NOBODY
        numbers = found >> _WIDE
        starts = np.flatnonzero(np.concatenate(([True], numbers[1:] != numbers[:-1])))
        counts = np.add.reduceat(np.where(place < TEXT_AT, TITLE, 1), starts)
        return Postings(numbers[starts].astype(np.int32) + np.int32(first), counts.astype(np.float32))

    def _said(self, key: int, term: int) -> _Said | None:
        """What a segment knows of a term."""
        block = self._block(_PAGES, key, term)
        if block is None:
            return None
        name, start, stop, body = block
        pages, _ = pages_of(self._unpacked(body))
        ((where,),) = self._database.execute("SELECT places FROM places WHERE key = ?", (name,))
        return _Said(pages[start:stop], *places_of(self._unpacked(where), len(pages), start, stop))


class _Said(NamedTuple):
    """In which pages of a segment a term stands, how often in each, and where: the lower and upper bits of all."""

    pages: Array
    sizes: Array
    low: Array
    high: Array


def _places(several: Sequence[_Said], within: Array | None) -> Array:
    """Where any of these terms stands, ascending; only in pages that are among some, if those are given."""
    found: list[Array] = []
    for pages, counts, low, high in several:
        sizes = counts.astype(np.int64)
        if within is not None and len(within) < len(pages):
            asked = within[np.flatnonzero(np.concatenate(([True], within[1:] != within[:-1])))]
            at = np.minimum(np.searchsorted(pages, asked.astype(pages.dtype)), len(pages) - 1)
            at = at[pages[at] == asked]
            ends = np.cumsum(sizes)
            pages, sizes = pages[at], sizes[at]
            begun = np.cumsum(sizes) - sizes
            gathered = np.repeat(ends[at] - sizes - begun, sizes) + np.arange(sizes.sum())
            low, high = low[gathered], high[gathered]
        places = np.repeat(pages.astype(np.int64) << _WIDE, sizes)
        places |= low
        places |= high.astype(np.int64) << 16
        found.append(places)
    if len(found) == 1:
        return found[0]
    return np.sort(np.concatenate(found)) if found else np.zeros(0, np.int64)


def _common(some: Array, many: Array) -> Array:
    """What is in both of two ascending rows of numbers, of which the first is the shorter one.

    >>> _common(np.array([3, 5, 9]), np.array([1, 3, 4, 9, 10])).tolist()
    [3, 9]
    """
    if len(some) * _FEW > len(many):
        # Marks in a table leave few to look up; page after page, its places follow each other.
        last = (1 << (8 * len(some)).bit_length()) - 1
        marked = np.zeros(last + 1, np.bool_)
        marked[some + (some >> _MARK) & last] = True
        some, many = many[marked[many + (many >> _MARK) & last]], some
    if not len(many):
        return many
    at = np.minimum(np.searchsorted(many, some), len(many) - 1)
    found: Array = some[many[at] == some]
    return found


@contextmanager
def _whole(path: Path) -> Iterator[None]:
    """What cannot be read back is damage."""
    try:
        yield
    except (ValueError, IndexError, zstandard.ZstdError) as error:
        raise DamagedError(f"{path} is damaged: {error}") from error


def _behind(found: Postings, until: int) -> Postings:
    start = int(np.searchsorted(found.numbers, until, "right"))
    return Postings(found.numbers[start:], found.counts[start:]) if start else found


def _appended(known: Postings, several: Iterable[Postings]) -> Postings:
    """What is known with what comes behind it."""
    parts = [it for it in (known, *several) if len(it.numbers)]
    if len(parts) < 2:
        return parts[0] if parts else NOBODY
    return Postings(np.concatenate([it.numbers for it in parts]), np.concatenate([it.counts for it in parts]))


def merged(several: Sequence[Postings]) -> Postings:
    """Forms of one word are one word: what any of them matches, counted together."""
    if len(several) == 1:
        return several[0]
    if not several:
        return NOBODY
    numbers, places = np.unique(np.concatenate([it.numbers for it in several]), return_inverse=True)
    counts = np.bincount(places, np.concatenate([it.counts for it in several])).astype(np.float32)
    return Postings(numbers, counts)
