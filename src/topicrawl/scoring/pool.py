"""The links that wait, as arrays, so that all of them can be scored anew within milliseconds.

A row is one link on one page; an address has up to three. Rows of addresses that were fetched are dead until the
arrays are swept. The pool has a bound: addresses beyond it keep the score they had and are forgotten here.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from topicrawl.learn.online import Floats, Ids
from topicrawl.packing import array_of, packed_array, packed_texts, texts_of
from topicrawl.records import Carry

#: Links to one address that are remembered; the first ones.
PARENTS = 3
_SWEEP = 0.3  # share of dead rows at which the arrays are swept


class Rows(NamedTuple):
    """Links with their features, one behind the other, what is known of each, and the groups it belongs to."""

    flat: Ids
    lengths: NDArray[np.int32]
    known: Floats
    groups: Ids

    @property
    def starts(self) -> NDArray[np.int64]:
        starts: NDArray[np.int64] = np.cumsum(self.lengths, dtype=np.int64) - self.lengths
        return starts

    def chosen(self, wanted: NDArray[np.bool_]) -> Rows:
        return Rows(
            self.flat[np.repeat(wanted, self.lengths)], self.lengths[wanted], self.known[wanted], self.groups[wanted]
        )


class Pool:
    """Rows of the addresses that wait."""

    def __init__(self, columns: int, kinds: int) -> None:
        none = np.zeros(0, np.int32)
        self._settled = Rows(none, none, np.zeros((0, columns), np.float32), np.zeros((0, kinds), np.int32))
        self._starts = self._settled.starts
        self._fresh: list[Rows] = []  # of the pages since the last look at all; joining arrays copies them
        self._first: list[int] = []  # the first row of each of them
        self.urls: list[str] = []  # one for each row; "" when it is dead
        self.rows: dict[str, list[int]] = {}  # address → its rows
        self._dead = 0

    def add(self, urls: Sequence[str], rows: Rows) -> None:
        """Take in links whose address has room for another row; "" stands for one that is not wanted."""
        wanted = np.zeros(len(urls), np.bool_)
        first = len(self.urls)
        for number, url in enumerate(urls):
            if not url:
                continue
            known = self.rows.setdefault(url, [])
            if len(known) < PARENTS:
                known.append(len(self.urls))
                self.urls.append(url)
                wanted[number] = True
        if len(self.urls) > first:
            self._fresh.append(rows.chosen(wanted))
            self._first.append(first)

    def row(self, number: int) -> tuple[Ids, Floats, Ids]:
        """Features, known values and groups of one row."""
        place = bisect_right(self._first, number) - 1
        if place < 0:
            rows, starts = self._settled, self._starts
        else:
            rows, number = self._fresh[place], number - self._first[place]
            starts = rows.starts
        start = int(starts[number])
        return rows.flat[start : start + int(rows.lengths[number])], rows.known[number], rows.groups[number]

    def all(self) -> tuple[Rows, NDArray[np.int64]]:
        """All rows, the dead ones included, and where the features of each begin."""
        if self._fresh:
            parts = [self._settled, *self._fresh]
            self._settled = Rows(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
            self._starts = self._settled.starts
            self._fresh, self._first = [], []
        return self._settled, self._starts

    def remove(self, url: str) -> None:
        """Forget an address."""
        for row in self.rows.pop(url, ()):
            self.urls[row] = ""
            self._dead += 1

    def sweep(self) -> bool:
        """Drop dead rows when there are many of them."""
        if self._dead <= _SWEEP * len(self.urls):
            return False
        alive = np.fromiter(map(bool, self.urls), np.bool_, len(self.urls))
        self._settle(self.all()[0].chosen(alive), [url for url in self.urls if url])
        return True

    def renumber(self, groups: Ids) -> None:
        """Give the groups of all rows other numbers: `groups[old]` is the new one."""
        rows, _ = self.all()
        self._settled = rows._replace(groups=groups[rows.groups])

    def _settle(self, rows: Rows, urls: list[str]) -> None:
        self._settled, self._starts, self.urls = rows, rows.starts, urls
        self._fresh, self._first = [], []
        self._dead = urls.count("")
        self.rows = {}
        for row, url in enumerate(urls):
            if url:
                self.rows.setdefault(url, []).append(row)

    def best(self, scores: Floats) -> dict[str, float]:
        """The score of each address: that of its best row."""
        values = scores.tolist()
        return {url: max([values[row] for row in rows]) for url, rows in self.rows.items()}

    def state(self) -> dict[str, Carry]:
        """Everything as plain values."""
        rows, _ = self.all()
        return {
            "flat": packed_array(rows.flat), "lengths": packed_array(rows.lengths),
            "known": packed_array(rows.known), "groups": packed_array(rows.groups), "urls": packed_texts(self.urls),
        }  # fmt: skip

    def restore(self, state: Mapping[str, Carry]) -> None:
        known = array_of(state["known"], np.float32).reshape(-1, self._settled.known.shape[1])
        groups = array_of(state["groups"], np.int32).reshape(-1, self._settled.groups.shape[1])
        flat, lengths = array_of(state["flat"], np.int32), array_of(state["lengths"], np.int32)
        self._settle(Rows(flat, lengths, known, groups), texts_of(state["urls"]))
