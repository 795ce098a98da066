"""MinHash signatures that find near-duplicate candidates: one permutation (Li, Owen and Zhang 2012), with banding
(Broder 1997).

The range of the hash values of a text's runs is divided into parts, and the least value of each part is one draw. Two
texts with resemblance r agree in a draw with probability r. Four draws form a band. Texts that share at least one of
four bands are candidates:

    P(candidate) = 1 − (1 − r⁴)⁴        r = .95: .999    r = .9: .986    r = .5: .23    r = .2: .006

The signatures only select candidates, so a run is chosen for hashing speed: 32 bytes from the beginning of a word,
which are about five words. Of words in Latin letters, only those that begin with a to d are used, a quarter of all.
"""

from __future__ import annotations

import numpy as np
import xxhash

BAND_COUNT, DRAWS_PER_BAND = 4, 4
MAX_BYTES = 400_000  # bytes of a text that are used; more hardly change the draws

_RUN_BYTES = 32
_BLANK, _A, _LETTERS, _ASCII = ord(" "), ord("a"), 4, 127
_EDGES = np.arange(BAND_COUNT * DRAWS_PER_BAND, dtype=np.uint64) * np.uint64(2**64 // (BAND_COUNT * DRAWS_PER_BAND))
_FACTORS = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0xD6E8FEB86659FD93], np.uint64)
_HALF = np.uint64(32)


def compute_bands(text: str, seed: int = 0) -> list[int]:
    """Return the bands of a one-line text as signed 64-bit integers, or an empty list if the text is too short.

    Bands with different seeds are independent.

    >>> owls = "Most owls hunt at night and sleep during the day in hollow trees of old forests near water."
    >>> len(compute_bands(owls)), compute_bands(owls) == compute_bands("Some say: " + owls), compute_bands("Owls hunt.")
    (4, True, [])
    """
    data = text.encode("utf-8", "replace")[:MAX_BYTES]
    if len(data) <= _RUN_BYTES:
        return []
    line = np.frombuffer(data, np.uint8)
    firsts = line[1 : 1 - _RUN_BYTES]
    begins = firsts - _A < _LETTERS  # unsigned arithmetic: characters before "a" wrap around to large values
    if not text.isascii():
        begins |= firsts > _ASCII
    words = line[:-_RUN_BYTES] == _BLANK
    starts = np.flatnonzero(begins & words)
    if not len(starts):
        starts = np.flatnonzero(words)
    if not len(starts):
        return []
    # A view of every run of the text without a copy. Only the selected runs are copied.
    runs = np.ndarray((len(data) - _RUN_BYTES,), f"V{_RUN_BYTES}", data, 1, (1,))
    values = runs[starts].view("<u8").reshape(-1, _RUN_BYTES // 8) @ _FACTORS
    values ^= values >> _HALF
    values *= _FACTORS[0]
    values.sort()
    # A part without a value takes the value of the next part.
    draws = values[np.searchsorted(values, _EDGES) % len(values)].tobytes()
    size = len(draws) // BAND_COUNT
    return [xxhash.xxh3_64_intdigest(draws[at : at + size], seed + at) - 2**63 for at in range(0, len(draws), size)]
