"""Hubs and authorities of a link graph by power iteration: Kleinberg 1999."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

_MAX_ITERATIONS = 100
_TOLERANCE = 1e-9


def compute_authorities(links: Sequence[Sequence[int]]) -> list[float]:
    """Return the authority score of each page. The scores sum to 1, or are all 0 if there are no links.

        a(p) = Σ h(q) over the pages q that link to p,   h(q) = Σ a(p) over the pages p that q links to

    `links` contains for each page the pages that it links to. Page 0 and page 1 link to page 2, and page 0 links to
    page 1: with a = (0, x, y) and h = (x + y, y, 0), the authorities are in the golden ratio.

    >>> [round(value, 3) for value in compute_authorities([[1, 2], [2], []])]
    [0.0, 0.382, 0.618]
    """
    count = len(links)
    matrix = np.zeros((count, count))
    for source, targets in enumerate(links):
        matrix[source, list(set(targets) - {source})] = 1.0
    if not matrix.any():
        return [0.0] * count
    authority = np.ones(count)
    for _ in range(_MAX_ITERATIONS):
        new = matrix.T @ (matrix @ authority)
        new /= new.sum()
        change = float(np.abs(new - authority).max())
        authority = new
        if change < _TOLERANCE:
            break
    return [float(value) for value in authority]
