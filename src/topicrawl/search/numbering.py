"""Words as numbers of their stems, many at a time, without making a string of each."""

from __future__ import annotations

from collections.abc import Sequence
from secrets import randbits

import numpy as np
from numpy.typing import NDArray

from topicrawl.search.index_file import tongue
from topicrawl.text.wording import Lookup, Wording


class Numbering:
    """Stems by the order in which they were met; `new` are those since it was last emptied."""

    def __init__(self) -> None:
        self.terms: dict[str, int] = {}
        self.new: list[str] = []
        self._known = Lookup()
        self._seeds: dict[str, np.uint64] = {}  # by language: a word has a stem in each

    def __len__(self) -> int:
        """How many words are known."""
        return len(self._known)

    def numbers(self, parts: Sequence[bytes], language: str) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """The stems of all words of texts that are spelled out (`tokens.spelled`), and how many each text has.

        >>> numbering = Numbering()
        >>> numbers, sizes = numbering.numbers([b"owls hunt", b"", b" an owl "], "en")
        >>> numbers.tolist(), sizes.tolist(), numbering.new
        ([0, 1, 2, 0], [2, 0, 2], ['owl', 'hunt', 'an'])
        """
        said = Wording(b" ".join(parts))
        borders = np.cumsum([0, *(len(part) + 1 for part in parts)])
        sizes = np.diff(said.starts.searchsorted(borders))
        # An even seed leaves the last bit, by which a place that is taken differs from an empty one.
        seed = self._seeds.setdefault(language, np.uint64(randbits(63) << 1))
        return self._known(said.mixed ^ seed, lambda places: self._learned(said.at(places), language)), sizes

    def _learned(self, words: list[str], language: str) -> list[int]:
        """The stems of words that are new."""
        terms, found = self.terms, []
        for stem in map(tongue(language).stem, words):
            number = terms.get(stem)
            if number is None:
                number = terms[stem] = len(terms)
                self.new.append(stem)
            found.append(number)
        return found
