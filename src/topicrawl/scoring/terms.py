"""What a topic's observer knows of terms, in arrays."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import xxhash
from numpy.typing import NDArray

from topicrawl.learn.online import Floats
from topicrawl.relevance.vsm import Vsm
from topicrawl.text.bag import Vocabulary
from topicrawl.text.tokens import words
from topicrawl.text.wording import wordings

# They stand in addresses and say nothing.
_QUIET = frozenset({"html", "htm", "php", "asp", "aspx", "jsp", "cgi", "index", "www", "http", "https"})

#: Texts of so few characters are sooner read one by one.
_SHORT = 1000

Numbers = NDArray[np.integer[Any]]
Hashes = NDArray[np.uint32]


class Terms:
    """What is known of terms, by the numbers that a vocabulary has given them; 0 is none."""

    def __init__(self, vsm: Vsm, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self.said: dict[int, str] = {}  # hash → term
        length = float(np.sqrt(sum(weight * weight for weight in vsm.query.values())))
        self._query = {term: weight / length for term, weight in vsm.query.items()}
        self._hashes = np.zeros(0, np.uint32)  # 0: not looked at yet
        self._rarity = np.zeros(0, np.float32)  # idf², 0 for what says nothing
        self._wanted = np.zeros(0, np.float32)  # the topic's weight times idf

    def hashes(self, numbers: Numbers) -> Hashes:
        """The hashes of terms. Most terms of a page stand far from its links, so they are looked at one by one."""
        if len(self.vocabulary.terms) > len(self._hashes):
            self._grow(2 * len(self.vocabulary.terms))
        found = self._hashes[numbers]
        if not found.all():
            self._look(sorted(set(numbers[found == 0].tolist())))
            found = self._hashes[numbers]
        return found

    def alike(self, numbers: Numbers, sizes: Numbers) -> Floats:
        """The cosine of each text with the topic, so many terms each; a word that is said twice counts as two words.

        Terms must have been looked at (`hashes`).
        """
        found = np.zeros(len(sizes), np.float32)
        wanted = self._wanted[numbers]
        hits = wanted.nonzero()[0]
        if len(hits):
            owner = np.arange(len(sizes)).repeat(sizes)
            product = np.bincount(owner[hits], wanted[hits], len(sizes))
            # Few texts speak of the topic: the length of the others does not matter.
            there = (product > 0)[owner].nonzero()[0]
            length = np.sqrt(np.bincount(owner[there], self._rarity[numbers[there]], len(sizes)))
            np.divide(product, length, out=found, where=length > 0, casting="unsafe")
        return np.minimum(found, 1.0, out=found)

    def _grow(self, size: int) -> None:
        for name in ("_hashes", "_rarity", "_wanted"):
            array = getattr(self, name)
            setattr(self, name, np.concatenate([array, np.zeros(size - len(array), array.dtype)]))

    def _look(self, numbers: list[int]) -> None:
        """Look at terms for the first time."""
        terms = list(map(self.vocabulary.names.__getitem__, numbers))
        self._hashes[numbers] = hashes = list(map(hashed, terms))
        self.said.update(zip(hashes, terms, strict=True))
        idf = self.vocabulary.idf[numbers]
        self._rarity[numbers] = idf * idf
        for at, term, rare in zip(numbers, terms, idf.tolist(), strict=True):
            if term.isdigit() or term in _QUIET or not term:
                self._rarity[at] = 0.0
            elif term in self._query:
                self._wanted[at] = self._query[term] * rare


class Spans(NamedTuple):
    """Stretches of an array."""

    starts: Numbers
    sizes: Numbers

    def in_a_row(self, start: int = 0) -> Spans:
        """As many stretches of the same sizes, one right behind the other.

        >>> Spans(np.array([5, 0]), np.array([2, 4])).in_a_row(10)
        Spans(starts=array([10, 12]), sizes=array([2, 4]))
        """
        return Spans(self.sizes.cumsum() - self.sizes + start, self.sizes)

    def places(self) -> Numbers:
        """The places in them, one stretch after the other.

        >>> Spans(np.array([5, 0, 9]), np.array([2, 0, 1])).places().tolist()
        [5, 6, 9]
        """
        ends = self.sizes.cumsum()
        found: Numbers = (self.starts - ends + self.sizes).repeat(self.sizes)
        found += np.arange(len(found))
        return found


def hashed(text: str) -> int:
    return xxhash.xxh32_intdigest(text.encode("utf-8", "replace"))


def read(texts: Sequence[str], vocabulary: Vocabulary) -> tuple[Numbers, Spans]:
    """The terms of texts, one text after the other; words that are none are left out.

    >>> from topicrawl.text.lexicon import lexicon
    >>> numbers, spans = read(["the owl", "", "owls and bats"], Vocabulary(lexicon("en")))
    >>> numbers.tolist(), spans.sizes.tolist()
    ([1, 1, 2], [1, 0, 2])
    """
    if sum(map(len, texts)) < _SHORT:
        found = [vocabulary.given(vocabulary.lexicon.terms(words(text))) for text in texts]
        sizes = np.array(list(map(len, found)), np.int64)
        return np.array(list(chain.from_iterable(found)), np.int32), Spans(sizes, sizes).in_a_row()
    said, borders = wordings(texts)
    numbers = vocabulary.numbers(said)
    spoken = numbers.nonzero()[0]
    ends = spoken.searchsorted(borders)
    starts = np.concatenate([np.zeros(1, ends.dtype), ends[:-1]])
    return numbers[spoken], Spans(starts, ends - starts)
