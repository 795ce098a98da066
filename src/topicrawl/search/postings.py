"""Postings of a query clause: the matching pages and term frequencies, read from the segments and cached.

An occurrence in the title counts three times, any other occurrence once. A position is page · 2²⁰ + position in the
page, so a phrase is found by shifting and intersecting arrays of integers.
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
from topicrawl.search.query import QueryClause
from topicrawl.search.query_limits import QueryDeadline
from topicrawl.search.segments import (
    POSITIONS_PER_PAGE,
    TEXT_START,
    TITLE_WEIGHT,
    URL_START,
    decode_pages,
    decode_positions,
)

_MAX_CACHED_POSTINGS = 8_000_000  # cached postings, 8 bytes each
_MAX_PREFIX_TERMS = 500  # terms that a prefix may match
_COLUMN_POSITIONS = {
    "": (0, POSITIONS_PER_PAGE),
    "title": (0, TEXT_START),
    "text": (TEXT_START, URL_START),
    "url": (URL_START, POSITIONS_PER_PAGE),
}
_FIND_BLOCK = "SELECT key, terms, {} FROM blocks WHERE key BETWEEN ? AND ? ORDER BY key DESC LIMIT 1"
_SELECT_HEAD, _SELECT_BLOCK = _FIND_BLOCK.format("NULL"), _FIND_BLOCK.format("pages")
_POSITION_BITS = POSITIONS_PER_PAGE.bit_length() - 1
_LOOKUP_RATIO = 16  # size ratio of two arrays from which each number of the smaller one is looked up in the larger one
_HASH_SHIFT = _POSITION_BITS - 9  # bits: pages of up to 512 words do not collide in the hash table

Numbers = NDArray[np.int32]
Counts = NDArray[np.float32]
Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Postings:
    """Numbers of the matching pages in ascending order, and the number of occurrences in each."""

    numbers: Numbers
    counts: Counts


NO_POSTINGS = Postings(np.zeros(0, np.int32), np.zeros(0, np.float32))


class PostingsReader:
    """Reads postings over one database connection, as of the last call of `set_page_count`."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._decompress = zstandard.ZstdDecompressor().decompress
        self._cache: OrderedDict[QueryClause, tuple[int, Postings]] = OrderedDict()  # with the last page that was read
        self._cached_count = 0
        self._frequencies: dict[str, int] = {}
        self._segments: list[tuple[int, int, int]] = []
        self._page_count = 0

    def set_page_count(self, pages: int) -> None:
        """Set the number of pages in the index after it has changed; cached postings of earlier pages stay valid."""
        self._frequencies.clear()
        self._page_count = pages
        self._segments = self._database.execute("SELECT key, first, last FROM segments ORDER BY first").fetchall()

    def get_postings(self, clause: QueryClause, deadline: QueryDeadline) -> Postings:
        """Return the postings of a clause whose words are stems.

        Raise `DamagedError` if they cannot be decoded, and `CollectionError` after the deadline of the query.
        """
        until, cached = self._cache.pop(clause, (0, NO_POSTINGS))
        self._cached_count -= len(cached.numbers)
        if until < self._page_count:
            with _damage_on_error(self._database.path):
                cached = _append_postings(cached, self._read_postings(clause, until, deadline))
        self._cache[clause] = self._page_count, cached
        self._cached_count += len(cached.numbers)
        while self._cached_count > _MAX_CACHED_POSTINGS and len(self._cache) > 1:
            _, (_, dropped) = self._cache.popitem(last=False)
            self._cached_count -= len(dropped.numbers)
        return cached

    def get_frequency(self, stem: str) -> int:
        """Return the number of pages that contain a stem, without reading its postings."""
        clause = QueryClause((stem,))
        until, cached = self._cache.get(clause, (-1, NO_POSTINGS))
        if until == self._page_count:
            return len(cached.numbers)
        frequency = self._frequencies.get(stem)
        if frequency is None:
            ids = self._find_term_ids(clause)[0]
            with _damage_on_error(self._database.path):
                blocks = (self._find_block(_SELECT_HEAD, key, term) for term in ids for key, _, _ in self._segments)
                frequency = sum(stop - start for _, start, stop, _ in filter(None, blocks))
            self._frequencies[stem] = frequency
        return frequency

    def count_prefix_words(self, clause: QueryClause) -> int:
        """Return the number of words of the index that a prefix matches."""
        return len(self._find_term_ids(clause)[0])

    def _read_postings(self, clause: QueryClause, until: int, deadline: QueryDeadline) -> list[Postings]:
        """Return the postings of the pages after page number `until`, one item per segment."""
        ids = self._find_term_ids(clause)
        if not all(ids):
            return []
        newer = [segment for segment in self._segments if segment[2] > until]
        if len(ids) > 1 or clause.column:
            span = _COLUMN_POSITIONS[clause.column]
            postings = (self._read_phrase(key, first, ids, span=span, deadline=deadline) for key, first, _ in newer)
        else:
            postings = (
                merge_postings([self._read_term(key, first, term, deadline=deadline) for term in ids[0]])
                for key, first, _ in newer
            )
        return [_postings_after(item, until) for item in postings if len(item.numbers)]

    def _find_term_ids(self, clause: QueryClause) -> list[list[int]]:
        """Return the term ids of each word in ascending order; a prefix may have several."""
        if clause.is_prefix:
            start = clause.words[-1]
            sql = "SELECT id FROM terms WHERE term >= ? AND term < ? LIMIT ?"
            rows = self._database.execute(sql, (start, f"{start}\U0010ffff", _MAX_PREFIX_TERMS))
            return [sorted(int(number) for (number,) in rows)]
        sql = "SELECT id FROM terms WHERE term = ?"
        return [[int(number) for (number,) in self._database.execute(sql, (word,))] for word in clause.words]

    def _find_block(self, sql: str, key: int, term: int) -> tuple[int, int, int, bytes] | None:
        """Find the block of a segment that contains a term.

        Returns the key of the block, the first posting of the term, the end of its postings, and the third column that
        `sql` selects.
        """
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

    def _read_term(self, key: int, first: int, term: int, *, deadline: QueryDeadline) -> Postings:
        """Return the postings of one term in one segment."""
        deadline.check()
        block = self._find_block(_SELECT_BLOCK, key, term)
        if block is None:
            return NO_POSTINGS
        _, start, stop, body = block
        pages, counts = decode_pages(self._decompress(body))
        return Postings(pages[start:stop] + np.int32(first), counts[start:stop].astype(np.float32))

    def _read_phrase(
        self,
        key: int,
        first: int,
        term_ids: Sequence[Sequence[int]],
        *,
        span: tuple[int, int],
        deadline: QueryDeadline,
    ) -> Postings:
        """Return the postings of a phrase in one segment, with positions in the half-open `span` only."""
        terms = []
        for ids in term_ids:
            found = (self._read_positions(key, term, deadline) for term in ids)
            terms.append([positions for positions in found if positions is not None])
        # Start with the rarest word: the positions of the others are needed only in the pages that contain it.
        order = sorted(range(len(term_ids)), key=lambda offset: sum(len(term.pages) for term in terms[offset]))
        starts = _merge_positions(terms[order[0]], None) - order[0]
        for offset in order[1:]:
            if not len(starts):
                break
            starts = _intersect(starts, _merge_positions(terms[offset], starts >> _POSITION_BITS) - offset)
        position = starts & (POSITIONS_PER_PAGE - 1)
        inside = (position >= span[0]) & (position < span[1])
        starts, position = starts[inside], position[inside]
        if not len(starts):
            return NO_POSTINGS
        numbers = starts >> _POSITION_BITS
        page_starts = np.flatnonzero(np.concatenate(([True], numbers[1:] != numbers[:-1])))
        counts = np.add.reduceat(np.where(position < TEXT_START, TITLE_WEIGHT, 1), page_starts)
        return Postings(numbers[page_starts].astype(np.int32) + np.int32(first), counts.astype(np.float32))

    def _read_positions(self, key: int, term: int, deadline: QueryDeadline) -> _TermPositions | None:
        """Return the pages and positions of a term in one segment."""
        deadline.check()
        block = self._find_block(_SELECT_BLOCK, key, term)
        if block is None:
            return None
        name, start, stop, body = block
        pages, _ = decode_pages(self._decompress(body))
        ((where,),) = self._database.execute("SELECT places FROM places WHERE key = ?", (name,))
        return _TermPositions(pages[start:stop], *decode_positions(self._decompress(where), len(pages), start, stop))


