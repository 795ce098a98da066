"""Evaluation measures of a crawl: harvest rate, recall, AUC, nAUC and precision.

`fetched` is the list of final URLs in fetch order. It includes seeds and failures, because each costs one fetch.
`targets` are the relevant pages that the links reach from the seeds, without the seeds. H(n) is the number of distinct
targets among the first n fetches, and |T| is the number of targets. If a crawl ends before n fetches, H(n) keeps its
last value.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import accumulate
from math import ceil, fsum, nan
from typing import NamedTuple


def cumulative_hits(fetched: Sequence[str], targets: Collection[str]) -> list[int]:
    """Return the number of distinct targets found after each fetch.

        H(n) = |{fetched 1…n} ∩ T|

    >>> cumulative_hits(["seed", "owl", "fox", "owl", "wren"], {"owl", "wren"})
    [0, 1, 1, 1, 2]
    """
    found: set[str] = set()

    def count_new(url: str) -> int:
        if url not in targets or url in found:
            return 0
        found.add(url)
        return 1

    return list(accumulate(map(count_new, fetched)))


def harvest_rate(fetched: Sequence[str], targets: Collection[str], fetches: int) -> float:
    """Return the share of the first `fetches` fetches that found a new target.

        harvest rate = H(n) / n

    >>> harvest_rate(["seed", "owl", "fox", "wren"], {"owl", "wren"}, 4)
    0.5
    """
    return _hits_after(cumulative_hits(fetched, targets), fetches) / _require_positive(fetches)


def harvest_curve(fetched: Sequence[str], targets: Collection[str]) -> list[float]:
    """Return the harvest rate after each fetch.

        H(1) / 1, H(2) / 2, …

    >>> harvest_curve(["seed", "owl", "fox", "wren"], {"owl", "wren"})
    [0.0, 0.5, 0.3333333333333333, 0.5]
    """
    return [hit_count / number for number, hit_count in enumerate(cumulative_hits(fetched, targets), 1)]


def recall(fetched: Sequence[str], targets: Collection[str], fetches: int) -> float:
    """Return the share of the targets among the first `fetches` fetches.

        recall = H(n) / |T|

    >>> recall(["seed", "owl", "fox", "wren"], {"owl", "wren", "crow", "gull"}, 3)
    0.25
    """
    return _hits_after(cumulative_hits(fetched, targets), fetches) / _require_positive(len(targets))


def fetches_to_recall(fetched: Sequence[str], targets: Collection[str], share: float) -> int | None:
    """Return the number of fetches until the recall reaches `share`, or None if it never does.

    p50 is the value for `share` = 0.5, p80 the value for 0.8.

        p = min {n : H(n) ≥ share · |T|}

    >>> fetches_to_recall(["seed", "owl", "fox", "wren"], {"owl", "wren"}, 0.5)
    2
    >>> fetches_to_recall(["seed", "owl", "fox"], {"owl", "wren"}, 0.8) is None
    True
    """
    # The tolerance absorbs floating-point rounding: 0.8 · 5 must require 4 targets, not 5.
    required = share * _require_positive(len(targets)) - 1e-9
    return next(
        (number for number, hit_count in enumerate(cumulative_hits(fetched, targets), 1) if hit_count >= required), None
    )


def evaluation_budget(reachable: int, max_fetches: int = 1000) -> int:
    """Return the number of fetches over which a task is measured.

        N = min(max_fetches, reachable pages)

    >>> evaluation_budget(650), evaluation_budget(4604)
    (650, 1000)
    """
    return min(max_fetches, reachable)


def share_to_fetches(share: float, reachable: int) -> int:
    """Convert a share of the reachable pages to a number of fetches, rounded up and at least 1.

        n = ⌈share · reachable⌉

    >>> share_to_fetches(0.25, 4604), share_to_fetches(0.01, 30)
    (1151, 1)
    """
    return max(1, ceil(share * reachable - 1e-9))


def auc(fetched: Sequence[str], targets: Collection[str], fetches: int) -> float:
    """Return the area under the recall curve: the mean recall over the first N fetches.

        AUC = 1/N · Σₙ H(n) / |T|,   n = 1 … N

    The recalls in this example are 0, ½, ½ and 1:

    >>> auc(["seed", "owl", "fox", "wren"], {"owl", "wren"}, 4)
    0.5
    """
    return auc_from_hits(cumulative_hits(fetched, targets), len(targets), fetches)


def auc_from_hits(hit_counts: Sequence[int], targets: int, fetches: int) -> float:
    """Return the AUC from the cumulative number of targets after each fetch, for example of `upper_bound`.

        AUC = 1/N · Σₙ H(n) / |T|

    >>> auc_from_hits([0, 1, 1, 2], 2, 4)
    0.5
    """
    total = sum(hit_counts[:fetches]) + (hit_counts[-1] if hit_counts else 0) * max(0, fetches - len(hit_counts))
    return total / (_require_positive(fetches) * _require_positive(targets))


def nauc(auc: float, breadth_first: float, oracle: float) -> float:
    """Return the normalised AUC: 0 for breadth-first, 1 for the oracle, negative below breadth-first.

        nAUC = (AUC − AUC_bfs) / (AUC_oracle − AUC_bfs)

    The result is NaN if breadth-first and the oracle have the same AUC.

    >>> nauc(0.6, 0.4, 0.8), nauc(0.4, 0.4, 0.8), nauc(0.8, 0.4, 0.8)
    (0.4999999999999999, 0.0, 1.0)
    """
    return (auc - breadth_first) / (oracle - breadth_first) if oracle != breadth_first else nan


def nauc_of_means(aucs: Sequence[float], breadth_first: Sequence[float], oracles: Sequence[float]) -> float:
    """Return the nAUC over several tasks as a ratio of means.

    Tasks with a small difference between breadth-first and the oracle get a small weight.

        nAUC = (mean AUC − mean AUC_bfs) / (mean AUC_oracle − mean AUC_bfs)

    >>> nauc_of_means([0.5, 0.5], [0.25, 0.5], [0.75, 0.75])
    0.3333333333333333
    """
    if not len(aucs) == len(breadth_first) == len(oracles):
        counts = f"{len(aucs)}, {len(breadth_first)} and {len(oracles)} tasks"
        raise ValueError(f"{counts}: all three sequences must cover the same tasks")
    return nauc(fsum(aucs), fsum(breadth_first), fsum(oracles))


def precision_rate(relevant: int, downloaded: int) -> float:
    """Return the share of downloaded pages that are relevant (Safran et al. 2012, equation 6).

        precision rate = relevant pages / downloaded pages

    >>> precision_rate(425, 500)
    0.85
    """
    return relevant / _require_positive(downloaded)


def harvest_ratio(similarities: Sequence[float], threshold: float = 0.75) -> float:
    """Return the share of pages that are similar to a page judged relevant (Batsakis 2007, section 4.2).

        harvest ratio = |{p : maxⱼ cos(p, j) > threshold}| / |pages|

    p is a downloaded page, j a page judged relevant. `similarities` contains the maximum for each page. The comparison
    is strict. The figures of the thesis show the count, which is the ratio multiplied by the number of pages.

    >>> harvest_ratio([0.9, 0.75, 0.76, 0.1])
    0.5
    """
    return sum(value > threshold for value in similarities) / _require_positive(len(similarities))


def average_similarity(similarities: Sequence[float]) -> float:
    """Return the mean similarity of the pages to the pages judged relevant (Batsakis 2007, section 4.2).

        average similarity = 1/|pages| · Σₚ maxⱼ cos(p, j)

    >>> average_similarity([0.75, 0.25])
    0.5
    """
    return fsum(similarities) / _require_positive(len(similarities))


class Precision(NamedTuple):
    """Number of relevant pages and number of all pages in a group."""

    relevant: int
    pages: int

    @property
    def value(self) -> float:
        """Precision of the group."""
        return precision_rate(self.relevant, self.pages)


#: Name of the group of pages that two or more metrics chose. Kluev calls them undoubtedly relevant.
SEVERAL_METRICS = "several"


def precision_by_group(chosen_by: Mapping[str, Collection[str]], relevant: Collection[str]) -> dict[str, Precision]:
    """Return the precision of each group of pages (Kluev 2000, section 4).

        precision of a group = relevant pages of the group / pages of the group

    There is one group for the pages that only one metric chose, per metric, and the group `SEVERAL_METRICS`.
    `chosen_by` maps each page to the metrics that chose it. Pages without a metric belong to no group.

    >>> chosen = {"a": ["vsm"], "b": ["vsm"], "c": ["vsm", "terms"], "d": []}
    >>> precision_by_group(chosen, {"a", "c"})
    {'several': Precision(relevant=1, pages=1), 'vsm': Precision(relevant=1, pages=2)}
    """
    groups: dict[str, list[str]] = {}
    for page, metrics in chosen_by.items():
        names = sorted(set(metrics))
        if names:
            groups.setdefault(names[0] if len(names) == 1 else SEVERAL_METRICS, []).append(page)
    return {
        name: Precision(sum(page in relevant for page in groups[name]), len(groups[name])) for name in sorted(groups)
    }


def pool_groups(groups: Mapping[str, Precision]) -> Precision:
    """Merge all groups into one.

        precision = Σ relevant pages / Σ pages

    >>> pool_groups({"several": Precision(9, 10), "vsm": Precision(0, 10)}).value
    0.45
    """
    return Precision(sum(group.relevant for group in groups.values()), sum(group.pages for group in groups.values()))


def _hits_after(hit_counts: Sequence[int], fetches: int) -> int:
    return hit_counts[min(fetches, len(hit_counts)) - 1] if hit_counts and fetches > 0 else 0


def _require_positive(number: int) -> int:
    # Returning 0 here would look like a bad crawl, but an empty denominator is an error of the caller.
    if number <= 0:
        raise ValueError("division by zero: there must be at least one fetch, page or target")
    return number
