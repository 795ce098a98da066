"""Estimate the recall of a crawl from its discovery curve, and decide when it has found enough.

The input is one boolean per fetch: was the page relevant? The estimator predicts how many relevant pages the next
fetches would find, and from that the recall so far, with an interval.

Discoveries are modelled as a Poisson process whose rate decreases after its peak, in one of several ways:

    rate(t) = a · ((1 − w) · fall(t / s) + w),   fall(x) = e^−x, 1 / (1 + x) or 1 / (1 + x)²

t: fetches since the peak; a: the rate at the peak; s: the decay scale; w: a constant share, for relevant pages that
are distributed at random. Every combination of s, w and fall is weighted by its likelihood given the counts (a is
integrated out under a Gamma(½) prior). The weighted curves predict the rest:

    R = ∫ rate(t) dt over the fetches ahead,   recall = H / (H + R)

Relevant pages occur in clusters, so the counts vary more than those of a Poisson process. The overdispersion is
measured by the distance of the counts from the best fit, φ = 3 · Σ (cᵢ − mᵢ)² / Σ mᵢ · n / (n − 2), for short and
for long bins; the larger value widens the distribution. The factor 3 is empirical: it accounts for clusters that no
bin has shown yet. The bounds of the interval are those of a wider distribution, with 3 φ. They contained the truth in
nine of ten cases in every group of crawls of recorded webs (see docs/explanation/evaluation.md); with φ, in three of
four cases in the worst group.

The curve cannot predict a cluster that no link has led to yet. A crawl that has found one part of its topic and has no
link to another looks exactly like a finished crawl. The estimate therefore covers what *this crawl* would still find
with its strategy, and what it would judge relevant itself, not what the web contains. It also covers only the given
number of fetches ahead: on the live web, the rate never drops to zero, so the total is undefined. Predictions over more
fetches than have been made are extrapolations, which `caveat` reports. An estimate whose recall interval is wider than
0.6 says little, so it has a caveat too.

`RecallMonitor` follows the estimate of a running crawl and decides when the crawl has found enough. Every fetch is a
discovery or not: does the relevance of the page reach the threshold? An estimate takes milliseconds, so it is computed
only when the crawl has grown by a tenth since the last one. The crawl stops when four estimates in a row reach the
target, while it grows by a third: between two clusters of relevant pages, a single estimate is often wrong. On recorded
webs, half of the crawls that would have stopped at the first estimate would have missed more than a tenth of what they
later found, and two of thirteen at the fourth.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from math import ceil, exp, floor, lgamma, log
from random import Random
from statistics import median, quantiles
from typing import TypeVar

from msgspec import Struct, convert

from topicrawl.models import JsonValue

_MAX_BINS = 32  # maximum number of bins of the discovery counts
_MIN_DISCOVERIES = 20  # minimum number of discoveries for an estimate
_MIN_FETCHES = 300
_MONTE_CARLO_SAMPLES = 600  # Monte Carlo samples
_PRIOR_SHAPE = 0.5  # shape of the Gamma prior
_MIN_BINS = 4  # minimum number of bins for measuring the overdispersion
_CLUSTER_FACTOR = 3.0  # empirical factor for clusters that have not been seen yet
_INTERVAL_FACTOR = 3.0  # empirical factor of the overdispersion for the bounds of the interval
_MAX_INTERVAL = 0.6  # maximum width of the recall interval of a useful estimate
_MAX_HORIZON = 4  # maximum horizon, as a multiple of the fetches made
_DECAY_SCALES = tuple(2.0 ** (power / 2) for power in range(-10, 4))  # s, as a multiple of the fetches made
_CONSTANT_SHARES = (0.0, 0.02, 0.06, 0.2)  # w
_GROWTH_PERCENT = 10  # per cent more fetches before the next estimate of a running crawl
_REQUIRED_AGREEMENTS = 4  # estimates in a row that must reach the target

Number = TypeVar("Number", int, float)


@dataclass(frozen=True, slots=True)
class RecallEstimate:
    """Estimate of the relevant pages that a crawl has not found yet."""

    found: int  # relevant pages found so far
    horizon: int  # fetches that the estimate covers
    remaining: float  # relevant pages expected in these fetches (median)
    low: float  # lower bound of `remaining`, 90 % interval
    high: float
    caveat: str = ""  # why the estimate is unreliable: a few words, a colon, the reason; "" if it is reliable

    @property
    def recall(self) -> float:
        """Estimated share of the relevant pages that has been found."""
        return self.found / (self.found + self.remaining) if self.found else 0.0

    @property
    def summary(self) -> str:
        """Recall interval as text, rounded outward to steps of 5 %, or the reason why there is no estimate.

        >>> RecallEstimate(found=90, horizon=500, remaining=30.0, low=16.0, high=58.0).summary
        'found about 60–85 % of what this crawl would find'
        """
        if self.caveat:
            return self.caveat.partition(":")[0]
        if not self.horizon:
            return "nothing is left to fetch"
        low, high = floor(20 * self.recall_low) * 5, ceil(20 * self.recall_high) * 5
        share = f"{low}–{high} %" if low < high else f"{low} %"
        return f"found about {share} of what this crawl would find"

    def to_json(self) -> dict[str, JsonValue]:
        """Return the estimate as JSON values. The shares and numbers of an unreliable estimate are null.

        >>> RecallEstimate(found=2, horizon=5, remaining=0.0, low=0.0, high=0.0, caveat="too early").to_json()["recall"]
        """
        names = ("recall", "recall_low", "recall_high", "remaining", "remaining_low", "remaining_high")
        values = (self.recall, self.recall_low, self.recall_high, self.remaining, self.low, self.high)
        return {
            "words": self.summary,
            "found": self.found,
            "ahead": self.horizon,
            **{name: None if self.caveat else round(value, 4) for name, value in zip(names, values, strict=True)},
            "doubt": self.caveat,
        }

    def reaches_recall(self, share: float = 0.95) -> bool:
        """Return whether the estimated recall is at least `share`. Always False for an unreliable estimate.

        >>> RecallEstimate(found=95, horizon=500, remaining=3.0, low=0.0, high=40.0).reaches_recall()
        True
        """
        return not self.caveat and self.recall >= share

    @property
    def recall_low(self) -> float:
        """Lower bound of the recall."""
        return self.found / (self.found + self.high) if self.found else 0.0

    @property
    def recall_high(self) -> float:
        """Upper bound of the recall."""
        return self.found / (self.found + self.low) if self.found else 1.0


class RecallEstimatorState(Struct, frozen=True):
    """Stored state of an estimator."""

    fetches: int
    width: int  # fetches per bin
    counts: list[int]  # relevant pages by bin


class RecallEstimator:
    """Count discoveries in at most 32 bins and estimate the remaining ones.

    Example: a crawl that found 60 pages in its first hundred fetches, 20 in the second hundred and 2 in the third.

    >>> left = RecallEstimator()
    >>> for step in range(300):
    ...     left.add(step < 100 and step % 5 < 3 or 100 <= step < 200 and step % 5 == 0 or step in (220, 260))
    >>> outlook = left.estimate_recall()
    >>> outlook.found, outlook.horizon, outlook.recall > 0.8
    (82, 300, True)
    """

    def __init__(self) -> None:
        self.fetches = 0
        self.found = 0
        self._width = 1
        self._counts: list[int] = []

    def add(self, relevant: bool) -> None:
        """Count one fetch; `relevant` says whether it found a relevant page."""
        if self.fetches == self._width * len(self._counts):
            if len(self._counts) == _MAX_BINS:
                # Merge pairs of bins; the amortised cost per fetch is constant.
                self._counts = [sum(self._counts[place : place + 2]) for place in range(0, _MAX_BINS, 2)]
                self._width *= 2
            self._counts.append(0)
        self._counts[-1] += relevant
        self.fetches += 1
        self.found += relevant

    def get_state(self) -> dict[str, JsonValue]:
        """Return the counts as JSON values."""
        return {"fetches": self.fetches, "width": self._width, "counts": [*self._counts]}

    @classmethod
    def from_state(cls, state: JsonValue) -> RecallEstimator:
        """Create an estimator from the value of `get_state`. None gives an empty one."""
        estimator = cls()
        if state is not None:
            saved = convert(state, RecallEstimatorState, strict=False)
            estimator.fetches, estimator._width, estimator._counts = saved.fetches, saved.width, saved.counts
            estimator.found = sum(estimator._counts)
        return estimator

    def estimate_recall(self, horizon: int | None = None) -> RecallEstimate:
        """Estimate how many relevant pages the next `horizon` fetches would find; default: as many as have been made.

        On a recorded web, the horizon can be the number of pages that have not been fetched yet. On the live web that
        number is unknown, because waiting links lead to more links.
        """
        horizon = self.fetches if horizon is None else horizon
        if horizon <= 0 or not self.fetches:
            return RecallEstimate(self.found, 0, 0.0, 0.0, 0.0, self.get_caveat(0))
        fits = list(self._fit_curves(horizon))
        dispersion = self._measure_overdispersion(max(fits))
        best = max(fits).log_likelihood
        weights = [exp((fit.log_likelihood - best) / dispersion) for fit in fits]
        random = Random(0)
        drawn = random.choices(fits, weights, k=_MONTE_CARLO_SAMPLES)
        # Use the median: a few curves predict extreme values, which would distort the mean.
        middle = median(_draw_samples(random, drawn, dispersion))
        cuts = quantiles(_draw_samples(random, drawn, _INTERVAL_FACTOR * dispersion), n=20, method="inclusive")
        low, high = min(middle, cuts[0]), max(middle, cuts[18])
        estimate = RecallEstimate(self.found, horizon, middle, low, high, self.get_caveat(horizon))
        if not estimate.caveat and estimate.recall_high - estimate.recall_low > _MAX_INTERVAL:
            bounds = f"between {estimate.recall_low:.0%} and {estimate.recall_high:.0%}"
            estimate = replace(estimate, caveat=f"too uncertain: {bounds} of what this crawl would find")
        return estimate

    def recent_rate(self) -> float:
        """Return the approximate number of discoveries per fetch in the last quarter of the crawl."""
        quarter = max(1, len(self._counts) // 4)
        return sum(self._counts[-quarter:]) / (quarter * self._width)

    def _find_peak(self) -> int:
        """Return the first bin of the best eighth of the crawl, from where the rate decreases."""
        width = max(1, len(self._counts) // 8)
        sums = [sum(self._counts[place : place + width]) for place in range(len(self._counts) - width + 1)]
        return sums.index(max(sums))

    def _fit_curves(self, horizon: int) -> Iterator[_CurveFit]:
        """Yield every curve with its likelihood and its prediction."""
        peak = self._find_peak()
        counts = self._counts[peak:]
        edges = [
            min(self.fetches, place * self._width) - peak * self._width for place in range(peak, len(self._counts) + 1)
        ]
        edges.append(edges[-1] + horizon)
        observed = sum(counts)
        for areas in _curve_areas(edges, self.fetches):
            area_so_far = sum(areas[:-1])
            log_likelihood = sum(count * log(area) for count, area in zip(counts, areas, strict=False) if count)
            log_likelihood += lgamma(observed + _PRIOR_SHAPE) - (observed + _PRIOR_SHAPE) * log(area_so_far + 1.0)
            rate = (observed + _PRIOR_SHAPE) / (area_so_far + 1.0)
            yield _CurveFit(log_likelihood, rate * areas[-1], observed, [rate * area for area in areas[:-1]])

    def _measure_overdispersion(self, best: _CurveFit) -> float:
        """Return the overdispersion φ of the counts relative to a Poisson process, at least 1."""
        dispersion = 1.0
        counts, means = self._counts[-len(best.means) :], best.means
        while len(counts) >= _MIN_BINS:
            deviation = sum((count - mean) ** 2 for count, mean in zip(counts, means, strict=True))
            freedom = len(counts) / (len(counts) - 2)
            dispersion = max(dispersion, _CLUSTER_FACTOR * freedom * deviation / max(sum(means), _PRIOR_SHAPE))
            counts, means = _sum_pairs(counts), _sum_pairs(means)
        return dispersion

    def get_caveat(self, horizon: int) -> str:
        """Return why an estimate over `horizon` fetches would be unreliable, or "". This is cheap to compute."""
        if not horizon and self.fetches:
            return ""
        if self.fetches < _MIN_FETCHES or self.found < _MIN_DISCOVERIES:
            return f"too early to tell: {self.found} relevant pages in {self.fetches} fetches are too few for a curve"
        quarter = max(1, len(self._counts) // 4)
        recent, best = sum(self._counts[-quarter:]), self._counts[self._find_peak() :][:quarter]
        if recent > 0.6 * sum(best):
            return "no end in sight: the rate of relevant pages has not decreased"
        if horizon > _MAX_HORIZON * self.fetches:
            return f"a guess: {horizon} fetches ahead are many more than the {self.fetches} made"
        return ""


@dataclass
class RecallMonitor:
    """Estimated recall of a running crawl, and whether it has reached the target.

    >>> found = RecallMonitor(threshold=0.2, target_recall=0.95)
    >>> found.replay_visits(step < 60 and step % 2 == 0 or step < 160 and step % 5 == 0 for step in range(500))
    >>> found.get_estimate().summary, found.is_target_reached()
    ('found about 75–100 % of what this crawl would find', True)
    """

    threshold: float  # minimum relevance of a discovery
    target_recall: float = 0.0  # target recall at which the crawl stops; 0: never
    estimator: RecallEstimator = field(default_factory=RecallEstimator)
    _agreements: int = 0  # estimates in a row that reached the target
    _next_check: int = 0  # number of fetches at which the target is checked again
    _last_estimate: RecallEstimate | None = None  # last estimate
    _stale_after: int = 0  # number of fetches at which the last estimate becomes outdated

    def add_visit(self, relevance: float | None) -> None:
        """Add one fetch with the relevance of its page; None if it produced no page."""
        self.estimator.add(relevance is not None and relevance >= self.threshold)

    def replay_visits(self, discoveries: Iterable[bool]) -> None:
        """Add the fetches of earlier runs in their order, and check the target at the same points as they did."""
        for relevant in discoveries:
            self.estimator.add(relevant)
            self.is_target_reached()

    def get_estimate(self, waiting: int | None = None) -> RecallEstimate:
        """Return the current estimate, from a cache if it is recent. If no links wait, nothing remains to be found."""
        left = self.estimator
        if waiting == 0:
            return left.estimate_recall(0)
        if self._last_estimate is not None and left.fetches < self._stale_after:
            return self._last_estimate
        # Skip the computation if the result would be unreliable.
        if doubt := left.get_caveat(left.fetches):
            return RecallEstimate(left.found, left.fetches, 0.0, 0.0, 0.0, doubt)
        return self._update_estimate()

    def is_target_reached(self) -> bool:
        """Return whether the estimated recall has reached the target. Once True, it stays True.

        The estimate is checked at growing intervals, and several checks in a row must agree. Always False without a
        target.
        """
        left = self.estimator
        if self.target_recall and self._agreements < _REQUIRED_AGREEMENTS and left.fetches >= self._next_check:
            self._next_check = _next_check_at(left.fetches)
            # Skip the estimate if even a fifth of the recent rate would find too many pages.
            too_many = left.recent_rate() * left.fetches / 5 > left.found * (1 / self.target_recall - 1)
            enough = (
                not too_many
                and not left.get_caveat(left.fetches)
                and self._update_estimate().reaches_recall(self.target_recall)
            )
            self._agreements = self._agreements + 1 if enough else 0
        return self._agreements == _REQUIRED_AGREEMENTS

    def _update_estimate(self) -> RecallEstimate:
        self._last_estimate, self._stale_after = (
            self.estimator.estimate_recall(),
            _next_check_at(self.estimator.fetches),
        )
        return self._last_estimate


def _next_check_at(fetches: int) -> int:
    return fetches + max(1, fetches * _GROWTH_PERCENT // 100)


@dataclass(frozen=True, slots=True, order=True)
class _CurveFit:
    """One curve, fitted to the counts. Instances are ordered by likelihood."""

    log_likelihood: float  # log-likelihood
    expected: float  # predicted discoveries in the fetches ahead
    observed: int  # discoveries since the peak
    means: list[float]  # expected count of each bin


def _draw_samples(random: Random, fits: Sequence[_CurveFit], dispersion: float) -> Iterator[float]:
    """Sample the number of future discoveries: a Gamma-distributed mean, and the variation around it."""
    for fit in fits:
        shape = (fit.observed + _PRIOR_SHAPE) / dispersion
        amount = random.gammavariate(shape, fit.expected / shape)
        yield random.gammavariate(amount / dispersion, dispersion) if amount > 1e-9 else 0.0


def _sum_pairs(values: Sequence[Number]) -> list[Number]:
    """Return the sums of adjacent pairs."""
    return [one + two for one, two in zip(values[::2], values[1::2], strict=False)]


def _curve_areas(edges: Sequence[int], fetches: int) -> Iterator[list[float]]:
    """Yield the areas between the edges under every curve with a peak rate of 1."""
    widths = [end - start for start, end in pairwise(edges)]
    for speed in _DECAY_SCALES:
        scale = speed * fetches
        for integral in (_integrate_exponential, _integrate_hyperbolic, _integrate_square):
            heights = [scale * integral(edge / scale) for edge in edges]
            falling = [after - before for before, after in pairwise(heights)]
            for constant in _CONSTANT_SHARES:
                yield [
                    max(1e-300, (1 - constant) * area + constant * width)
                    for area, width in zip(falling, widths, strict=True)
                ]


def _integrate_exponential(x: float) -> float:
    """Integral of e^−x."""
    return -exp(-min(x, 700.0))


def _integrate_hyperbolic(x: float) -> float:
    """Integral of 1 / (1 + x)."""
    return log(1.0 + x)


def _integrate_square(x: float) -> float:
    """Integral of 1 / (1 + x)²."""
    return -1.0 / (1.0 + x)
