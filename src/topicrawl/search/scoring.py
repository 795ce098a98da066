"""BM25 (Robertson and Walker 1994; Lucene's idf) over any number of parts with weights, with the statistics of a world.

    score(page) = Σ weight · log(1 + (N − n + ½) / (n + ½)) · f (k + 1) / (f + k (1 − b + b · length / mean))

N, n and the mean length are those of all collections that are asked, not those of the one that answers: then scores
from different collections can be compared, and merging them gives the order that one large index would give.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from topicrawl.search.postings import Postings

Scores = NDArray[np.float32]
K, B = 1.2, 0.75
#: A word in more than half of all pages says nothing about any of them, and is the dearest to look up.
QUIET = 0.5
_FEW = 1000  # pages in which nothing is dear
_SAMPLED = 8  # one of so many values


@dataclass(frozen=True, slots=True)
class World:
    """Statistics of one or several collections, for the parts of one query.

    >>> World.of([World(2, 10, {"owl": 1}), World(3, 20, {"owl": 2, "bat": 1})])
    World(pages=5, words=30, pages_with={'owl': 3, 'bat': 1})
    """

    pages: int = 0
    words: int = 0
    pages_with: Mapping[str, int] = field(default_factory=dict)  # key of a part → pages that match it

    @classmethod
    def of(cls, several: Iterable[World]) -> World:
        pages, words, found = 0, 0, dict[str, int]()
        for one in several:
            pages, words = pages + one.pages, words + one.words
            for key, count in one.pages_with.items():
                found[key] = found.get(key, 0) + count
        return cls(pages, words, found)

    @property
    def mean(self) -> float:
        return max(1.0, self.words / max(1, self.pages))

    def idf(self, key: str) -> float:
        """How much a part tells; what all pages have tells little, what nobody has tells most.

        >>> round(World(10, 100, {"owl": 1}).idf("owl"), 6)
        1.99243
        """
        found = min(self.pages_with.get(key, 0), self.pages)
        return math.log(1 + (self.pages - found + 0.5) / (found + 0.5))

    def is_quiet(self, key: str) -> bool:
        return self.pages > _FEW and self.pages_with.get(key, 0) > QUIET * self.pages

    def most(self, weights: Mapping[str, float]) -> float:
        """What no page can score more than."""
        return sum(max(0.0, weight) * self.idf(key) * (K + 1) for key, weight in weights.items())


def damping(lengths: NDArray[np.float64], mean: float) -> NDArray[np.float32]:
    """k (1 − b + b · length / mean) of each page: the same for all words, so it is computed once."""
    return (K * (1 - B) + K * B / mean * lengths).astype(np.float32)


def add(scores: Scores, found: Postings, weight: float, damped: NDArray[np.float32]) -> None:
    """Let the pages that match have their share."""
    share = damped[found.numbers]
    share += found.counts
    np.divide(found.counts, share, out=share)
    share *= np.float32(weight * (K + 1))
    scores[found.numbers] += share


def highest(values: Scores, count: int) -> NDArray[np.intp]:
    """Where the highest values stand, in any order.

    >>> sorted(highest(np.array([1, 9, 3, 7], np.float32), 2).tolist())
    [1, 3]
    """
    found = np.arange(len(values))
    if len(values) > _SAMPLED * 4 * count:
        # What is below the highest of a sample is below the highest of all; few are left.
        sample = values[::_SAMPLED]
        found = np.flatnonzero(values >= np.partition(sample, len(sample) - count)[len(sample) - count])
    if len(found) > count:
        found = found[np.argpartition(-values[found], count - 1)[:count]]
    return found