class _TermPositions(NamedTuple):
    """Pages of a segment with a term, number of positions in each page, and lower and upper bits of the positions."""

    pages: Array
    sizes: Array
    low: Array
    high: Array


def _merge_positions(terms: Sequence[_TermPositions], within: Array | None) -> Array:
    """Return the positions of any of the terms in ascending order.

    If `within` is given, the result may leave out positions in other pages. `within` is sorted.
    """
    positions: list[Array] = []
    for pages, counts, low, high in terms:
        sizes = counts.astype(np.int64)
        if within is not None and len(within) < len(pages):
            wanted = within[np.flatnonzero(np.concatenate(([True], within[1:] != within[:-1])))]
            at = np.minimum(np.searchsorted(pages, wanted.astype(pages.dtype)), len(pages) - 1)
            at = at[pages[at] == wanted]
            ends = np.cumsum(sizes)
            pages, sizes = pages[at], sizes[at]
            starts = np.cumsum(sizes) - sizes
            selected = np.repeat(ends[at] - sizes - starts, sizes) + np.arange(sizes.sum())
            low, high = low[selected], high[selected]
        combined = np.repeat(pages.astype(np.int64) << _POSITION_BITS, sizes)
        combined |= low
        combined |= high.astype(np.int64) << 16
        positions.append(combined)
    if len(positions) == 1:
        return positions[0]
    return np.sort(np.concatenate(positions)) if positions else np.zeros(0, np.int64)


