"""How alike words and texts are in meaning: Batsakis 2007, sections 2.4 and 3.3, equations 3, 4, 8 and 9.

Two words are compared through an ontology. A word may have many meanings; of all pairs of meanings of two words the
most similar one counts. Two texts are compared through their words: a text is given as rows, one for each of its
terms, of the term's weight and its similarities to each term of the topic; the topic as the weights of its terms.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, fsum, hypot, tanh
from operator import mul
from typing import Protocol, TypeAlias

from topicrawl.text.ontology import Ontology

#: The weight of a term of a text, and its similarity to each term of the topic.
Row: TypeAlias = tuple[float, Sequence[float]]


def li(length: int, depth: int, a: float = 0.2, b: float = 0.6) -> float:
    """Similarity that falls with the length of a path and rises with the depth of the common concept (Li et al. 2003).

        sim = exp(−a·L) · tanh(b·H)                                                                  (4)

    L: the length; H: the depth. The thesis prints the second factor into the exponent, where similarity would fall
    with depth; the original multiplies.

    >>> round(li(1, 3), 6)
    0.775179
    """
    return exp(-a * length) * tanh(b * depth)


class Measure(Protocol):
    """Compares two words by what lies above all their meanings, with the steps to it (`Ontology.climb`)."""

    @property
    def parts(self) -> bool:
        """Whether paths lead along more than "is a kind of"."""

    def between(self, ontology: Ontology, here: Mapping[int, int], there: Mapping[int, int]) -> float:
        """Similarity from 0 to 1."""


@dataclass(frozen=True)
class Path:
    """Half as similar with every step between two meanings (Ehrig and Maedche 2003).

        sim = df^sp                                                                                  (3)

    sp: the length of the shortest path; df: the factor. The thesis names two cheaper relations, in which a word either
    is related (1) or is not (0): `neighbours`, one step of any kind, and `is_a`, two steps of "is a kind of".
    """

    factor: float = 0.5
    relation: str = "path"

    @property
    def parts(self) -> bool:
        return self.relation != "is_a"

    def between(self, ontology: Ontology, here: Mapping[int, int], there: Mapping[int, int]) -> float:
        shared = here.keys() & there.keys()
        if not shared:
            return 0.0
        steps = min([here[place] + there[place] for place in shared])
        if self.relation == "path":
            return self.factor**steps
        return 1.0 if steps <= (1 if self.relation == "neighbours" else 2) else 0.0


@dataclass(frozen=True)
class Li:
    """Li's similarity of the two meanings, and of the concept they share, that give the highest."""

    a: float = 0.2
    b: float = 0.6
    parts: bool = False

    def between(self, ontology: Ontology, here: Mapping[int, int], there: Mapping[int, int]) -> float:
        depth = ontology.depth
        # Least steps by depth first: exponentials cost more than sums.
        steps: dict[int, int] = {}
        for place in here.keys() & there.keys():
            length, deep = here[place] + there[place], depth(place)
            if length < steps.get(deep, length + 1):
                steps[deep] = length
        return max([li(length, deep, self.a, self.b) for deep, length in steps.items()], default=0.0)


def similarity(ontology: Ontology, measure: Measure, one: str, other: str) -> float:
    """The similarity of two terms.

    >>> from topicrawl.text.wordnet import wordnet
    >>> similarity(wordnet(), Path(), "car", "automobile"), round(similarity(wordnet(), Li(), "dog", "wolf"), 3)
    (1.0, 0.67)
    """
    if one == other:
        return 1.0
    parts = measure.parts
    return measure.between(ontology, ontology.above(one, parts=parts), ontology.above(other, parts=parts))


def weighted_sum(rows: Sequence[Row], topic: Sequence[float]) -> float:
    """Ehrig's similarity of two texts, as large as the texts are long.

        Σⱼ Σₖ sim(tⱼ, tₖ) · wij · wqk                                                                 (8)

    >>> weighted_sum([(1.0, (1.0, 0.5)), (0.5, (0.0, 0.25))], (1.0, 1.0))
    1.625
    """
    return fsum([weight * fsum(map(mul, alike, topic)) for weight, alike in rows])


def ssrm(rows: Sequence[Row], topic: Sequence[float], *, printed: bool = True) -> float:
    """The similarity of the Semantic Similarity Retrieval Model.

        Σₖ Σⱼ sim(tₖ, tⱼ) · wik · wqj / (√Σⱼ wij² · √Σⱼ wqj²)                                         (9)

    The printed form has no bound: three words, each like each of three others, give 3. The model's authors divide by
    Σₖ Σⱼ wik · wqj instead, which gives 1 (`printed=False`).

    >>> alike = [(1.0, (1.0, 1.0, 1.0))] * 3
    >>> round(ssrm(alike, (1.0, 1.0, 1.0)), 6), ssrm(alike, (1.0, 1.0, 1.0), printed=False)
    (3.0, 1.0)
    """
    weights = [weight for weight, _ in rows]
    most = hypot(*weights) * hypot(*topic) if printed else fsum(weights) * fsum(topic)
    return weighted_sum(rows, topic) / most if most else 0.0


def corley_mihalcea(rows: Sequence[Row], topic: Sequence[float]) -> float:
    """How well each word of either text finds a like one in the other (Corley and Mihalcea 2005).

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


def bounded(value: float) -> float:
    """A number from 0 on as one from 0 to 1, in the same order: x / (1 + x).

    >>> bounded(0.0), bounded(1.0), bounded(3.0)
    (0.0, 0.5, 0.75)
    """
    return value / (1.0 + value)
