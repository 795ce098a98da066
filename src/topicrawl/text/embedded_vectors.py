"""Term vectors computed by an embedding, scaled so that they can replace the vectors of the package.

Embeddings differ: in some, all words have a large cosine with each other. The vectors of the package are centred, and
the rules that use them were fitted to their cosines. So the vectors of an embedding are centred too, and the two
cosines that the rules depend on are estimated from its vectors of frequent words. For the vectors of the package, the
same estimates give the constants of `WordVectors`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from topicrawl import plugins
from topicrawl.errors import PluginError
from topicrawl.text.embedding import Embedding
from topicrawl.text.frequent_words import load_frequent_words
from topicrawl.text.lexicon import load_lexicon
from topicrawl.text.term_vectors import Floats, RowNumbers, TermVectors

_BATCH_WORDS = 1024  # words that an embedding receives at a time
#: Memory of the cached vectors of all languages in bytes.
_MAX_CACHE_BYTES = 24 << 20
_MIN_CACHED_TERMS = 1000
_SPREAD_WORDS = 2000  # words from all parts of the list, for the centre
_TOP_WORDS = 2000  # most frequent words, for the mean direction
_PAIR_WORDS = 1000  # words whose pairs are compared
_MIN_KNOWN_WORDS = 100  # with fewer frequent words, the embedding does not know the language
_GENERIC_QUANTILE = 0.93  # share of the most frequent words that are more specific than a generic vector
_TYPICAL_QUANTILE = 0.95  # share of the pairs of frequent words that are less similar than a typical page and a topic
_MIN_COSINE = 0.05


class GuardedEmbedding:
    """Embedding whose errors and invalid results are reported as `PluginError` with its name."""

    def __init__(self, embedding: Embedding, name: str) -> None:
        self.dimensions = embedding.dimensions
        self.languages = embedding.languages
        self._embedding, self._name = embedding, name

    def embed_words(self, words: Sequence[str]) -> Floats:
        """Return unit vectors of words. Unknown words have rows of zeros."""
        vectors = np.zeros((len(words), self.dimensions), np.float32)
        for start in range(0, len(words), _BATCH_WORDS):
            batch = list(words[start : start + _BATCH_WORDS])
            with plugins.report_errors(self._name):
                result = np.asarray(self._embedding.embed_words(batch), np.float32)
            if result.shape != (len(batch), self.dimensions):
                raise PluginError(
                    f"{self._name} returned an array of the shape {result.shape} for {len(batch)} words: "
                    f"({len(batch)}, {self.dimensions}) is required"
                )
            known = np.isfinite(result).all(axis=1)
            vectors[start : start + len(batch)][known] = result[known]
        return _scale_rows(vectors)


class VectorCacheLimit:
    """Limit on the number of cached terms of all languages. When it is exceeded, a new generation of caches starts."""

    def __init__(self, max_terms: int) -> None:
        self._max_terms = max_terms
        self.terms = 0  # terms in the caches of the current generation
        self.generation = 0

    def update_generation(self) -> int:
        """Start a new generation if there are too many terms. Return the number of the current generation."""
        if self.terms > self._max_terms:
            self.generation += 1
            self.terms = 0
        return self.generation


class EmbeddedVectors(TermVectors):
    """Unit vectors of the terms of one language, computed on demand by an embedding.

    A term is a stem. The embedding receives the most frequent word with this stem, or the stem itself if the list of
    frequent words does not contain it. The most recent vectors are cached.
    """

    def __init__(
        self,
        embedding: GuardedEmbedding,
        language: str,
        words: Sequence[str],
        *,
        top_vectors: Floats,
        cache_limit: VectorCacheLimit,
    ) -> None:
        """Estimate the centre, the mean direction and the cosines from the frequent words of the language.

        `top_vectors` are the vectors of the first of these words. At least one of them must be known.
        """
        super().__init__()
        self._embedding = embedding
        stems = load_lexicon(language).compute_terms(list(words))
        self._words_by_stem = dict(zip(reversed(stems), reversed(words), strict=True))
        self._rows: dict[str, int] = {}  # stem → row, or -1
        self._table = np.zeros((0, embedding.dimensions), np.float32)
        self._row_count = 0
        self._cache_limit, self._generation = cache_limit, cache_limit.generation
        sample = embedding.embed_words(words[:: max(1, len(words) // _SPREAD_WORDS)])
        sample = sample if sample.any() else top_vectors
        self._centre: Floats = sample[sample.any(axis=1)].mean(axis=0)
        self._estimate_cosines(self._centre_rows(top_vectors))

    @property
    def dimensions(self) -> int:
        """Number of components of a vector."""
        return self._embedding.dimensions

    def get_vectors(self, rows: RowNumbers) -> Floats:
        """Return the unit vectors of rows."""
        return self._table[rows]

    def find_nearest(self, vector: Floats, count: int) -> list[str]:
        """Return those stems of frequent words whose vectors are closest to a vector, the closest first."""
        stems = list(self._words_by_stem)
        similarities = self._centre_rows(self._embedding.embed_words(list(self._words_by_stem.values()))) @ vector
        return [stems[place] for place in np.argsort(-similarities, kind="stable")[:count].tolist()]

    def _make_room(self) -> None:
        generation = self._cache_limit.update_generation()
        if generation != self._generation:
            self._generation = generation
            self._rows.clear()
            self._vocabulary_rows.clear()
            self._table, self._row_count = self._table[:0].copy(), 0

    def _look_up_rows(self, stems: Sequence[str]) -> RowNumbers:
        new = list(dict.fromkeys(stem for stem in stems if stem not in self._rows))
        if new:
            self._add_stems(new)
        return np.array([self._rows[stem] for stem in stems], np.int32)

    def _add_stems(self, stems: Sequence[str]) -> None:
        """Compute and cache the vectors of stems."""
        words = [self._words_by_stem.get(stem, stem) for stem in stems]
        vectors = self._centre_rows(self._embedding.embed_words(words))
        known = vectors.any(axis=1)
        first, count = self._row_count, self._row_count + int(known.sum())
        if count > len(self._table):
            grown = np.zeros((max(count, 2 * len(self._table)), self.dimensions), np.float32)
            grown[:first] = self._table[:first]
            self._table = grown
        self._table[first:count] = vectors[known]
        self._row_count = count
        rows = np.where(known, first + known.cumsum() - 1, -1)
        self._rows.update(zip(stems, rows.tolist(), strict=True))
        self._cache_limit.terms += len(stems)

    def _centre_rows(self, vectors: Floats) -> Floats:
        """Return centred unit vectors. The rows of unknown words stay zero."""
        return _scale_rows(np.where(vectors.any(axis=1, keepdims=True), vectors - self._centre, np.float32(0)))

    def _estimate_cosines(self, vectors: Floats) -> None:
        """Estimate the mean direction, and the cosines of general words and of unrelated texts.

        `vectors` are those of the most frequent words, in the order of their frequencies.
        """
        # Zipf's law without stop words. As in `WordVectors.mean_direction`, the weight of a word is its frequency times
        # its smooth inverse frequency.
        frequencies = np.float32(0.1) / (30 + np.arange(len(vectors), dtype=np.float32))
        self.mean_direction = _scale_rows((frequencies / (1 + 1000 * frequencies)) @ vectors)
        vectors = vectors[vectors.any(axis=1)]
        cosines = vectors @ self.mean_direction
        self.generic_cosine = max(_MIN_COSINE, float(np.quantile(cosines, _GENERIC_QUANTILE)))
        step = max(1, len(vectors) // _PAIR_WORDS)
        sample, sample_cosines = vectors[::step], cosines[::step]
        specific = _scale_rows(sample - np.outer(sample_cosines, self.mean_direction))
        pairs = (specific @ sample.T)[~np.eye(len(sample), dtype=np.bool_)]
        self.typical_similarity = max(_MIN_COSINE, float(np.quantile(pairs, _TYPICAL_QUANTILE)))


class EmbeddingVectorSource:
    """Term vectors of an embedding by language."""

    def __init__(self, embedding: GuardedEmbedding) -> None:
        self._embedding = embedding
        self._vectors: dict[str, EmbeddedVectors | None] = {}
        self._cache_limit = VectorCacheLimit(max(_MIN_CACHED_TERMS, _MAX_CACHE_BYTES // (4 * embedding.dimensions)))

    def get_vectors(self, language: str) -> EmbeddedVectors | None:
        """Return the vectors of a language.

        The result is None if the embedding does not support the language or knows hardly any of its frequent words, or
        if the package has no list of frequent words of the language.
        """
        if language not in self._vectors:
            self._vectors[language] = self._create_vectors(language)
        return self._vectors[language]

    def _create_vectors(self, language: str) -> EmbeddedVectors | None:
        if self._embedding.languages is not None and language not in self._embedding.languages:
            return None
        words = load_frequent_words(language)
        top_vectors = self._embedding.embed_words(words[:_TOP_WORDS])
        if top_vectors.any(axis=1).sum() < _MIN_KNOWN_WORDS:
            return None
        return EmbeddedVectors(self._embedding, language, words, top_vectors=top_vectors, cache_limit=self._cache_limit)


def _scale_rows(vectors: Floats) -> Floats:
    """Return vectors scaled to length 1. Zero vectors stay zero."""
    lengths: Floats = np.linalg.norm(vectors, axis=-1, keepdims=True).astype(np.float32)
    lengths[lengths == 0] = 1
    return vectors / lengths