def _intersect(shorter: Array, longer: Array) -> Array:
    """Return the intersection of two sorted arrays, of which the first should be the shorter one.

    >>> _intersect(np.array([3, 5, 9]), np.array([1, 3, 4, 9, 10])).tolist()
    [3, 9]
    """
    if len(shorter) * _LOOKUP_RATIO > len(longer):
        # A hash table rules out most candidates. The positions of a page get consecutive slots.
        last = (1 << (8 * len(shorter)).bit_length()) - 1
        marked = np.zeros(last + 1, np.bool_)
        marked[shorter + (shorter >> _HASH_SHIFT) & last] = True
        shorter, longer = longer[marked[longer + (longer >> _HASH_SHIFT) & last]], shorter
    if not len(longer):
        return longer
    at = np.minimum(np.searchsorted(longer, shorter), len(longer) - 1)
    common: Array = shorter[longer[at] == shorter]
    return common


@contextmanager
def _damage_on_error(path: Path) -> Iterator[None]:
    """Convert decoding errors to `DamagedError`."""
    try:
        yield
    except (ValueError, IndexError, zstandard.ZstdError) as error:
        raise DamagedError(f"{path} is damaged: {error}") from error


def _postings_after(postings: Postings, until: int) -> Postings:
    """Return the postings of the pages after page number `until`."""
    start = int(np.searchsorted(postings.numbers, until, "right"))
    return Postings(postings.numbers[start:], postings.counts[start:]) if start else postings


def _append_postings(cached: Postings, newer: Iterable[Postings]) -> Postings:
    """Append the postings of later pages."""
    parts = [postings for postings in (cached, *newer) if len(postings.numbers)]
    if len(parts) < 2:
        return parts[0] if parts else NO_POSTINGS
    numbers = np.concatenate([postings.numbers for postings in parts])
    return Postings(numbers, np.concatenate([postings.counts for postings in parts]))


def merge_postings(several: Sequence[Postings]) -> Postings:
    """Merge the postings of several forms of a word: pages that match any of them, with the sum of the counts."""
    if len(several) == 1:
        return several[0]
    if not several:
        return NO_POSTINGS
    numbers, inverse = np.unique(np.concatenate([postings.numbers for postings in several]), return_inverse=True)
    counts = np.bincount(inverse, np.concatenate([postings.counts for postings in several])).astype(np.float32)
    return Postings(numbers, counts)
