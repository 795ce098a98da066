"""How often to look at a page again: formulas, without a clock, a page or a network.

A page changes Δ times a day (a Poisson process) and matters μ; there is a budget of R looks a day. Each policy says
how the budget is spent, ρ looks a day at each page, Σρ = R:

    binary        ρ = max(0, √(μΔ/λ) − Δ)          most pages up to date (Azar et al. 2018, Theorem 1); what changes
                                                   faster than it can be followed is given up
    harmonic      ρ = (−Δ + √(Δ² + 4μΔ/λ)) / 2     fewest missed changes, the later ones counted less (Kolobov et al.
                                                   2019); gives no page up
    balanced      the mean of these two            gives no page up and keeps nearly as many up to date as binary
    uniform       ρ = R / n
    proportional  ρ = R Δ / ΣΔ

λ is the price of a look, found by bisection. The share of time that pages are up to date, weighted by importance, is
Σ μ ρ/(ρ + Δ) when looks come at random; regular looks do better than that.

>>> import numpy
>>> importance, change = numpy.array([0.5, 0.3, 0.2]), numpy.array([1.0, 4.0, 0.25])
>>> rates = binary(importance, change, 3.0)
>>> [round(float(rate), 6) for rate in rates], round(freshness(importance, change, rates), 6)
([1.879158, 0.460372, 0.66047], 0.502386)
>>> [round(float(rate), 6) for rate in harmonic(importance, change, 3.0)]
[1.269743, 1.304055, 0.426202]
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]
Policy: TypeAlias = Callable[[Array, Array, float], Array]

_HALVINGS = 50
_SLOWEST, _FASTEST = 1e-9, 1e6  # changes a day
_LARGEST_POWER = 700.0  # e to more than that is no number


def binary(importance: Array, change: Array, budget: float) -> Array:
    """Looks a day that keep the most pages up to date."""

    def rates(price: float) -> Array:
        return np.maximum(0.0, np.sqrt(importance * change / price) - change)

    return _within(rates, importance * change, budget)


def harmonic(importance: Array, change: Array, budget: float) -> Array:
    """Looks a day that miss the fewest changes."""

    def rates(price: float) -> Array:
        # The same as in the formula, without the difference of two large numbers.
        reach = 4.0 * importance * change / price
        root: Array = np.sqrt(change * change + reach)
        return np.divide(reach, 2.0 * (change + root), out=np.zeros_like(root), where=change + root > 0)

    return _within(rates, importance * change, budget)


def balanced(importance: Array, change: Array, budget: float) -> Array:
    """Half of the budget by each of the two."""
    return (binary(importance, change, budget) + harmonic(importance, change, budget)) / 2


def uniform(importance: Array, change: Array, budget: float) -> Array:
    """The same for every page."""
    return np.full(len(change), budget / max(1, len(change)))


def proportional(importance: Array, change: Array, budget: float) -> Array:
    """The more a page changes, the more often; plausible, and often worse than the same for all."""
    total = float(change.sum())
    return budget * change / total if total > 0 else uniform(importance, change, budget)


POLICIES: dict[str, Policy] = {
    "balanced": balanced,
    "binary": binary,
    "harmonic": harmonic,
    "uniform": uniform,
    "proportional": proportional,
}


def freshness(importance: Array, change: Array, rates: Array) -> float:
    """The share of time that pages are up to date when looks come at random, weighted by importance."""
    moves = rates + change
    shares = np.divide(rates, moves, out=np.ones_like(moves), where=moves > 0)
    total = float(importance.sum())
    return float((importance * shares).sum()) / total if total > 0 else 0.0


@dataclass(frozen=True, slots=True)
class Looks:
    """What earlier looks found: for each, whose page, days since the look before, and whether it had changed."""

    page: NDArray[np.int64]
    days: Array
    changed: NDArray[np.bool_]


def change_rates(looks: Looks, count: int, *, rate: float, weight: float = 1.0) -> Array:
    """Changes a day of each of `count` pages; a page without looks has the expected `rate`.

    Two looks show whether a page has changed, not how often, so the likelihood of a rate r is Π (1 − e^(−rt)) over
    the intervals t with a change, and Π e^(−rt) over those without (Cho and Garcia-Molina 2003). Its maximum may be
    0 or without end; `weight` looks' worth of the expected rate keep it between. Solved is, for each page,

        Σ changed t/(e^(rt) − 1)  −  Σ unchanged t  +  weight/r − weight/rate  =  0

    >>> import numpy
    >>> looks = Looks(numpy.array([0, 0, 1]), numpy.array([1.0, 1.0, 10.0]), numpy.array([True, False, False]))
    >>> [round(float(rate), 4) for rate in change_rates(looks, 3, rate=0.5, weight=0.001)]
    [0.6929, 0.0001, 0.5]
    """
    stayed = np.bincount(looks.page[~looks.changed], looks.days[~looks.changed], count)
    page, days = looks.page[looks.changed], looks.days[looks.changed]
    low, high = np.full(count, np.log(_SLOWEST)), np.full(count, np.log(_FASTEST))
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        guess = np.exp(middle)
        power = np.minimum(guess[page] * days, _LARGEST_POWER)
        gain = np.bincount(page, days / np.expm1(np.maximum(power, 1e-12)), count)
        is_low = gain - stayed + weight / guess - weight / rate > 0
        low, high = np.where(is_low, middle, low), np.where(is_low, high, middle)
    found: Array = np.exp((low + high) / 2)
    return found


def usual_rate(looks: Looks, *, rate: float) -> float:
    """The rate of an average page: all looks taken as looks at one page."""
    together = Looks(np.zeros(len(looks.page), np.int64), looks.days, looks.changed)
    return float(change_rates(together, 1, rate=rate)[0])


def _within(rates: Callable[[float], Array], worth: Array, budget: float) -> Array:
    """The rates whose price makes them fit the budget; a lower price allows more looks."""
    if budget <= 0 or not (worth > 0).any():
        return np.zeros(len(worth))
    low = high = 1.0
    while rates(low).sum() < budget:
        low /= 16
    while rates(high).sum() > budget:
        high *= 16
    for _ in range(_HALVINGS):
        # Prices differ by orders of magnitude: the middle is the geometric one.
        middle = float(np.sqrt(low) * np.sqrt(high))
        low, high = (low, middle) if rates(middle).sum() < budget else (middle, high)
    return rates(float(np.sqrt(low) * np.sqrt(high)))
