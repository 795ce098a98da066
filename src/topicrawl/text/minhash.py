"""Which texts may be nearly the same: MinHash by one permutation (Li, Owen and Zhang 2012), and bands (Broder 1997).

The hash values of a text's runs are cut into ranges, and the least value of each range is one draw: two texts with
resemblance r agree in it with probability r. Four draws make a band; who shares one of four bands is a candidate:

    P(candidate) = 1 − (1 − r⁴)⁴        r = .95: .999    r = .9: .986    r = .5: .23    r = .2: .006

That is for finding candidates only, so a run is what is quick to hash: 32 bytes from the beginning of a word, which
are about five words; and of words in Latin letters only those that begin with a to d, a quarter of all.
"""

from __future__ import annotations

import numpy as np
import xxhash

BANDS, DRAWS = 4, 4
LONGEST = 400_000  # bytes that are looked at: more hardly change the draws

_RUN = 32
_BLANK, _A, _LETTERS, _ASCII = ord(" "), ord("a"), 4, 127
_EDGES = np.arange(BANDS * DRAWS, dtype=np.uint64) * np.uint64(2**64 // (BANDS * DRAWS))
_FACTORS = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0xD6E8FEB86659FD93], np.uint64)
_HALF = np.uint64(32)


def bands(text: str, seed: int = 0) -> list[int]:
    """The bands of a text in one line as signed 64-bit numbers; none for a text that is too short to tell.

    Bands with different seeds have nothing in common.

    >>> owls = "Most owls hunt at night and sleep during the day in hollow trees of old forests near water."
    >>> len(bands(owls)), bands(owls) == bands("Some say: " + owls), bands("Owls hunt.")
    (4, True, [])
    """
    data = text.encode("utf-8", "replace")[:LONGEST]
    if len(data) <= _RUN:
        return []
    line = np.frombuffer(data, np.uint8)
    firsts = line[1 : 1 - _RUN]
    begins = firsts - _A < _LETTERS  # unsigned: what stands before a is far behind it
    if not text.isascii():
        begins |= firsts > _ASCII
    words = line[:-_RUN] == _BLANK
    starts = np.flatnonzero(begins & words)
    if not len(starts):
        starts = np.flatnonzero(words)
    if not len(starts):
        return []
    # Every run of the text as an element, without a copy; only those that count are taken out.
    runs = np.ndarray((len(data) - _RUN,), f"V{_RUN}", data, 1, (1,))
    values = runs[starts].view("<u8").reshape(-1, _RUN // 8) @ _FACTORS
    values ^= values >> _HALF
    values *= _FACTORS[0]
    values.sort()
    # A range without a value takes the next one's.
    draws = values[np.searchsorted(values, _EDGES) % len(values)].tobytes()
    size = len(draws) // BANDS
    return [xxhash.xxh3_64_intdigest(draws[at : at + size], seed + at) - 2**63 for at in range(0, len(draws), size)]
