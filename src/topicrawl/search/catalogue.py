"""Metadata of all pages of an index in memory, as arrays indexed by page number; used by scores and filters."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicrawl.database import Database
from topicrawl.search.bm25 import length_norms
from topicrawl.search.index_file import LIVE
from topicrawl.search.query import SearchFilters

Mask = NDArray[np.bool_]
_SELECT_METADATA = (
    "SELECT state, words, relevance, at, language, host, verdict FROM pages WHERE number > ? ORDER BY number"
)


class StringEncoder:
    """Maps strings to small integers."""

    def __init__(self) -> None:
        self.codes: dict[str, int] = {}

    def encode(self, name: str) -> int:
        """Return the code of a string; assign the next code to a new string."""
        return self.codes.setdefault(name, len(self.codes))


class PageMetadata:
    """Metadata columns of all pages. Page numbers start at 1; index 0 is unused."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._changes = -1
        self._clear()

    def _clear(self) -> None:
        self.encoders = {"language": StringEncoder(), "host": StringEncoder(), "verdict": StringEncoder()}
        self.lengths: NDArray[np.float64] = np.zeros(1)
        self.live: Mask = np.zeros(1, np.bool_)
        self.page_count, self.word_count = 0, 0  # of searchable pages
        self._length_norms = math.nan, np.zeros(0, np.float32)
        self._columns: dict[str, NDArray[Any]] = {name: np.zeros(1) for name in ("relevance", "at")}
        self._columns |= {name: np.zeros(1, np.int32) for name in self.encoders}

    def refresh(self) -> bool:
        """Read new rows of the index, or all rows if old ones have changed. Return whether any row was read."""
        row = self._database.execute("SELECT value FROM facts WHERE name = 'changes'").fetchone()
        changes = row[0] if row else 0
        if changes != self._changes:
            self._changes = changes
            self._clear()
        rows = self._database.execute(_SELECT_METADATA, (len(self.lengths) - 1,)).fetchall()
        if rows:
            state, words, relevance, at, *strings = zip(*rows, strict=True)
            self.lengths = np.concatenate((self.lengths, np.array(words, np.float64)))
            self.live = np.concatenate((self.live, np.array(state) == LIVE))
            new = {"relevance": np.array(relevance, np.float64), "at": np.array(at, np.float64)}
            for (name, encoder), column in zip(self.encoders.items(), strings, strict=True):
                new[name] = np.array([encoder.encode(value) for value in column], np.int32)
            self._columns = {name: np.concatenate((old, new[name])) for name, old in self._columns.items()}
        self.page_count, self.word_count = int(self.live.sum()), int(self.lengths[self.live].sum())
        self._length_norms = math.nan, np.zeros(0, np.float32)
        return bool(rows)

    def get_length_norms(self, mean_length: float) -> NDArray[np.float32]:
        """Return the BM25 length norm of each page for a mean page length; cached."""
        if self._length_norms[0] != mean_length:
            self._length_norms = mean_length, length_norms(self.lengths, mean_length)
        return self._length_norms[1]

    def list_languages(self, min_share: float) -> list[str]:
        """Return the languages of more than this share of the pages, most frequent first."""
        names = list(self.encoders["language"].codes)
        counts = np.bincount(self._columns["language"][self.live], minlength=len(names))
        order = np.argsort(-counts, kind="stable")
        return [names[number] for number in order if counts[number] > min_share * max(1, self.page_count)]

    def filter_pages(self, filters: SearchFilters) -> Mask:
        """Return the mask of the searchable pages that pass the filters."""
        mask = self.live.copy()
        if filters.relevance > 0:
            mask &= self._columns["relevance"] >= filters.relevance
        if filters.since > 0 or filters.before < np.inf:
            at = self._columns["at"]
            mask &= (at >= filters.since) & (at < filters.before)
        for name, wanted in (("language", filters.languages), ("verdict", filters.verdicts)):
            if wanted:
                codes = self.encoders[name].codes
                mask &= np.isin(self._columns[name], [codes[value] for value in wanted if value in codes])
        if filters.hosts:
            hosts = [
                number for name, number in self.encoders["host"].codes.items() if _is_subdomain(name, filters.hosts)
            ]
            mask &= np.isin(self._columns["host"], hosts)
        return mask


def _is_subdomain(host: str, domains: tuple[str, ...]) -> bool:
    """Whether a host is one of the domains or a subdomain of one.

    >>> _is_subdomain("www.who.int:81", ("who.int",)), _is_subdomain("nowho.int", ("who.int",))
    (True, False)
    """
    name = host.partition(":")[0]
    return any(name == domain or name.endswith(f".{domain}") or host == domain for domain in domains)
