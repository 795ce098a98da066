"""The links that wait, as arrays, so that all of them can be scored anew within milliseconds.

A row is one link on one page; an address has up to six. Rows of addresses that were fetched are dead until the
arrays are swept. The pool has a bound: addresses beyond it keep the score they had and are forgotten here.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import xxhash
from numpy.typing import NDArray

from topicrawl.learn.online import Floats, Ids
from topicrawl.packing import array_of, packed_array, packed_texts, texts_of
from topicrawl.records import Carry
from topicrawl.scoring.column import Column

#: Links to one address that are remembered; the first ones. Others are not looked at.
PARENTS = 6
_SWEEP = 0.3  # share of dead rows at which the arrays are swept
_MOST_DONE = 50_000  # fetched addresses that are recognised

Hashes = NDArray[np.uint32]


class Rows(NamedTuple):
    """Links with their features, one behind the other, what is known of each, and the groups it belongs to."""

    flat: Hashes
    lengths: NDArray[np.int32]
    known: Floats
    groups: Ids

    @property
    def starts(self) -> NDArray[np.int64]:
        starts: NDArray[np.int64] = np.cumsum(self.lengths, dtype=np.int64) - self.lengths
        return starts

    def chosen(self, wanted: NDArray[np.bool_]) -> Rows:
        if wanted.all():
            return self
        return Rows(
            self.flat[np.repeat(wanted, self.lengths)], self.lengths[wanted], self.known[wanted], self.groups[wanted]
        )


class Pool:
    """Rows of the addresses that wait."""

    def __init__(self, columns: int, kinds: int) -> None:
        none = np.zeros(0, np.int32)
        empty = np.zeros(0, np.uint32)
        settled = Rows(empty, none, np.zeros((0, columns), np.float32), np.zeros((0, kinds), np.int32))
        self._columns = [Column(values) for values in (*settled, settled.starts)]
        self._hold()
        self._fresh: list[Rows] = []  # of the pages since the last look at all; joining arrays copies them
        self._first: list[int] = []  # the first row of each of them
        self.numbers: dict[str, int] = {}  # address → its number
        self.urls: list[str] = []  # by number; "" when it is dead
        # Arrays, because numpy takes these over at once and lists value by value.
        self.told = array("d")  # by number: the score that the frontier has
        self._is_alive = array("b")  # by number
        self._rows: list[list[int]] = []  # by number
        self.owners = array("q")  # by row: the number of its address
        self.dead = 0  # rows
        self._done: dict[int, None] = {}  # hashes of addresses that were fetched, the last ones at the end

    def __len__(self) -> int:
        return len(self.numbers)

    def add(self, urls: Sequence[str], rows: Rows, scores: Sequence[float]) -> None:
        """Take in links whose address has room for another row (`room` tells)."""
        if not urls:
            return
        self._fresh.append(rows)
        self._first.append(len(self.owners))
        numbers = self.numbers
        for row, (url, score) in enumerate(zip(urls, scores, strict=True), len(self.owners)):
            number = numbers.get(url)
            if number is None:
                number = numbers[url] = len(self.urls)
                self.urls.append(url)
                self.told.append(score)
                self._is_alive.append(True)
                self._rows.append([row])
            else:
                if score > self.told[number]:
                    self.told[number] = score
                self._rows[number].append(row)
            self.owners.append(number)

    def room(self, urls: Sequence[str]) -> list[bool]:
        """Which links would be taken in, one after the other: of an address that waits, the first few."""
        rows, done = self._rows, self._done
        numbers = list(map(self.numbers.get, urls))
        found = [
            len(rows[number]) < PARENTS if number is not None else _hash(url) not in done
            for url, number in zip(urls, numbers, strict=True)
        ]
        if len(set(urls)) < len(urls):
            counts: dict[str, int] = {}
            for place, (url, number) in enumerate(zip(urls, numbers, strict=True)):
                counts[url] = count = counts.get(url, 0) + 1
                found[place] = found[place] and count + (0 if number is None else len(rows[number])) <= PARENTS
        return found

    def score(self, url: str) -> float:
        """What the frontier was told of an address that is known."""
        number = self.numbers.get(url)
        return self.told[number] if number is not None else 0.0

    def rows(self, url: str) -> list[tuple[Hashes, Floats, Ids]]:
        """Features, known values and groups of the rows of an address."""
        number = self.numbers.get(url)
        return [self._row(row) for row in self._rows[number]] if number is not None else []

    def _row(self, number: int) -> tuple[Hashes, Floats, Ids]:
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
            at = len(self._settled.flat)
            starts = np.cumsum([0, *(len(rows.flat) for rows in self._fresh[:-1])]) + at
            begins = [rows.starts + start for rows, start in zip(self._fresh, starts.tolist(), strict=True)]
            for column, parts in zip(self._columns, (*zip(*self._fresh, strict=True), begins), strict=True):
                column.extend(parts)
            self._fresh, self._first = [], []
            self._hold()
        return self._settled, self._starts

    def _hold(self) -> None:
        """Look at the columns as they are now."""
        *values, self._starts = [column.values for column in self._columns]
        self._settled = Rows(*values)

    def worth(self, sums: Floats) -> Floats:
        """What each address is worth by its number, before squeezing: half by its best row, half by the mean of its
        rows, because what only one of many pages recommends is often a place that everybody links to.

        −∞ for a dead one.
        """
        owners = np.array(self.owners, np.int64)
        best = np.full(len(self.urls), -np.inf, np.float32)
        np.maximum.at(best, owners, sums)
        count = np.bincount(owners, minlength=len(self.urls))
        mean = np.bincount(owners, sums, len(self.urls)) / np.maximum(count, 1)
        return np.where(self._alive(), (best + mean) / 2, -np.inf).astype(np.float32)

    def _alive(self) -> NDArray[np.bool_]:
        return np.array(self._is_alive, np.bool_)

    def fetched(self, url: str) -> None:
        """Forget an address, and take in no more links to it."""
        self.remove(url)
        self._done[_hash(url)] = None
        if len(self._done) > _MOST_DONE:
            del self._done[next(iter(self._done))]

    def remove(self, url: str) -> None:
        """Forget an address."""
        number = self.numbers.pop(url, None)
        if number is not None:
            self.dead += len(self._rows[number])
            self.urls[number] = ""
            self._is_alive[number] = False
            self._rows[number] = []

    def sweep(self) -> bool:
        """Drop dead rows when there are many of them."""
        if self.dead <= _SWEEP * len(self.owners):
            return False
        rows, _ = self.all()
        alive = self._alive()
        owners = np.array(self.owners, np.int64)
        renumbered = np.cumsum(alive) - 1
        kept = alive[owners]
        told = [score for score, url in zip(self.told, self.urls, strict=True) if url]
        self._settle(rows.chosen(kept), renumbered[owners[kept]].tolist(), [url for url in self.urls if url], told)
        return True

    def renumber(self, groups: Ids) -> None:
        """Give the groups of all rows other numbers: `groups[old]` is the new one."""
        rows, _ = self.all()
        rows.groups[:] = groups[rows.groups]

    def _settle(self, rows: Rows, owners: list[int], urls: list[str], told: list[float]) -> None:
        columns: tuple[NDArray[Any], ...] = (*rows, rows.starts)
        for column, values in zip(self._columns, columns, strict=True):
            column.replace(values)
        self._hold()
        self.owners, self.told, self._is_alive = array("q", owners), array("d", told), array("b", b"\1" * len(urls))
        self.urls = urls
        self._fresh, self._first = [], []
        self.dead = 0
        self.numbers = {url: number for number, url in enumerate(urls)}
        self._rows = [[] for _ in urls]
        for row, number in enumerate(owners):
            self._rows[number].append(row)

    def state(self) -> dict[str, Carry]:
        """Everything as plain values, without what is dead."""
        rows, _ = self.all()
        alive = self._alive()
        owners = np.array(self.owners, np.int64)
        kept = alive[owners]
        # One after the other: each needs room for a copy on the way.
        return {
            "flat": packed_array(rows.flat[np.repeat(kept, rows.lengths)]), "lengths": packed_array(rows.lengths[kept]),
            "known": packed_array(rows.known[kept]), "groups": packed_array(rows.groups[kept]),
            "owners": packed_array((np.cumsum(alive) - 1)[owners[kept]].astype(np.int32)),
            "urls": packed_texts([url for url in self.urls if url]),
            "told": packed_array(np.array(self.told, np.float64)[alive]),
            "done": packed_array(np.fromiter(self._done, np.uint64, len(self._done))),
        }  # fmt: skip

    def restore(self, state: Mapping[str, Carry]) -> None:
        known = array_of(state["known"], np.float32).reshape(-1, self._settled.known.shape[1])
        groups = array_of(state["groups"], np.int32).reshape(-1, self._settled.groups.shape[1])
        flat, lengths = array_of(state["flat"], np.uint32), array_of(state["lengths"], np.int32)
        self._settle(
            Rows(flat, lengths, known, groups), array_of(state["owners"], np.int32).tolist(),
            texts_of(state["urls"]), array_of(state["told"], np.float64).tolist(),
        )  # fmt: skip
        self._done = dict.fromkeys(array_of(state["done"], np.uint64).tolist())


def _hash(url: str) -> int:
    return xxhash.xxh3_64_intdigest(url.encode("utf-8", "replace"))
