"""Hubs and authorities of a link graph, by power iteration: Kleinberg 1999."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

_ROUNDS = 100
_CLOSE = 1e-9


def authorities(links: Sequence[Sequence[int]]) -> list[float]:
    """How much of an authority each page is, together 1; 0 for all when there are no links.

        a(p) = Σ h(q) over the pages q that link to p,   h(q) = Σ a(p) over the pages p that q links to

    `links` has for each page the pages that it links to. Page 0 and page 1 link to page 2, and page 0 to page 1:
    with a = (0, x, y), h = (x + y, y, 0), the authorities are in the golden ratio.

    >>> [round(value, 3) for value in authorities([[1, 2], [2], []])]
    [0.0, 0.382, 0.618]
    """
    count = len(links)
    matrix = np.zeros((count, count))
    for source, targets in enumerate(links):
        matrix[source, list(set(targets) - {source})] = 1.0
    if not matrix.any():
        return [0.0] * count
    authority = np.ones(count)
    for _ in range(_ROUNDS):
        new = matrix.T @ (matrix @ authority)
        new /= new.sum()
        change = float(np.abs(new - authority).max())
        authority = new
        if change < _CLOSE:
            break
    return [float(value) for value in authority]
