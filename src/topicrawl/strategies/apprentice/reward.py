"""Reward of a fetched page: its similarity to the topic relative to the pages so far.

The similarity is the relevance of the page, which `LinkModel.learn` scales to the range of a cosine if it is a
probability.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import exp

import numpy as np
from msgspec import convert
from numpy.typing import NDArray

from topicrawl.models import JsonValue

_BINS = 1000
_SLOPE = 25.0
_QUANTILE = 0.9  # share of the pages so far with a reward below one half
_MIN_THRESHOLD, _MAX_THRESHOLD = 0.08, 0.25


class RewardFunction:
    """Map a similarity to a reward from 0 to 1.

        reward(c) = (s(c) − s(0)) / (1 − s(0)),   s(c) = 1 / (1 + exp(−25·(c − c₀)))

    c₀: the similarity that nine of ten pages so far do not reach, within [.08, .25]. The similarity of a relevant page
    depends on the words of the topic, so the threshold adapts to the crawl. A page without any topic word has the
    reward 0 even with a low threshold. Otherwise a crawl that finds nothing relevant for a long time would learn to
    prefer irrelevant pages.

    >>> reward = RewardFunction()
    >>> [reward(0.01) < 0.2 for _ in range(19)].count(True), round(reward(0.2), 3), round(reward(0.1), 3)
    (19, 0.946, 0.571)
    """

    def __init__(self) -> None:
        self._counts = [0] * (_BINS + 1)
        self._pages = 0

    @property
    def threshold(self) -> float:
        """Similarity threshold c₀."""
        allowed = self._pages * (1 - _QUANTILE)
        above = sum(self._counts[int(_MAX_THRESHOLD * _BINS) :])
        place = int(_MAX_THRESHOLD * _BINS)
        while place > _MIN_THRESHOLD * _BINS and above <= allowed:
            place -= 1
            above += self._counts[place]
        return place / _BINS

    def __call__(self, similarity: float) -> float:
        """Count the similarity of a page and return its reward."""
        self._counts[int(min(1.0, max(0.0, similarity)) * _BINS)] += 1
        self._pages += 1
        bar = self.threshold
        least = 1 / (1 + exp(_SLOPE * bar))
        return (1 / (1 + exp(-_SLOPE * (similarity - bar))) - least) / (1 - least)

    def get_counts(self) -> NDArray[np.int64]:
        """Return the number of pages for each similarity, in thousandths."""
        return np.array(self._counts, np.int64)

    def add_counts(self, counts: Mapping[int, int]) -> None:
        """Add the counts of pages that other workers have fetched."""
        for place, count in counts.items():
            self._counts[place] += count
            self._pages += count

    def get_state(self) -> JsonValue:
        """Return the counts as plain values."""
        return {str(place): count for place, count in enumerate(self._counts) if count}

    def restore_state(self, state: JsonValue) -> None:
        """Restore the values of `get_state`."""
        self._counts = [0] * (_BINS + 1)
        for place, count in convert(state or {}, dict[int, int], strict=False).items():
            self._counts[place] = count
        self._pages = sum(self._counts)
