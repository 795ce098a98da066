"""The words of a run of pages, sorted: which pages say a term, how often, and in which places.

A batch of pages becomes one segment, and many small segments become a larger one, so that there are never many to look
into and each word is written only a few times. A segment is cut into blocks of some thousand postings:

    segments   its key, the numbers of its first and last page
    blocks     key · 2³² + first term  →  the terms with the number of pages of each; the pages and counts, packed
    places     the same key            →  where in each page, packed; needed for phrases and fields only
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

#: The places of a page: of its title from 0 on, of its text from TEXT_AT on, of its address from URL_AT on.
SPAN, TEXT_AT = 1 << 20, 1024
URL_AT = SPAN - TEXT_AT
SHORT = TEXT_AT - 24  # words of a title or an address; the gap keeps phrases within one field
TITLE = 3  # what an occurrence in the title counts
MOST = 4096  # pages of a batch
_BLOCK = 4096  # postings
_MANY = 4  # segments of a size that become one
_SIZES = (4, 16, 64, 256, 1024, 4096, 16384)  # pages; larger segments stay as they are
_AT_ONCE = 500_000  # postings that are joined at a time, so that it takes little memory
_LARGEST = 0xFFFF
_ALL = (0, 1 << 32)

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Segment:
    """Sorted by term, then page, then place."""

    first: int
    last: int
    terms: Array
    pages_with: Array  # of each term
    pages: Array  # of each posting: how far behind the first
    counts: Array  # of each posting; an occurrence in the title counts three
    sizes: Array  # of each posting: how many places
    places: Array


def segment(first: int, terms: Array, sizes: Array) -> Segment:
    """Of pages: the terms of all their words, and how many words the title, text and address of each page have.

    >>> made = segment(7, np.array([3, 5, 3, 5]), np.array([(1, 2, 0), (0, 1, 0)]))
    >>> made.terms.tolist(), made.pages_with.tolist(), made.pages.tolist(), made.counts.tolist()
    ([3, 5], [1, 2], [0, 0, 1], [4, 1, 1])
    """
    # One sort of plain numbers is many times as fast as one of three columns.
    key = terms.astype(np.int64) << 32
    key |= _spots(sizes)
    key.sort()
    starts = _beginnings(key >> 20)
    postings = key[starts]
    place = (key & (SPAN - 1)).astype(np.int32)
    said = np.diff(starts, append=len(key))
    counts = said.copy()
    titles = np.flatnonzero(place < TEXT_AT)
    np.add.at(counts, starts.searchsorted(titles, "right") - 1, TITLE - 1)
    of_terms = _beginnings(postings >> 32)
    return Segment(
        first, first + len(sizes) - 1, postings[of_terms] >> 32, np.diff(of_terms, append=len(postings)),
        postings >> 20 & 0xFFF, np.minimum(counts, _LARGEST), said, place,
    )  # fmt: skip


def _spots(sizes: Array) -> Array:
    """Page · 2²⁰ + place of each word.

    >>> [(spot >> 20, spot & SPAN - 1) for spot in _spots(np.array([(1, 2, 0), (0, 1, 0)])).tolist()]
    [(0, 0), (0, 1024), (0, 1025), (1, 1024)]
    """
    fields = sizes.reshape(-1)
    spots = np.arange(len(sizes), dtype=np.int64)[:, None] << 20 | np.array([0, TEXT_AT, URL_AT])
    begun = np.cumsum(fields) - fields
    return np.repeat(spots.reshape(-1) - begun, fields) + np.arange(fields.sum())


def _beginnings(keys: Array) -> Array:
    """Where a new one begins in sorted numbers."""
    return np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1]))) if len(keys) else np.zeros(0, np.int64)


def joined(several: Sequence[Segment]) -> Segment:
    """One of several that follow each other.

    >>> one, two = (segment(at, np.array([at, 9]), np.array([(0, 2, 0)])) for at in (1, 2))
    >>> both = joined([one, two])
    >>> both.terms.tolist(), both.pages.tolist(), both.places.tolist()
    ([1, 2, 9], [0, 1, 0, 1], [1024, 1024, 1025, 1025])
    """
    first = several[0].first
    pages = np.concatenate([it.pages.astype(np.int64) + (it.first - first) for it in several])
    terms = np.concatenate([np.repeat(it.terms, it.pages_with) for it in several]).astype(np.int64)
    order = np.argsort(terms << 32 | pages)
    sizes = np.concatenate([it.sizes for it in several]).astype(np.int64)
    places = np.concatenate([it.places for it in several])
    moved = sizes[order]
    shift = ((np.cumsum(sizes) - sizes)[order] - (np.cumsum(moved) - moved)).astype(np.int32)
    kept, pages_with = np.unique(terms, return_counts=True)
    counts = np.concatenate([it.counts for it in several])[order]
    gathered = places[np.repeat(shift, moved) + np.arange(len(places), dtype=np.int32)]
    return Segment(first, several[-1].last, kept, pages_with, pages[order], counts, moved, gathered)


class Shelving:
    """Writes segments, within the transaction of whoever calls."""

    def __init__(self, database: Database) -> None:
        self._database = database
        # A tenth larger than with level 1, and read back in half the time.
        self._packer = zstandard.ZstdCompressor(level=-1)

    def add(self, made: Segment) -> None:
        """Write a segment, and make one of many where there are too many."""
        self._store(self._key(made.first, made.last), made)
        while (many := self._too_many()) is not None:
            new = self._key(many[0][1], many[-1][2])
            for within in self._ranges([key for key, _, _ in many]):
                self._store(new, joined([stored(self._database, *it, within) for it in many]))
            for key, _, _ in many:
                for table in ("blocks", "places"):
                    self._database.execute(f"DELETE FROM {table} WHERE key BETWEEN ? AND ?", _range(key))
                self._database.execute("DELETE FROM segments WHERE key = ?", (key,))

    def _ranges(self, keys: Sequence[int]) -> Iterator[tuple[int, int]]:
        """Ranges of terms that have not too many postings in all the segments together."""
        sql = "SELECT terms FROM blocks WHERE key BETWEEN ? AND ?"
        heads = [_terms_of(head) for key in keys for (head,) in self._database.execute(sql, _range(key))]
        if not heads:
            return
        terms, counts = np.concatenate(heads, axis=1)
        order = np.argsort(terms, kind="stable")
        bins = np.cumsum(counts[order], dtype=np.int64) // _AT_ONCE
        edges = np.unique(terms[order][_beginnings(bins)])
        yield from pairwise([_ALL[0], *edges[1:].tolist(), _ALL[1]])

    def _too_many(self) -> list[tuple[int, int, int]] | None:
        """The last ones, if they are many of a size: together they make one of the next, so each grows fourfold."""
        found = self._database.execute("SELECT key, first, last FROM segments ORDER BY first DESC").fetchall()
        for size in _SIZES:
            tail = next((at for at, (_, first, last) in enumerate(found) if last - first + 1 >= size), len(found))
            if tail >= _MANY and found[0][2] - found[tail - 1][1] + 1 >= size:
                within = next((at for at in range(_MANY, tail) if found[0][2] - found[at][1] > _LARGEST), tail)
                return found[: min(within, 2 * _MANY)][::-1]  # never more pages than two bytes can number
        return None

    def _key(self, first: int, last: int) -> int:
        """Of a new segment."""
        ((key,),) = self._database.execute("SELECT coalesce(max(key), 0) + 1 FROM segments")
        self._database.execute("INSERT INTO segments VALUES (?,?,?)", (key, first, last))
        return int(key)

    def _store(self, key: int, made: Segment) -> None:
        ends = ends_of(made.pages_with)
        edges = ends_of(made.sizes)
        bins = ends[:-1] // _BLOCK
        cuts = [*_beginnings(bins).tolist(), len(made.terms)]
        blocks, places = [], []
        for start, stop in pairwise(cuts):
            at = slice(ends[start], ends[stop])
            there = made.places[edges[at.start] : edges[at.stop]]
            name = key << 32 | int(made.terms[start])
            head = _bytes(made.terms[start:stop], "<u4") + _bytes(made.pages_with[start:stop], "<u4")
            body = _bytes(made.pages[at], "<u2") + _bytes(made.counts[at], "<u2")
            # The upper bits of places are mostly the same; apart from the others they take no room.
            where = _bytes(made.sizes[at], "<u4") + _bytes(there & 0xFFFF, "<u2") + _bytes(there >> 16, "u1")
            blocks.append((name, head, self._packer.compress(body)))
            places.append((name, self._packer.compress(where)))
        self._database.executemany("INSERT INTO blocks VALUES (?,?,?)", blocks)
        self._database.executemany("INSERT INTO places VALUES (?,?)", places)


def stored(database: Database, key: int, first: int, last: int, within: tuple[int, int] = _ALL) -> Segment:
    """A segment as it was written, with the terms from one number to below another."""
    low, high = within
    heads, bodies = [np.zeros((2, 0), np.uint32)], [np.zeros((2, 0), np.uint16)]
    sizes, places = [np.zeros(0, np.uint32)], [np.zeros(0, np.int32)]
    unpacked = zstandard.ZstdDecompressor().decompress
    ((start,),) = database.execute(
        "SELECT max(key) FROM blocks WHERE key BETWEEN ? AND ?", (key << 32, key << 32 | low)
    )
    sql = "SELECT terms, pages, places FROM blocks JOIN places USING (key) WHERE key >= ? AND key < ? ORDER BY key"
    for head, body, where in database.execute(sql, (start or key << 32, (key << 32) + high)):
        heads.append(_terms_of(head))
        bodies.append(pages_of(unpacked(body)))
        several, lower, upper = places_of(unpacked(where), len(bodies[-1][0]))
        sizes.append(several)
        places.append(lower | upper.astype(np.int32) << 16)
    terms, pages_with = np.concatenate(heads, axis=1)
    pages, counts = np.concatenate(bodies, axis=1)
    size = np.concatenate(sizes)
    # The first block and the last one may hold terms that are not wanted.
    inside = slice(*np.searchsorted(terms, (low, high)).tolist())
    postings = slice(*ends_of(pages_with)[[inside.start, inside.stop]].tolist())
    said = slice(*ends_of(size)[[postings.start, postings.stop]].tolist())
    return Segment(
        first, last, terms[inside], pages_with[inside], pages[postings], counts[postings], size[postings],
        np.concatenate(places)[said],
    )  # fmt: skip


def _terms_of(head: bytes) -> Array:
    """Terms, and how many pages have each."""
    return np.frombuffer(head, "<u4").reshape(2, -1)


def _range(key: int) -> tuple[int, int]:
    return key << 32, (key + 1 << 32) - 1


def ends_of(sizes: Array) -> Array:
    """Where each begins and ends, if they stand one behind the other.

    >>> ends_of(np.array([2, 3], np.uint32)).tolist()
    [0, 2, 5]
    """
    return np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)))


def _bytes(numbers: Array, kind: str) -> bytes:
    return numbers.astype(kind).tobytes()


def pages_of(body: bytes) -> Array:
    """Pages behind the first, and counts, of each posting of a block that is unpacked."""
    return np.frombuffer(body, "<u2").reshape(2, -1)


def places_of(data: bytes, postings: int, start: int = 0, stop: int | None = None) -> tuple[Array, Array, Array]:
    """Of some postings of a block: how many places each has, and the lower and the upper bits of these."""
    sizes = np.frombuffer(data, "<u4", postings)
    many, at = int(sizes.sum()), 4 * postings
    first = int(sizes[:start].sum())
    some = slice(first, first + int(sizes[start:stop].sum()))
    low = np.frombuffer(data, "<u2", many, at)
    high = np.frombuffer(data, "u1", many, at + 2 * many)
    return sizes[start:stop], low[some], high[some]
