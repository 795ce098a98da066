"""Semantic similarity of words and texts: Batsakis 2007, sections 2.4 and 3.3, equations 3, 4, 8 and 9.

Two words are compared through an ontology. A word may have several meanings; the most similar pair of meanings of two
words counts. Two texts are compared through their words: a text is a list of rows, one for each of its terms, with the
term's weight and its similarity to each term of the topic. The topic is the list of the weights of its terms.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, fsum, hypot, tanh
from operator import mul
from typing import Protocol, TypeAlias

from topicrawl.text.ontology import Ontology

#: The weight of a term of a text, and its similarity to each term of the topic.
SimilarityRow: TypeAlias = tuple[float, Sequence[float]]


def li_similarity(length: int, depth: int, a: float = 0.2, b: float = 0.6) -> float:
    """Return the similarity of Li et al. 2003: it falls with the path length and rises with the common concept's depth.

        sim = exp(−a·L) · tanh(b·H)                                                                  (4)

    L: the length; H: the depth. The thesis prints the second factor in the exponent, so that the similarity would fall
    with the depth; the original paper multiplies.

    >>> round(li_similarity(1, 3), 6)
    0.775179
    """
    return exp(-a * length) * tanh(b * depth)


class SimilarityMeasure(Protocol):
    """Compare two words by the ancestors of all their meanings and the distances (`Ontology.get_ancestors`)."""

    @property
    def include_parts(self) -> bool:
        """Whether paths also follow relations other than "is a kind of"."""

    def compare_ancestors(self, ontology: Ontology, here: Mapping[int, int], there: Mapping[int, int]) -> float:
        """Return the similarity of two words, from 0 to 1. 0 if they share no ancestor.

        `here` and `there` map each ancestor of a word to its distance: the results of `Ontology.get_ancestors`.
        """


@dataclass(frozen=True)
class PathMeasure:
    """Similarity that halves with every step between two meanings (Ehrig and Maedche 2003).

        sim = df^sp                                                                                  (3)

    sp: the length of the shortest path; df: the factor. The thesis also names two cheaper binary relations (1 if the
    words are related, else 0): `neighbours`, one step of any kind, and `is_a`, two steps of "is a kind of".
    """

    factor: float = 0.5
    relation: str = "path"

    @property
    def include_parts(self) -> bool:
        """Whether paths also follow relations other than "is a kind of"."""
        return self.relation != "is_a"

    def compare_ancestors(self, ontology: Ontology, here: Mapping[int, int], there: Mapping[int, int]) -> float:
        """Return the similarity, from 0 to 1."""
        shared = here.keys() & there.keys()
        if not shared:
            return 0.0
        steps = min([here[synset] + there[synset] for synset in shared])
        if self.relation == "path":
            return self.factor**steps
        return 1.0 if steps <= (1 if self.relation == "neighbours" else 2) else 0.0


@dataclass(frozen=True)
class LiMeasure:
    """Highest similarity of Li et al. over all meanings of two words and the concepts that the meanings share."""

    a: float = 0.2
    b: float = 0.6
    include_parts: bool = False

    def compare_ancestors(self, ontology: Ontology, here: Mapping[int, int], there: Mapping[int, int]) -> float:
        """Return the similarity, from 0 to 1."""
        depth = ontology.depth
        # Only the shortest path of each depth is scored: exponentials are slower than sums.
        steps: dict[int, int] = {}
        for synset in here.keys() & there.keys():
            length, deep = here[synset] + there[synset], depth(synset)
            if length < steps.get(deep, length + 1):
                steps[deep] = length
        return max([li_similarity(length, deep, self.a, self.b) for deep, length in steps.items()], default=0.0)


def term_similarity(ontology: Ontology, measure: SimilarityMeasure, one: str, other: str) -> float:
    """Return the similarity of two terms.

    >>> from topicrawl.text.wordnet import load_wordnet
    >>> (
    ...     term_similarity(load_wordnet(), PathMeasure(), "car", "automobile"),
    ...     round(term_similarity(load_wordnet(), LiMeasure(), "dog", "wolf"), 3),
    ... )
    (1.0, 0.67)
    """
    if one == other:
        return 1.0
    parts = measure.include_parts
    return measure.compare_ancestors(
        ontology,
        ontology.get_term_ancestors(one, include_parts=parts),
        ontology.get_term_ancestors(other, include_parts=parts),
    )


def weighted_sum(rows: Sequence[SimilarityRow], topic: Sequence[float]) -> float:
    """Return Ehrig's similarity of two texts. It grows with the length of the texts.

        Σⱼ Σₖ sim(tⱼ, tₖ) · wij · wqk                                                                 (8)

    >>> weighted_sum([(1.0, (1.0, 0.5)), (0.5, (0.0, 0.25))], (1.0, 1.0))
    1.625
    """
    return fsum([weight * fsum(map(mul, alike, topic)) for weight, alike in rows])


def ssrm(rows: Sequence[SimilarityRow], topic: Sequence[float], *, printed: bool = True) -> float:
    """Return the similarity of the Semantic Similarity Retrieval Model (SSRM).

        Σₖ Σⱼ sim(tₖ, tⱼ) · wik · wqj / (√Σⱼ wij² · √Σⱼ wqj²)                                         (9)

    The printed form is unbounded: three words, each identical in meaning to each of three others, give 3. The model's
    authors divide by Σₖ Σⱼ wik · wqj instead, which gives 1 (`printed=False`).

    >>> alike = [(1.0, (1.0, 1.0, 1.0))] * 3
    >>> round(ssrm(alike, (1.0, 1.0, 1.0)), 6), ssrm(alike, (1.0, 1.0, 1.0), printed=False)
    (3.0, 1.0)
    """
    weights = [weight for weight, _ in rows]
    divisor = hypot(*weights) * hypot(*topic) if printed else fsum(weights) * fsum(topic)
    return weighted_sum(rows, topic) / divisor if divisor else 0.0


def corley_mihalcea(rows: Sequence[SimilarityRow], topic: Sequence[float]) -> float:
    """Return how well each word of either text matches a word of the other (Corley and Mihalcea 2005).

        ½ · (Σᵢ maxⱼ sim(i, j) · idfᵢ / Σᵢ idfᵢ  +  Σⱼ maxᵢ sim(i, j) · idfⱼ / Σⱼ idfⱼ)

    i: the words of the text; j: those of the topic. (½·(1·2 + .5·1)/3 + ½·(1·1 + .5·3)/4:)

    >>> round(corley_mihalcea([(2.0, (1.0, 0.0)), (1.0, (0.0, 0.5))], (1.0, 3.0)), 6)
    0.729167
    """
    weights = fsum([weight for weight, _ in rows])
    if not weights or not fsum(topic):
        return 0.0
    here = fsum([weight * max(alike) for weight, alike in rows]) / weights
    best = [max(column) for column in zip(*(alike for _, alike in rows), strict=True)]
    return (here + fsum(map(mul, best, topic)) / fsum(topic)) / 2


def scale_to_unit(value: float) -> float:
    """Map a non-negative number to the range from 0 to 1, keeping the order: x / (1 + x).

    >>> scale_to_unit(0.0), scale_to_unit(1.0), scale_to_unit(3.0)
    (0.0, 0.5, 0.75)
    """
    return value / (1.0 + value)
