"""From terms to vectors: term → weight, compared by the angle between them.

Sums are exact (`math.fsum`), so that a score depends neither on the order of terms nor on the Python version.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from math import fsum, sqrt
from operator import mul

from topicrawl.text.lexicon import Lexicon


def tf(terms: Iterable[str]) -> dict[str, float]:
    """Term frequencies relative to the most frequent term: f / max f (Batsakis et al. 2009, Eq. 1).

    >>> tf(["owl", "night", "owl"])
    {'owl': 1.0, 'night': 0.5}
    """
    counts = Counter(terms)
    most = max(counts.values(), default=1)
    return {term: count / most for term, count in counts.items()}


def tf_idf(terms: Iterable[str], lexicon: Lexicon) -> dict[str, float]:
    """Term frequencies weighted by how rare the terms are in the language.

    A language without a table has idf 1 for all:

    >>> from topicrawl.text.lexicon import lexicon
    >>> tf_idf(["owl", "night", "owl"], lexicon("xx"))
    {'owl': 1.0, 'night': 0.5}
    """
    counts = Counter(terms)
    most = max(counts.values(), default=1)
    idf, rarest = lexicon.rarity
    return {term: count / most * idf.get(term, rarest) for term, count in counts.items()}


def norm(vector: Mapping[str, float]) -> float:
    """The Euclidean length.

    >>> norm({"owl": 3.0, "night": 4.0})
    5.0
    """
    values = vector.values()
    return sqrt(fsum(map(mul, values, values)))


def cosine(a: Mapping[str, float], b: Mapping[str, float]) -> float:
    """The cosine of the angle between two vectors; 0 when one is empty or has no length.

    (3·4) / (5 · 5):

    >>> cosine({"owl": 3.0, "night": 4.0}, {"owl": 4.0, "day": 3.0})
    0.48
    >>> cosine({}, {"owl": 1.0})
    0.0
    """
    if len(a) > len(b):
        a, b = b, a
    product = fsum([weight * b[term] for term, weight in a.items() if term in b])
    lengths = norm(a) * norm(b) if product else 0.0
    return max(-1.0, min(1.0, product / lengths)) if lengths else 0.0
