"""Arrays of term properties for a topic: hashes, idf, topic weights and similarity in meaning."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import xxhash
from numpy.typing import NDArray

from topicrawl.ml.online import Floats
from topicrawl.relevance.topic_meaning import TopicMeaning
from topicrawl.relevance.topic_units import TopicUnits
from topicrawl.relevance.vsm import Vsm
from topicrawl.text.bag_of_words import TermVocabulary
from topicrawl.text.term_frequencies import compute_sif_weights
from topicrawl.text.tokenizer import tokenise
from topicrawl.text.word_sequence import tokenise_together

# Words of URLs without meaning.
_IGNORED_TERMS = frozenset({"html", "htm", "php", "asp", "aspx", "jsp", "cgi", "index", "www", "http", "https"})

#: Below this number of characters, reading text by text is faster.
_SHORT_TEXT_CHARS = 1000

IntArray = NDArray[np.integer[Any]]
Hashes = NDArray[np.uint32]


class TopicTerms:
    """Properties of terms, indexed by their numbers in a vocabulary. 0 is not a term."""

    def __init__(self, vsm: Vsm, vocabulary: TermVocabulary) -> None:
        self.vocabulary = vocabulary
        self._meaning = TopicMeaning(vsm)
        self.texts_by_hash: dict[int, str] = {}  # hash → term
        query = TopicUnits.of(vsm.topic, vsm.query).weight_query(vsm.query)
        length = float(np.sqrt(sum(weight * weight for weight in query.values())))
        self._query = {term: weight / length for term, weight in query.items()}
        self._hashes = np.zeros(0, np.uint32)  # 0: not computed yet
        self._rarity = np.zeros(0, np.float32)  # idf²; 0 for meaningless terms
        self._wanted = np.zeros(0, np.float32)  # weight in the topic times idf
        self._text_weights = np.zeros(0, np.float32)  # weight of a term in the meaning of a text; 0: meaningless
        self._affinities = np.zeros(0, np.float32)  # similarity in meaning to the topic

    @property
    def trust(self) -> float:
        """Trust in the vectors of the topic, from 0 to 1."""
        return self._meaning.trust

    def get_hashes(self, numbers: IntArray) -> Hashes:
        """Return the hashes of terms. New terms are added on demand, because most page terms are far from links."""
        if self.vocabulary.id_count > len(self._hashes):
            self._grow_arrays(2 * self.vocabulary.id_count)
        hashes = self._hashes[numbers]
        if not hashes.all():
            self._add_terms(sorted(set(numbers[hashes == 0].tolist())))
            hashes = self._hashes[numbers]
        return hashes

    def compute_similarities(self, numbers: IntArray, sizes: IntArray) -> Floats:
        """Return the cosine of each text with the topic. `sizes` has the number of terms of each text.

        A repeated term counts as several terms. The caller must have passed the terms to `get_hashes` before.
        """
        cosines = np.zeros(len(sizes), np.float32)
        weights = self._wanted[numbers]
        hits = weights.nonzero()[0]
        if len(hits):
            owner = np.arange(len(sizes)).repeat(sizes)
            product = np.bincount(owner[hits], weights[hits], len(sizes))
            # Few texts contain topic terms. Only their lengths are needed.
            relevant = (product > 0)[owner].nonzero()[0]
            length = np.sqrt(np.bincount(owner[relevant], self._rarity[numbers[relevant]], len(sizes)))
            np.divide(product, length, out=cosines, where=length > 0, casting="unsafe")
        return np.minimum(cosines, 1.0, out=cosines)

    def compute_meanings(self, numbers: IntArray, sizes: IntArray) -> Floats:
        """Return the similarity in meaning of each text to the topic, from 0 to 1, times the trust in the vectors.

        The terms of a text count as orthogonal. The caller must have passed the terms to `get_hashes` before.
        """
        meanings = np.zeros(len(sizes), np.float32)
        if not self._meaning.trust:
            return meanings
        owner = np.arange(len(sizes)).repeat(sizes)
        weights = self._text_weights[numbers]
        product = np.bincount(owner, weights * self._affinities[numbers], len(sizes))
        length = np.sqrt(np.bincount(owner, weights * weights, len(sizes)))
        np.divide(product, length, out=meanings, where=length > 0, casting="unsafe")
        return np.clip(meanings, 0.0, 1.0, out=meanings) * np.float32(self._meaning.trust)

    def _grow_arrays(self, size: int) -> None:
        """Extend the arrays to a new size."""
        for name in ("_hashes", "_rarity", "_wanted", "_text_weights", "_affinities"):
            array = getattr(self, name)
            setattr(self, name, np.concatenate([array, np.zeros(size - len(array), array.dtype)]))

    def _add_terms(self, numbers: list[int]) -> None:
        """Compute the properties of new terms."""
        terms = self.vocabulary.get_terms(numbers)
        self._hashes[numbers] = hashes = list(map(hash_text, terms))
        self.texts_by_hash.update(zip(hashes, terms, strict=True))
        idf = self.vocabulary.get_idf(numbers)
        self._rarity[numbers] = idf * idf
        self._affinities[numbers] = affinities = self._meaning.compute_affinities(terms)
        # A term without a vector counts half in the length of a text, because its meaning is unknown.
        self._text_weights[numbers] = compute_sif_weights(idf) * np.where(affinities == 0, 0.5, 1.0)
        for at, term, rare in zip(numbers, terms, idf.tolist(), strict=True):
            if term.isdigit() or term in _IGNORED_TERMS or not term:
                self._rarity[at] = self._text_weights[at] = 0.0
            elif term in self._query:
                self._wanted[at] = self._query[term] * rare


class Spans(NamedTuple):
    """Spans of an array."""

    starts: IntArray
    sizes: IntArray

    def make_contiguous(self, start: int = 0) -> Spans:
        """Return contiguous spans of the same sizes from index `start` on.

        >>> Spans(np.array([5, 0]), np.array([2, 4])).make_contiguous(10)
        Spans(starts=array([10, 12]), sizes=array([2, 4]))
        """
        return Spans(self.sizes.cumsum() - self.sizes + start, self.sizes)

    def get_indices(self) -> IntArray:
        """Return the indices in all spans, one span after the other.

        >>> Spans(np.array([5, 0, 9]), np.array([2, 0, 1])).get_indices().tolist()
        [5, 6, 9]
        """
        ends = self.sizes.cumsum()
        indices: IntArray = (self.starts - ends + self.sizes).repeat(self.sizes)
        indices += np.arange(len(indices))
        return indices


def hash_text(text: str) -> int:
    """Return the 32-bit hash of a text."""
    return xxhash.xxh32_intdigest(text.encode("utf-8", "replace"))


def read_terms(texts: Sequence[str], vocabulary: TermVocabulary) -> tuple[IntArray, Spans]:
    """Return the terms of texts, one text after the other, and the span of each text. Other words are left out.

    >>> from topicrawl.text.lexicon import load_lexicon
    >>> numbers, spans = read_terms(["the owl", "", "owls and bats"], TermVocabulary(load_lexicon("en")))
    >>> numbers.tolist(), spans.sizes.tolist()
    ([1, 1, 2], [1, 0, 2])
    """
    if sum(map(len, texts)) < _SHORT_TEXT_CHARS:
        texts_terms = [vocabulary.assign_term_ids(vocabulary.lexicon.extract_terms(tokenise(text))) for text in texts]
        sizes = np.array(list(map(len, texts_terms)), np.int64)
        return np.array(list(chain.from_iterable(texts_terms)), np.int32), Spans(sizes, sizes).make_contiguous()
    sequence, borders = tokenise_together(texts)
    numbers = vocabulary.get_term_ids(sequence)
    kept = numbers.nonzero()[0]
    ends = kept.searchsorted(borders)
    starts = np.concatenate([np.zeros(1, ends.dtype), ends[:-1]])
    return numbers[kept], Spans(starts, ends - starts)
