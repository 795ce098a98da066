"""Words as numbers of their stems, many at a time, without making a string of each.

Of a word of up to 32 bytes, four numbers of eight bytes are read where it stands and mixed to one of 64 bits; longer
words, which are rare, get theirs one by one. Two words have the same with a chance of 2⁻⁶⁴, and since the mixing begins
with a random number, nobody can write words that do. What a mixed number stands for is looked up in a table with one
place for each, and only what is not found there is looked for word by word.
"""

from __future__ import annotations

from collections.abc import Sequence
from secrets import randbits
from typing import Any

import numpy as np
import xxhash
from numpy.typing import NDArray

from topicrawl.search.index_file import tongue

Array = NDArray[Any]
_LANE, _LANES = 8, 4  # bytes that are read at once, and how often
_PLACES = 19  # bits: half a million words have a place, 6 MB
_PAD = b" " * (_LANE * _LANES)
_MASKS = np.array([(1 << 8 * size) - 1 for size in range(_LANE + 1)], np.uint64)
_MIX = np.uint64(0xFF51AFD7ED558CCD)
_HALF = np.uint64(32)
_ONE = np.uint64(1)


class Numbering:
    """Stems by the order in which they were met; `new` are those since it was last emptied."""

    def __init__(self) -> None:
        self.terms: dict[str, int] = {}
        self.new: list[str] = []
        self._known: dict[int, int] = {}  # mixed word → number
        self._seeds: dict[str, np.uint64] = {}
        self._mixed = np.zeros(1 << _PLACES, np.uint64)
        self._numbers = np.zeros(1 << _PLACES, np.int32)

    def __len__(self) -> int:
        """How many words are known."""
        return len(self._known)

    def numbers(self, parts: Sequence[bytes], language: str) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """The stems of all words of texts that are spelled out (`tokens.spelled`), and how many each text has.

        >>> numbering = Numbering()
        >>> numbers, sizes = numbering.numbers([b"owls hunt", b"", b" an owl "], "en")
        >>> numbers.tolist(), sizes.tolist(), numbering.new
        ([0, 1, 2, 0], [2, 0, 2], ['owl', 'hunt', 'an'])
        """
        data = b" ".join((*parts, _PAD))
        starts, ends = _edges(data)
        borders = np.cumsum([0, *(len(part) + 1 for part in parts)])
        sizes = np.diff(starts.searchsorted(borders))
        mixed = self._mix(data, starts, ends, language)
        places = (mixed >> np.uint64(64 - _PLACES)).astype(np.intp)
        numbers = self._numbers[places]
        unknown = np.flatnonzero(self._mixed[places] != mixed)
        if len(unknown):
            different, once, which = np.unique(mixed[unknown], return_index=True, return_inverse=True)
            order = np.argsort(once)  # as they stand in the texts
            at = unknown[once[order]]
            found = np.zeros(len(order), np.int32)
            found[order] = self._looked_up(data, different[order], starts[at], ends[at], language)
            numbers[unknown] = found[which]
            self._mixed[places[at]] = mixed[at]
            self._numbers[places[at]] = numbers[at]
        return numbers, sizes

    def _mix(self, data: bytes, starts: Array, ends: Array, language: str) -> Array:
        """A number of 64 bits for each word, the same for the same word of a language."""
        seed = self._seeds.setdefault(language, np.uint64(randbits(64)))
        # Eight bytes from every byte on: reading a word is taking one of these.
        eights: Array = np.ndarray(max(0, len(data) - _LANE + 1), "<u8", data, strides=(1,))
        sizes = ends - starts
        mixed = _stirred((eights[starts] & _MASKS[np.minimum(sizes, _LANE)]) ^ seed)
        for behind in range(_LANE, _LANE * _LANES, _LANE):
            more = np.flatnonzero(sizes > behind)
            if not len(more):
                break
            read = eights[starts[more] + behind] & _MASKS[np.minimum(sizes[more] - behind, _LANE)]
            mixed[more] = _stirred(mixed[more] ^ read)
        for at in np.flatnonzero(sizes > _LANE * _LANES).tolist():
            mixed[at] = xxhash.xxh3_64_intdigest(data[starts[at] : ends[at]], int(seed))
        return mixed | _ONE  # so that an empty place is nobody's

    def _looked_up(self, data: bytes, mixed: Array, starts: Array, ends: Array, language: str) -> list[int]:
        found: list[int] = []
        known, terms, stem_of = self._known, self.terms, tongue(language).stem
        for key, start, end in zip(mixed.tolist(), starts.tolist(), ends.tolist(), strict=True):
            number = known.get(key)
            if number is None:
                stem = stem_of(data[start:end].decode())
                number = terms.get(stem)
                if number is None:
                    number = terms[stem] = len(terms)
                    self.new.append(stem)
                known[key] = number
            found.append(number)
        return found


def _edges(data: bytes) -> tuple[Array, Array]:
    """Where words begin and end.

    >>> [edges.tolist() for edges in _edges(b" an owl  ")]
    [[1, 4], [3, 7]]
    """
    blank = np.frombuffer(data, np.uint8) == ord(" ")
    changes = np.flatnonzero(blank[1:] != blank[:-1]) + 1
    if len(blank) and not blank[0]:
        changes = np.concatenate((np.zeros(1, changes.dtype), changes))
    return changes[::2], changes[1::2]


def _stirred(numbers: Array) -> Array:
    """A number of 64 bits for another, never the same for two."""
    numbers ^= numbers >> _HALF
    numbers *= _MIX
    numbers ^= numbers >> _HALF
    numbers *= _MIX
    numbers ^= numbers >> _HALF
    return numbers
