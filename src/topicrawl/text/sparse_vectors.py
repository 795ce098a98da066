"""Sparse term vectors (term → weight) and their cosine.

Sums are exact (`math.fsum`), so that a score depends neither on the order of the terms nor on the Python version.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from math import fsum, sqrt
from operator import mul

from topicrawl.text.lexicon import LanguageLexicon


def tf(terms: Iterable[str]) -> dict[str, float]:
    """Term frequencies relative to the most frequent term: f / max f (Batsakis et al. 2009, Eq. 1).

    >>> tf(["owl", "night", "owl"])
    {'owl': 1.0, 'night': 0.5}
    """
    counts = Counter(terms)
    most = max(counts.values(), default=1)
    return {term: count / most for term, count in counts.items()}


def tf_idf(terms: Iterable[str], lexicon: LanguageLexicon) -> dict[str, float]:
    """Term frequencies times the idf of the terms in the language.

    In a language without an idf table, all idf values are 1:

    >>> from topicrawl.text.lexicon import load_lexicon
    >>> tf_idf(["owl", "night", "owl"], load_lexicon("xx"))
    {'owl': 1.0, 'night': 0.5}
    """
    counts = Counter(terms)
    most = max(counts.values(), default=1)
    idf, rarest = lexicon.idf_table
    return {term: count / most * idf.get(term, rarest) for term, count in counts.items()}


def norm(vector: Mapping[str, float]) -> float:
    """Euclidean norm of a vector.

    >>> norm({"owl": 3.0, "night": 4.0})
    5.0
    """
    values = vector.values()
    return sqrt(fsum(map(mul, values, values)))


def cosine(a: Mapping[str, float], b: Mapping[str, float]) -> float:
    """Cosine of the angle between two vectors; 0 if one of them is empty or has norm 0.

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
