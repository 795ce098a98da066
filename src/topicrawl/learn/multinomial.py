"""Naive Bayes over bags of words: the multinomial model of McCallum and Nigam 1998, all classes equally likely."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, fsum, log

LENGTH = 10.0  # words of a document after scaling: long ones say the same as short ones


@dataclass(frozen=True)
class Multinomial:
    """How likely each term is in each class.

        P(t | c) = (1 + N(t, c)) / (V + N(c))        P(c | d) ∝ P(c) · Π P(t | c)^n(t, d)

    t: a term; c: a class; d: a document; N(t, c): how often t occurs in the documents of c; V: the number of terms.
    P(c) is the same for all. Documents are scaled to ten words each.

    Two terms; class 0 has one document of "owl" alone: P(owl | 0) = 11/12; class 1 one that is half and half:
    P(owl | 1) = 6/12. A document of "owl" alone: (11/6)¹⁰ : 1.

    >>> model = Multinomial.fitted([[{"owl": 3.0}], [{"owl": 1.0, "car": 1.0}]], ["owl", "car"])
    >>> [round(value, 4) for value in model.posteriors({"owl": 1.0, "of": 7.0})], round(1 / (1 + (6 / 11) ** 10), 4)
    ([0.9977, 0.0023], 0.9977)
    """

    terms: tuple[str, ...]
    logs: tuple[tuple[float, ...], ...]  # class → log P(t | c) for each term

    @classmethod
    def fitted(cls, documents: Sequence[Sequence[Mapping[str, float]]], terms: Sequence[str]) -> Multinomial:
        """The model of documents by class, each a term → weight."""
        rows = []
        for bags in documents:
            scaled = [scaled_to(bag, terms) for bag in bags]
            counts = [1 + fsum(bag.get(term, 0.0) for bag in scaled) for term in terms]
            total = fsum(counts)
            rows.append(tuple(log(count / total) for count in counts))
        return cls(tuple(terms), tuple(rows))

    def posteriors(self, document: Mapping[str, float]) -> list[float]:
        """P(c | d) for each class; a document without any of the terms leaves all equally likely."""
        bag = scaled_to(document, self.terms)
        likely = [
            fsum(bag[t] * value for t, value in zip(self.terms, row, strict=True) if t in bag) for row in self.logs
        ]
        most = max(likely)
        shares = [exp(value - most) for value in likely]
        total = fsum(shares)
        return [share / total for share in shares]


def scaled_to(document: Mapping[str, float], terms: Sequence[str], length: float = LENGTH) -> dict[str, float]:
    """The document's weights of the terms, scaled to a sum.

    >>> scaled_to({"owl": 3.0, "of": 5.0, "car": 1.0}, ["owl", "car"])
    {'owl': 7.5, 'car': 2.5}
    """
    bag = {term: document[term] for term in terms if document.get(term, 0.0) > 0}
    total = fsum(bag.values())
    return {term: weight / total * length for term, weight in bag.items()}
