"""Collection selection with CORI (Callan, Lu and Croft 1995), which treats a collection as a document.

For a clause t of the query and a collection c, with n matching pages in c, w words in c, w̄ words in the mean
collection, and C collections of which m have a matching page:

    T = n / (n + 50 + 150 w / w̄)        I = log((C + ½) / m) / log(C + 1)        belief(t, c) = .4 + .6 · T · I

The belief of c is the mean over the clauses, weighted by their weights. A collection is selected if its belief exceeds
.4 by at least a given share of the excess of the best collection.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from topicrawl.search.bm25 import CorpusStats

DEFAULT_BELIEF = 0.4
MIN_BELIEF_SHARE = 0.5


def compute_beliefs(collections: Sequence[CorpusStats], weights: Mapping[str, float]) -> list[float]:
    """Return the CORI belief of each collection for the weighted clauses of a query.

    >>> owls, trains = CorpusStats(100, 1000, {"owl": 50}), CorpusStats(100, 1000, {"owl": 0})
    >>> [round(belief, 3) for belief in compute_beliefs([owls, trains], {"owl": 1.0})]
    [0.5, 0.4]
    """
    sizes = [stats.words for stats in collections]
    mean = max(1.0, sum(sizes) / max(1, len(sizes)))
    positive = {key: weight for key, weight in weights.items() if weight > 0}
    total = sum(positive.values()) or 1.0
    result = []
    for stats in collections:
        belief = 0.0
        for key, weight in positive.items():
            matching = sum(key in other.pages_with and other.pages_with[key] > 0 for other in collections)
            pages = stats.pages_with.get(key, 0)
            frequency = pages / (pages + 50 + 150 * stats.words / mean) if pages else 0.0
            rarity = math.log((len(collections) + 0.5) / max(1, matching)) / math.log(len(collections) + 1)
            belief += weight * frequency * rarity
        result.append(DEFAULT_BELIEF + (1 - DEFAULT_BELIEF) * belief / total)
    return result


def select_collections(
    collections: Sequence[CorpusStats], weights: Mapping[str, float], *, limit: int | None = None
) -> list[bool]:
    """Return for each collection whether to search it; collections without a matching page are never selected.

    `limit` is the maximum number of selected collections; without it there is no maximum.
    """
    scores = compute_beliefs(collections, weights)
    best = max(scores, default=DEFAULT_BELIEF) - DEFAULT_BELIEF
    keys = [key for key, weight in weights.items() if weight > 0]
    eligible = [
        score - DEFAULT_BELIEF >= MIN_BELIEF_SHARE * best and any(stats.pages_with.get(key, 0) for key in keys)
        for score, stats in zip(scores, collections, strict=True)
    ]
    order = sorted(range(len(eligible)), key=lambda at: -scores[at])
    selected = set([at for at in order if eligible[at]][:limit])
    return [at in selected for at in range(len(eligible))]
