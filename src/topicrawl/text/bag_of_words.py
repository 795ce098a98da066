"""Bag-of-words representation of a page: term ids, counts and idf values in arrays.

A page has thousands of words, and several models score it. Each word is mapped to a term id once; all further steps
work on arrays.
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

from topicrawl.text.lexicon import LanguageLexicon
from topicrawl.text.sparse_vectors import norm
from topicrawl.text.term_frequencies import compute_sif_weights
from topicrawl.text.word_sequence import WordIdLookup, WordSequence

#: Words in all vocabularies of a `VocabularyCache` together; about 19 MB.
_MAX_SHARED_WORDS = 100_000
#: A page with more words gets a separate vocabulary, so that it does not displace the words of all other pages.
_MAX_PAGE_WORDS = 20_000

#: Fewer words are looked up one by one, which is faster.
_MIN_BATCH_WORDS = 50

TermIds = NDArray[np.int32]
FloatArray = NDArray[np.float64]


class TermVocabulary:
    """Map words to the ids of their terms. The id of stop words is 0.

    >>> from topicrawl.text.lexicon import load_lexicon
    >>> vocabulary = TermVocabulary(load_lexicon("en"))
    >>> ids = vocabulary.get_term_ids(["owls", "the", "owl"]).tolist()
    >>> ids, vocabulary.get_terms(ids), vocabulary.find_term_ids(["owl", "owls"])
    ([1, 0, 1], ['owl', '', 'owl'], {'owl': 1})
    """

    def __init__(self, lexicon: LanguageLexicon) -> None:
        self.lexicon = lexicon
        self._term_ids = {"": 0}
        self._terms = [""]  # id → term
        self._idf = np.zeros(1024)  # id → idf
        self._sif_weights = np.zeros(0, np.float32)  # id → smooth inverse frequency
        self._sif_count = 0  # number of ids whose smooth inverse frequency is known
        self._word_ids = WordIdLookup()
        self._lock = RLock()  # a server processes pages in several threads

    def __len__(self) -> int:
        """Return the number of words or the number of terms, whichever is larger."""
        return max(len(self._word_ids), len(self._term_ids) - 1)

    @property
    def id_count(self) -> int:
        """Number of assigned ids, including 0: all ids are smaller."""
        return len(self._terms)

    def get_terms(self, ids: Iterable[int]) -> list[str]:
        """Return the terms with some ids."""
        return list(map(self._terms.__getitem__, ids))

    def get_idf(self, ids: TermIds | Sequence[int]) -> FloatArray:
        """Return the idf values of the terms with some ids."""
        return self._idf[ids]

    def get_sif_weights(self, ids: TermIds) -> NDArray[np.float32]:
        """Return the smooth inverse frequencies of the terms with some ids.

        They are computed once for each term, because this takes 20 µs for the terms of a page of 38 KB.
        """
        if self._sif_count < len(self._terms):
            with self._lock:
                first, count = self._sif_count, len(self._terms)
                if count > len(self._sif_weights):
                    unused = np.zeros(len(self._idf) - len(self._sif_weights), np.float32)
                    self._sif_weights = np.concatenate([self._sif_weights, unused])
                self._sif_weights[first:count] = compute_sif_weights(self._idf[first:count])
                self._sif_count = count
        return self._sif_weights[ids]

    def find_term_ids(self, terms: Iterable[str]) -> dict[str, int]:
        """Return the ids of those terms that the vocabulary contains."""
        ids = self._term_ids
        return {term: ids[term] for term in terms if term in ids}

    def get_term_ids(self, words: Sequence[str]) -> TermIds:
        """Return the term id of each word. The ids of a `WordSequence` are stored in it."""
        if not isinstance(words, WordSequence) and len(words) < _MIN_BATCH_WORDS:
            return np.array(self.assign_term_ids(self.lexicon.align_terms(words)), np.int32)
        sequence = WordSequence.of(words)
        if sequence.numbered is not None and sequence.numbered[0] is self:
            return sequence.numbered[1]
        with self._lock:
            ids = self._word_ids(sequence.hashes, lambda places: self._add_words(sequence.get_words(places)))
        sequence.numbered = self, ids
        return ids

    def has_ids_of(self, sequence: WordSequence) -> bool:
        """Return whether the sequence stores term ids of this vocabulary."""
        return sequence.numbered is not None and sequence.numbered[0] is self

    def get_term_ids_at(self, sequence: WordSequence, positions: NDArray[np.int64]) -> TermIds:
        """Return the term ids of the words at some positions."""
        if self.has_ids_of(sequence):
            return self.get_term_ids(sequence)[positions]
        with self._lock:
            return self._word_ids(
                sequence.hashes[positions], lambda unknown: self._add_words(sequence.get_words(positions[unknown]))
            )

    def _add_words(self, words: list[str]) -> list[int]:
        """Add words to the vocabulary and return their term ids."""
        return self.assign_term_ids(self.lexicon.compute_terms(words))

    def assign_term_ids(self, terms: Iterable[str]) -> list[int]:
        """Return the ids of terms. Terms that are not in the vocabulary get new ids."""
        terms_to_ids, ids, new_idf = self._term_ids, [], []
        rarity, rarest = self.lexicon.idf_table
        with self._lock:
            for term in terms:
                number = terms_to_ids.get(term)
                if number is None:
                    number = terms_to_ids[term] = len(terms_to_ids)
                    self._terms.append(term)
                    new_idf.append(rarity.get(term, rarest))
                ids.append(number)
            if new_idf:
                if len(terms_to_ids) > len(self._idf):
                    self._idf = np.concatenate([self._idf, np.zeros(max(len(self._idf), len(new_idf)))])
                self._idf[len(terms_to_ids) - len(new_idf) : len(terms_to_ids)] = new_idf
        return ids


class TermCounts(NamedTuple):
    """Distinct terms of a bag of words, sorted by id."""

    term_ids: TermIds
    counts: FloatArray
    idf: FloatArray


class BagOfWords:
    """Terms of a text, including its title, in one language. Created by `VocabularyCache.build_bag`.

    >>> from topicrawl.text.lexicon import load_lexicon
    >>> bag = VocabularyCache().build_bag(["owl", "night", "owl"], load_lexicon("xx"))
    >>> bag.weights, bag.get_weights(["owl", "day"]), bag.length**2
    ({'owl': 2.0, 'night': 1.0}, {'owl': 2.0}, 5.000000000000001)
    """

    def __init__(
        self, parts: Sequence[Sequence[str]], vocabulary: TermVocabulary, weights: Mapping[str, float] | None = None
    ) -> None:
        self._parts = parts
        self.vocabulary = vocabulary
        self._weights = weights

    @property
    def weights(self) -> Mapping[str, float]:
        """Term → occurrences times idf, in the order of the text."""
        if self._weights is None:
            self._weights = self.vocabulary.lexicon.compute_weights(chain.from_iterable(self._parts))
        return self._weights

    @cached_property
    def term_counts(self) -> TermCounts:
        """Ids, counts and idf values of the terms."""
        return self._count_words() if self._weights is None else self._count_from_weights(self._weights)

    def _count_words(self) -> TermCounts:
        """Count the terms of the words."""
        numbers = np.concatenate([self.vocabulary.get_term_ids(part) for part in self._parts])
        numbers = numbers[numbers.nonzero()[0]]
        numbers.sort()
        if not len(numbers):
            return self._add_idf(numbers, np.zeros(0))
        # A run of one id ends where the next id differs.
        last = np.empty(len(numbers), np.bool_)
        last[-1] = True
        np.not_equal(numbers[1:], numbers[:-1], out=last[:-1])
        ends = last.nonzero()[0]
        counts = (ends + 1).astype(np.float64)
        counts[1:] -= counts[:-1].copy()
        return self._add_idf(numbers[ends], counts)

    def _count_from_weights(self, weights: Mapping[str, float]) -> TermCounts:
        """Recover the counts from weights."""
        numbers = np.array(self.vocabulary.assign_term_ids(weights), np.int32)
        order = np.argsort(numbers)
        terms = self._add_idf(numbers[order], np.fromiter(weights.values(), np.float64, len(weights))[order])
        return terms._replace(counts=np.rint(terms.counts / np.maximum(terms.idf, 1e-9)))

    def _add_idf(self, term_ids: TermIds, counts: FloatArray) -> TermCounts:
        """Add the idf values to ids and counts."""
        return TermCounts(term_ids, counts, self.vocabulary.get_idf(term_ids))

    @cached_property
    def length(self) -> float:
        """Euclidean norm of the weights."""
        if self._weights is not None:
            return norm(self._weights)
        _, counts, idf = self.term_counts
        # The sum is exact, so it does not depend on the order of the ids, which differs from run to run.
        return sqrt(fsum(np.square(counts * idf).tolist()))

    def find_positions(self, terms: Collection[str]) -> dict[str, int]:
        """Return the positions of terms in `term_counts`. Terms that the bag does not contain are left out."""
        numbers = self.term_counts.term_ids  # must come first: counting adds new terms to the vocabulary
        present = self.vocabulary.find_term_ids(terms)
        if not present or not len(numbers):
            return {}
        wanted = np.fromiter(present.values(), np.int32, len(present))
        places = numbers.searchsorted(wanted)
        is_match = numbers.take(places, mode="clip") == wanted
        return dict(compress(zip(present, places.tolist(), strict=True), is_match.tolist()))

    def get_weights(self, terms: Collection[str]) -> dict[str, float]:
        """Return the weights of those terms that the bag contains."""
        if self._weights is not None:
            return {term: self._weights[term] for term in terms if term in self._weights}
        _, counts, idf = self.term_counts
        return {term: float(counts[place] * idf[place]) for term, place in self.find_positions(terms).items()}


class VocabularyCache:
    """Vocabularies of the languages of one crawl.

    The parser, the relevance model and the strategy of a crawl share one cache, so that each word of a page is looked
    up once. With two caches, the relevance model looks up all words again: 3 % more CPU time per page of 38 KB.

    >>> from topicrawl.text.lexicon import load_lexicon
    >>> cache = VocabularyCache()
    >>> cache.get_vocabulary(load_lexicon("en")) is cache.get_vocabulary(load_lexicon("en"))
    True
    """

    def __init__(self, *, max_words: int = _MAX_SHARED_WORDS, max_page_words: int = _MAX_PAGE_WORDS) -> None:
        self._max_words = max_words
        self._max_page_words = max_page_words
        self._vocabularies: dict[str, TermVocabulary] = {}  # language → vocabulary

    def get_vocabulary(self, lexicon: LanguageLexicon, words: Sized = ()) -> TermVocabulary:
        """Return the vocabulary for words of a language: the shared one, or a separate one for a very long text."""
        if len(words) > self._max_page_words:
            return TermVocabulary(lexicon)
        if sum(map(len, self._vocabularies.values())) > self._max_words:
            # The old vocabularies are not reused, because existing bags refer to their ids.
            self._vocabularies.clear()
        vocabulary = self._vocabularies.get(lexicon.language)
        if vocabulary is not None:
            return vocabulary
        # `setdefault`, because a server processes pages in several threads.
        return self._vocabularies.setdefault(lexicon.language, TermVocabulary(lexicon))

    def build_bag(
        self,
        words: Sequence[str],
        lexicon: LanguageLexicon,
        weights: Mapping[str, float] | None = None,
        *,
        title: Sequence[str] = (),
    ) -> BagOfWords:
        """Build the bag of words of a title and a text, or of terms with given weights."""
        vocabulary = self.get_vocabulary(lexicon, words if weights is None else weights)
        return BagOfWords((title, words) if title else (words,), vocabulary, weights)
