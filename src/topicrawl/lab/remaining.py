"""How much is still out there? An estimate from the curve of discoveries alone.

Fed with one yes or no a fetch (was the page relevant?), it says how many relevant pages the fetches to come would find,
and so what share of all of them has been found: the recall so far, with an interval.

Discoveries are taken for a Poisson process whose rate falls from its peak on, in one of many ways:

    rate(t) = a · ((1 − w) · fall(t / s) + w),   fall(x) = e^−x, 1 / (1 + x) or 1 / (1 + x)²

t: fetches since the peak; a: the rate at the peak; s: how fast it falls; w: a part that does not fall, for relevant
pages that lie about at random. Every combination of s, w and fall is weighed by how well it explains the counts
(the likelihood, with a integrated out under a Gamma(½) prior). Together they foretell the rest:

    R = ∫ rate(t) dt over the fetches ahead,   recall = H / (H + R)

Relevant pages come in clusters, so counts vary more than a Poisson process lets them. How much more is measured from
neighbouring counts, φ = Σ (cᵢ − cᵢ₊₁)² / Σ (cᵢ + cᵢ₊₁), and everything is made less certain by that factor.

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
from math import exp, lgamma, log
from random import Random

from topicrawl.lab.bootstrap import quantile
from topicrawl.records import Carry

_BINS = 32  # counts are kept for so many stretches of the crawl at most
_FEWEST_FOUND = 20  # discoveries; fewer say nothing about a curve
_FEWEST_FETCHES = 300
_DRAWINGS = 600
_PRIOR = 0.5
_FARTHEST = 4  # times the fetches made; looking farther ahead is guessing
_SPEEDS = tuple(2.0 ** (power / 2) for power in range(-10, 4))  # s, in lengths of the crawl so far
_STEADY = (0.0, 0.02, 0.06, 0.2)  # w


@dataclass(frozen=True, slots=True)
class Outlook:
    """What is thought to be still out there."""

    found: int
    ahead: int  # fetches that were looked ahead
    remaining: float  # relevant pages in them; as likely more as fewer
    low: float  # with 90 % confidence
    high: float
    doubt: str = ""  # empty, or why not to rely on it

    @property
    def recall(self) -> float:
        """The share of the relevant pages that has been found."""
        return self.found / (self.found + self.remaining) if self.found else 0.0

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
    >>> outlook.found, outlook.ahead, outlook.recall > 0.9
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

        On a recorded web, ahead is what has not been fetched yet; on the live web, the links that wait, if they are
        fewer than the fetches made.
        """
        ahead = self.fetches if ahead is None else ahead
        if ahead <= 0 or not self.fetches:
            return Outlook(self.found, 0, 0.0, 0.0, 0.0, "" if self.fetches else "nothing has been fetched yet")
        falls = list(self._weighed(ahead))
        random = Random(0)
        burst = self._burst()
        drawn = sorted(_drawn(random, random.choices(falls, [fall.weight for fall in falls], k=_DRAWINGS), burst))
        # The median: a few ways to fall foretell very much, and would pull a mean away from all others.
        low, middle, high = (quantile(drawn, share) for share in (0.05, 0.5, 0.95))
        return Outlook(self.found, ahead, middle, low, high, self._doubt(ahead))

    def _peak(self) -> int:
        """The first stretch of the best eighth of the crawl: the rate falls from there on, if it does."""
        width = max(1, len(self._counts) // 8)
        sums = [sum(self._counts[place : place + width]) for place in range(len(self._counts) - width + 1)]
        return sums.index(max(sums))

    def _weighed(self, ahead: int) -> Iterator[_Fall]:
        """Every way in which the rate may fall, with its weight and what it foretells."""
        peak = self._peak()
        counts = self._counts[peak:]
        edges = [
            min(self.fetches, place * self._width) - peak * self._width for place in range(peak, len(self._counts) + 1)
        ]
        edges.append(edges[-1] + ahead)
        seen, burst = sum(counts), self._burst()
        found = []
        for areas in _areas(edges, self.fetches):
            known = sum(areas[:-1])
            likely = sum(count * log(area) for count, area in zip(counts, areas, strict=False) if count)
            likely += lgamma(seen + _PRIOR) - (seen + _PRIOR) * log(known + 1.0)
            found.append((likely / burst, (seen + _PRIOR) / (known + 1.0) * areas[-1]))
        best = max(likely for likely, _ in found)
        for likely, mean in found:
            yield _Fall(exp(likely - best), mean, seen)

    def _burst(self) -> float:
        """How much more neighbouring counts differ than those of a Poisson process, 1 or more."""
        most = 1.0
        counts = self._counts
        while len(counts) >= 8:
            pairs = list(pairwise(counts))
            total = sum(a + b for a, b in pairs)
            most = max(most, sum((a - b) ** 2 for a, b in pairs) / total) if total else most
            counts = [sum(counts[place : place + 2]) for place in range(0, len(counts) - 1, 2)]
        return most

    def _doubt(self, ahead: int) -> str:
        if self.fetches < _FEWEST_FETCHES or self.found < _FEWEST_FOUND:
            return f"only {self.found} relevant pages in {self.fetches} fetches: too few for a curve"
        quarter = max(1, len(self._counts) // 4)
        lately, best = sum(self._counts[-quarter:]), self._counts[self._peak() :][:quarter]
        if lately > 0.6 * sum(best):
            return "relevant pages come as fast as ever: no end is in sight"
        if ahead > _FARTHEST * self.fetches:
            return f"{ahead} fetches ahead are far more than the {self.fetches} made: a guess"
        return ""


@dataclass(frozen=True, slots=True)
class _Fall:
    """One way in which the rate may fall: how well it explains the counts, and what it foretells."""

    weight: float
    mean: float
    seen: int


def _drawn(random: Random, falls: Sequence[_Fall], burst: float) -> Iterator[float]:
    """What might be found: the amount is uncertain, and so is what chance makes of it."""
    for fall in falls:
        shape = (fall.seen + _PRIOR) / burst
        amount = random.gammavariate(shape, fall.mean / shape)
        yield random.gammavariate(amount / burst, burst) if amount > 1e-9 else 0.0


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
