"""Static word vectors: terms with similar meanings have similar unit vectors.

The table has one row of bytes for each of the most frequent stems of a language. `tools/make_word_vectors.py` builds it
from a public sentence model (see NOTICE). Languages without a table have no vectors.
"""

from __future__ import annotations

import io
import zlib
from collections.abc import Sequence
from functools import cache, cached_property
from importlib import resources

import numpy as np
from numpy.typing import NDArray

from topicrawl.text.lexicon import load_lexicon
from topicrawl.text.term_frequencies import compute_frequencies, compute_sif_weights
from topicrawl.text.term_vectors import Floats, RowNumbers, TermVectors

#: A component of a vector is a byte divided by this number.
BYTE_SCALE = 254


class WordVectors(TermVectors):
    """Table of the unit vectors of stems.

    >>> vectors = load_word_vectors("en")
    >>> owl, bird, train = vectors.get_vectors(vectors.find_rows(["owl", "bird", "train"]))
    >>> bool(owl @ bird > 0.4), bool(owl @ train < 0.2), vectors.find_rows(["qqqq"]).tolist(), load_word_vectors("xx")
    (True, True, [-1], None)
    """

    generic_cosine = 0.35
    typical_similarity = 0.15

    def __init__(self, table: NDArray[np.int8], stems: Sequence[str], language: str) -> None:
        """Create a table. Row i of `table` is the vector of stem i, which is the i-th most frequent one."""
        super().__init__()
        self._table = table
        self._rows = {stem: row for row, stem in enumerate(stems)}
        self._language = language

    @property
    def stems(self) -> list[str]:
        """The stems of the rows."""
        return list(self._rows)

    @property
    def dimensions(self) -> int:
        """Number of components of a vector."""
        return int(self._table.shape[1])

    def _look_up_rows(self, stems: Sequence[str]) -> RowNumbers:
        rows = self._rows
        return np.array([rows.get(stem, -1) for stem in stems], np.int32)

    def get_vectors(self, rows: RowNumbers) -> Floats:
        """Return the unit vectors of rows."""
        # `take` with the rows of a page takes a third of the time of an index expression.
        vectors: Floats = self._table.take(rows, axis=0).astype(np.float32)
        vectors /= np.float32(BYTE_SCALE)
        return vectors

    def find_nearest(self, vector: Floats, count: int) -> list[str]:
        """Return the stems whose vectors are closest to a vector, the closest first."""
        # Bytes times float32 gives float32; the whole table as floats would need four times its memory.
        similarities = np.concatenate(
            [self._table[start : start + 4096] @ vector for start in range(0, len(self._table), 4096)]
        )
        stems = list(self._rows)
        return [stems[row] for row in np.argsort(-similarities, kind="stable")[:count].tolist()]

    @cached_property
    def mean_direction(self) -> Floats:  # type: ignore[override]  # computed on first access
        """Unit vector of the expected text of the language: the mean of all words, weighted by their frequency."""
        lexicon = load_lexicon(self._language)
        idf = np.array([lexicon.idf(stem) for stem in self._rows])
        weights = (compute_frequencies(idf) * compute_sif_weights(idf)).astype(np.float32)
        total = np.zeros(self.dimensions, np.float32)
        # In parts, because the whole table as floats needs four times the memory of the table.
        for start in range(0, len(weights), 4096):
            rows = np.arange(start, min(start + 4096, len(weights)), dtype=np.int32)
            total += weights[rows] @ self.get_vectors(rows)
        direction: Floats = total / np.float32(np.linalg.norm(total))
        return direction


@cache
def load_word_vectors(language: str) -> WordVectors | None:
    """Return the word vectors of a language by its ISO 639-1 code, or None if there is no table."""
    folder = resources.files("topicrawl.text").joinpath("data")
    table, stems = folder.joinpath(f"vectors.{language}.npy"), folder.joinpath(f"vectors.{language}.txt.z")
    if not table.is_file():
        return None
    names = zlib.decompress(stems.read_bytes()).decode().split("\n")
    return WordVectors(np.load(io.BytesIO(table.read_bytes())), names, language)
