"""Map the words of many texts to the numbers of their stems at once, without creating a string per word."""

from __future__ import annotations

from collections.abc import Sequence
from secrets import randbits

import numpy as np
from numpy.typing import NDArray

from topicrawl.search.index_file import get_lexicon
from topicrawl.text.word_sequence import WordIdLookup, WordSequence


class TermNumbering:
    """Numbers of stems, in the order of their first occurrence.

    `new_terms` collects the stems numbered since the caller last emptied it.
    """

    def __init__(self) -> None:
        self.terms: dict[str, int] = {}
        self.new_terms: list[str] = []
        self._cache = WordIdLookup()
        self._hash_seeds: dict[str, np.uint64] = {}  # by language, because the stem of a word depends on the language

    def __len__(self) -> int:
        """Return the number of cached words."""
        return len(self._cache)

    def number_words(self, texts: Sequence[bytes], language: str) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Return the stem numbers of all words of normalized texts, and the number of words of each text.

        The texts are byte strings as the tokenizer (`topicrawl.text.tokenizer`) normalizes them.

        >>> numbering = TermNumbering()
        >>> numbers, sizes = numbering.number_words([b"owls hunt", b"", b" an owl "], "en")
        >>> numbers.tolist(), sizes.tolist(), numbering.new_terms
        ([0, 1, 2, 0], [2, 0, 2], ['owl', 'hunt', 'an'])
        """
        text = WordSequence(b" ".join(texts))
        borders = np.cumsum([0, *(len(part) + 1 for part in texts)])
        sizes = np.diff(text.starts.searchsorted(borders))
        # The seed is even: the lookup table uses the lowest bit of a hash to tell used slots from empty ones.
        seed = self._hash_seeds.setdefault(language, np.uint64(randbits(63) << 1))
        return self._cache(
            text.hashes ^ seed, lambda places: self._number_new_words(text.get_words(places), language)
        ), sizes

    def _number_new_words(self, words: list[str], language: str) -> list[int]:
        """Return the stem numbers of words that are not in the cache; number new stems."""
        terms, numbers = self.terms, []
        for stem in map(get_lexicon(language).stem, words):
            number = terms.get(stem)
            if number is None:
                number = terms[stem] = len(terms)
                self.new_terms.append(stem)
            numbers.append(number)
        return numbers
