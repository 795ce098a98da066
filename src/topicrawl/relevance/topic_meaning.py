"""Similarity in meaning between texts and the topic, by word vectors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from topicrawl.ml.online import Floats
from topicrawl.relevance.topic_units import TopicUnits
from topicrawl.relevance.vsm import Vsm
from topicrawl.text.bag_of_words import TermVocabulary
from topicrawl.text.term_frequencies import compute_sif_weights
from topicrawl.text.term_vectors import TermVectors

_MIN_SPECIFICITY = 0.05
_TRUST_SCALE = 1.5
_UNKNOWN_TRUST = 0.5
_TRUSTED_PHRASE_TERMS = 3
_PHRASE_TRUST = 0.6  # how far pages are trusted that match a phrase of so many words
_TOPIC_TERM_AFFINITY = 0.6  # minimum affinity of a term of the topic


class TopicMeaning:
    """Vector of the topic, and how far it can be trusted.

    The topic vector is the mean of the vectors of the topic's terms, weighted by topic weight and rarity; in a phrase,
    also by specificity:

        specificity(v) = 1 − cos(v, mean direction of the language) / generic cosine,   at least .05
        trust = coverage · min(1, 1.5 · specificity(topic vector))

    coverage: the share of the weights whose terms have a vector; generic cosine: .35 for the vectors of the package,
    and estimated from the vectors of frequent words for other embeddings. In "geographic information systems", the word
    "geographic" determines the vector, because the other two occur on all subjects. A topic of general words only, such
    as "home pages", is close to the mean direction: most pages resemble it, so that the vectors do not separate them.

    >>> from topicrawl.topic import Topic
    >>> trusted = [TopicMeaning(Vsm(Topic.of(words))).trust for words in ("birds", "course home pages", "qqqq")]
    >>> [round(trust, 1) for trust in trusted]
    [1.0, 0.0, 0.0]
    >>> affinities = TopicMeaning(Vsm(Topic.of("birds"))).compute_affinities(["owl", "locomot", "qqqq"])
    >>> [round(float(value), 1) for value in affinities]
    [0.5, -0.1, 0.0]
    """

    def __init__(self, vsm: Vsm) -> None:
        self._query_terms = frozenset(vsm.query)
        self._vectors: TermVectors | None = vsm.find_vectors()
        self.trust = 0.0
        units = TopicUnits.of(vsm.topic, vsm.query)
        self._phrase_trust = _PHRASE_TRUST if units.longest_phrase >= _TRUSTED_PHRASE_TERMS else 0.0
        if self._vectors is None:
            return
        query = units.weight_query(vsm.query)
        terms = list(query)
        idf = np.array([vsm.lexicon.idf(term) for term in terms])
        weights = compute_sif_weights(idf) * np.array([query[term] for term in terms]) / np.maximum(idf, 1e-6)
        rows = self._vectors.find_rows(terms)
        covered = rows >= 0
        if not weights[covered].sum():
            return
        vectors, mean_direction = self._vectors.get_vectors(rows[covered]), self._vectors.mean_direction
        generic_cosine = self._vectors.generic_cosine
        # In a list, all words count: its general words restrict the subject of the others.
        specificities = np.ones(len(vectors))
        term_weights = weights[covered]
        if not units.are_alternatives:
            # As in the units, half of the weight is the same for all words: "music notation" is not all notation.
            context_factors = np.array(list(units.weight_query(dict.fromkeys(terms, 1.0)).values()))[covered]
            term_weights = term_weights / term_weights.sum() + context_factors / context_factors.sum()
            specificities = np.clip(1 - vectors @ mean_direction / generic_cosine, _MIN_SPECIFICITY, 1.0)
        self._topic_vector: Floats = scale_to_unit((term_weights * specificities).astype(np.float32) @ vectors)
        specificity = 1 - float(self._topic_vector @ mean_direction) / generic_cosine
        self.trust = float(weights[covered].sum() / weights.sum()) * min(1.0, max(0.0, _TRUST_SCALE * specificity))

    @property
    def expansion_trust(self) -> float:
        """How far pages that match the topic can be trusted to be about it; unknown in languages without vectors.

        The matches of a long phrase are specific even if its words are general: "full text search".
        """
        return max(self._phrase_trust, self.trust if self._vectors is not None else _UNKNOWN_TRUST)

    def find_similar_terms(self, count: int) -> list[str]:
        """Return the terms of the language that are closest to the topic vector, without the terms of the topic."""
        if self._vectors is None or not self.trust:
            return []
        nearest = self._vectors.find_nearest(self._topic_vector, count + len(self._query_terms))
        return [term for term in nearest if term not in self._query_terms][:count]

    def compute_affinities(self, terms: Sequence[str]) -> Floats:
        """Return the cosine of each term's vector and the topic vector. A term without a vector has the affinity 0."""
        affinities = np.zeros(len(terms), np.float32)
        if self._vectors is not None and self.trust:
            rows = self._vectors.find_rows(terms)
            covered = rows >= 0
            affinities[covered] = self._vectors.get_vectors(rows[covered]) @ self._topic_vector
            is_topic_term = np.fromiter((term in self._query_terms for term in terms), np.bool_, len(terms))
            affinities[is_topic_term] = np.maximum(affinities[is_topic_term], _TOPIC_TERM_AFFINITY)
        return affinities

    def compute_similarity(self, vector: Floats) -> float:
        """Return the cosine of a unit vector and the topic vector, times the trust."""
        return self.trust * float(vector @ self._topic_vector) if self.trust else 0.0

    def compute_page_similarity(self, page_vector: Floats) -> float:
        """Return how much closer than usual a page is to the topic, times the trust. It is at least 0.

        The language's mean direction is removed from the page vector, because all pages share it.
        """
        if self._vectors is None or not self.trust:
            return 0.0
        mean_direction = self._vectors.mean_direction
        vector = scale_to_unit(page_vector - (page_vector @ mean_direction) * mean_direction)
        return self.trust * max(0.0, float(vector @ self._topic_vector) - self._vectors.typical_similarity)


def compute_text_vector(
    vectors: TermVectors, vocabulary: TermVocabulary, term_ids: NDArray[np.int32], weights: Floats
) -> Floats:
    """Return the unit vector of a text: the sum of its terms' vectors with the given weights."""
    rows = vectors.get_term_rows(vocabulary, term_ids)
    covered = (rows >= 0).nonzero()[0]
    return scale_to_unit(weights[covered] @ vectors.get_vectors(rows[covered]))


def scale_to_unit(vector: Floats) -> Floats:
    """Return a vector scaled to length 1. A zero vector stays zero."""
    # `np.linalg.norm` computes the same value in three times the time.
    length = np.sqrt(vector.dot(vector))
    return vector / length if length else vector
