"""Detection of crawler traps that URL limits do not catch: endless calendars, session ids, faceted search.

Such traps have many URLs of one pattern whose pages contain nothing new. The detector stores which words each URL
pattern has shown. A pattern is exhausted after several consecutive pages without new words. URLs without a variable
part have no pattern and are never traps.

A small site that renders all pages from one template looks the same. Therefore links of an exhausted pattern are
demoted behind all other links, not dropped. The path to a page separates endless from finite patterns: in a trap, one
exhausted page leads to the next.
"""

from __future__ import annotations

import re
from array import array
from base64 import b64decode, b64encode
from collections.abc import Sequence
from itertools import chain, islice
from typing import TypedDict
from zlib import crc32

from topicrawl.text.lexicon import MAX_WORD_LENGTH
from topicrawl.urls import get_host

_SLOT_COUNT = 4096  # hash slots per pattern; the slot of a word is its CRC-32 modulo this number
_MAX_FILL = 0.6  # share of used slots above which too many new words would collide with old ones
_GENERATION_PAGES = 30  # pages; a word counts as new if neither the current nor the previous generation contains it
_WORDS_PER_QUARTER = 80  # words sampled from each quarter of a page, so that a long menu cannot dominate
_MAX_SAVED_PATTERNS = 500  # patterns in the saved state, about 2 kB each
_MAX_VOCABULARY = 50_000  # words in the slot cache
_MIN_DIFFERENT_WORDS = 20  # minimum denominator for the share of new words, for pages that differ in fewer words
_VARIABLE_PART = re.compile(
    r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"  # UUID
    r"|(?=[A-Za-z]*[0-9])[0-9A-Za-z]{16,}"  # random token
    r"|(?=[a-f]*[0-9])[0-9a-f]{8,}"  # hexadecimal number
    r"|[0-9]+"
)


def extract_pattern(url: str) -> str | None:
    """Return the pattern of a URL, with its variable parts replaced by `*`; None if it has no variable part.

    >>> extract_pattern("https://example.org/events/2031-05?view=week&id=7")
    'example.org/events/*-*?id&view'
    >>> extract_pattern("https://example.org/wiki/Bird") is None
    True
    """
    address, _, query = url.partition("?")
    name, _, path = address.partition("://")[2].partition("/")
    general, replaced = _VARIABLE_PART.subn("*", path)
    if not query:
        return f"{name}/{general}" if replaced else None
    names = sorted({_VARIABLE_PART.sub("*", part.partition("=")[0]) for part in query.split("&")})
    return f"{name}/{general}?{'&'.join(names)}"


class _WordSlots(dict[str, int]):
    """Cached map from word to slot. Dates, numbers and other non-words have slot −1, because they are always new."""

    def __missing__(self, word: str) -> int:
        if len(word) > MAX_WORD_LENGTH:
            return -1
        if len(self) >= _MAX_VOCABULARY:
            self.clear()
        slot = self[word] = crc32(word.encode("utf-8", "replace")) % _SLOT_COUNT if word.isalpha() else -1
        return slot


class _PatternMemory:
    """Words recently seen under one URL pattern.

    Only recent words count, because a long series of short pages uses up the common words without being a trap.
    """

    __slots__ = ("generation", "last_seen", "pages", "previous_slots", "repetitive_pages", "slots_used")

    def __init__(self) -> None:
        self.last_seen = bytearray(_SLOT_COUNT)  # last generation in which each slot was seen
        self.slots_used = 0  # slots seen in this generation or the previous one
        self.generation = 2
        self.pages = 0  # pages in this generation
        self.previous_slots = array("H")  # slots of the previous page
        self.repetitive_pages = 0  # consecutive pages without new words

    def add_page(self, slots: set[int]) -> float:
        """Add a page and return the share of new words among the words that the previous page did not contain.

        The comparison with the previous page removes menus and footers, which would otherwise hide a short new article.
        """
        if self.pages >= _GENERATION_PAGES or self.slots_used > _MAX_FILL * _SLOT_COUNT:
            self._begin_generation()
        seen, generation = self.last_seen, self.generation
        last = bytes([seen[slot] for slot in slots])
        new = len(last) - last.count(generation) - last.count(generation - 1)
        different = len(slots.difference(self.previous_slots))
        # Some new words fall into used slots: the division by the free share corrects for them.
        share = new / (1 - self.slots_used / _SLOT_COUNT) / max(different, _MIN_DIFFERENT_WORDS)
        for slot in slots:
            seen[slot] = generation
        self.slots_used += new
        self.pages += 1
        self.previous_slots = array("H", list(slots))
        return share

    def get_flags(self) -> bytearray:
        """Return one byte per slot: 1 if the slot counts as seen, else 0."""
        return self.last_seen.translate(bytes(seen >= self.generation - 1 for seen in range(256)))

    def _begin_generation(self) -> None:
        """Start a new generation. Generation numbers are renumbered before they exceed a byte."""
        self.slots_used = self.last_seen.count(self.generation)
        self.pages = 0
        self.generation += 1
        if self.generation > 255:
            self.last_seen = bytearray([seen == 255 for seen in self.last_seen])
            self.generation = 2


class TrapDetectorState(TypedDict):
    """Saved state of a `TrapDetector`."""

    exhausted: list[str]
    recent: list[tuple[str, int, str, list[int]]]


