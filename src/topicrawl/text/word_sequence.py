"""Sequence of the words of a text, stored as bytes. Counting and comparing words needs no string for each word.

A word of up to 16 bytes is read as two 8-byte integers, which are mixed to a 64-bit hash. Longer words are rare and are
hashed in two steps or one by one. Two different words have the same hash with probability 2⁻⁶⁴. The mixing begins with
a random number, so that an attacker cannot construct words with equal hashes.
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

from topicrawl.text.tokenizer import tokenise_texts_to_bytes

Array = NDArray[Any]
LearnWords: TypeAlias = Callable[[list[int]], Sequence[int]]  # positions of words in a sequence → their ids
_READ_BYTES = 16  # bytes of a word that are read at once, as two integers
_PAD = b" " * (2 * _READ_BYTES)
#: Masks of the two integers, by the size of the word.
_MASKS = np.array([divmod((1 << 8 * size) - 1, 1 << 64)[::-1] for size in range(_READ_BYTES + 1)], np.uint64)
_MIX = np.uint64(0xFF51AFD7ED558CCD)
_HALF, _ONE = np.uint64(32), np.uint64(1)
_SEED = np.uint64(randbits(64))
_MIN_TABLE_BITS, _SPARE_BITS = 12, 2  # bits: size of the smallest table; slots per word
_BLANK, _BORDER = ord(" "), b"\0"  # separators of words and of texts
_LAST_ASCII = 127


class LazyWordSequence(Sequence[str]):
    """Immutable sequence of words, equal to a tuple of the same words. Strings are created at first access."""

    __slots__ = ("_strings",)
    _strings: tuple[str, ...] | None

    def get_strings(self) -> tuple[str, ...]:
        """Return all words as strings."""
        if self._strings is None:
            self._strings = self._create_strings()
        return self._strings

    @abstractmethod
    def _create_strings(self) -> tuple[str, ...]:
        """Create all strings."""

    @overload
    def __getitem__(self, at: SupportsIndex) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[str, ...]: ...
    def __getitem__(self, at: SupportsIndex | slice) -> str | tuple[str, ...]:
        return self._get_slice(at) if isinstance(at, slice) and self._strings is None else self.get_strings()[at]

    def _get_slice(self, at: slice) -> tuple[str, ...]:
        return self.get_strings()[at]

    def __iter__(self) -> Iterator[str]:
        return iter(self.get_strings())

    def __contains__(self, word: object) -> bool:
        return word in self.get_strings()

    def __eq__(self, other: object) -> bool:
        if isinstance(other, LazyWordSequence):
            return self.get_strings() == other.get_strings()
        return self.get_strings() == other if isinstance(other, tuple) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.get_strings())

    def __repr__(self) -> str:
        return repr(self.get_strings())

    def __reduce__(self) -> tuple[Any, ...]:
        return tuple, (self.get_strings(),)


class WordSequence(LazyWordSequence):
    """Words of a text from `tokenise_to_bytes`, or of several texts from `tokenise_texts_to_bytes`.

    >>> said = WordSequence(b" an owl  hunts ")
    >>> said, len(said), said.get_words([1]), bool(said.hashes[1] == WordSequence(b"owl").hashes[0])
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
        self.numbered: tuple[object, Array] | None = None  # a vocabulary, and the term ids that it assigned
        self._mixed: Array | None = None
        self._sizes: Array | None = None
        self._strings = None

    @classmethod
    def of(cls, words: Sequence[str]) -> WordSequence:
        """Convert a sequence of words. A `WordSequence` is returned unchanged."""
        return words if isinstance(words, WordSequence) else cls(" ".join(words).encode("utf-8", "replace"))

    @property
    def source_bytes(self) -> bytes:
        """Bytes from which the sequence was created."""
        return self.data[: -len(_PAD)]

    def __len__(self) -> int:
        return len(self.starts)

    def _create_strings(self) -> tuple[str, ...]:
        return tuple(self.data.replace(_BORDER, b" ").decode().split())

    def _get_slice(self, at: slice) -> tuple[str, ...]:
        start, stop, step = at.indices(len(self))
        if step != 1 or start >= stop:
            return tuple(self.get_words(at))
        # Decoding and splitting all bytes of the slice takes a fifth of the time of decoding each word.
        part = self.data[int(self.starts[start]) : int(self.ends[stop - 1])]
        return tuple(part.replace(_BORDER, b" ").decode().split())

    def get_words(self, positions: Sequence[int] | Array | slice) -> list[str]:
        """Return the words at some positions, without creating strings of the other words."""
        data = self.data
        edges = zip(self.starts[positions].tolist(), self.ends[positions].tolist(), strict=True)
        return [data[start:end].decode() for start, end in edges]

    @property
    def sizes(self) -> Array:
        """Size of each word in bytes."""
        if self._sizes is None:
            self._sizes = self.ends - self.starts
        return self._sizes

    @property
    def max_size(self) -> int:
        """Size of the longest word in bytes."""
        # `argmax` takes a third of the time of `max`.
        return int(self.sizes[self.sizes.argmax()]) if len(self) else 0

    @property
    def hashes(self) -> Array:
        """64-bit hash of each word. Equal words have equal hashes, and no hash is 0."""
        if self._mixed is None:
            self._mixed = self._compute_hashes()
        return self._mixed

    def _compute_hashes(self) -> Array:
        """Compute the hashes of all words."""
        # A view of the sixteen bytes from each byte on: indexing it reads a word.
        rows: Array = np.ndarray(len(self.data) - _READ_BYTES + 1, f"V{_READ_BYTES}", self.data, strides=(1,))
        sizes = self.sizes
        mixed = _mix_hashes(rows[self.starts], sizes, _SEED)
        long = (sizes > _READ_BYTES).nonzero()[0]
        if len(long):
            self._hash_long_words(long, mixed, rows)
        mixed |= _ONE  # 0 marks an empty slot of the lookup table
        return mixed

    def _hash_long_words(self, long: Array, mixed: Array, rows: Array) -> None:
        """Compute the hashes of words that are longer than `_READ_BYTES`, in place."""
        data, starts, sizes, single = self.data, self.starts[long], self.sizes[long], long
        if not data.isascii():
            # Non-ASCII letters take several bytes each, so many such words are long. They are hashed in two steps.
            many = (np.frombuffer(data, np.uint8)[starts] > _LAST_ASCII) & (sizes <= 2 * _READ_BYTES)
            those, single = long[many], long[~many]
            mixed[those] = _mix_hashes(rows[starts[many] + _READ_BYTES], sizes[many] - _READ_BYTES, mixed[those])
        for at in single.tolist():
            mixed[at] = xxhash.xxh3_64_intdigest(data[self.starts[at] : self.ends[at]], int(_SEED))


