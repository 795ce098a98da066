"""Measures of a crawl, one formula each.

`fetched` are the final URLs in the order of the fetches, seeds and failures included, because they cost a fetch too;
`targets` are the pages that were to be found and can be reached, seeds excluded. H(n) is the number of different
targets among the first n fetches, |T| the number of all targets. A crawl that ended before n fetches stays at what
it had.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import accumulate
from math import ceil, fsum, nan
from typing import NamedTuple


def hits(fetched: Sequence[str], targets: Collection[str]) -> list[int]:
    """The targets found after each fetch; a target that is fetched twice counts once.

        H(n) = |{fetched 1…n} ∩ T|

    >>> hits(["seed", "owl", "fox", "owl", "wren"], {"owl", "wren"})
    [0, 1, 1, 1, 2]
    """
    seen: set[str] = set()

    def new(url: str) -> int:
        if url not in targets or url in seen:
            return 0
        seen.add(url)
        return 1

    return list(accumulate(map(new, fetched)))


def harvest_rate(fetched: Sequence[str], targets: Collection[str], fetches: int) -> float:
    """The share of the first fetches that found a target.

        harvest rate = H(n) / n

    >>> harvest_rate(["seed", "owl", "fox", "wren"], {"owl", "wren"}, 4)
    0.5
    """
    return _at(hits(fetched, targets), fetches) / _positive(fetches)


def harvest_curve(fetched: Sequence[str], targets: Collection[str]) -> list[float]:
    """The harvest rate after each fetch.

        H(1) / 1, H(2) / 2, …

    >>> harvest_curve(["seed", "owl", "fox", "wren"], {"owl", "wren"})
    [0.0, 0.5, 0.3333333333333333, 0.5]
    """
    return [found / number for number, found in enumerate(hits(fetched, targets), 1)]


def recall(fetched: Sequence[str], targets: Collection[str], fetches: int) -> float:
    """The share of the targets that the first fetches found.

        recall = H(n) / |T|

    >>> recall(["seed", "owl", "fox", "wren"], {"owl", "wren", "crow", "gull"}, 3)
    0.25
    """
    return _at(hits(fetched, targets), fetches) / _positive(len(targets))


def fetches_to(fetched: Sequence[str], targets: Collection[str], share: float) -> int | None:
    """How many fetches until a share of the targets was found; None: it never was. p50 is the share .5, p80 .8.

        p = min {n : H(n) ≥ share · |T|}

    >>> fetches_to(["seed", "owl", "fox", "wren"], {"owl", "wren"}, 0.5)
    2
    >>> fetches_to(["seed", "owl", "fox"], {"owl", "wren"}, 0.8) is None
    True
    """
    # 1e-9: four fifths of 5 is 4 targets, whatever the rounding of .8 · 5.
    wanted = share * _positive(len(targets)) - 1e-9
    return next((number for number, found in enumerate(hits(fetched, targets), 1) if found >= wanted), None)


def budget(reachable: int, most: int = 1000) -> int:
    """Over how many fetches a task is measured.

        N = min(most, pages that can be reached)

    >>> budget(650), budget(4604)
    (650, 1000)
    """
    return min(most, reachable)


def fetches_of(share: float, reachable: int) -> int:
    """A share of the pages that can be reached, as a number of fetches: rounded up, so never 0.

        n = ⌈share · reachable⌉

    >>> fetches_of(0.25, 4604), fetches_of(0.01, 30)
    (1151, 1)
    """
    return max(1, ceil(share * reachable - 1e-9))


def auc(fetched: Sequence[str], targets: Collection[str], fetches: int) -> float:
    """The area under the recall curve: its mean over the first N fetches.

        AUC = 1/N · Σₙ H(n) / |T|,   n = 1 … N

    Recalls 0, ½, ½, 1:

    >>> auc(["seed", "owl", "fox", "wren"], {"owl", "wren"}, 4)
    0.5
    """
    return auc_of(hits(fetched, targets), len(targets), fetches)


def auc_of(found: Sequence[int], targets: int, fetches: int) -> float:
    """The same from the counts after each fetch, such as those of the upper bound.

        AUC = 1/N · Σₙ H(n) / |T|

    >>> auc_of([0, 1, 1, 2], 2, 4)
    0.5
    """
    counted = sum(found[:fetches]) + (found[-1] if found else 0) * max(0, fetches - len(found))
    return counted / (_positive(fetches) * _positive(targets))


def nauc(auc: float, breadth_first: float, oracle: float) -> float:
    """Where a crawl stands between breadth-first, which is 0, and the oracle, which is 1; below 0 it is worse.

        nAUC = (AUC − AUC_bfs) / (AUC_oracle − AUC_bfs)

    Not a number where breadth-first is as good as the oracle, because there is nothing to gain.

    >>> nauc(0.6, 0.4, 0.8), nauc(0.4, 0.4, 0.8), nauc(0.8, 0.4, 0.8)
    (0.4999999999999999, 0.0, 1.0)
    """
    return (auc - breadth_first) / (oracle - breadth_first) if oracle != breadth_first else nan


def nauc_of_means(aucs: Sequence[float], breadth_first: Sequence[float], oracles: Sequence[float]) -> float:
    """The same for many tasks, as a ratio of means: a task with little to gain then has little to say.

        nAUC = (mean AUC − mean AUC_bfs) / (mean AUC_oracle − mean AUC_bfs)

    >>> nauc_of_means([0.5, 0.5], [0.25, 0.5], [0.75, 0.75])
    0.3333333333333333
    """
    if not len(aucs) == len(breadth_first) == len(oracles):
        raise ValueError(f"{len(aucs)}, {len(breadth_first)} and {len(oracles)} tasks: all three are of the same ones")
    return nauc(fsum(aucs), fsum(breadth_first), fsum(oracles))


def precision_rate(relevant: int, downloaded: int) -> float:
    """How much of what was downloaded is relevant: Safran et al. 2012, equation 6.

        precision rate = relevant pages / downloaded pages

    >>> precision_rate(425, 500)
    0.85
    """
    return relevant / _positive(downloaded)


def harvest_ratio(similarities: Sequence[float], threshold: float = 0.75) -> float:
    """The share of pages that are like a page judged relevant: Batsakis 2007, section 4.2.

        harvest ratio = |{p : maxⱼ cos(p, j) > threshold}| / |pages|

    p: a downloaded page; j: a page judged relevant. `similarities` holds the maximum for each page; the comparison is
    strict. (The figures of the thesis show the count, which is the ratio times the pages.)

    >>> harvest_ratio([0.9, 0.75, 0.76, 0.1])
    0.5
    """
    return sum(value > threshold for value in similarities) / _positive(len(similarities))


def average_similarity(similarities: Sequence[float]) -> float:
    """How like the pages judged relevant the downloaded ones are: Batsakis 2007, section 4.2.

        average similarity = 1/|pages| · Σₚ maxⱼ cos(p, j)

    >>> average_similarity([0.75, 0.25])
    0.5
    """
    return fsum(similarities) / _positive(len(similarities))


class Precision(NamedTuple):
    """How many of a group's pages are relevant."""

    relevant: int
    pages: int

    @property
    def value(self) -> float:
        return precision_rate(self.relevant, self.pages)


