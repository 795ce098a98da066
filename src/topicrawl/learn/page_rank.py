"""PageRank of a link graph, by power iteration: Cho, Garcia-Molina and Page 1998; Brin and Page 1998."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

Numbers: TypeAlias = NDArray[np.float64]

_ROUNDS = 100
_CLOSE = 1e-5  # mean change at which the ranks stand still


def page_ranks(
    degrees: ArrayLike, pages: ArrayLike, targets: ArrayLike, ranks: ArrayLike, damping: float
) -> tuple[Numbers, float]:
    """The rank of every page, 1 on average, and the rank of a page that nobody links to.

        R(p) = (1 − d) + d · (Σ R(t) / c(t) + D)

    t: the pages that link to p; c(t): how many links t has; d: `damping`; D: what pages without known links have, and
    what goes to pages that are not ranked, spread evenly over all. `degrees` has the number of links of each page;
    `targets` where they lead, page by page in the order of `pages`; a target below 0 is not ranked. The iteration
    starts from `ranks`.

    Page 0 links to 1 and 2, page 1 to 2, page 2 was not fetched. With b the rank of page 0: R(1) = b + .45 b,
    R(2) = b + .45 b + .9 · 1.45 b, and the three are 3 together, so b = 3 / 5.205.

    >>> ranks, least = page_ranks([2, 1, 0], [0, 1], [1, 2, 2], [1, 1, 1], 0.9)
    >>> [round(float(rank), 3) for rank in ranks], round(least, 3)
    ([0.576, 0.836, 1.588], 0.576)
    """
    links, order = np.asarray(degrees, dtype=np.int64), np.asarray(pages, dtype=np.int64)
    ends = np.asarray(targets, dtype=np.int64)
    inside = ends >= 0
    sources, ends, count = np.repeat(order, links[order])[inside], ends[inside], len(links)
    share = np.divide(1.0, links, out=np.zeros(count), where=links > 0)
    now, least = _scaled(np.array(ranks, dtype=np.float64)), 1.0
    for _ in range(_ROUNDS):
        weights = (now * share)[sources]
        flow: Numbers = np.asarray(np.bincount(ends, weights, count), dtype=np.float64)
        # What does not flow along links is spread evenly, so that the average stays 1.
        least = (1 - damping) + damping * (1 - float(flow.mean()))
        new = least + damping * flow
        change = float(np.abs(new - now).mean())
        now = new
        if change < _CLOSE:
            break
    return now, least


def _scaled(ranks: Numbers) -> Numbers:
    """The same ranks with an average of 1."""
    total = float(ranks.sum())
    return ranks * (len(ranks) / total) if total > 0 else np.ones(len(ranks))
