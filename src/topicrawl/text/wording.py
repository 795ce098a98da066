"""The words of a text in a row, as bytes: what is counted and compared needs no string for each.

Of a word of up to 32 bytes, four numbers of eight bytes are read where it stands and mixed to one of 64 bits; longer
words, which are rare, get theirs one by one. Two words have the same with a chance of 2⁻⁶⁴, and since the mixing begins
with a random number, nobody can write words that do.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from secrets import randbits
from typing import Any, NamedTuple, SupportsIndex, TypeAlias, overload

import numpy as np
import xxhash
from numpy.typing import NDArray

from topicrawl.text.tokens import parted

Array = NDArray[Any]
Learn: TypeAlias = Callable[[list[int]], Sequence[int]]  # places of words in a row → what they stand for
_LANE, _LANES = 8, 4  # bytes that are read at once, and how often
_PAD = b" " * (_LANE * _LANES)
_MASKS = np.array([(1 << 8 * size) - 1 for size in range(_LANE + 1)], np.uint64)
_MIX = np.uint64(0xFF51AFD7ED558CCD)
_HALF = np.uint64(32)
_SEED = np.uint64(randbits(64))
_STRIDES = np.uint64(0xFFFF)  # always odd, as mixed numbers are: sooner or later all places are looked at
_LEAST_PLACES, _SPARE = 12, 2  # bits: of the smallest table, and of the places for each word
_BLANK = ord(" ")


class Row(Sequence[str]):
    """Words in a row, equal to a tuple of the same words; its strings are made when somebody asks for one."""

    __slots__ = ("_strings",)
    _strings: tuple[str, ...] | None

    def strings(self) -> tuple[str, ...]:
        if self._strings is None:
            self._strings = self._spelled_out()
        return self._strings

    @abstractmethod
    def _spelled_out(self) -> tuple[str, ...]:
        """All strings."""

    @overload
    def __getitem__(self, at: SupportsIndex) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[str, ...]: ...
    def __getitem__(self, at: SupportsIndex | slice) -> str | tuple[str, ...]:
        return self._part(at) if isinstance(at, slice) and self._strings is None else self.strings()[at]

    def _part(self, at: slice) -> tuple[str, ...]:
        return self.strings()[at]

    def __iter__(self) -> Iterator[str]:
        return iter(self.strings())

    def __contains__(self, word: object) -> bool:
        return word in self.strings()

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Row):
            return self.strings() == other.strings()
        return self.strings() == other if isinstance(other, tuple) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.strings())

    def __repr__(self) -> str:
        return repr(self.strings())

    def __reduce__(self) -> tuple[Any, ...]:
        return tuple, (self.strings(),)


class Wording(Row):
    """The words of a text that is spelled out (`tokens.spelled`).

    >>> said = Wording(b" an owl  hunts ")
    >>> said, len(said), said.at([1]), bool(said.mixed[1] == Wording(b"owl").mixed[0])
    (('an', 'owl', 'hunts'), 3, ['owl'], True)
    """

    __slots__ = ("_mixed", "data", "ends", "numbered", "starts")

    def __init__(self, plain: bytes) -> None:
        self.data = plain + _PAD
        blank = np.frombuffer(self.data, np.uint8) == _BLANK
        changes = (blank[1:] != blank[:-1]).nonzero()[0]
        changes += 1
        if not blank[0]:
            changes = np.concatenate((np.zeros(1, changes.dtype), changes))
        self.starts: Array = changes[::2]
        self.ends: Array = changes[1::2]
        self.numbered: tuple[object, Array] | None = None  # whoever has given each word a number, and these
        self._mixed: Array | None = None
        self._strings = None

    @classmethod
    def of(cls, words: Sequence[str]) -> Wording:
        return words if isinstance(words, Wording) else cls(" ".join(words).encode("utf-8", "replace"))

    @property
    def plain(self) -> bytes:
        """What it was made of."""
        return self.data[: -len(_PAD)]

    def __len__(self) -> int:
        return len(self.starts)

    def _spelled_out(self) -> tuple[str, ...]:
        return tuple(self.data.decode().split())

    def _part(self, at: slice) -> tuple[str, ...]:
        return tuple(self.at(at))

    def at(self, places: Sequence[int] | Array | slice) -> list[str]:
        """The words at some places, without making strings of the others."""
        data = self.data
        edges = zip(self.starts[places].tolist(), self.ends[places].tolist(), strict=True)
        return [data[start:end].decode() for start, end in edges]

    @property
    def longest(self) -> int:
        """Bytes of the longest word."""
        return int((self.ends - self.starts).max(initial=0))

    @property
    def mixed(self) -> Array:
        """A number of 64 bits for each word, the same for the same word; never 0."""
        if self._mixed is None:
            self._mixed = self._mix()
        return self._mixed

    def _mix(self) -> Array:
        # Eight bytes from every byte on: reading a word is taking one of these.
        eights: Array = np.ndarray(len(self.data) - _LANE + 1, "<u8", self.data, strides=(1,))
        starts, sizes = self.starts, self.ends - self.starts
        mixed = _stirred((eights[starts] & _MASKS[np.minimum(sizes, _LANE)]) ^ _SEED)
        for behind in range(_LANE, _LANE * _LANES, _LANE):
            more = (sizes > behind).nonzero()[0]
            if not len(more):
                break
            read = eights[starts[more] + behind] & _MASKS[np.minimum(sizes[more] - behind, _LANE)]
            mixed[more] = _stirred(mixed[more] ^ read)
        for at in (sizes > _LANE * _LANES).nonzero()[0].tolist():
            mixed[at] = xxhash.xxh3_64_intdigest(self.data[starts[at] : self.ends[at]], int(_SEED))
        mixed |= np.uint64(1)  # so that an empty place is nobody's
        return mixed


class Stretch(Row):
    """Some words of a wording, one after the other: those whose places stand in `places` from `start` to `stop`.

    >>> near = Stretch(Wording(b"an owl hunts at night"), np.array([1, 2, 4]), 1, 3)
    >>> near, len(near), near[:1]
    (('hunts', 'night'), 2, ('hunts',))
    """

    __slots__ = ("places", "start", "stop", "wording")

    def __init__(self, wording: Wording, places: Array, start: int, stop: int) -> None:
        self.wording = wording
        self.places = places
        self.start = start
        self.stop = stop
        self._strings = None

    def __len__(self) -> int:
        return self.stop - self.start

    def _spelled_out(self) -> tuple[str, ...]:
        # Whoever wants the words around one link wants those around the others.
        strings = self.wording.strings()
        return tuple([strings[at] for at in self.places[self.start : self.stop].tolist()])


class Parted(NamedTuple):
    """The words of several texts in one row; the words of the nth text end where `ends[n]` says."""

    words: Wording
    ends: Array


def wordings(texts: Sequence[str]) -> Parted:
    """The words of texts in one go.

    >>> said = wordings(["Rare owls", "", "bats"])
    >>> said.words, said.ends.tolist()
    (('rare', 'owls', 'bats'), [2, 2, 3])
    """
    plain, borders = parted(texts)
    words = Wording(plain)
    return Parted(words, words.starts.searchsorted(borders))


class Lookup:
    """What words stand for, by their mixed numbers, many at a time.

    A word stands in a table at the place that its number names, or further on where that is taken. What does not is
    new, and is asked of `learn` by its places in the row.

    >>> lookup, said = Lookup(), Wording(b"owl bat owl eagle")
    >>> lookup(said.mixed, lambda places: [len(word) for word in said.at(places)]).tolist(), len(lookup)
    ([3, 3, 3, 5], 3)
    """

    def __init__(self) -> None:
        self._begin(_LEAST_PLACES)

    def _begin(self, bits: int) -> None:
        """An empty table with so many places."""
        self._count = 0
        self._shift, self._last = np.uint64(64 - bits), (1 << bits) - 1
        self._mixed = np.zeros(1 << bits, np.uint64)  # 0: nobody stands there
        self._numbers = np.zeros(1 << bits, np.int32)

    def __len__(self) -> int:
        """How many words are known."""
        return self._count

    def __call__(self, mixed: Array, learn: Learn) -> NDArray[np.int32]:
        numbers, unknown = self._found(mixed)
        if len(unknown):
            keys = mixed[unknown].tolist()
            first: dict[int, int] = {}
            for key, at in zip(keys, unknown.tolist(), strict=True):
                first.setdefault(key, at)
            learned = learn(list(first.values()))
            self._add(np.fromiter(first, np.uint64, len(first)), np.array(learned, np.int32))
            numbers[unknown] = list(map(dict(zip(first, learned, strict=True)).__getitem__, keys))
        return numbers

    def _found(self, mixed: Array) -> tuple[NDArray[np.int32], Array]:
        """What is known, and where in the row the others stand."""
        places = (mixed >> self._shift).astype(np.intp)
        numbers = self._numbers[places]
        left = (self._mixed[places] != mixed).nonzero()[0]
        places, wanted, unknown = places[left], mixed[left], []
        while len(left):
            held = self._mixed[places]
            here, taken = held == wanted, held != 0
            numbers[left[here]] = self._numbers[places[here]]
            unknown.append(left[~taken])
            on = (taken > here).nonzero()[0]
            left, wanted, places = left[on], wanted[on], self._next(places[on], wanted[on])
        return numbers, np.sort(np.concatenate(unknown)) if unknown else left

    def _next(self, places: Array, mixed: Array) -> Array:
        """Where else words may stand; those that meet at a place part again."""
        return (places + (mixed & _STRIDES).astype(np.intp)) & self._last

    def _add(self, mixed: Array, numbers: Array) -> None:
        """Put in words that are not there, each once."""
        if self._count + len(mixed) > self._last >> _SPARE:
            taken = self._mixed.nonzero()[0]
            mixed, numbers = np.append(self._mixed[taken], mixed), np.append(self._numbers[taken], numbers)
            self._begin((len(mixed) << _SPARE).bit_length())
        self._count += len(mixed)
        places = (mixed >> self._shift).astype(np.intp)
        while len(mixed):
            free = self._mixed[places] == 0
            self._mixed[places[free]], self._numbers[places[free]] = mixed[free], numbers[free]
            # Of several that found the same place free, one got it.
            on = (self._mixed[places] != mixed).nonzero()[0]
            mixed, numbers, places = mixed[on], numbers[on], self._next(places[on], mixed[on])


def _stirred(numbers: Array) -> Array:
    """A number of 64 bits for another, never the same for two."""
    numbers ^= numbers >> _HALF
    numbers *= _MIX
    numbers ^= numbers >> _HALF
    numbers *= _MIX
    numbers ^= numbers >> _HALF
    return numbers
