"""Which texts may be nearly the same: MinHash by one permutation (Li, Owen and Zhang 2012), and bands (Broder 1997).

The hash values of a text's runs are cut into ranges, and the least value of each range is one draw: two texts with
resemblance r agree in it with probability r. Five draws make a band, and whoever shares a band is a candidate:

    P(candidate) = 1 − (1 − r⁵)⁶        r = .95: .9999    r = .9: .995    r = .5: .17    r = .2: .002

That is for finding candidates only, so a run is what is quick to hash: 32 bytes from the beginning of a word, which
are about five words, and of words in Latin letters those that begin with one of a few letters, a third of all.
"""

from __future__ import annotations

import numpy as np
import xxhash

BANDS, DRAWS = 6, 5
LONGEST = 400_000  # bytes that are looked at: more hardly change the draws

_RUN = 32
_SEPARATOR, _LETTER, _FIRST = 0, 1, 2
# In place of a byte, whether a run may begin with it; those beyond ASCII always may.
_ROLES = bytes(
    _FIRST if byte > 127 or chr(byte).lower() in "bcdmpr" else _LETTER if chr(byte).isalnum() else _SEPARATOR
    for byte in range(256)
)
_LOWER = bytes(byte if byte > 127 else ord(chr(byte).lower()) for byte in range(256))
_EDGES = np.arange(BANDS * DRAWS, dtype=np.uint64) * np.uint64(2**64 // (BANDS * DRAWS))
_FACTORS = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0xD6E8FEB86659FD93], np.uint64)
_HALF = np.uint64(32)


def bands(text: str) -> list[int]:
    """The bands of a text as signed 64-bit numbers; none for a text that is too short to tell.

    >>> owls = "Most owls hunt at night and sleep during the day in hollow trees of old forests near water. "
    >>> len(bands(owls)), len(set(bands(owls)) & set(bands(owls.upper()))), bands("Owls hunt.")
    (6, 6, [])
    """
    data = text.encode("utf-8", "replace")[:LONGEST]
    if len(data) <= _RUN:
        return []
    roles = np.frombuffer(data.translate(_ROLES), np.uint8)
    starts = np.flatnonzero(roles[1 : 1 - _RUN] - roles[:-_RUN] == _FIRST - _SEPARATOR)
    if not len(starts):
        return []
    # Every run of the text as an element, without a copy; only those that begin a word are taken out.
    runs = np.ndarray((len(data) - _RUN,), f"V{_RUN}", data.translate(_LOWER), 1, (1,))
    values = runs[starts].view("<u8").reshape(-1, _RUN // 8) @ _FACTORS
    values ^= values >> _HALF
    values *= _FACTORS[0]
    values.sort()
    # A range without a value takes the next one's.
    draws = values[np.searchsorted(values, _EDGES) % len(values)].tobytes()
    size = len(draws) // BANDS
    found = (xxhash.xxh3_64_digest(draws[at : at + size], seed=at) for at in range(0, len(draws), size))
    return [int.from_bytes(band, "little", signed=True) for band in found]