#: The group of the pages that two metrics or more agree on: undoubtedly relevant ones.
SEVERAL = "several"


def precision_by_group(chosen_by: Mapping[str, Collection[str]], relevant: Collection[str]) -> dict[str, Precision]:
    """Precision of the pages that one metric alone chose, and of those that several chose: Kluev 2000, section 4.

        precision of a group = relevant pages of it / pages of it

    `chosen_by`: page → the metrics that chose it; pages that none chose are in no group.

    >>> chosen = {"a": ["vsm"], "b": ["vsm"], "c": ["vsm", "terms"], "d": []}
    >>> precision_by_group(chosen, {"a", "c"})
    {'several': Precision(relevant=1, pages=1), 'vsm': Precision(relevant=1, pages=2)}
    """
    groups: dict[str, list[str]] = {}
    for page, metrics in chosen_by.items():
        names = sorted(set(metrics))
        if names:
            groups.setdefault(names[0] if len(names) == 1 else SEVERAL, []).append(page)
    return {
        name: Precision(sum(page in relevant for page in groups[name]), len(groups[name])) for name in sorted(groups)
    }


def pooled(groups: Mapping[str, Precision]) -> Precision:
    """All groups as one.

        precision = Σ relevant pages / Σ pages

    >>> pooled({"several": Precision(9, 10), "vsm": Precision(0, 10)}).value
    0.45
    """
    return Precision(sum(group.relevant for group in groups.values()), sum(group.pages for group in groups.values()))


def _at(found: Sequence[int], fetches: int) -> int:
    return found[min(fetches, len(found)) - 1] if found and fetches > 0 else 0


def _positive(number: int) -> int:
    # A share of nothing would look like a bad crawl; it is a mistake of the one who asks.
    if number <= 0:
        raise ValueError("a share of nothing: there must be at least one fetch, page or target")
    return number
