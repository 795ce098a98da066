"""Multinomial naive Bayes over term weights with equal class priors: McCallum and Nigam 1998."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, fsum, log

DOCUMENT_LENGTH = 10.0  # words per document after scaling, so long and short documents count equally


@dataclass(frozen=True)
class MultinomialNaiveBayes:
    """Probabilities of the terms in each class.

        P(t | c) = (1 + N(t, c)) / (V + N(c))        P(c | d) ∝ P(c) · Π P(t | c)^n(t, d)

    t: a term; c: a class; d: a document; N(t, c): the frequency of t in the documents of c; V: the number of terms.
    P(c) is the same for all classes. Documents are scaled to ten words.

    Two terms. Class 0 has one document with only "owl": P(owl | 0) = 11/12. Class 1 has one document with both terms
    equally: P(owl | 1) = 6/12. For a document with only "owl", the odds are (11/6)¹⁰ : 1.

    >>> model = MultinomialNaiveBayes.fit([[{"owl": 3.0}], [{"owl": 1.0, "car": 1.0}]], ["owl", "car"])
    >>> (
    ...     [round(value, 4) for value in model.compute_posteriors({"owl": 1.0, "of": 7.0})],
    ...     round(1 / (1 + (6 / 11) ** 10), 4),
    ... )
    ([0.9977, 0.0023], 0.9977)
    """

    terms: tuple[str, ...]
    log_probabilities: tuple[tuple[float, ...], ...]  # class → log P(t | c) for each term

    @classmethod
    def fit(cls, documents: Sequence[Sequence[Mapping[str, float]]], terms: Sequence[str]) -> MultinomialNaiveBayes:
        """Fit the model to the documents of each class. A document is a dict of term → weight."""
        rows = []
        for bags in documents:
            scaled = [scale_weights(bag, terms) for bag in bags]
            counts = [1 + fsum(bag.get(term, 0.0) for bag in scaled) for term in terms]
            total = fsum(counts)
            rows.append(tuple(log(count / total) for count in counts))
        return cls(tuple(terms), tuple(rows))

    def compute_posteriors(self, document: Mapping[str, float]) -> list[float]:
        """Return P(c | d) for each class. For a document without any of the terms, all classes are equally probable."""
        bag = scale_weights(document, self.terms)
        log_likelihoods = [
            fsum(bag[t] * value for t, value in zip(self.terms, row, strict=True) if t in bag)
            for row in self.log_probabilities
        ]
        highest = max(log_likelihoods)
        shares = [exp(value - highest) for value in log_likelihoods]
        total = fsum(shares)
        return [share / total for share in shares]


def scale_weights(
    document: Mapping[str, float], terms: Sequence[str], length: float = DOCUMENT_LENGTH
) -> dict[str, float]:
    """Return the document's weights of the terms, scaled to the sum `length`.

    >>> scale_weights({"owl": 3.0, "of": 5.0, "car": 1.0}, ["owl", "car"])
    {'owl': 7.5, 'car': 2.5}
    """
    bag = {term: document[term] for term in terms if document.get(term, 0.0) > 0}
    total = fsum(bag.values())
    return {term: weight / total * length for term, weight in bag.items()}
