"""How much is still out there? An estimate from the curve of discoveries alone.

Fed with one yes or no a fetch (was the page relevant?), it says how many relevant pages the fetches to come would find,
and so what share of all of them has been found: the recall so far, with an interval.

Discoveries are taken for a Poisson process whose rate falls from its peak on, in one of many ways:

    rate(t) = a · ((1 − w) · fall(t / s) + w),   fall(x) = e^−x, 1 / (1 + x) or 1 / (1 + x)²

t: fetches since the peak; a: the rate at the peak; s: how fast it falls; w: a part that does not fall, for relevant
pages that lie about at random. Every combination of s, w and fall is weighed by how well it explains the counts
(the likelihood, with a integrated out under a Gamma(½) prior). Together they foretell the rest:

    R = ∫ rate(t) dt over the fetches ahead,   recall = H / (H + R)

Relevant pages come in clusters, so counts vary more than a Poisson process lets them. How much more is measured by how
far the counts lie from the way to fall that explains them best, φ = 3 · Σ (cᵢ − mᵢ)² / Σ mᵢ · n / (n − 2), in short
stretches and in long ones, whichever gives more; and everything is made less certain by that factor. The 3 is from
experience: the cluster that no stretch has shown yet is always missing.

What no curve can know: a cluster that nothing has led to yet. A crawl that found one part of its topic and knows no
way to another looks exactly like a crawl that is done. So the estimate is of what *this crawl* would still find by
going on as before, not of what the web has. And it reaches only as far as it is asked to look ahead: the rate of a
live web never falls to nothing, so that "all" has no meaning there. Beyond as many fetches as have been made it is
extrapolation, and `doubt` says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, exp, floor, lgamma, log
from random import Random
from statistics import quantiles
from typing import TypeVar

from topicrawl.records import Carry

_BINS = 32  # counts are kept for so many stretches of the crawl at most
_FEWEST_FOUND = 20  # discoveries; fewer say nothing about a curve
_FEWEST_FETCHES = 300
_DRAWINGS = 600
_PRIOR = 0.5
_FEWEST_STRETCHES = 4  # fewer do not tell chance from a curve
_CLUSTERS = 3.0
_FARTHEST = 4  # times the fetches made; looking farther ahead is guessing
_SPEEDS = tuple(2.0 ** (power / 2) for power in range(-10, 4))  # s, in lengths of the crawl so far
_STEADY = (0.0, 0.02, 0.06, 0.2)  # w

Number = TypeVar("Number", int, float)


@dataclass(frozen=True, slots=True)
class Outlook:
    """What is thought to be still out there."""

    found: int
    ahead: int  # fetches that were looked ahead
    remaining: float  # relevant pages in them; as likely more as fewer
    low: float  # with 90 % confidence
    high: float
    doubt: str = ""  # empty, or why not to rely on it: a few words, a colon, the reason

    @property
    def recall(self) -> float:
        """The share of the relevant pages that has been found."""
        return self.found / (self.found + self.remaining) if self.found else 0.0

    @property
    def words(self) -> str:
        """The recall for people, in steps of 5 %: the interval rounded outward, or that nothing can be said yet.

        >>> Outlook(found=90, ahead=500, remaining=30.0, low=16.0, high=58.0).words
        'about 60–85 % found'
        """
        if self.doubt:
            return self.doubt.partition(":")[0]
        if not self.ahead:
            return "nothing is left to fetch"
        low, high = floor(20 * self.recall_low) * 5, ceil(20 * self.recall_high) * 5
        return f"about {low}–{high} % found" if low < high else f"about {low} % found"

    def values(self) -> dict[str, Carry]:
        """Everything, for programs."""
        shares = (self.recall, self.recall_low, self.recall_high)
        names = ("recall", "recall_low", "recall_high", "remaining", "remaining_low", "remaining_high")
        rounded = (round(value, 4) for value in (*shares, self.remaining, self.low, self.high))
        return {
            "words": self.words, "found": self.found, "ahead": self.ahead,
            **dict(zip(names, rounded, strict=True)), "doubt": self.doubt,
        }  # fmt: skip

    def nearly_all(self, share: float = 0.95) -> bool:
        """Has this share been found, as likely as not, of what going on would find? Never while there is doubt.

        >>> Outlook(found=95, ahead=500, remaining=3.0, low=0.0, high=40.0).nearly_all()
        True
        """
        return not self.doubt and self.recall >= share

    @property
    def recall_low(self) -> float:
        return self.found / (self.found + self.high) if self.found else 0.0

    @property
    def recall_high(self) -> float:
        return self.found / (self.found + self.low) if self.found else 1.0


class Remaining:
    """Counts discoveries and foretells those to come; a few numbers, however long the crawl.

    A crawl that found 60 pages in its first hundred fetches, 20 in the next hundred and 2 in the third:

    >>> left = Remaining()
    >>> for step in range(300):
    ...     left.add(step < 100 and step % 5 < 3 or 100 <= step < 200 and step % 5 == 0 or step in (220, 260))
    >>> outlook = left.outlook()
    >>> outlook.found, outlook.ahead, outlook.recall > 0.8
    (82, 300, True)
    """

    def __init__(self) -> None:
        self.fetches = 0
        self.found = 0
        self._width = 1
        self._counts: list[int] = []

    def add(self, relevant: bool) -> None:
        """One fetch more."""
        if self.fetches == self._width * len(self._counts):
            if len(self._counts) == _BINS:
                # Two stretches become one; amortised, a fetch costs a moment.
                self._counts = [sum(self._counts[place : place + 2]) for place in range(0, _BINS, 2)]
                self._width *= 2
            self._counts.append(0)
        self._counts[-1] += relevant
        self.fetches += 1
        self.found += relevant

    def state(self) -> dict[str, Carry]:
        """All that is known, as plain JSON values."""
        return {"fetches": self.fetches, "width": self._width, "counts": [*self._counts]}

    @classmethod
    def restored(cls, state: Carry) -> Remaining:
        """One that goes on from a state."""
        left = cls()
        if isinstance(state, dict) and isinstance(counts := state.get("counts"), list):
            left._counts = [int(count) for count in counts if isinstance(count, int)]
            left.fetches, left._width = (int(str(state[name])) for name in ("fetches", "width"))
            left.found = sum(left._counts)
        return left

    def outlook(self, ahead: int | None = None) -> Outlook:
        """What the next fetches would find; without a number, as many as have been made.

        On a recorded web, ahead may be what has not been fetched yet. On the live web nobody knows what that is: links
        that wait bring others.
        """
        ahead = self.fetches if ahead is None else ahead
        if ahead <= 0 or not self.fetches:
            return Outlook(self.found, 0, 0.0, 0.0, 0.0, self.doubt(0))
        fits = list(self._fits(ahead))
        burst = self._burst(max(fits))
        best = max(fits).likely
        weights = [exp((fit.likely - best) / burst) for fit in fits]
        random = Random(0)
        drawn = _drawn(random, random.choices(fits, weights, k=_DRAWINGS), burst)
        # The median: a few ways to fall foretell very much, and would pull a mean away from all others.
        cuts = quantiles(drawn, n=20, method="inclusive")
        return Outlook(self.found, ahead, cuts[9], cuts[0], cuts[18], self.doubt(ahead))

    def lately(self) -> float:
        """Discoveries a fetch over the last quarter of the crawl, about."""
        quarter = max(1, len(self._counts) // 4)
        return sum(self._counts[-quarter:]) / (quarter * self._width)

    def _peak(self) -> int:
        """The first stretch of the best eighth of the crawl: the rate falls from there on, if it does."""
        width = max(1, len(self._counts) // 8)
        sums = [sum(self._counts[place : place + width]) for place in range(len(self._counts) - width + 1)]
        return sums.index(max(sums))

    def _fits(self, ahead: int) -> Iterator[_Fit]:
        """Every way in which the rate may fall, with how likely it makes the counts and what it foretells."""
        peak = self._peak()
        counts = self._counts[peak:]
        edges = [
            min(self.fetches, place * self._width) - peak * self._width for place in range(peak, len(self._counts) + 1)
        ]
        edges.append(edges[-1] + ahead)
        seen = sum(counts)
        for areas in _areas(edges, self.fetches):
            known = sum(areas[:-1])
            likely = sum(count * log(area) for count, area in zip(counts, areas, strict=False) if count)
            likely += lgamma(seen + _PRIOR) - (seen + _PRIOR) * log(known + 1.0)
            rate = (seen + _PRIOR) / (known + 1.0)
            yield _Fit(likely, rate * areas[-1], seen, [rate * area for area in areas[:-1]])

    def _burst(self, best: _Fit) -> float:
        """How much more the counts vary than those of a Poisson process, 1 or more."""
        most = 1.0
        counts, means = self._counts[-len(best.means) :], best.means
        while len(counts) >= _FEWEST_STRETCHES:
            apart = sum((count - mean) ** 2 for count, mean in zip(counts, means, strict=True))
            freedom = len(counts) / (len(counts) - 2)
            most = max(most, _CLUSTERS * freedom * apart / max(sum(means), _PRIOR))
            counts, means = _paired(counts), _paired(means)
        return most

    def doubt(self, ahead: int) -> str:
        """Why an outlook over so many fetches would not be worth much; quickly told."""
        if not ahead and self.fetches:
            return ""
        if self.fetches < _FEWEST_FETCHES or self.found < _FEWEST_FOUND:
            return f"too early to tell: {self.found} relevant pages in {self.fetches} fetches are too few for a curve"
        quarter = max(1, len(self._counts) // 4)
        lately, best = sum(self._counts[-quarter:]), self._counts[self._peak() :][:quarter]
        if lately > 0.6 * sum(best):
            return "no end in sight: relevant pages come as fast as ever"
        if ahead > _FARTHEST * self.fetches:
            return f"a guess: {ahead} fetches ahead are far more than the {self.fetches} made"
        return ""


@dataclass(frozen=True, slots=True, order=True)
class _Fit:
    """One way in which the rate may fall, fitted to the counts."""

    likely: float  # the logarithm of the likelihood
    ahead: float  # what it foretells
    seen: int
    means: list[float]  # what it makes of each stretch


def _drawn(random: Random, fits: Sequence[_Fit], burst: float) -> Iterator[float]:
    """What might be found: the amount is uncertain, and so is what chance makes of it."""
    for fit in fits:
        shape = (fit.seen + _PRIOR) / burst
        amount = random.gammavariate(shape, fit.ahead / shape)
        yield random.gammavariate(amount / burst, burst) if amount > 1e-9 else 0.0


def _paired(values: Sequence[Number]) -> list[Number]:
    """The sums of neighbours, two by two."""
    return [one + two for one, two in zip(values[::2], values[1::2], strict=False)]


def _areas(edges: Sequence[int], length: int) -> Iterator[list[float]]:
    """The areas between edges under a rate of 1 at its peak, for every way in which it may fall."""
    widths = [end - start for start, end in pairwise(edges)]
    for speed in _SPEEDS:
        slow = speed * length
        for integral in (_exponential, _hyperbolic, _square):
            heights = [slow * integral(edge / slow) for edge in edges]
            falling = [after - before for before, after in pairwise(heights)]
            for steady in _STEADY:
                yield [
                    max(1e-300, (1 - steady) * area + steady * width)
                    for area, width in zip(falling, widths, strict=True)
                ]


def _exponential(x: float) -> float:
    """The integral of e^−x, as the next ones are of 1 / (1 + x) and 1 / (1 + x)²."""
    return -exp(-min(x, 700.0))


def _hyperbolic(x: float) -> float:
    return log(1.0 + x)


def _square(x: float) -> float:
    return -1.0 / (1.0 + x)
