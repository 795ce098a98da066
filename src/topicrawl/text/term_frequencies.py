"""Frequencies of terms in general text, and the weights of terms in the meaning of a text."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

#: Constant of the smooth inverse frequency (Arora, Liang and Ma 2017).
_SMOOTHING = 1e-3
#: Document length in words for which the idf tables are computed.
_IDF_DOCUMENT_WORDS = 500
_MIN_IDF = 1e-3


def compute_frequencies(idf: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the share of each term among all words of the language, from its idf.

    idf = −ln(1 − exp(−500·f))
    """
    frequencies: NDArray[np.float64] = -np.log1p(-np.exp(-np.maximum(idf, _MIN_IDF))) / _IDF_DOCUMENT_WORDS
    return frequencies


def compute_sif_weights(idf: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return the smooth inverse frequency of terms, from 0 (in every text) to 1 (rare).

        weight = .001 / (.001 + f)

    >>> [round(float(weight), 2) for weight in compute_sif_weights(np.array([0.0, 3.0, 8.0]))]
    [0.07, 0.91, 1.0]
    """
    weights: NDArray[np.float32] = (_SMOOTHING / (_SMOOTHING + compute_frequencies(idf))).astype(np.float32)
    return weights
