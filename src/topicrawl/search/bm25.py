"""BM25 scores (Robertson and Walker 1994; Lucene's idf) of weighted clauses, with given corpus statistics.

    score(page) = Σ weight · log(1 + (N − n + ½) / (n + ½)) · f (k + 1) / (f + k (1 − b + b · length / mean))

N, n and the mean length are those of all searched collections together, not those of a single collection. Scores from
different collections are therefore comparable, and merged results have the order of one large index.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Annotated

import numpy as np
from msgspec import Meta, Struct, field
from numpy.typing import NDArray

from topicrawl.search.models import MAX_KEYS, Count, Keyword
from topicrawl.search.postings import Postings

Scores = NDArray[np.float32]
K, B = 1.2, 0.75
#: Words in more than this share of all pages are ignored: they discriminate least and are the slowest to look up.
MAX_DOCUMENT_SHARE = 0.5
_SMALL_CORPUS_PAGES = 1000  # pages: in a smaller corpus, no word is slow to look up
_SAMPLE_STEP = 8  # `select_highest` samples every eighth value


class CorpusStats(Struct, frozen=True):
    """Corpus statistics of one or more collections, for the clauses of one query.

    >>> CorpusStats.merge([CorpusStats(2, 10, {"owl": 1}), CorpusStats(3, 20, {"owl": 2, "bat": 1})])
    CorpusStats(pages=5, words=30, pages_with={'owl': 3, 'bat': 1})
    """

    pages: Count = 0
    words: Count = 0
    #: Clause key → number of pages that match it.
    pages_with: Annotated[Mapping[Keyword, Count], Meta(max_length=MAX_KEYS)] = field(default_factory=dict)

    @classmethod
    def merge(cls, collections: Iterable[CorpusStats]) -> CorpusStats:
        """Return the sum of several statistics."""
        pages, words, pages_with = 0, 0, dict[str, int]()
        for stats in collections:
            pages, words = pages + stats.pages, words + stats.words
            for key, count in stats.pages_with.items():
                pages_with[key] = pages_with.get(key, 0) + count
        return cls(pages, words, pages_with)

    @property
    def mean_length(self) -> float:
        """Mean length of a page in words."""
        return max(1.0, self.words / max(1, self.pages))

    def idf(self, key: str) -> float:
        """Inverse document frequency of a clause.

        >>> round(CorpusStats(10, 100, {"owl": 1}).idf("owl"), 6)
        1.99243
        """
        matching = min(self.pages_with.get(key, 0), self.pages)
        return math.log(1 + (self.pages - matching + 0.5) / (matching + 0.5))

    def is_too_common(self, key: str) -> bool:
        """Whether so many pages match a clause that the search ignores it."""
        return self.pages > _SMALL_CORPUS_PAGES and self.pages_with.get(key, 0) > MAX_DOCUMENT_SHARE * self.pages

    def max_score(self, weights: Mapping[str, float]) -> float:
        """Upper bound of the score of a page."""
        return sum(max(0.0, weight) * self.idf(key) * (K + 1) for key, weight in weights.items())


def length_norms(lengths: NDArray[np.float64], mean_length: float) -> NDArray[np.float32]:
    """Return k (1 − b + b · length / mean) of each page, which does not depend on the word."""
    return (K * (1 - B) + K * B / mean_length * lengths).astype(np.float32)


def add_scores(scores: Scores, postings: Postings, weight: float, norms: NDArray[np.float32]) -> None:
    """Add the BM25 contribution of one clause to `scores`, in place, for the matching pages.

    `weight` is the weight of the clause times its idf. `norms` has the length norm of every page (see `length_norms`).
    """
    share = norms[postings.numbers]
    share += postings.counts
    np.divide(postings.counts, share, out=share)
    share *= np.float32(weight * (K + 1))
    scores[postings.numbers] += share


def select_highest(values: Scores, count: int) -> NDArray[np.intp]:
    """Return the positions of the `count` highest values, in any order.

    >>> sorted(select_highest(np.array([1, 9, 3, 7], np.float32), 2).tolist())
    [1, 3]
    """
    positions = np.arange(len(values))
    if len(values) > _SAMPLE_STEP * 4 * count:
        # A value below the `count` highest of a sample is below the `count` highest of all, so few candidates remain.
        sample = values[::_SAMPLE_STEP]
        positions = np.flatnonzero(values >= np.partition(sample, len(sample) - count)[len(sample) - count])
    if len(positions) > count:
        positions = positions[np.argpartition(-values[positions], count - 1)[:count]]
    return positions
