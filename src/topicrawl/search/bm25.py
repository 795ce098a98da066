"""BM25 scores (Robertson and Walker 1994; Lucene's idf) of weighted clauses, with given corpus statistics.

    score(page) = Σ weight · log(1 + (N − n + ½) / (n + ½)) · f (k + 1) / (f + k (1 − b + b · length / mean))

N, n and the mean length are those of all searched collections together, not those of a single collection. Scores from
different collections are therefore comparable, and merged results have the order of one large index.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Annotated

from msgspec import Meta, Struct, field

from topicrawl.search.models import MAX_STATISTICS, Count, Keyword

K, B = 1.5, 0.75
#: Words in more than this share of all pages are ignored: they discriminate least and are the slowest to look up.
MAX_DOCUMENT_SHARE = 0.5
_SMALL_CORPUS_PAGES = 1000  # pages: in a smaller corpus, no word is slow to look up


class CorpusStats(Struct, frozen=True):
    """Corpus statistics of one or more collections, for the clauses of one query.

    >>> CorpusStats.merge([CorpusStats(2, 10, {"owl": 1}), CorpusStats(3, 20, {"owl": 2, "bat": 1})])
    CorpusStats(pages=5, words=30, pages_with={'owl': 3, 'bat': 1})
    """

    pages: Count = 0
    words: Count = 0
    #: Clause key → number of pages that match it.
    pages_with: Annotated[Mapping[Keyword, Count], Meta(max_length=MAX_STATISTICS)] = field(default_factory=dict)

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
