"""Evidence on the other pages of a site: pages of a manual about the topic often do not name it themselves."""

from __future__ import annotations

from bisect import insort
from collections.abc import Mapping

from msgspec import Struct, convert

from topicrawl.models import JsonValue

_PRIOR_PAGES = 4.0  # pages with average evidence that are added to each site
_WEIGHT = 3.0  # of the difference between a site and the median site
_MIN_DIFFERENCE = 0.2  # smaller differences are chance
_MAX_BONUS = 3.0  # less than the odds of a page without evidence: the site alone does not make a page relevant
_LOWEST, _HIGHEST = -5.0, 3.0  # limits of the log-odds of a page
_MAX_SITES = 5_000  # the oldest sites are dropped


class SiteEvidenceState(Struct, frozen=True):
    """Stored evidence: host → sum of the log-odds and number of pages."""

    sums: dict[str, tuple[float, int]]


class SiteEvidence:
    """Mean log-odds of the fetched pages of each host, compared with the median host.

        bonus = min(3, 3 · max(0, n / (n + 4) · (mean of the host − median of all hosts) − .2))

    n: the number of fetched pages of the host. Only the evidence on the pages themselves counts, never an earlier
    bonus, so that a site does not confirm itself. A crawl of a single host has no bonus.

    >>> evidence = SiteEvidence()
    >>> for host, value in (("gis", 1.0), ("music", -3.5), ("mail", -3.5)):
    ...     for number in range(4):
    ...         evidence.add_page(f"http://{host}.example/{number}", value)
    >>> evidence.compute_bonus("http://gis.example/next"), evidence.compute_bonus("http://mail.example/next")
    (3.0, 0.0)
    """

    def __init__(self) -> None:
        self._sums: dict[str, tuple[float, int]] = {}  # host → sum of the log-odds, number of pages
        self._means: list[float] = []  # sorted means of all hosts

    def add_page(self, url: str, log_odds: float) -> None:
        """Count a fetched page with the log-odds of its own evidence."""
        host = _get_site(url)
        if host not in self._sums and len(self._sums) >= _MAX_SITES:
            self._remove_mean(*self._sums.pop(next(iter(self._sums))))
        total, count = self._sums.get(host, (0.0, 0))
        if count:
            self._remove_mean(total, count)
        total, count = total + min(max(log_odds, _LOWEST), _HIGHEST), count + 1
        self._sums[host] = total, count
        insort(self._means, total / count)

    def _remove_mean(self, total: float, count: int) -> None:
        self._means.remove(total / count)

    def compute_bonus(self, url: str) -> float:
        """Return the amount that is added to the log-odds of a page of the same host."""
        total, count = self._sums.get(_get_site(url), (0.0, 0))
        if not count:
            return 0.0
        middle = len(self._means) // 2
        median = (self._means[middle] + self._means[-middle - 1]) / 2
        difference = (total - count * median) / (count + _PRIOR_PAGES)
        return min(_MAX_BONUS, _WEIGHT * max(0.0, difference - _MIN_DIFFERENCE))

    def get_state(self) -> JsonValue:
        """Return the sums as plain values."""
        return {"sums": {host: [total, count] for host, (total, count) in self._sums.items()}}

    def restore_state(self, state: JsonValue) -> None:
        """Restore the values of `get_state`. None is an empty state."""
        sums: Mapping[str, tuple[float, int]] = {} if state is None else convert(state, SiteEvidenceState).sums
        self._sums = dict(sums)
        self._means = sorted(total / count for total, count in self._sums.values())


def _get_site(url: str) -> str:
    """Return the host of a URL. The paths of local files have none and belong together."""
    return url.partition("//")[2].partition("/")[0]
