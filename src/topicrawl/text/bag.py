"""A page as a bag of terms: which ones it holds, how often, and how rare each is, in arrays.

A page has thousands of words and is weighed by every judge; words become numbers once, and all else is done on arrays.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence, Sized
from functools import cached_property
from itertools import chain, compress
from math import fsum, sqrt
from threading import RLock
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from topicrawl.text.lexicon import Lexicon
from topicrawl.text.vectors import norm
from topicrawl.text.wording import Lookup, Wording

#: Words that all vocabularies know together; about 19 MB.
_MOST_WORDS = 100_000
#: A page with more words gets a vocabulary of its own, so that it cannot drive out what all others need.
_MANY = 20_000

#: So few words are sooner looked up one by one.
_FEW = 50

_SHARED: dict[str, Vocabulary] = {}  # language → the vocabulary of all its texts

Numbers = NDArray[np.int32]
Floats = NDArray[np.float64]


class Vocabulary:
    """Words as the numbers of their terms, 0 for a word that is none.

    >>> from topicrawl.text.lexicon import lexicon
    >>> vocabulary = Vocabulary(lexicon("en"))
    >>> vocabulary.numbers(["owls", "the", "owl"]).tolist(), vocabulary.terms
    ([1, 0, 1], {'': 0, 'owl': 1})
    """

    def __init__(self, lexicon: Lexicon) -> None:
        self.lexicon = lexicon
        self.terms = {"": 0}
        self.names = [""]  # the terms by their numbers
        self.idf = np.zeros(1024)  # by number
        self._known = Lookup()
        self._lock = RLock()  # a server reads pages in several threads

    def __len__(self) -> int:
        """How many words are known, or terms, where there are more of these."""
        return max(len(self._known), len(self.terms) - 1)

    def numbers(self, words: Sequence[str]) -> Numbers:
        """The term of each word; it is remembered with a `Wording`."""
        if not isinstance(words, Wording) and len(words) < _FEW:
            return np.array(self.given(self.lexicon.aligned(words)), np.int32)
        said = Wording.of(words)
        if said.numbered is not None and said.numbered[0] is self:
            return said.numbered[1]
        with self._lock:
            found = self._known(said.mixed, lambda places: self._learned(said.at(places)))
        said.numbered = self, found
        return found

    def has(self, said: Wording) -> bool:
        """Were these words given their numbers here?"""
        return said.numbered is not None and said.numbered[0] is self

    def among(self, said: Wording, places: NDArray[np.int64]) -> Numbers:
        """The terms of the words at some places."""
        if self.has(said):
            return self.numbers(said)[places]
        with self._lock:
            return self._known(said.mixed[places], lambda those: self._learned(said.at(places[those])))

    def _learned(self, words: list[str]) -> list[int]:
        """The terms of words that are new."""
        return self.given(self.lexicon.unremembered(words))

    def given(self, terms: Iterable[str]) -> list[int]:
        """The numbers of terms, new ones where they are not known yet."""
        known, found, new = self.terms, [], []
        rarity, rarest = self.lexicon.rarity
        with self._lock:
            for term in terms:
                number = known.get(term)
                if number is None:
                    number = known[term] = len(known)
                    self.names.append(term)
                    new.append(rarity.get(term, rarest))
                found.append(number)
            if new:
                if len(known) > len(self.idf):
                    self.idf = np.concatenate([self.idf, np.zeros(max(len(self.idf), len(new)))])
                self.idf[len(known) - len(new) : len(known)] = new
        return found


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

    def __init__(
        self, parts: Sequence[Sequence[str]], vocabulary: Vocabulary, weights: Mapping[str, float] | None = None
    ) -> None:
        self._parts = parts
        self.vocabulary = vocabulary
        self._weights = weights

    @property
    def weights(self) -> Mapping[str, float]:
        """Term → how often it occurs times its idf, in the order of the text."""
        if self._weights is None:
            self._weights = self.vocabulary.lexicon.weights(chain.from_iterable(self._parts))
        return self._weights

    @cached_property
    def counted(self) -> Counted:
        return self._of_words() if self._weights is None else self._of_weights(self._weights)

    def _of_words(self) -> Counted:
        numbers = np.concatenate([self.vocabulary.numbers(part) for part in self._parts])
        numbers = numbers[numbers.nonzero()[0]]
        numbers.sort()
        if not len(numbers):
            return self._rare(numbers, np.zeros(0))
        # A run of one number ends where the next differs.
        last = np.empty(len(numbers), np.bool_)
        last[-1] = True
        np.not_equal(numbers[1:], numbers[:-1], out=last[:-1])
        ends = last.nonzero()[0]
        counts = (ends + 1).astype(np.float64)
        counts[1:] -= counts[:-1].copy()
        return self._rare(numbers[ends], counts)

    def _of_weights(self, weights: Mapping[str, float]) -> Counted:
        numbers = np.array(self.vocabulary.given(weights), np.int32)
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
        known = self.vocabulary.terms
        there = [term for term in terms if term in known]
        if not there or not len(numbers):
            return {}
        wanted = np.array([known[term] for term in there], np.int32)
        places = numbers.searchsorted(wanted)
        held = numbers.take(places, mode="clip") == wanted
        return dict(compress(zip(there, places.tolist(), strict=True), held.tolist()))

    def held(self, terms: Collection[str]) -> dict[str, float]:
        """The weights of those terms that the bag holds."""
        if self._weights is not None:
            return {term: self._weights[term] for term in terms if term in self._weights}
        _, counts, idf = self.counted
        return {term: float(counts[place] * idf[place]) for term, place in self.places(terms).items()}


def bag_of(
    words: Sequence[str], lexicon: Lexicon, weights: Mapping[str, float] | None = None, *, title: Sequence[str] = ()
) -> Bag:
    """The bag of the words of a title and a text, or of terms whose weights are known already."""
    vocabulary = vocabulary_for(words if weights is None else weights, lexicon)
    return Bag((title, words) if title else (words,), vocabulary, weights)


def vocabulary_for(words: Sized, lexicon: Lexicon) -> Vocabulary:
    """The vocabulary of a language, in which these words have their numbers."""
    if len(words) > _MANY:
        return Vocabulary(lexicon)
    if sum(map(len, _SHARED.values())) > _MOST_WORDS:
        # New ones, as bags that somebody still holds speak of the old ones' numbers.
        _SHARED.clear()
    known = _SHARED.get(lexicon.language)
    return _SHARED.setdefault(lexicon.language, Vocabulary(lexicon)) if known is None else known
