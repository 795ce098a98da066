"""Interface of term vectors: rows of unit vectors, by stems or by the term ids of a vocabulary."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from topicrawl.text.bag_of_words import TermVocabulary

_NOT_LOOKED_UP = -2

Floats = NDArray[np.float32]
RowNumbers = NDArray[np.int32]


class TermVectors(ABC):
    """Unit vectors of the terms of one language. Terms with similar meanings have similar vectors.

    Row numbers are valid until the next call of `find_rows` or `get_term_rows`.
    """

    #: Cosine of a vector and the mean direction from which the vector says nothing about a subject.
    generic_cosine: float
    #: Cosine of a topic and a page on another subject, without the mean direction.
    typical_similarity: float
    #: Unit vector of the expected text of the language: the mean of all words, weighted by their frequency.
    mean_direction: Floats

    def __init__(self) -> None:
        self._vocabulary_rows: WeakKeyDictionary[TermVocabulary, RowNumbers] = WeakKeyDictionary()

    @property
    @abstractmethod
    def dimensions(self) -> int:
        """Number of components of a vector."""

    @abstractmethod
    def get_vectors(self, rows: RowNumbers) -> Floats:
        """Return the unit vectors of rows."""

    @abstractmethod
    def find_nearest(self, vector: Floats, count: int) -> list[str]:
        """Return the stems whose vectors are closest to a vector, the closest first."""

    @abstractmethod
    def _look_up_rows(self, stems: Sequence[str]) -> RowNumbers:
        """Return the row of each stem, or -1 for a stem without a vector."""

    def _make_room(self) -> None:  # noqa: B027 - optional hook
        """Discard rows before a lookup, if there are too many."""

    def find_rows(self, stems: Sequence[str]) -> RowNumbers:
        """Return the row of each stem, or -1 for a stem without a vector."""
        self._make_room()
        return self._look_up_rows(stems)

    def get_term_rows(self, vocabulary: TermVocabulary, term_ids: NDArray[np.int32]) -> RowNumbers:
        """Return the row of each term id of a vocabulary, or -1. Rows are cached for each vocabulary."""
        self._make_room()
        known = self._vocabulary_rows.get(vocabulary)
        if known is None or len(known) < vocabulary.id_count:
            grown = np.full(2 * vocabulary.id_count, _NOT_LOOKED_UP, np.int32)
            if known is not None:
                grown[: len(known)] = known
            known = self._vocabulary_rows[vocabulary] = grown
        rows: RowNumbers = known[term_ids]
        new = rows == _NOT_LOOKED_UP
        if new.any():
            rows[new] = known[term_ids[new]] = self._look_up_rows(vocabulary.get_terms(term_ids[new].tolist()))
        return rows


#: Language → its term vectors, or None if there are none.
VectorSource = Callable[[str], TermVectors | None]
