"""How often each page says a part of a query, read from the index once and remembered.

SQLite's full-text index keeps the words and finds phrases; what it tells of a page is its BM25 score, from which the
number of occurrences is recovered, so that scores can be made with any statistics and any weights:

    s = idf · f (k + 1) / (f + k (1 − b + b · length / mean))   →   f = x k (1 − b + b · length / mean) / (k + 1 − x)

with x = s / idf, SQLite's k = 1.2 and b = .75. An occurrence in the title counts three, one elsewhere counts one.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from topicrawl.database import Database

TITLE, TEXT, URL = 3.0, 1.0, 1.0
K, B = 1.2, 0.75
_LEAST_IDF = 1e-6  # what SQLite takes for words in more than half of the pages
_REMEMBERED = 4_000_000  # occurrences in pages, at 8 bytes

Numbers = NDArray[np.int32]
Counts = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Postings:
    """The pages that match, by number and ascending, and how often."""

    numbers: Numbers
    counts: Counts


class Reader:
    """Looks things up for one connection; the pages' lengths are told before, and only ever get more."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._known: OrderedDict[str, tuple[int, Postings]] = OrderedDict()  # with the last page that it covers
        self._held = 0
        self._frequencies: dict[str, int] = {}
        self._lengths: NDArray[np.float64] = np.ones(1)
        self._mean = 1.0

    def cover(self, lengths: NDArray[np.float64]) -> None:
        """The lengths of all pages by number; number 0 is nobody's."""
        self._frequencies.clear()
        self._lengths = lengths
        self._mean = float(lengths[1:].mean()) if len(lengths) > 1 else 1.0

    def postings(self, match: str) -> Postings:
        """What an expression of one phrase finds."""
        pages = len(self._lengths) - 1
        until, known = self._known.pop(match, (0, _NOTHING))
        self._held -= len(known.numbers)
        if until < pages:
            known = self._read(match, until, known)
        self._known[match] = pages, known
        self._held += len(known.numbers)
        while self._held > _REMEMBERED and len(self._known) > 1:
            _, (_, dropped) = self._known.popitem(last=False)
            self._held -= len(dropped.numbers)
        return known

    def _read(self, match: str, until: int, known: Postings) -> Postings:
        """Add what newer pages say."""
        sql = "SELECT rowid, bm25(words, ?, ?, ?) FROM words WHERE words MATCH ? AND rowid > ? ORDER BY rowid"
        rows = self._database.execute(sql, (TITLE, TEXT, URL, match, until)).fetchall()
        if not rows:
            return known
        table = np.array(rows, np.float64)
        numbers = table[:, 0].astype(np.int32)
        pages, matching = len(self._lengths) - 1, len(known.numbers) + len(rows)
        idf = max(math.log((pages - matching + 0.5) / (matching + 0.5)), _LEAST_IDF)
        x = -table[:, 1] / idf
        counts = x * K * (1 - B + B * self._lengths[numbers] / self._mean) / (K + 1 - x)
        counts = np.maximum(1.0, np.rint(counts)).astype(np.float32)
        return Postings(np.concatenate((known.numbers, numbers)), np.concatenate((known.counts, counts)))

    def frequency(self, stem: str) -> int:
        """In how many pages a stem occurs, without reading where."""
        known = self._frequencies.get(stem)
        if known is None:
            found = self._database.execute("SELECT doc FROM known WHERE term = ?", (stem,)).fetchone()
            known = self._frequencies[stem] = int(found[0]) if found else 0
        return known


_NOTHING = Postings(np.zeros(0, np.int32), np.zeros(0, np.float32))


def merged(several: Sequence[Postings]) -> Postings:
    """Forms of one word are one word: what any of them matches, counted together."""
    if len(several) == 1:
        return several[0]
    if not several:
        return _NOTHING
    numbers, places = np.unique(np.concatenate([it.numbers for it in several]), return_inverse=True)
    counts = np.bincount(places, np.concatenate([it.counts for it in several])).astype(np.float32)
    return Postings(numbers, counts)


Lookup = Callable[[str], Postings]