class WordWindow(LazyWordSequence):
    """Part of a word sequence: the words at `places[start]` to `places[stop - 1]`.

    >>> near = WordWindow(WordSequence(b"an owl hunts at night"), np.array([1, 2, 4]), 1, 3)
    >>> near, len(near), near[:1]
    (('hunts', 'night'), 2, ('hunts',))
    """

    __slots__ = ("places", "start", "stop", "wording")

    def __init__(self, wording: WordSequence, places: Array, start: int, stop: int) -> None:
        self.wording = wording
        self.places = places
        self.start = start
        self.stop = stop
        self._strings = None

    # A page has hundreds of windows, and calling the class for each would take twice as long.

    @classmethod
    def build_before(cls, wording: WordSequence, places: Array, stops: Iterable[int], limit: int) -> list[WordWindow]:
        """Return the windows that end before each of some positions, with at most `limit` words."""
        new, windows = cls.__new__, []
        for stop in stops:
            window = new(cls)
            window.wording, window.places, window._strings = wording, places, None
            window.start, window.stop = stop - limit if stop > limit else 0, stop
            windows.append(window)
        return windows

    @classmethod
    def build_after(cls, wording: WordSequence, places: Array, starts: Iterable[int], limit: int) -> list[WordWindow]:
        """Return the windows that begin at each of some positions, with at most `limit` words."""
        new, last, windows = cls.__new__, len(places), []
        for start in starts:
            window = new(cls)
            window.wording, window.places, window._strings = wording, places, None
            window.start, window.stop = start, start + limit if start + limit < last else last
            windows.append(window)
        return windows

    def __len__(self) -> int:
        return self.stop - self.start

    def _create_strings(self) -> tuple[str, ...]:
        # All strings are created, because a caller that reads one window usually reads the others too.
        strings = self.wording.get_strings()
        return tuple([strings[at] for at in self.places[self.start : self.stop].tolist()])


class TokenisedTexts(NamedTuple):
    """Words of several texts in one sequence. The words of text n end at index `ends[n]`.

    >>> tokenise_together(["a bird", "s", "."]).has_split_word, tokenise_together(["a ", "bird", "."]).has_split_word
    (True, False)
    """

    words: WordSequence
    ends: Array

    @property
    def has_split_word(self) -> bool:
        """Whether the last word of a text touches the first word of the next, with only the border between them."""
        starts, ends, borders = self.words.starts, self.words.ends, self.ends[:-1]
        if not len(starts):
            return False
        # The difference is negative before the first word and after the last.
        apart = starts[np.minimum(borders, len(starts) - 1)] - ends[borders - 1]
        return len((apart == 1).nonzero()[0]) > 0


