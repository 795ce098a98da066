"""A page as a bag of terms: which ones it holds, how often, and how rare each is, in arrays.

A page has thousands of words and is weighed by every judge; words become numbers once, and all else is done on arrays.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from math import fsum, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from topicrawl.text.lexicon import LONGEST_WORD, Lexicon
from topicrawl.text.vectors import norm

#: Words that a vocabulary knows; about 8 MB when full.
_MOST_WORDS = 50_000
#: A page with more words gets a vocabulary of its own, so that it cannot drive out what all others need.
_MANY = 20_000

_SHARED: dict[str, Vocabulary] = {}  # language → the vocabulary of all its texts

Numbers = NDArray[np.int32]
Floats = NDArray[np.float64]


class Vocabulary(dict[str, int]):
    """Word → the number of its term, 0 for a word that is none.

    >>> from topicrawl.text.lexicon import lexicon
    >>> words = Vocabulary(lexicon("en"))
    >>> words["owls"], words["the"], words["owl"], words.terms
    (1, 0, 1, {'': 0, 'owl': 1})
    """

    def __init__(self, lexicon: Lexicon) -> None:
        self.lexicon = lexicon
        self.terms = {"": 0}
        self.idf = np.zeros(1024)  # by number

    def __missing__(self, word: str) -> int:
        number = self.number(self.lexicon.term(word))
        if len(word) <= LONGEST_WORD:
            self[word] = number
        return number

    def number(self, term: str) -> int:
        """The number of a term, a new one where it is not known yet."""
        number = self.terms.get(term)
        if number is None:
            number = self.terms[term] = len(self.terms)
            if number == len(self.idf):
                self.idf = np.concatenate([self.idf, np.zeros_like(self.idf)])
            self.idf[number] = self.lexicon.idf(term)
        return number


class Counted(NamedTuple):
    """The terms of a bag by their numbers, each once, in the order of these."""

    numbers: Numbers
    counts: Floats
    idf: Floats


class Bag:
    """The terms of a text, title and all, in some language; made by `bag_of` or from weights that are known.

    >>> from topicrawl.text.lexicon import lexicon
    >>> bag = bag_of(["owl", "night", "owl"], lexicon("xx"))
    >>> bag.weights, bag.held(["owl", "day"]), bag.length ** 2
    ({'owl': 2.0, 'night': 1.0}, {'owl': 2.0}, 5.000000000000001)
    """

    def __init__(self, words: Sequence[str], vocabulary: Vocabulary, weights: Mapping[str, float] | None = None):
        self._words = words
        self.vocabulary = vocabulary
        self._weights = weights

    @property
    def weights(self) -> Mapping[str, float]:
        """Term → how often it occurs times its idf, in the order of the text."""
        if self._weights is None:
            self._weights = self.vocabulary.lexicon.weights(self._words)
        return self._weights

    @cached_property
    def counted(self) -> Counted:
        return self._of_words() if self._weights is None else self._of_weights(self._weights)

    def _of_words(self) -> Counted:
        numbers = np.fromiter(map(self.vocabulary.__getitem__, self._words), np.int32, len(self._words))
        numbers.sort()
        if not len(numbers):
            return self._rare(numbers, np.zeros(0))
        # A run of one number ends where the next differs.
        ends = np.append((numbers[1:] != numbers[:-1]).nonzero()[0] + 1, len(numbers))
        counts = ends.astype(np.float64)
        counts[1:] -= ends[:-1]
        numbers = numbers[ends - 1]
        none = int(numbers[0] == 0)
        return self._rare(numbers[none:], counts[none:])

    def _of_weights(self, weights: Mapping[str, float]) -> Counted:
        numbers = np.fromiter(map(self.vocabulary.number, weights), np.int32, len(weights))
        order = np.argsort(numbers)
        found = self._rare(numbers[order], np.fromiter(weights.values(), np.float64, len(weights))[order])
        return found._replace(counts=np.rint(found.counts / np.maximum(found.idf, 1e-9)))

    def _rare(self, numbers: Numbers, counts: Floats) -> Counted:
        return Counted(numbers, counts, self.vocabulary.idf[numbers])

    @cached_property
    def length(self) -> float:
        """Of the bag's weights as a vector."""
        if self._weights is not None:
            return norm(self._weights)
        _, counts, idf = self.counted
        # Exact, so that the order of numbers, which differs from run to run, does not matter.
        return sqrt(fsum(np.square(counts * idf).tolist()))

    def places(self, terms: Collection[str]) -> dict[str, int]:
        """Where terms stand in `counted`; those that the bag does not hold are left out."""
        numbers = self.counted.numbers  # first of all, as counting gives new terms their numbers
        number = self.vocabulary.terms.get
        known = [(term, found) for term in terms if (found := number(term)) is not None]
        if not known:
            return {}
        wanted = np.array([found for _, found in known], np.int32)
        places = np.searchsorted(numbers, wanted)
        there = np.append(numbers, -1)[places] == wanted
        return {
            term: place for (term, _), place, held in zip(known, places.tolist(), there.tolist(), strict=True) if held
        }

    def held(self, terms: Collection[str]) -> dict[str, float]:
        """The weights of those terms that the bag holds."""
        if self._weights is not None:
            return {term: self._weights[term] for term in terms if term in self._weights}
        _, counts, idf = self.counted
        return {term: float(counts[place] * idf[place]) for term, place in self.places(terms).items()}


def bag_of(words: Sequence[str], lexicon: Lexicon, weights: Mapping[str, float] | None = None) -> Bag:
    """The bag of a text's words, or of terms whose weights are known already."""
    count = len(words if weights is None else weights)
    known = _SHARED.get(lexicon.language)
    if known is None or len(known) > _MOST_WORDS or count > _MANY:
        # A new one, as bags that somebody still holds speak of the old one's numbers.
        known = Vocabulary(lexicon)
        if count <= _MANY:
            _SHARED[lexicon.language] = known
    return Bag(words, known, weights)
