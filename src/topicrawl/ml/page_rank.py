"""PageRank of a link graph by power iteration: Cho, Garcia-Molina and Page 1998; Brin and Page 1998."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray: TypeAlias = NDArray[np.float64]

_MAX_ITERATIONS = 100
_TOLERANCE = 1e-5  # mean change at which the iteration stops


def compute_page_ranks(
    degrees: ArrayLike, pages: ArrayLike, targets: ArrayLike, ranks: ArrayLike, damping: float
) -> tuple[FloatArray, float]:
    """Return the rank of every page, with the mean 1, and the rank of a page without in-links.

        R(p) = (1 − d) + d · (Σ R(t) / c(t) + D)

    t: the pages that link to p; c(t): the number of links of t; d: `damping`; D: the rank of pages without known links,
    and the rank that flows to unranked pages, distributed evenly over all pages. `degrees` contains the number of links
    of each page; `targets` contains the link targets, page by page in the order of `pages`. A target below 0 is not
    ranked. The iteration starts with `ranks`.

    Page 0 links to 1 and 2, page 1 links to 2, and page 2 was not fetched. With the rank b of page 0: R(1) = b + .45 b,
    R(2) = b + .45 b + .9 · 1.45 b, and the three ranks sum to 3, so b = 3 / 5.205.

    >>> ranks, least = compute_page_ranks([2, 1, 0], [0, 1], [1, 2, 2], [1, 1, 1], 0.9)
    >>> [round(float(rank), 3) for rank in ranks], round(least, 3)
    ([0.576, 0.836, 1.588], 0.576)
    """
    links, order = np.asarray(degrees, dtype=np.int64), np.asarray(pages, dtype=np.int64)
    ends = np.asarray(targets, dtype=np.int64)
    inside = ends >= 0
    sources, ends, count = np.repeat(order, links[order])[inside], ends[inside], len(links)
    share = np.divide(1.0, links, out=np.zeros(count), where=links > 0)
    current, least = _normalize_ranks(np.array(ranks, dtype=np.float64)), 1.0
    for _ in range(_MAX_ITERATIONS):
        weights = (current * share)[sources]
        flow: FloatArray = np.asarray(np.bincount(ends, weights, count), dtype=np.float64)
        # Rank that does not flow along links is distributed evenly, so that the mean stays 1.
        least = (1 - damping) + damping * (1 - float(flow.mean()))
        new = least + damping * flow
        change = float(np.abs(new - current).mean())
        current = new
        if change < _TOLERANCE:
            break
    return current, least


def _normalize_ranks(ranks: FloatArray) -> FloatArray:
    """Scale ranks to the mean 1."""
    total = float(ranks.sum())
    return ranks * (len(ranks) / total) if total > 0 else np.ones(len(ranks))