def tokenise_together(texts: Sequence[str]) -> TokenisedTexts:
    """Tokenise several texts in one pass.

    >>> said = tokenise_together(["Rare owls", "", "bats"])
    >>> said.words, said.ends.tolist()
    (('rare', 'owls', 'bats'), [2, 2, 3])
    """
    words = WordSequence(tokenise_texts_to_bytes(texts))
    borders = (np.frombuffer(words.data, np.uint8) == 0).nonzero()[0]
    if len(borders) != len(texts):
        # A text contains the separator character.
        return tokenise_together([text.replace("\0", " ") for text in texts])
    return TokenisedTexts(words, words.starts.searchsorted(borders))


class WordIdLookup:
    """Hash table that maps many words at once from their hashes to ids.

    A word is stored in the slot given by its hash, or in `_overflow` if the slot is occupied. For words that are not in
    the table, the caller's `learn` function returns the ids, given their positions in the sequence.

    >>> lookup, said = WordIdLookup(), WordSequence(b"owl bat owl eagle")
    >>> lookup(said.hashes, lambda places: [len(word) for word in said.get_words(places)]).tolist(), len(lookup)
    ([3, 3, 3, 5], 3)
    """

    def __init__(self) -> None:
        self._reset_table(_MIN_TABLE_BITS)

    def _reset_table(self, bits: int) -> None:
        """Create an empty table of 2 ** `bits` slots."""
        self._count = 0
        self._shift, self._max_slot = np.uint64(64 - bits), (1 << bits) - 1
        self._hashes = np.zeros(1 << bits, np.uint64)  # 0 marks an empty slot
        self._ids = np.zeros(1 << bits, np.int32)
        self._overflow: dict[int, int] = {}

    def __len__(self) -> int:
        """Return the number of words."""
        return self._count

    def __call__(self, mixed: Array, learn: LearnWords) -> NDArray[np.int32]:
        """Return the ids of words by their hashes, and add the words that are new."""
        numbers, unknown = self._find_known(mixed)
        if len(unknown):
            keys = mixed[unknown].tolist()
            first: dict[int, int] = {}
            for key, at in zip(keys, unknown.tolist(), strict=True):
                first.setdefault(key, at)
            learned = learn(list(first.values()))
            self._add_words(np.fromiter(first, np.uint64, len(first)), np.array(learned, np.int32))
            numbers[unknown] = list(map(dict(zip(first, learned, strict=True)).__getitem__, keys))
        return numbers

    def _find_known(self, mixed: Array) -> tuple[NDArray[np.int32], Array]:
        """Return the ids of known words, and the positions of the others."""
        slots = self._get_slots(mixed)
        numbers = self._ids[slots]
        missing = (self._hashes[slots] != mixed).nonzero()[0]
        if len(missing):
            # About one word in twelve. Single dictionary lookups are faster than probing the table in batches.
            others = np.fromiter(map(self._overflow.get, mixed[missing].tolist(), repeat(-1)), np.int32, len(missing))
            numbers[missing] = others
            missing = missing[others < 0]
        return numbers, missing

    def _get_slots(self, mixed: Array) -> Array:
        return (mixed >> self._shift).view(np.int64)

    def _add_words(self, mixed: Array, numbers: Array) -> None:
        """Add words that are not in the table, each once."""
        if self._count + len(mixed) > self._max_slot >> _SPARE_BITS:
            occupied, others = self._hashes.nonzero()[0], self._overflow
            mixed = np.concatenate((self._hashes[occupied], np.fromiter(others, np.uint64, len(others)), mixed))
            numbers = np.concatenate(
                (self._ids[occupied], np.fromiter(others.values(), np.int32, len(others)), numbers)
            )
            self._reset_table((len(mixed) << _SPARE_BITS).bit_length())
        self._count += len(mixed)
        slots = self._get_slots(mixed)
        free = self._hashes[slots] == 0
        self._hashes[slots[free]], self._ids[slots[free]] = mixed[free], numbers[free]
        # If several new words have the same free slot, one of them gets it.
        displaced = (self._hashes[slots] != mixed).nonzero()[0]
        self._overflow.update(zip(mixed[displaced].tolist(), numbers[displaced].tolist(), strict=True))


def _mix_hashes(read: Array, sizes: Array, mixed: Array | np.uint64) -> Array:
    """Mix the bytes of words, masked by their sizes, with earlier hashes to 64-bit hashes."""
    halves = read.view("<u8").reshape(-1, 2)
    halves &= _MASKS.take(sizes, axis=0, mode="clip")
    mixed = halves[:, 0] ^ mixed
    mixed *= _MIX
    mixed ^= mixed >> _HALF
    mixed ^= halves[:, 1]
    mixed *= _MIX
    mixed ^= mixed >> _HALF
    mixed *= _MIX
    return mixed
