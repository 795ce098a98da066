"""The words of a text in a row, as bytes: what is counted and compared needs no string for each.

Of a word of up to 16 bytes, two numbers of eight bytes are read where it stands and mixed to one of 64 bits; longer
words, which are rare, get theirs in two steps or one by one. Two words have the same with a chance of 2⁻⁶⁴, and since
the mixing begins with a random number, nobody can write words that do.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import repeat
from secrets import randbits
from typing import Any, NamedTuple, SupportsIndex, TypeAlias, overload

import numpy as np
import xxhash
from numpy.typing import NDArray

from topicrawl.text.tokens import parted

Array = NDArray[Any]
Learn: TypeAlias = Callable[[list[int]], Sequence[int]]  # places of words in a row → what they stand for
_READ = 16  # bytes that are read at once, as two numbers
_PAD = b" " * (2 * _READ)
#: Which bits of the two belong to a word, by its size.
_MASKS = np.array([divmod((1 << 8 * size) - 1, 1 << 64)[::-1] for size in range(_READ + 1)], np.uint64)
_MIX = np.uint64(0xFF51AFD7ED558CCD)
_HALF, _ONE = np.uint64(32), np.uint64(1)
_SEED = np.uint64(randbits(64))
_LEAST_PLACES, _SPARE = 12, 2  # bits: of the smallest table, and of the places for each word
_BLANK, _BORDER = ord(" "), b"\0"  # between words, and between texts
_LAST_ASCII = 127


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
    """The words of a text that is spelled out (`tokens.spelled`), or of several (`tokens.parted`).

    >>> said = Wording(b" an owl  hunts ")
    >>> said, len(said), said.at([1]), bool(said.mixed[1] == Wording(b"owl").mixed[0])
    (('an', 'owl', 'hunts'), 3, ['owl'], True)
    """

    __slots__ = ("_mixed", "_sizes", "data", "ends", "numbered", "starts")

    def __init__(self, plain: bytes) -> None:
        self.data = plain + _PAD
        blank = np.frombuffer(self.data, np.uint8) <= _BLANK
        changes = (blank[1:] != blank[:-1]).nonzero()[0]
        changes += 1
        if not blank[0]:
            changes = np.concatenate((np.zeros(1, changes.dtype), changes))
        self.starts: Array = changes[::2]
        self.ends: Array = changes[1::2]
        self.numbered: tuple[object, Array] | None = None  # whoever has given each word a number, and these
        self._mixed: Array | None = None
        self._sizes: Array | None = None
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
        return tuple(self.data.replace(_BORDER, b" ").decode().split())

    def _part(self, at: slice) -> tuple[str, ...]:
        return tuple(self.at(at))

    def at(self, places: Sequence[int] | Array | slice) -> list[str]:
        """The words at some places, without making strings of the others."""
        data = self.data
        edges = zip(self.starts[places].tolist(), self.ends[places].tolist(), strict=True)
        return [data[start:end].decode() for start, end in edges]

    @property
    def sizes(self) -> Array:
        """The bytes of each word."""
        if self._sizes is None:
            self._sizes = self.ends - self.starts
        return self._sizes

    @property
    def longest(self) -> int:
        """Bytes of the longest word."""
        # Finding its place is a third of the price of the maximum.
        return int(self.sizes[self.sizes.argmax()]) if len(self) else 0

    @property
    def mixed(self) -> Array:
        """A number of 64 bits for each word, the same for the same word; never 0."""
        if self._mixed is None:
            self._mixed = self._mix()
        return self._mixed

    def _mix(self) -> Array:
        # Sixteen bytes from every byte on: reading a word is taking one of these.
        rows: Array = np.ndarray(len(self.data) - _READ + 1, f"V{_READ}", self.data, strides=(1,))
        sizes = self.sizes
        mixed = _stirred(rows[self.starts], sizes, _SEED)
        long = (sizes > _READ).nonzero()[0]
        if len(long):
            self._mix_long(long, mixed, rows)
        mixed |= _ONE  # so that an empty place is nobody's
        return mixed

    def _mix_long(self, long: Array, mixed: Array, rows: Array) -> None:
        """The same for the words at some places, which are longer than what is read at once."""
        data, starts, sizes, alone = self.data, self.starts[long], self.sizes[long], long
        if not data.isascii():
            # Letters beyond ASCII take several bytes each: of such words many are long, of others few.
            many = (np.frombuffer(data, np.uint8)[starts] > _LAST_ASCII) & (sizes <= 2 * _READ)
            those, alone = long[many], long[~many]
            mixed[those] = _stirred(rows[starts[many] + _READ], sizes[many] - _READ, mixed[those])
        for at in alone.tolist():
            mixed[at] = xxhash.xxh3_64_intdigest(data[self.starts[at] : self.ends[at]], int(_SEED))


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

    # A page has hundreds of them, and to call the class for each would take twice as long.

    @classmethod
    def before(cls, wording: Wording, places: Array, stops: Iterable[int], most: int) -> list[Stretch]:
        """Those that end before each of some places, with at most so many words."""
        new, made = cls.__new__, []
        for stop in stops:
            stretch = new(cls)
            stretch.wording, stretch.places, stretch._strings = wording, places, None
            stretch.start, stretch.stop = stop - most if stop > most else 0, stop
            made.append(stretch)
        return made

    @classmethod
    def after(cls, wording: Wording, places: Array, starts: Iterable[int], most: int) -> list[Stretch]:
        """Those that begin with each of some places."""
        new, last, made = cls.__new__, len(places), []
        for start in starts:
            stretch = new(cls)
            stretch.wording, stretch.places, stretch._strings = wording, places, None
            stretch.start, stretch.stop = start, start + most if start + most < last else last
            made.append(stretch)
        return made

    def __len__(self) -> int:
        return self.stop - self.start

    def _spelled_out(self) -> tuple[str, ...]:
        # Whoever wants the words around one link wants those around the others.
        strings = self.wording.strings()
        return tuple([strings[at] for at in self.places[self.start : self.stop].tolist()])


class Parted(NamedTuple):
    """The words of several texts in one row; the words of the nth text end where `ends[n]` says.

    >>> wordings(["a bird", "s", "."]).is_torn, wordings(["a ", "bird", "."]).is_torn
    (True, False)
    """

    words: Wording
    ends: Array

    @property
    def is_torn(self) -> bool:
        """Does a word of one text touch one of the next, with nothing between them but the border?"""
        starts, ends, borders = self.words.starts, self.words.ends, self.ends[:-1]
        if not len(starts):
            return False
        # Before the first and behind the last word the difference is negative.
        apart = starts[np.minimum(borders, len(starts) - 1)] - ends[borders - 1]
        return len((apart == 1).nonzero()[0]) > 0


def wordings(texts: Sequence[str]) -> Parted:
    """The words of texts in one go.

    >>> said = wordings(["Rare owls", "", "bats"])
    >>> said.words, said.ends.tolist()
    (('rare', 'owls', 'bats'), [2, 2, 3])
    """
    words = Wording(parted(texts))
    borders = (np.frombuffer(words.data, np.uint8) == 0).nonzero()[0]
    if len(borders) != len(texts):
        # A text holds the character that parts them.
        return wordings([text.replace("\0", " ") for text in texts])
    return Parted(words, words.starts.searchsorted(borders))


class Lookup:
    """What words stand for, by their mixed numbers, many at a time.

    A word stands in a table at the place that its number names, or among `_others` where another came first. What does
    not is new, and is asked of `learn` by its places in the row.

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
        self._others: dict[int, int] = {}

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
        places = self._places(mixed)
        numbers = self._numbers[places]
        left = (self._mixed[places] != mixed).nonzero()[0]
        if len(left):
            # One word in twelve: asking for these one by one is faster than to look on in the table, many at a time.
            others = np.fromiter(map(self._others.get, mixed[left].tolist(), repeat(-1)), np.int32, len(left))
            numbers[left] = others
            left = left[others < 0]
        return numbers, left

    def _places(self, mixed: Array) -> Array:
        return (mixed >> self._shift).view(np.int64)

    def _add(self, mixed: Array, numbers: Array) -> None:
        """Put in words that are not there, each once."""
        if self._count + len(mixed) > self._last >> _SPARE:
            taken, others = self._mixed.nonzero()[0], self._others
            mixed = np.concatenate((self._mixed[taken], np.fromiter(others, np.uint64, len(others)), mixed))
            numbers = np.concatenate(
                (self._numbers[taken], np.fromiter(others.values(), np.int32, len(others)), numbers)
            )
            self._begin((len(mixed) << _SPARE).bit_length())
        self._count += len(mixed)
        places = self._places(mixed)
        free = self._mixed[places] == 0
        self._mixed[places[free]], self._numbers[places[free]] = mixed[free], numbers[free]
        # Of several that found the same place free, one got it.
        late = (self._mixed[places] != mixed).nonzero()[0]
        self._others.update(zip(mixed[late].tolist(), numbers[late].tolist(), strict=True))


def _stirred(read: Array, sizes: Array, mixed: Array | np.uint64) -> Array:
    """A number of 64 bits for what was read of words, as far as it is theirs, and what was mixed before."""
    two = read.view("<u8").reshape(-1, 2)
    two &= _MASKS.take(sizes, axis=0, mode="clip")
    mixed = two[:, 0] ^ mixed
    mixed *= _MIX
    mixed ^= mixed >> _HALF
    mixed ^= two[:, 1]
    mixed *= _MIX
    mixed ^= mixed >> _HALF
    mixed *= _MIX
    return mixed
