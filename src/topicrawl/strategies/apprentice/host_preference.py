"""Preference for hosts whose pages are more relevant than those of other hosts, and trials of other hosts."""

from __future__ import annotations

from bisect import bisect_left, insort
from math import log, sqrt

from msgspec import Struct, convert

from topicrawl.models import JsonValue
from topicrawl.urls import get_host

_PRIOR_PAGES = 4.0  # pages of the median host that are added to each host
_MIN_PREFERENCE, _MAX_PREFERENCE = -1.0, 3.0
_MIN_MEAN = 0.01  # a smaller median is not better than another
_MIN_RELEVANCE, _MAX_RELEVANCE = 0.005, 0.98  # the log-odds of 0 and 1 are infinite
_KNOWN_PAGES = 3  # pages from which the relevance of a host is known
_GOOD_RELEVANCE = 0.7  # estimated relevance of a known host from which no other host is tried
_FIRST_TRIALS, _TRIALS_SCALE = 5, 2.0
_MAX_HOSTS = 5_000  # the oldest hosts are dropped


class HostPreferenceState(Struct, frozen=True):
    """Stored sums: host → sum of the relevance and number of the fetched pages.

    The states of earlier versions have another number between these two.
    """

    hosts: dict[str, tuple[float, ...]] = {}


class HostPreference:
    """How much more relevant the fetched pages of a host are than those of the median host.

        preference(h) = logit(r(h)) − logit(m),   within [−1, 3]
        r(h) = (Σ relevance + 4·m) / (n + 4)

    n: number of fetched pages of the host; m: the median of the mean relevance of the hosts. A host without fetched
    pages has the preference 0. Because relevance is compared as log-odds, the preference also tells hosts apart of
    which none has a page above the threshold of the topic: pages about clusters of virtual machines have a relevance of
    .2 for "virtual machines", but those of other manuals have .05.

    >>> preference = HostPreference()
    >>> for host, relevance in {"cluster": 0.2, "music": 0.05, "tea": 0.04}.items():
    ...     for number in range(4):
    ...         preference.add_page(f"http://{host}.example/{number}", relevance)
    >>> [round(preference.compute(f"{host}.example"), 1) for host in ("cluster", "music", "tea", "new")]
    [1.0, 0.0, -0.1, 0.0]
    """

    def __init__(self) -> None:
        self._sums: dict[str, tuple[float, int]] = {}  # host → sum of the relevance and number of pages
        self._means: list[float] = []  # sorted mean relevance of all hosts
        self._update_median()

    def _update_median(self) -> None:
        """Compute the median once for each page and not for each host: 2 % of the cost of a page."""
        self._median = max(self._means[len(self._means) // 2], _MIN_MEAN) if self._means else _MIN_MEAN
        self._median_log_odds = _compute_log_odds(self._median)

    def add_page(self, url: str, relevance: float) -> None:
        """Count a fetched page."""
        host = get_host(url)
        if host in self._sums:
            self._remove_mean(host)
        elif len(self._sums) >= _MAX_HOSTS:
            oldest = next(iter(self._sums))
            self._remove_mean(oldest)
            del self._sums[oldest]
        total, count = self._sums.get(host, (0.0, 0))
        self._sums[host] = total + relevance, count + 1
        insort(self._means, (total + relevance) / (count + 1))
        self._update_median()

    def _remove_mean(self, host: str) -> None:
        total, count = self._sums[host]
        del self._means[bisect_left(self._means, total / count)]

    def compute(self, host: str) -> float:
        """Return the preference of a host."""
        if host not in self._sums:
            return 0.0
        preference = _compute_log_odds(self._estimate_relevance(host)) - self._median_log_odds
        return min(_MAX_PREFERENCE, max(_MIN_PREFERENCE, preference))

    def _estimate_relevance(self, host: str) -> float:
        """Return the mean relevance of the pages of a host, with a prior of some pages of the median host."""
        total, count = self._sums[host]
        return (total + _PRIOR_PAGES * self._median) / (count + _PRIOR_PAGES)

    def count_trials(self, visits: float) -> int:
        """Return how many hosts without fetched pages may be tried now.

        After n visits, 5 + 2·√n hosts may have fetched pages. No host is tried while a known host has an estimated
        relevance of .7 or more.
        """
        if self._has_good_host():
            return 0
        return max(0, int(_FIRST_TRIALS + _TRIALS_SCALE * sqrt(visits)) - len(self._sums))

    def _has_good_host(self) -> bool:
        return any(
            count >= _KNOWN_PAGES and self._estimate_relevance(host) >= _GOOD_RELEVANCE
            for host, (_, count) in self._sums.items()
        )

    def is_known(self, host: str) -> bool:
        """Return whether a page of a host has been fetched."""
        return host in self._sums

    def get_state(self) -> JsonValue:
        """Return the sums as plain values."""
        return {"hosts": {host: list(sums) for host, sums in self._sums.items()}}

    def restore_state(self, state: JsonValue) -> None:
        """Restore the values of `get_state`."""
        hosts = {} if state is None else convert(state, HostPreferenceState, strict=False).hosts
        self._sums = {host: (sums[0], int(sums[-1])) for host, sums in hosts.items()}
        self._means = sorted(total / count for total, count in self._sums.values())
        self._update_median()


def _compute_log_odds(relevance: float) -> float:
    bounded = min(_MAX_RELEVANCE, max(_MIN_RELEVANCE, relevance))
    return log(bounded / (1 - bounded))
