"""Segments of the inverted index: the postings and positions of the terms of consecutive pages.

The writer adds one segment per batch of pages and merges small segments into larger ones (log-structured merge), so
that a query reads few segments and each posting is written only a few times. A segment consists of blocks of some
thousand postings, stored in three tables:

    segments   key, number of the first page, number of the last page
    blocks     key · 2³² + first term  →  terms and page counts; pages and term frequencies (compressed)
    places     the same key            →  positions in each page (compressed); read only for phrases and fields
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import zstandard
from numpy.typing import NDArray

from topicrawl.database import Database

#: Positions in a page: the title starts at 0, the text at TEXT_START, the URL at URL_START.
POSITIONS_PER_PAGE, TEXT_START = 1 << 20, 1024
URL_START = POSITIONS_PER_PAGE - TEXT_START
MAX_FIELD_WORDS = TEXT_START - 24  # words of a title or a URL; the gap keeps phrases within one field
TITLE_WEIGHT = 3  # weight of an occurrence in the title
MAX_BATCH_PAGES = 4096  # pages of a batch
_BLOCK_POSTINGS = 4096  # postings of a block
_MERGE_FACTOR = 4  # segments of one size that are merged
_SEGMENT_SIZES = (4, 16, 64, 256, 1024, 4096, 16384)  # pages; larger segments are not merged
_MERGE_CHUNK_POSTINGS = 500_000  # postings to merge at a time, which limits the memory
_MAX_UINT16 = 0xFFFF
_ALL_TERMS = (0, 1 << 32)

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Segment:
    """Postings of consecutive pages, sorted by term, then page, then position."""

    first: int
    last: int
    terms: Array
    pages_with: Array  # per term: number of pages
    pages: Array  # per posting: page number minus `first`
    counts: Array  # per posting: occurrences; one in the title counts three times
    position_counts: Array  # per posting: number of positions
    positions: Array  # positions of all postings


def build_segment(first: int, terms: Array, sizes: Array) -> Segment:
    """Build a segment from the terms of all words of consecutive pages.

    `sizes` has a row per page: the number of words of the title, the text and the URL.

    >>> made = build_segment(7, np.array([3, 5, 3, 5]), np.array([(1, 2, 0), (0, 1, 0)]))
    >>> made.terms.tolist(), made.pages_with.tolist(), made.pages.tolist(), made.counts.tolist()
    ([3, 5], [1, 2], [0, 0, 1], [4, 1, 1])
    """
    # Sorting one array of integers is many times as fast as sorting by three columns.
    key = terms.astype(np.int64) << 32
    key |= _compute_positions(sizes)
    key.sort()
    starts = _find_group_starts(key >> 20)
    postings = key[starts]
    positions = (key & (POSITIONS_PER_PAGE - 1)).astype(np.int32)
    position_counts = np.diff(starts, append=len(key))
    counts = position_counts.copy()
    titles = np.flatnonzero(positions < TEXT_START)
    np.add.at(counts, starts.searchsorted(titles, "right") - 1, TITLE_WEIGHT - 1)
    term_starts = _find_group_starts(postings >> 32)
    return Segment(
        first,
        first + len(sizes) - 1,
        postings[term_starts] >> 32,
        np.diff(term_starts, append=len(postings)),
        postings >> 20 & 0xFFF,
        np.minimum(counts, _MAX_UINT16),
        position_counts,
        positions,
    )


def _compute_positions(sizes: Array) -> Array:
    """Return page · 2²⁰ + position of each word.

    >>> [
    ...     (spot >> 20, spot & POSITIONS_PER_PAGE - 1)
    ...     for spot in _compute_positions(np.array([(1, 2, 0), (0, 1, 0)])).tolist()
    ... ]
    [(0, 0), (0, 1024), (0, 1025), (1, 1024)]
    """
    fields = sizes.reshape(-1)
    field_starts = np.arange(len(sizes), dtype=np.int64)[:, None] << 20 | np.array([0, TEXT_START, URL_START])
    offsets = np.cumsum(fields) - fields
    return np.repeat(field_starts.reshape(-1) - offsets, fields) + np.arange(fields.sum())


def _find_group_starts(keys: Array) -> Array:
    """Return the index of the first element of each group of equal numbers in a sorted array."""
    return np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1]))) if len(keys) else np.zeros(0, np.int64)


def merge_segments(segments: Sequence[Segment]) -> Segment:
    """Merge segments of consecutive pages into one.

    >>> one, two = (build_segment(at, np.array([at, 9]), np.array([(0, 2, 0)])) for at in (1, 2))
    >>> both = merge_segments([one, two])
    >>> both.terms.tolist(), both.pages.tolist(), both.positions.tolist()
    ([1, 2, 9], [0, 1, 0, 1], [1024, 1024, 1025, 1025])
    """
    first = segments[0].first
    pages = np.concatenate([part.pages.astype(np.int64) + (part.first - first) for part in segments])
    terms = np.concatenate([np.repeat(part.terms, part.pages_with) for part in segments]).astype(np.int64)
    order = np.argsort(terms << 32 | pages)
    sizes = np.concatenate([part.position_counts for part in segments]).astype(np.int64)
    positions = np.concatenate([part.positions for part in segments])
    new_sizes = sizes[order]
    shift = ((np.cumsum(sizes) - sizes)[order] - (np.cumsum(new_sizes) - new_sizes)).astype(np.int32)
    new_terms, pages_with = np.unique(terms, return_counts=True)
    counts = np.concatenate([part.counts for part in segments])[order]
    new_positions = positions[np.repeat(shift, new_sizes) + np.arange(len(positions), dtype=np.int32)]
    return Segment(first, segments[-1].last, new_terms, pages_with, pages[order], counts, new_sizes, new_positions)


class SegmentWriter:
    """Writes segments, within the transaction of the caller."""

    def __init__(self, database: Database) -> None:
        self._database = database
        # Level -1 gives blocks a tenth larger than level 1, which decompress in half the time.
        self._compressor = zstandard.ZstdCompressor(level=-1)

    def add_segment(self, segment: Segment) -> None:
        """Write a segment, and merge segments while there are too many of one size.

        The caller opens the transaction.
        """
        self._write_blocks(self._insert_segment(segment.first, segment.last), segment)
        while (old := self._find_mergeable()) is not None:
            new = self._insert_segment(old[0][1], old[-1][2])
            for within in self._split_terms([key for key, _, _ in old]):
                self._write_blocks(new, merge_segments([load_segment(self._database, *row, within) for row in old]))
            for key, _, _ in old:
                for table in ("blocks", "places"):
                    self._database.execute(f"DELETE FROM {table} WHERE key BETWEEN ? AND ?", _key_range(key))
                self._database.execute("DELETE FROM segments WHERE key = ?", (key,))

    def _split_terms(self, keys: Sequence[int]) -> Iterator[tuple[int, int]]:
        """Yield ranges of terms with about `_MERGE_CHUNK_POSTINGS` postings each in all the segments together."""
        sql = "SELECT terms FROM blocks WHERE key BETWEEN ? AND ?"
        heads = [_decode_head(head) for key in keys for (head,) in self._database.execute(sql, _key_range(key))]
        if not heads:
            return
        terms, counts = np.concatenate(heads, axis=1)
        order = np.argsort(terms, kind="stable")
        bins = np.cumsum(counts[order], dtype=np.int64) // _MERGE_CHUNK_POSTINGS
        edges = np.unique(terms[order][_find_group_starts(bins)])
        yield from pairwise([_ALL_TERMS[0], *edges[1:].tolist(), _ALL_TERMS[1]])

    def _find_mergeable(self) -> list[tuple[int, int, int]] | None:
        """Return the newest segments to merge: enough segments of one size to make one of the next size, or None.

        The sizes grow by a factor of four.
        """
        rows = self._database.execute("SELECT key, first, last FROM segments ORDER BY first DESC").fetchall()
        for size in _SEGMENT_SIZES:
            tail = next((at for at, (_, first, last) in enumerate(rows) if last - first + 1 >= size), len(rows))
            if tail >= _MERGE_FACTOR and rows[0][2] - rows[tail - 1][1] + 1 >= size:
                # Page offsets are stored in two bytes, which limits the pages of a segment.
                within = next((at for at in range(_MERGE_FACTOR, tail) if rows[0][2] - rows[at][1] > _MAX_UINT16), tail)
                return rows[: min(within, 2 * _MERGE_FACTOR)][::-1]
        return None

    def _insert_segment(self, first: int, last: int) -> int:
        """Insert a new segment and return its key."""
        ((key,),) = self._database.execute("SELECT coalesce(max(key), 0) + 1 FROM segments")
        self._database.execute("INSERT INTO segments VALUES (?,?,?)", (key, first, last))
        return int(key)

    def _write_blocks(self, key: int, segment: Segment) -> None:
        """Write the blocks and positions of a segment."""
        ends = compute_offsets(segment.pages_with)
        edges = compute_offsets(segment.position_counts)
        bins = ends[:-1] // _BLOCK_POSTINGS
        cuts = [*_find_group_starts(bins).tolist(), len(segment.terms)]
        blocks, positions = [], []
        for start, stop in pairwise(cuts):
            at = slice(ends[start], ends[stop])
            own = segment.positions[edges[at.start] : edges[at.stop]]
            name = key << 32 | int(segment.terms[start])
            head = _encode_numbers(segment.terms[start:stop], "<u4") + _encode_numbers(
                segment.pages_with[start:stop], "<u4"
            )
            body = _encode_numbers(segment.pages[at], "<u2") + _encode_numbers(segment.counts[at], "<u2")
            # The upper bits of positions are mostly equal, so they compress to almost nothing when stored separately.
            data = (
                _encode_numbers(segment.position_counts[at], "<u4")
                + _encode_numbers(own & 0xFFFF, "<u2")
                + _encode_numbers(own >> 16, "u1")
            )
            blocks.append((name, head, self._compressor.compress(body)))
            positions.append((name, self._compressor.compress(data)))
        self._database.executemany("INSERT INTO blocks VALUES (?,?,?)", blocks)
        self._database.executemany("INSERT INTO places VALUES (?,?)", positions)


def load_segment(
    database: Database, key: int, first: int, last: int, term_range: tuple[int, int] = _ALL_TERMS
) -> Segment:
    """Read a segment from the database, with the terms from `term_range[0]` to below `term_range[1]`."""
    low, high = term_range
    heads, bodies = [np.zeros((2, 0), np.uint32)], [np.zeros((2, 0), np.uint16)]
    sizes, positions = [np.zeros(0, np.uint32)], [np.zeros(0, np.int32)]
    decompress = zstandard.ZstdDecompressor().decompress
    ((start,),) = database.execute(
        "SELECT max(key) FROM blocks WHERE key BETWEEN ? AND ?", (key << 32, key << 32 | low)
    )
    sql = "SELECT terms, pages, places FROM blocks JOIN places USING (key) WHERE key >= ? AND key < ? ORDER BY key"
    for head, body, data in database.execute(sql, (start or key << 32, (key << 32) + high)):
        heads.append(_decode_head(head))
        bodies.append(decode_pages(decompress(body)))
        block_sizes, lower, upper = decode_positions(decompress(data), len(bodies[-1][0]))
        sizes.append(block_sizes)
        positions.append(lower | upper.astype(np.int32) << 16)
    terms, pages_with = np.concatenate(heads, axis=1)
    pages, counts = np.concatenate(bodies, axis=1)
    size = np.concatenate(sizes)
    # The first and the last block may contain terms outside the range.
    inside = slice(*np.searchsorted(terms, (low, high)).tolist())
    postings = slice(*compute_offsets(pages_with)[[inside.start, inside.stop]].tolist())
    selected = slice(*compute_offsets(size)[[postings.start, postings.stop]].tolist())
    return Segment(
        first,
        last,
        terms[inside],
        pages_with[inside],
        pages[postings],
        counts[postings],
        size[postings],
        np.concatenate(positions)[selected],
    )


def _decode_head(head: bytes) -> Array:
    """Decode the terms of a block and the page count of each."""
    return np.frombuffer(head, "<u4").reshape(2, -1)


def _key_range(key: int) -> tuple[int, int]:
    """Return the first and the last possible block key of a segment."""
    return key << 32, (key + 1 << 32) - 1


def compute_offsets(sizes: Array) -> Array:
    """Return the start of each of the given consecutive ranges, and the end of the last one.

    >>> compute_offsets(np.array([2, 3], np.uint32)).tolist()
    [0, 2, 5]
    """
    return np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)))


def _encode_numbers(numbers: Array, kind: str) -> bytes:
    return numbers.astype(kind).tobytes()


def decode_pages(body: bytes) -> Array:
    """Decode the page offsets and the counts of the postings of a decompressed block."""
    return np.frombuffer(body, "<u2").reshape(2, -1)


def decode_positions(data: bytes, postings: int, start: int = 0, stop: int | None = None) -> tuple[Array, Array, Array]:
    """Decode the positions of the postings from `start` to `stop` of a decompressed block.

    Returns the number of positions of each posting, and the lower and the upper bits of the positions. `postings` is
    the number of postings of the block.
    """
    sizes = np.frombuffer(data, "<u4", postings)
    total, at = int(sizes.sum()), 4 * postings
    first = int(sizes[:start].sum())
    selected = slice(first, first + int(sizes[start:stop].sum()))
    low = np.frombuffer(data, "<u2", total, at)
    high = np.frombuffer(data, "u1", total, at + 2 * total)
    return sizes[start:stop], low[selected], high[selected]
