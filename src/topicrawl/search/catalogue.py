"""What the index knows of pages beside their words, in arrays by the pages' numbers: what filters look at."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicrawl.database import Database
from topicrawl.search.index_file import LIVE
from topicrawl.search.query import Filters
from topicrawl.search.scoring import damping

Mask = NDArray[np.bool_]
_SQL = "SELECT state, words, relevance, at, language, host, verdict FROM pages WHERE number > ? ORDER BY number"


class Names:
    """Texts as small numbers."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def number(self, name: str) -> int:
        return self.numbers.setdefault(name, len(self.numbers))


class Catalogue:
    """The columns of all pages; number 0 is nobody's."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._changes = -1
        self._clear()

    def _clear(self) -> None:
        self.names = {"language": Names(), "host": Names(), "verdict": Names()}
        self.lengths: NDArray[np.float64] = np.zeros(1)
        self.live: Mask = np.zeros(1, np.bool_)
        self.pages, self.words = 0, 0  # that can be found
        self._damping = math.nan, np.zeros(0, np.float32)
        self._columns: dict[str, NDArray[Any]] = {name: np.zeros(1) for name in ("relevance", "at")}
        self._columns |= {name: np.zeros(1, np.int32) for name in self.names}

    def refresh(self) -> bool:
        """Take over what is new in the index; whether there was something."""
        found = self._database.execute("SELECT value FROM facts WHERE name = 'changes'").fetchone()
        changes = found[0] if found else 0
        if changes != self._changes:
            self._changes = changes
            self._clear()
        rows = self._database.execute(_SQL, (len(self.lengths) - 1,)).fetchall()
        if rows:
            state, words, relevance, at, *named = zip(*rows, strict=True)
            self.lengths = np.concatenate((self.lengths, np.array(words, np.float64)))
            self.live = np.concatenate((self.live, np.array(state) == LIVE))
            new = {"relevance": np.array(relevance, np.float64), "at": np.array(at, np.float64)}
            for (name, names), column in zip(self.names.items(), named, strict=True):
                new[name] = np.array([names.number(value) for value in column], np.int32)
            self._columns = {name: np.concatenate((old, new[name])) for name, old in self._columns.items()}
        self.pages, self.words = int(self.live.sum()), int(self.lengths[self.live].sum())
        self._damping = math.nan, np.zeros(0, np.float32)
        return bool(rows)

    def damping(self, mean: float) -> NDArray[np.float32]:
        """What the length of each page makes of its counts, where a page has so many words in the mean."""
        if self._damping[0] != mean:
            self._damping = mean, damping(self.lengths, mean)
        return self._damping[1]

    def languages(self, least: float) -> list[str]:
        """The languages that at least this share of the pages is written in, the most frequent first."""
        names = list(self.names["language"].numbers)
        counts = np.bincount(self._columns["language"][self.live], minlength=len(names))
        order = np.argsort(-counts, kind="stable")
        return [names[number] for number in order if counts[number] > least * max(1, self.pages)]

    def matching(self, filters: Filters) -> Mask:
        """The pages that are what they must be."""
        mask = self.live.copy()
        if filters.relevance > 0:
            mask &= self._columns["relevance"] >= filters.relevance
        if filters.since > 0 or filters.before < np.inf:
            at = self._columns["at"]
            mask &= (at >= filters.since) & (at < filters.before)
        for name, wanted in (("language", filters.languages), ("verdict", filters.verdicts)):
            if wanted:
                known = self.names[name].numbers
                mask &= np.isin(self._columns[name], [known[it] for it in wanted if it in known])
        if filters.hosts:
            chosen = [number for name, number in self.names["host"].numbers.items() if _below(name, filters.hosts)]
            mask &= np.isin(self._columns["host"], chosen)
        return mask


def _below(host: str, wanted: tuple[str, ...]) -> bool:
    """Whether a host is one of those, or below one.

    >>> _below("www.who.int:81", ("who.int",)), _below("nowho.int", ("who.int",))
    (True, False)
    """
    name = host.partition(":")[0]
    return any(name == it or name.endswith(f".{it}") or host == it for it in wanted)
