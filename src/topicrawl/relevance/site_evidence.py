"""Evidence on the other pages of a site: pages of a manual about the topic often do not name it themselves."""

from __future__ import annotations

from bisect import bisect_left, insort
from math import exp

from msgspec import Struct, convert

from topicrawl.models import JsonValue

_PRIOR_PAGES = 4.0  # pages that are not on the topic and are added to each site
_WEIGHT = 5.0  # of the mean probability of a site
_MIN_PROBABILITY = 0.2  # a smaller mean is chance
_MEANING_WEIGHT = 35.0  # of the mean similarity in meaning above the median host
_MIN_MEANING = 0.055  # a smaller difference is chance
_MAX_BONUS = 3.0  # less than the odds of a page without evidence: the site alone does not make a page relevant
_CONTEXT_SCALE, _CONTEXT_PRIOR_PAGES = 2.0, 3.0
_MAX_SITES = 5_000  # the oldest sites are dropped


class SiteEvidenceState(Struct, frozen=True):
    """Stored evidence: host → sum of the probabilities, sum of the similarities in meaning, and number of pages."""

    hosts: dict[str, tuple[float, float, int]] = {}


class SiteContextState(Struct, frozen=True):
    """Stored context: host → sum of the context and number of pages."""

    sums: dict[str, tuple[float, int]]


class SiteEvidence:
    """Mean probability that the fetched pages of a host are on the topic, and their mean similarity in meaning.

        bonus = 5 · max(0, Σ p / (n + 4) − .2) + 35 · max(0, m · n / (n + 4) − .055),   at most 3

    p: the probability by the evidence on a page itself, never by an earlier bonus, so that a site does not confirm
    itself; n: the number of fetched pages of the host; m: the mean similarity in meaning of the host minus that of the
    median host. Most pages of a geometry library do not name geographic information systems, but their mean similarity
    is larger than that of manuals on other subjects. The mean log-odds of a host is not used: it also counts small
    differences between sites that are all off the topic. A crawl of a single host has no bonus.

    >>> evidence = SiteEvidence()
    >>> hosts = {"gis": (2.0, 0.2), "geometry": (-2.5, 0.2), "music": (-2.5, 0.05), "tea": (-3.0, 0.0)}
    >>> for host, (log_odds, meaning) in hosts.items():
    ...     for number in range(20):
    ...         evidence.add_page(f"http://{host}.example/{number}", log_odds, meaning)
    >>> [round(evidence.compute_bonus(f"http://{host}.example/next"), 1) for host in hosts]
    [2.9, 0.3, 0.0, 0.0]
    """

    def __init__(self) -> None:
        # Host → sum of the probabilities, sum of the similarities, number of pages
        self._sums: dict[str, tuple[float, float, int]] = {}
        self._mean_meanings: list[float] = []  # sorted mean similarities of all hosts

    def add_page(self, url: str, log_odds: float, meaning: float = 0.0) -> None:
        """Count a fetched page with the log-odds of its own evidence, and its similarity in meaning."""
        host = _get_site(url)
        if host not in self._sums and len(self._sums) >= _MAX_SITES:
            self._remove_mean(self._sums.pop(next(iter(self._sums))))
        probabilities, meanings, count = self._sums.get(host, (0.0, 0.0, 0))
        if count:
            self._remove_mean(self._sums[host])
        probability = 1 / (1 + exp(-log_odds))
        self._sums[host] = probabilities + probability, meanings + meaning, count + 1
        insort(self._mean_meanings, (meanings + meaning) / (count + 1))

    def _remove_mean(self, sums: tuple[float, float, int]) -> None:
        del self._mean_meanings[bisect_left(self._mean_meanings, sums[1] / sums[2])]

    def compute_bonus(self, url: str) -> float:
        """Return the amount that is added to the log-odds of a page of the same host."""
        probabilities, meanings, count = self._sums.get(_get_site(url), (0.0, 0.0, 0))
        if not count or len(self._sums) == 1:
            return 0.0
        middle = len(self._mean_meanings) // 2
        median = (self._mean_meanings[middle] + self._mean_meanings[-middle - 1]) / 2
        difference = (meanings - count * median) / (count + _PRIOR_PAGES)
        bonus = _WEIGHT * max(0.0, probabilities / (count + _PRIOR_PAGES) - _MIN_PROBABILITY)
        return min(_MAX_BONUS, bonus + _MEANING_WEIGHT * max(0.0, difference - _MIN_MEANING))

    def get_state(self) -> JsonValue:
        """Return the sums as plain values."""
        return {"hosts": {host: list(sums) for host, sums in self._sums.items()}}

    def restore_state(self, state: JsonValue) -> None:
        """Restore the values of `get_state`. The sums of earlier versions are log-odds and are not used."""
        self._sums = {} if state is None else dict(convert(state, SiteEvidenceState).hosts)
        self._mean_meanings = sorted(meanings / count for _, meanings, count in self._sums.values())


class SiteContext:
    """How far the pages of each host contain the context of a topic, such as "databases".

    The context of a host is 2 · Σ context / (n + 3) for n fetched pages, at most 1: if half of the pages of a manual
    contain "databases", its other pages need not.

    >>> context = SiteContext()
    >>> for number in range(5):
    ...     context.add_page(f"http://a.example/{number}", 1.0)
    >>> context.get_context("http://a.example/next"), context.get_context("http://b.example/")
    (1.0, 0.0)
    """

    def __init__(self) -> None:
        self._sums: dict[str, tuple[float, int]] = {}  # host → sum and number of pages

    def add_page(self, url: str, context: float) -> None:
        """Count a fetched page."""
        host = _get_site(url)
        if host not in self._sums and len(self._sums) >= _MAX_SITES:
            del self._sums[next(iter(self._sums))]
        total, count = self._sums.get(host, (0.0, 0))
        self._sums[host] = total + context, count + 1

    def get_context(self, url: str) -> float:
        """Return how far the site of a page has the context, from 0 to 1."""
        total, count = self._sums.get(_get_site(url), (0.0, 0))
        return min(1.0, _CONTEXT_SCALE * total / (count + _CONTEXT_PRIOR_PAGES))

    def get_state(self) -> JsonValue:
        """Return the sums as plain values."""
        return {"sums": {host: [total, count] for host, (total, count) in self._sums.items()}}

    def restore_state(self, state: JsonValue) -> None:
        """Restore the values of `get_state`. None is an empty state."""
        self._sums = {} if state is None else dict(convert(state, SiteContextState).sums)


def _get_site(url: str) -> str:
    """Return the host of a URL. The paths of local files have none and belong together."""
    return url.partition("//")[2].partition("/")[0]
