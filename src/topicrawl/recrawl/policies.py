"""Recrawl policies: formulas for the revisit rate of each page.

A page has a change rate of Δ changes per day (a Poisson process) and an importance μ. The budget is R visits per day.
A policy distributes the budget as ρ visits per day of each page, with Σρ = R:

    binary        ρ = max(0, √(μΔ/λ) − Δ)          maximises the number of fresh pages (Azar et al. 2018, Theorem 1);
                                                   abandons pages that change too fast
    harmonic      ρ = (−Δ + √(Δ² + 4μΔ/λ)) / 2     minimises missed changes; each further one counts less (Kolobov et
                                                   al. 2019); abandons no page
    balanced      the mean of these two            abandons no page and keeps nearly as many pages fresh as binary
    uniform       ρ = R / n
    proportional  ρ = R Δ / ΣΔ

λ is the price of a visit, found by bisection. If visits occur at random, the freshness (the share of time in which
pages are up to date, weighted by importance) is Σ μ ρ/(ρ + Δ). Regular visits achieve more.

>>> import numpy
>>> importance, change = numpy.array([0.5, 0.3, 0.2]), numpy.array([1.0, 4.0, 0.25])
>>> rates = binary_policy(importance, change, 3.0)
>>> [round(float(rate), 6) for rate in rates], round(freshness(importance, change, rates), 6)
([1.879158, 0.460372, 0.66047], 0.502386)
>>> [round(float(rate), 6) for rate in harmonic_policy(importance, change, 3.0)]
[1.269743, 1.304055, 0.426202]
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from topicrawl.collection.history import FloatArray, RevisitLog

#: Function of importance, change rates and budget that returns the visits per day of each page.
RecrawlPolicy: TypeAlias = Callable[[FloatArray, FloatArray, float], FloatArray]

_BISECTION_STEPS = 50
_MIN_CHANGE_RATE, _MAX_CHANGE_RATE = 1e-9, 1e6  # changes per day
_MAX_EXPONENT = 700.0  # larger exponents overflow


def binary_policy(importance: FloatArray, change: FloatArray, budget: float) -> FloatArray:
    """Return the visit rates that maximise the number of fresh pages."""

    def rates_at(price: float) -> FloatArray:
        return np.maximum(0.0, np.sqrt(importance * change / price) - change)

    return _fit_budget(rates_at, importance * change, budget)


def harmonic_policy(importance: FloatArray, change: FloatArray, budget: float) -> FloatArray:
    """Return the visit rates that miss the fewest changes."""

    def rates_at(price: float) -> FloatArray:
        # Equivalent to the formula, without the numerically unstable difference of two large numbers.
        term = 4.0 * importance * change / price
        root: FloatArray = np.sqrt(change * change + term)
        return np.divide(term, 2.0 * (change + root), out=np.zeros_like(root), where=change + root > 0)

    return _fit_budget(rates_at, importance * change, budget)


def balanced_policy(importance: FloatArray, change: FloatArray, budget: float) -> FloatArray:
    """Return the mean of the binary and the harmonic rates."""
    return (binary_policy(importance, change, budget) + harmonic_policy(importance, change, budget)) / 2


def uniform_policy(importance: FloatArray, change: FloatArray, budget: float) -> FloatArray:
    """Return the same rate for every page."""
    return np.full(len(change), budget / max(1, len(change)))


def proportional_policy(importance: FloatArray, change: FloatArray, budget: float) -> FloatArray:
    """Return rates proportional to the change rates. They are often worse than uniform rates."""
    total = float(change.sum())
    return budget * change / total if total > 0 else uniform_policy(importance, change, budget)


POLICIES: dict[str, RecrawlPolicy] = {
    "balanced": balanced_policy,
    "binary": binary_policy,
    "harmonic": harmonic_policy,
    "uniform": uniform_policy,
    "proportional": proportional_policy,
}


def freshness(importance: FloatArray, change: FloatArray, rates: FloatArray) -> float:
    """Return the share of time in which pages are up to date, weighted by importance, if visits occur at random."""
    events = rates + change
    shares = np.divide(rates, events, out=np.ones_like(events), where=events > 0)
    total = float(importance.sum())
    return float((importance * shares).sum()) / total if total > 0 else 0.0


def estimate_change_rates(revisits: RevisitLog, count: int, *, rate: float, weight: float = 1.0) -> FloatArray:
    """Estimate the changes per day of each of `count` pages. A page without revisits has the expected `rate`.

    Two visits show whether a page has changed, not how often. So the likelihood of a rate r is Π (1 − e^(−rt)) over
    the intervals t with a change, times Π e^(−rt) over those without (Cho and Garcia-Molina 2003). Its maximum may be
    0 or infinite. A prior worth `weight` visits at the expected rate keeps it finite. The equation for each page is

        Σ changed t/(e^(rt) − 1)  −  Σ unchanged t  +  weight/r − weight/rate  =  0

    >>> import numpy
    >>> looks = RevisitLog(numpy.array([0, 0, 1]), numpy.array([1.0, 1.0, 10.0]), numpy.array([True, False, False]))
    >>> [round(float(rate), 4) for rate in estimate_change_rates(looks, 3, rate=0.5, weight=0.001)]
    [0.6929, 0.0001, 0.5]
    """
    unchanged_days = np.bincount(revisits.page[~revisits.changed], revisits.days[~revisits.changed], count)
    page, days = revisits.page[revisits.changed], revisits.days[revisits.changed]
    low, high = np.full(count, np.log(_MIN_CHANGE_RATE)), np.full(count, np.log(_MAX_CHANGE_RATE))
    for _ in range(_BISECTION_STEPS):
        middle = (low + high) / 2
        guess = np.exp(middle)
        power = np.minimum(guess[page] * days, _MAX_EXPONENT)
        gain = np.bincount(page, days / np.expm1(np.maximum(power, 1e-12)), count)
        is_low = gain - unchanged_days + weight / guess - weight / rate > 0
        low, high = np.where(is_low, middle, low), np.where(is_low, high, middle)
    estimate: FloatArray = np.exp((low + high) / 2)
    return estimate


def estimate_average_rate(revisits: RevisitLog, *, rate: float) -> float:
    """Estimate the change rate of an average page, as if all revisits were visits of one page."""
    pooled = RevisitLog(np.zeros(len(revisits.page), np.int64), revisits.days, revisits.changed)
    return float(estimate_change_rates(pooled, 1, rate=rate)[0])


def _fit_budget(rates: Callable[[float], FloatArray], worth: FloatArray, budget: float) -> FloatArray:
    """Return the rates at the price for which their sum equals the budget. A lower price allows more visits."""
    if budget <= 0 or not (worth > 0).any():
        return np.zeros(len(worth))
    low = high = 1.0
    while rates(low).sum() < budget:
        low /= 16
    while rates(high).sum() > budget:
        high *= 16
    for _ in range(_BISECTION_STEPS):
        # Prices differ by orders of magnitude, so use the geometric mean.
        middle = float(np.sqrt(low) * np.sqrt(high))
        low, high = (low, middle) if rates(middle).sum() < budget else (middle, high)
    return rates(float(np.sqrt(low) * np.sqrt(high)))
