"""Which collections are worth asking: CORI (Callan, Lu and Croft 1995), a collection as a document of an inference net.

For a part t of the query and a collection c, with n pages that match, w words in c, w̄ words in the mean collection,
and C collections of which m have a page that matches:

    T = n / (n + 50 + 150 w / w̄)        I = log((C + ½) / m) / log(C + 1)        belief(t, c) = .4 + .6 · T · I

The belief in c is the mean over the parts, by their weights. A collection is asked when what it has above .4 is not
less than a share of what the best one has; and all are asked when there are too few to choose from.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from topicrawl.search.scoring import World

BASE = 0.4
SHARE = 0.5


def beliefs(collections: Sequence[World], weights: Mapping[str, float]) -> list[float]:
    """How likely each collection holds what is looked for.

    >>> owls, trains = World(100, 1000, {"owl": 50}), World(100, 1000, {"owl": 0})
    >>> [round(belief, 3) for belief in beliefs([owls, trains], {"owl": 1.0})]
    [0.5, 0.4]
    """
    sizes = [one.words for one in collections]
    mean = max(1.0, sum(sizes) / max(1, len(sizes)))
    wanted = {key: weight for key, weight in weights.items() if weight > 0}
    total = sum(wanted.values()) or 1.0
    found = []
    for one in collections:
        belief = 0.0
        for key, weight in wanted.items():
            having = sum(key in other.pages_with and other.pages_with[key] > 0 for other in collections)
            pages = one.pages_with.get(key, 0)
            often = pages / (pages + 50 + 150 * one.words / mean) if pages else 0.0
            rare = math.log((len(collections) + 0.5) / max(1, having)) / math.log(len(collections) + 1)
            belief += weight * often * rare
        found.append(BASE + (1 - BASE) * belief / total)
    return found


def chosen(collections: Sequence[World], weights: Mapping[str, float], *, most: int | None = None) -> list[bool]:
    """Whether each collection is asked; those without any match never are."""
    believed = beliefs(collections, weights)
    best = max(believed, default=BASE) - BASE
    wanted = [key for key, weight in weights.items() if weight > 0]
    worth = [
        belief - BASE >= SHARE * best and any(one.pages_with.get(key, 0) for key in wanted)
        for belief, one in zip(believed, collections, strict=True)
    ]
    order = sorted(range(len(worth)), key=lambda at: -believed[at])
    kept = set([at for at in order if worth[at]][:most])
    return [at in kept for at in range(len(worth))]
