"""Pool of waiting links, stored as arrays so that all of them can be rescored within milliseconds.

A row is one link on one page. A URL has up to six rows. The rows of a fetched URL are dead until the arrays are
compacted. The pool has a size limit: URLs above the limit keep their score in the frontier, and their rows are dropped.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from math import isnan, nan
from typing import Any, NamedTuple

import numpy as np
import xxhash
from numpy.typing import NDArray

from topicrawl.ml.online import Floats, Ids
from topicrawl.models import JsonValue
from topicrawl.serialization import pack_array, pack_texts, unpack_array, unpack_texts
from topicrawl.strategies.apprentice.growable_array import GrowableArray

#: Maximum number of links per URL. The first ones count.
MAX_LINKS_PER_URL = 6
_MAX_DEAD_SHARE = 0.3  # share of dead rows at which the arrays are compacted
_MAX_FETCHED = 50_000  # maximum number of remembered fetched URLs

Hashes = NDArray[np.uint32]
LinkRow = tuple[Hashes, Floats, Ids]  # features, prior features and groups of one link


class PoolRows(NamedTuple):
    """Links with their concatenated feature hashes, their prior features and their groups."""

    features: Hashes
    lengths: NDArray[np.int32]
    priors: Floats
    groups: Ids

    @property
    def starts(self) -> NDArray[np.int64]:
        """Index of the first feature of each row."""
        starts: NDArray[np.int64] = np.cumsum(self.lengths, dtype=np.int64) - self.lengths
        return starts

    def select(self, mask: NDArray[np.bool_]) -> PoolRows:
        """Return the rows that a mask selects."""
        if mask.all():
            return self
        return PoolRows(
            self.features[np.repeat(mask, self.lengths)], self.lengths[mask], self.priors[mask], self.groups[mask]
        )


class LinkPool:
    """Rows of the waiting URLs."""

    def __init__(self, prior_count: int, group_count: int) -> None:
        """Create an empty pool for rows with `prior_count` prior features and `group_count` groups."""
        no_ints = np.zeros(0, np.int32)
        no_hashes = np.zeros(0, np.uint32)
        rows = PoolRows(
            no_hashes, no_ints, np.zeros((0, prior_count), np.float32), np.zeros((0, group_count), np.int32)
        )
        self._arrays = [GrowableArray(values) for values in (*rows, rows.starts)]
        self._refresh_views()
        self._pending: list[PoolRows] = []  # rows not yet merged into the arrays, because merging copies them
        self._pending_starts: list[int] = []  # first row number of each of them
        self.numbers: dict[str, int] = {}  # URL → its number
        self.urls: list[str] = []  # by number; "" if dead
        # Arrays, because numpy converts them without a copy per value, unlike lists.
        self.frontier_scores = array("d")  # by number: score in the frontier
        self._alive_flags = array("b")  # by number
        self._rows_by_number: list[list[int]] = []  # by number
        self.row_owners = array("q")  # by row: number of its URL
        self.dead_rows = 0  # number of dead rows
        # Hash → reward of each fetched URL, the last at the end. NaN: no page, or a state of an earlier version.
        self._fetched_rewards: dict[int, float] = {}

    def __len__(self) -> int:
        return len(self.numbers)

    def add(self, urls: Sequence[str], rows: PoolRows, scores: Sequence[float]) -> None:
        """Add links. The caller must have checked with `check_room` that their URLs have room."""
        if not urls:
            return
        self._pending.append(rows)
        self._pending_starts.append(len(self.row_owners))
        numbers, known_urls, rows_by_number = self.numbers, self.urls, self._rows_by_number
        frontier_scores, owners = self.frontier_scores, self.row_owners
        for row, (url, score) in enumerate(zip(urls, scores, strict=True), len(owners)):
            number = numbers.get(url)
            if number is None:
                number = numbers[url] = len(known_urls)
                known_urls.append(url)
                frontier_scores.append(score)
                self._alive_flags.append(True)
                rows_by_number.append([row])
            else:
                if score > frontier_scores[number]:
                    frontier_scores[number] = score
                rows_by_number[number].append(row)
            owners.append(number)

    def check_room(self, urls: Sequence[str]) -> list[bool]:
        """Return for each link whether the pool accepts it: a waiting URL accepts a few links, a fetched URL none."""
        rows, done = self._rows_by_number, self._fetched_rewards
        numbers = list(map(self.numbers.get, urls))
        accepted = [
            len(rows[number]) < MAX_LINKS_PER_URL if number is not None else url_hash not in done
            for url_hash, number in zip(_hash_urls(urls), numbers, strict=True)
        ]
        if len(set(urls)) < len(urls):
            counts: dict[str, int] = {}
            for index, (url, number) in enumerate(zip(urls, numbers, strict=True)):
                counts[url] = count = counts.get(url, 0) + 1
                accepted[index] = (
                    accepted[index] and count + (0 if number is None else len(rows[number])) <= MAX_LINKS_PER_URL
                )
        return accepted

    def get_score(self, url: str) -> float:
        """Return the score of a URL in the frontier, or 0 if the pool does not contain it."""
        number = self.numbers.get(url)
        return self.frontier_scores[number] if number is not None else 0.0

    def get_rows(self, url: str) -> list[LinkRow]:
        """Return the features, prior features and groups of each row of a URL."""
        number = self.numbers.get(url)
        return [self._get_row(row) for row in self._rows_by_number[number]] if number is not None else []

    def _get_row(self, number: int) -> LinkRow:
        """Return the features, prior features and groups of one row."""
        place = bisect_right(self._pending_starts, number) - 1
        if place < 0:
            rows, starts = self._merged_rows, self._merged_starts
        else:
            rows, number = self._pending[place], number - self._pending_starts[place]
            starts = rows.starts
        start = int(starts[number])
        return rows.features[start : start + int(rows.lengths[number])], rows.priors[number], rows.groups[number]

    def get_all_rows(self) -> tuple[PoolRows, NDArray[np.int64]]:
        """Return all rows, including dead ones, and the index of the first feature of each."""
        if self._pending:
            at = len(self._merged_rows.features)
            starts = np.cumsum([0, *(len(rows.features) for rows in self._pending[:-1])]) + at
            begins = [rows.starts + start for rows, start in zip(self._pending, starts.tolist(), strict=True)]
            for column, parts in zip(self._arrays, (*zip(*self._pending, strict=True), begins), strict=True):
                column.extend(parts)
            self._pending, self._pending_starts = [], []
            self._refresh_views()
        return self._merged_rows, self._merged_starts

    def _refresh_views(self) -> None:
        """Refresh the views of the arrays after they have changed."""
        *values, self._merged_starts = [column.values for column in self._arrays]
        self._merged_rows = PoolRows(*values)

    def aggregate_by_url(self, sums: Floats) -> Floats:
        """Return the aggregated sum of each URL by its number, before the logistic function. Dead URLs get −∞.

        The result is the mean of the best row and the average row, because a URL that only one of many pages recommends
        is often a page that many sites link to.
        """
        owners = np.array(self.row_owners, np.int64)
        best = np.full(len(self.urls), -np.inf, np.float32)
        np.maximum.at(best, owners, sums)
        count = np.bincount(owners, minlength=len(self.urls))
        mean = np.bincount(owners, sums, len(self.urls)) / np.maximum(count, 1)
        return np.where(self._get_alive_mask(), (best + mean) / 2, -np.inf).astype(np.float32)

    def _get_alive_mask(self) -> NDArray[np.bool_]:
        """Return a mask of the URLs that are waiting."""
        return np.array(self._alive_flags, np.bool_)

    def mark_fetched(self, url: str, reward: float | None = None) -> None:
        """Remove a URL, accept no more links to it, and remember the reward of its page, if it has one."""
        self.remove(url)
        key = _hash_url(url)
        self._fetched_rewards[key] = self._fetched_rewards.get(key, nan) if reward is None else reward
        if len(self._fetched_rewards) > _MAX_FETCHED:
            del self._fetched_rewards[next(iter(self._fetched_rewards))]

    def get_reward(self, url: str) -> float | None:
        """Return the reward of the page at a fetched URL, or None if it is unknown."""
        reward = self._fetched_rewards.get(_hash_url(url), nan)
        return None if isnan(reward) else reward

    def remove(self, url: str) -> None:
        """Remove a URL. Its rows become dead."""
        number = self.numbers.pop(url, None)
        if number is not None:
            self.dead_rows += len(self._rows_by_number[number])
            self.urls[number] = ""
            self._alive_flags[number] = False
            self._rows_by_number[number] = []

    def drop_dead_rows(self) -> bool:
        """Remove dead rows if there are many of them. Return whether any were removed."""
        if self.dead_rows <= _MAX_DEAD_SHARE * len(self.row_owners):
            return False
        rows, _ = self.get_all_rows()
        alive = self._get_alive_mask()
        owners = np.array(self.row_owners, np.int64)
        renumbered = np.cumsum(alive) - 1
        kept = alive[owners]
        scores = [score for score, url in zip(self.frontier_scores, self.urls, strict=True) if url]
        self._replace_rows(
            rows.select(kept), renumbered[owners[kept]].tolist(), [url for url in self.urls if url], scores
        )
        return True

    def renumber_groups(self, groups: Ids) -> None:
        """Renumber the groups of all rows: `groups[old]` is the new number."""
        rows, _ = self.get_all_rows()
        rows.groups[:] = groups[rows.groups]

    def _replace_rows(self, rows: PoolRows, owners: list[int], urls: list[str], scores: list[float]) -> None:
        """Replace the whole content of the pool."""
        columns: tuple[NDArray[Any], ...] = (*rows, rows.starts)
        for column, values in zip(self._arrays, columns, strict=True):
            column.replace(values)
        self._refresh_views()
        self.row_owners, self.frontier_scores, self._alive_flags = (
            array("q", owners),
            array("d", scores),
            array("b", b"\1" * len(urls)),
        )
        self.urls = urls
        self._pending, self._pending_starts = [], []
        self.dead_rows = 0
        self.numbers = {url: number for number, url in enumerate(urls)}
        self._rows_by_number = [[] for _ in urls]
        for row, number in enumerate(owners):
            self._rows_by_number[number].append(row)

    def get_state(self) -> dict[str, JsonValue]:
        """Return the pool without dead rows as plain values."""
        rows, _ = self.get_all_rows()
        alive = self._get_alive_mask()
        owners = np.array(self.row_owners, np.int64)
        kept = alive[owners]
        # Pack one array at a time, because each needs a temporary copy.
        return {
            "flat": pack_array(rows.features[np.repeat(kept, rows.lengths)]),
            "lengths": pack_array(rows.lengths[kept]),
            "known": pack_array(rows.priors[kept]),
            "groups": pack_array(rows.groups[kept]),
            "owners": pack_array((np.cumsum(alive) - 1)[owners[kept]].astype(np.int32)),
            "urls": pack_texts([url for url in self.urls if url]),
            "told": pack_array(np.array(self.frontier_scores, np.float64)[alive]),
            "done": pack_array(np.fromiter(self._fetched_rewards, np.uint64, len(self._fetched_rewards))),
            "rewards": pack_array(np.array(list(self._fetched_rewards.values()), np.float64)),
        }

    def restore_state(self, state: Mapping[str, JsonValue]) -> None:
        """Restore the values of `get_state`."""
        groups = unpack_array(state["groups"], np.int32).reshape(-1, self._merged_rows.groups.shape[1])
        flat, lengths = unpack_array(state["flat"], np.uint32), unpack_array(state["lengths"], np.int32)
        stored = unpack_array(state["known"], np.float32)
        # The states of earlier versions have fewer prior features. New features are added at the end.
        known = np.zeros((len(lengths), self._merged_rows.priors.shape[1]), np.float32)
        if len(lengths):
            rows = stored.reshape(len(lengths), -1)
            known[:, : rows.shape[1]] = rows
        self._replace_rows(
            PoolRows(flat, lengths, known, groups),
            unpack_array(state["owners"], np.int32).tolist(),
            unpack_texts(state["urls"]),
            unpack_array(state["told"], np.float64).tolist(),
        )
        self._fetched_rewards = dict.fromkeys(unpack_array(state["done"], np.uint64).tolist(), nan)
        if "rewards" in state:
            rewards = unpack_array(state["rewards"], np.float64).tolist()
            self._fetched_rewards = dict(zip(self._fetched_rewards, rewards, strict=True))


def _hash_url(url: str) -> int:
    """Return a 64-bit hash of a URL."""
    return xxhash.xxh3_64_intdigest(_encode_url(url))


def _hash_urls(urls: Sequence[str]) -> Iterable[int]:
    """Return the 64-bit hashes of URLs, in half the time of as many calls of `_hash_url`."""
    encode = str.encode if "".join(urls).isascii() else _encode_url
    return map(xxhash.xxh3_64_intdigest, map(encode, urls))


def _encode_url(url: str) -> bytes:
    return url.encode("utf-8", "replace")
