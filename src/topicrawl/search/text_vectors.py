"""Vectors of pages and queries for hybrid ranking: the mean of the static vectors of their words.

    vector(page) = Σ idf(t) · f / (f + 2) · v(t)    over the terms t of the title and of the first 500 words
    vector(query) = Σ idf(t) · weight · v(t)

f is the number of occurrences; the language's mean direction is removed, and the vectors have length 1. A page whose
language has no word vectors has no vector. The vectors do not depend on the collection, so that the similarities of
different servers are comparable.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from topicrawl.relevance.topic_meaning import scale_to_unit
from topicrawl.text.lexicon import load_lexicon
from topicrawl.text.term_vectors import Floats
from topicrawl.text.word_vectors import WordVectors, load_word_vectors

_MAX_WORDS = 500  # words of a page
_HALF_WEIGHT_COUNT = 2.0  # occurrences that give a weight of one half
_SCALE = 254.0  # a component of a stored vector is a byte divided by this number


class PageVectorizer:
    """Compute the vectors of pages. Keeps the idf of the stems of the languages with word vectors."""

    def __init__(self) -> None:
        self._idf: dict[str, Floats] = {}  # language → idf of the rows of its word vectors

    def compute_vector(self, words: Sequence[str], stems: Sequence[str], language: str) -> bytes:
        """Return the vector of a page from its lower-case words and their stems; b"" if it has none.

        The vector has one byte for each component.

        >>> stemmer, vectorizer = load_lexicon("en").stem, PageVectorizer()
        >>> texts = [text.split() for text in ("the owls hunt", "birds of prey", "steam trains")]
        >>> owls, birds, trains = (
        ...     vectorizer.compute_vector(words, [stemmer(word) for word in words], "en") for words in texts
        ... )
        >>> query = QueryVectors({"owl": 1.0})
        >>> [round(query.compute_similarity(vector, "en"), 1) for vector in (owls, birds, trains)]
        [0.9, 0.3, 0.0]
        >>> vectorizer.compute_vector(["sowy"], ["sowy"], "pl"), query.compute_similarity(b"", "pl")
        (b'', 0.0)
        """
        vectors, lexicon = load_word_vectors(language), load_lexicon(language)
        if vectors is None:
            return b""
        if language not in self._idf:
            self._idf[language] = np.array([lexicon.idf(stem) for stem in vectors.stems], np.float32)
        terms = lexicon.select_terms(words[:_MAX_WORDS], stems[:_MAX_WORDS])
        rows = vectors.find_rows(terms)
        rows, counts = np.unique(rows[rows >= 0], return_counts=True)
        weights = self._idf[language][rows] * (counts / (counts + _HALF_WEIGHT_COUNT)).astype(np.float32)
        if not weights.any():
            return b""
        vector = _remove_mean(weights @ vectors.get_vectors(rows), vectors)
        return np.clip(np.rint(_SCALE * vector), -127, 127).astype(np.int8).tobytes() if vector.any() else b""


class QueryVectors:
    """The vectors of a query in the languages of the pages that it finds. `weights` are those of its single words."""

    def __init__(self, weights: Mapping[str, float]) -> None:
        self._weights = weights
        self._vectors: dict[str, Floats | None] = {}

    def compute_similarity(self, vector: bytes, language: str) -> float:
        """Return the cosine of the query and a page, at least 0, times the share of the query that has vectors."""
        if language not in self._vectors:
            self._vectors[language] = self._compute_vector(language)
        query = self._vectors[language]
        if query is None or len(vector) != len(query):
            return 0.0
        page = np.frombuffer(vector, np.int8).astype(np.float32)
        return max(0.0, float(page @ query) / float(np.linalg.norm(page)))

    def _compute_vector(self, language: str) -> Floats | None:
        """Return the vector of the query in a language; its length is the share of the words with vectors."""
        if load_word_vectors(language) is None:
            return None
        terms = load_lexicon(language).align_terms(list(self._weights))
        weights: dict[str, float] = {}
        for term, weight in zip(terms, self._weights.values(), strict=True):
            if term:
                weights[term] = weights.get(term, 0.0) + weight
        vector, share = _sum_vectors(weights, language)
        return vector * np.float32(share)


def _sum_vectors(weights: Mapping[str, float], language: str) -> tuple[Floats, float]:
    """Return the unit vector of weighted terms, and the share of the weights whose terms have vectors."""
    vectors, lexicon = load_word_vectors(language), load_lexicon(language)
    assert vectors is not None
    terms = list(weights)
    rows = vectors.find_rows(terms)
    values = np.array([weight * lexicon.idf(term) for term, weight in weights.items()], np.float32)
    is_known = rows >= 0
    total = float(np.abs(values).sum())
    if not is_known.any() or not total:
        return np.zeros(vectors.dimensions, np.float32), 0.0
    vector = _remove_mean(values[is_known] @ vectors.get_vectors(rows[is_known]), vectors)
    return vector, float(np.abs(values[is_known]).sum()) / total


def _remove_mean(vector: Floats, vectors: WordVectors) -> Floats:
    """Return a vector without the mean direction of its language, with the length 1."""
    return scale_to_unit(vector - (vector @ vectors.mean_direction) * vectors.mean_direction)
