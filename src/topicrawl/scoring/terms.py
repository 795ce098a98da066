"""What a topic's observer knows of terms, in arrays."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import xxhash
from numpy.typing import NDArray

from topicrawl.relevance.vsm import Vsm
from topicrawl.text.bag import Vocabulary

# They stand in addresses and say nothing.
_QUIET = frozenset({"html", "htm", "php", "asp", "aspx", "jsp", "cgi", "index", "www", "http", "https"})

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
        self.rarity = np.zeros(0, np.float32)  # idf², 0 for what says nothing
        self.wanted = np.zeros(0, np.float32)  # the topic's weight times idf

    def hashes(self, numbers: Numbers) -> Hashes:
        """The hashes of terms. Most terms of a page stand far from its links, so they are looked at one by one."""
        if len(self.vocabulary.terms) > len(self._hashes):
            self._grow(2 * len(self.vocabulary.terms))
        found = self._hashes[numbers]
        if not found.all():
            self._look(sorted(set(numbers[found == 0].tolist())))
            found = self._hashes[numbers]
        return found

    def _grow(self, size: int) -> None:
        for name in ("_hashes", "rarity", "wanted"):
            array = getattr(self, name)
            setattr(self, name, np.concatenate([array, np.zeros(size - len(array), array.dtype)]))

    def _look(self, numbers: list[int]) -> None:
        """Look at terms for the first time."""
        terms = list(map(self.vocabulary.names.__getitem__, numbers))
        self._hashes[numbers] = hashes = list(map(hashed, terms))
        self.said.update(zip(hashes, terms, strict=True))
        idf = self.vocabulary.idf[numbers]
        self.rarity[numbers] = idf * idf
        for at, term, rare in zip(numbers, terms, idf.tolist(), strict=True):
            if term.isdigit() or term in _QUIET or not term:
                self.rarity[at] = 0.0
            elif term in self._query:
                self.wanted[at] = self._query[term] * rare


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


class Names(dict[str, int]):
    """Text → its hash; which text one stands for is noted in `said`."""

    def __init__(self, said: dict[int, str]) -> None:
        self._said = said

    def __missing__(self, text: str) -> int:
        value = self[text] = hashed(text)
        self._said[value] = text
        return value