class TrapDetector:
    """Detector of URL patterns whose pages contain no new words.

    `patience` is the number of consecutive pages without new words that exhaust a pattern, `novelty` the share of new
    words below which a page counts as such, `max_patterns` the number of patterns in memory, and `max_run` the number
    of exhausted pages in a row after which a path is endless.

    >>> detector = TrapDetector(patience=3)
    >>> for day in range(6):
    ...     detector.add_page(f"https://example.org/calendar/{day}", ["no", "events", "today", str(day)])
    >>> detector.is_exhausted("https://example.org/calendar/77"), detector.is_exhausted("https://example.org/news/77")
    (True, False)
    """

    def __init__(
        self, *, patience: int = 6, novelty: float = 0.05, max_patterns: int = 5000, max_run: int = 16
    ) -> None:
        self._patience = patience
        self._novelty = novelty
        self._max_patterns = max_patterns
        self._slots = _WordSlots()
        self._memories: dict[str, _PatternMemory] = {}  # least recently seen first
        self._exhausted: dict[str, None] = {}
        self._exhausted_by_host: dict[str, int] = {}  # number of exhausted patterns per host
        self._max_run = max_run
        self._runs: dict[str, int] = {}  # URL → consecutive exhausted pages on the path to it, oldest first

    def add_page(self, url: str, words: Sequence[str], source: str = "") -> None:
        """Learn from a fetched page, and mark its URL pattern as exhausted when `patience` is reached.

        `words` are in lower case, `source` is the URL of the page that linked to it. URLs without a variable part are
        ignored.
        """
        key = extract_pattern(url)
        if key is None:
            return
        if key in self._exhausted:
            self._runs[url] = self._runs.get(source, 0) + 1
            if len(self._runs) > self._max_patterns:
                del self._runs[next(iter(self._runs))]
            return
        memory = self._memories.pop(key, None) or _PatternMemory()
        self._memories[key] = memory
        if len(self._memories) > self._max_patterns:
            del self._memories[next(iter(self._memories))]
        slots = set(map(self._slots.__getitem__, _sample_words(words)))
        slots.discard(-1)
        memory.repetitive_pages = memory.repetitive_pages + 1 if memory.add_page(slots) < self._novelty else 0
        if memory.repetitive_pages >= self._patience:
            del self._memories[key]
            self._mark_exhausted(key)

    def is_exhausted(self, url: str) -> bool:
        """Return whether the URL belongs to an exhausted pattern."""
        # Called for every link of every page, and most hosts have no trap: check the host first.
        return get_host(url) in self._exhausted_by_host and extract_pattern(url) in self._exhausted

    @property
    def has_exhausted_patterns(self) -> bool:
        """Whether any pattern is exhausted. Callers check it before they call `is_exhausted` for each link."""
        return bool(self._exhausted_by_host)

    def is_endless(self, url: str, source: str) -> bool:
        """Return whether a URL is exhausted and `source` already ends a run of `max_run` exhausted pages."""
        return self._runs.get(source, 0) >= self._max_run and self.is_exhausted(url)

    def get_state(self) -> TrapDetectorState:
        """Return the exhausted and the most recent patterns. The others are relearned within a few pages."""
        recent = [
            (
                key,
                memory.repetitive_pages,
                b64encode(_pack_flags(memory.get_flags())).decode(),
                sorted(memory.previous_slots),
            )
            for key, memory in islice(reversed(self._memories.items()), _MAX_SAVED_PATTERNS)
        ]
        return {"exhausted": list(self._exhausted), "recent": recent[::-1]}

    def restore_state(self, state: TrapDetectorState) -> None:
        """Restore a state that `get_state` returned."""
        for key in state["exhausted"]:
            self._mark_exhausted(key)
        for key, dull, seen, before in state["recent"]:
            memory = self._memories[key] = _PatternMemory()
            memory.repetitive_pages, memory.previous_slots = dull, array("H", before)
            memory.last_seen = _unpack_flags(b64decode(seen))
            memory.slots_used = sum(memory.last_seen)

    def _mark_exhausted(self, key: str) -> None:
        """Mark a pattern as exhausted, and forget the oldest one if there are too many."""
        self._exhausted[key] = None
        name = key.partition("/")[0]
        self._exhausted_by_host[name] = self._exhausted_by_host.get(name, 0) + 1
        if len(self._exhausted) > self._max_patterns:
            oldest = next(iter(self._exhausted))
            del self._exhausted[oldest]
            self._exhausted_by_host[oldest.partition("/")[0]] -= 1


def _sample_words(words: Sequence[str]) -> Sequence[str]:
    """Return the words in the middle of each quarter of a page, or all words of a short page."""
    quarter = len(words) // 4
    if quarter <= _WORDS_PER_QUARTER:
        return words
    first = (quarter - _WORDS_PER_QUARTER) // 2
    starts = range(first, first + 4 * quarter, quarter)
    return list(chain.from_iterable([words[start : start + _WORDS_PER_QUARTER] for start in starts]))


def _pack_flags(flags: bytearray) -> bytes:
    """Pack eight flags into each byte."""
    return int(flags.translate(_DIGITS), 2).to_bytes(_SLOT_COUNT // 8, "big")


def _unpack_flags(packed: bytes) -> bytearray:
    """Unpack the flags that `_pack_flags` packed."""
    return bytearray(f"{int.from_bytes(packed, 'big'):0{_SLOT_COUNT}b}".encode()).translate(_FLAGS)


_DIGITS = bytes.maketrans(b"\x00\x01", b"01")
_FLAGS = bytes.maketrans(b"01", b"\x00\x01")
