"""Overlap of collections, estimated from a MinHash sketch of each (Broder 1997).

A sketch contains the k lowest fingerprints of a collection. The k lowest numbers of both sketches together are a sample
of the union of the collections; the share of the sample that occurs in both sketches estimates their resemblance. The
estimate is exact while neither collection has more pages than a sketch can hold.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

from topicrawl.search.models import Overlap

SKETCH_SIZE = 512  # fingerprints; the standard error is 2 % at a resemblance of one half


def resemblance(one: Sequence[int], other: Sequence[int]) -> float:
    """Estimate the Jaccard similarity |A ∩ B| / |A ∪ B| from two sketches.

    >>> resemblance([1, 2, 3], [2, 3, 4])
    0.5
    """
    union = sorted({*one, *other})
    if max(len(one), len(other)) >= SKETCH_SIZE:
        union = union[:SKETCH_SIZE]
    both = set(one) & set(other)
    return sum(number in both for number in union) / len(union) if union else 0.0


def find_overlaps(sketches: Mapping[str, tuple[int, Sequence[int]]]) -> tuple[Overlap, ...]:
    """Return the pairs of collections that have pages in common, largest overlap first.

    `sketches` maps the name of a collection to its page count and its sketch.

    >>> find_overlaps({"a": (3, [1, 2, 3]), "b": (2, [2, 3]), "c": (1, [9])})
    (Overlap(one='a', other='b', share=1.0),)
    """
    result = []
    for (one, (one_pages, one_sketch)), (other, (other_pages, other_sketch)) in combinations(sketches.items(), 2):
        similarity = resemblance(one_sketch, other_sketch)
        common = similarity / (1 + similarity) * (one_pages + other_pages)
        share = min(1.0, common / max(1, min(one_pages, other_pages)))
        if share > 0:
            result.append(Overlap(one, other, round(share, 4)))
    return tuple(sorted(result, key=lambda overlap: (-overlap.share, overlap.one, overlap.other)))
