"""How much two collections have in common, from a sketch of each (Broder 1997: the least of many random numbers).

Of both sketches together, the k least numbers are a sample of the union; the share of those that stand in both is the
resemblance of the collections. Exact while a collection has no more pages than a sketch holds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

from topicrawl.search.answers import Overlap

SKETCH = 512  # numbers: a standard error of 2 % where half is common


def resemblance(one: Sequence[int], other: Sequence[int]) -> float:
    """|A ∩ B| / |A ∪ B|, estimated.

    >>> resemblance([1, 2, 3], [2, 3, 4])
    0.5
    """
    union = sorted({*one, *other})
    if max(len(one), len(other)) >= SKETCH:
        union = union[:SKETCH]
    both = set(one) & set(other)
    return sum(number in both for number in union) / len(union) if union else 0.0


def overlaps(sketches: Mapping[str, tuple[int, Sequence[int]]]) -> tuple[Overlap, ...]:
    """Name → pages and sketch, to the pairs that have something in common, the largest shares first.

    >>> overlaps({"a": (3, [1, 2, 3]), "b": (2, [2, 3]), "c": (1, [9])})
    (Overlap(one='a', other='b', share=1.0),)
    """
    found = []
    for (one, (pages, mine)), (other, (others, theirs)) in combinations(sketches.items(), 2):
        alike = resemblance(mine, theirs)
        common = alike / (1 + alike) * (pages + others)
        share = min(1.0, common / max(1, min(pages, others)))
        if share > 0:
            found.append(Overlap(one, other, round(share, 4)))
    return tuple(sorted(found, key=lambda it: (-it.share, it.one, it.other)))
