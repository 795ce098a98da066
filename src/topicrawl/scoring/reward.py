"""What a fetched page is worth to a learner: its similarity to the topic, against that of the pages so far."""

from __future__ import annotations

from collections.abc import Mapping
from math import exp

import numpy as np
from numpy.typing import NDArray

from topicrawl.records import Carry

_BINS = 1000
_STEEP = 25.0
_SHARE = 0.9  # of the pages so far are worth less than one half
_LEAST, _MOST = 0.08, 0.25


class Reward:
    """From similarity to a reward between 0 and 1.

        reward(c) = (s(c) − s(0)) / (1 − s(0)),   s(c) = 1 / (1 + exp(−25·(c − c₀)))

    c₀: what nine of ten pages so far stay below, within [.08, .25]: how similar a relevant page is depends on the
    topic's words, so the bar is set by what the crawl meets. A page without any of them is worth nothing, however low
    the bar: a crawl that meets nothing relevant for long would learn to like what it meets.

    >>> reward = Reward()
    >>> [reward(0.01) < 0.2 for _ in range(19)].count(True), round(reward(0.2), 3), round(reward(0.1), 3)
    (19, 0.946, 0.571)
    """

    def __init__(self) -> None:
        self._counts = [0] * (_BINS + 1)
        self._pages = 0

    @property
    def bar(self) -> float:
        """c₀."""
        allowed = self._pages * (1 - _SHARE)
        above = sum(self._counts[int(_MOST * _BINS) :])
        place = int(_MOST * _BINS)
        while place > _LEAST * _BINS and above <= allowed:
            place -= 1
            above += self._counts[place]
        return place / _BINS

    def __call__(self, similarity: float) -> float:
        self._counts[int(min(1.0, max(0.0, similarity)) * _BINS)] += 1
        self._pages += 1
        bar = self.bar
        least = 1 / (1 + exp(_STEEP * bar))
        return (1 / (1 + exp(-_STEEP * (similarity - bar))) - least) / (1 - least)

    def counts(self) -> NDArray[np.int64]:
        """How many pages there were of each similarity, in thousandths."""
        return np.array(self._counts, np.int64)

    def add(self, counts: Mapping[int, int]) -> None:
        """Pages that others have seen."""
        for place, count in counts.items():
            self._counts[place] += count
            self._pages += count

    def state(self) -> Carry:
        return {str(place): count for place, count in enumerate(self._counts) if count}

    def restore(self, state: Carry) -> None:
        self._counts = [0] * (_BINS + 1)
        for place, count in (state if isinstance(state, dict) else {}).items():
            self._counts[int(place)] = int(str(count))
        self._pages = sum(self._counts)
