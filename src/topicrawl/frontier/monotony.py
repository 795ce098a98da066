"""Traps that no rule about addresses sees: endless calendars, session ids, faceted search.

They share one trait: many addresses of one pattern whose pages bring nothing new. So the words seen under
each pattern are remembered, and a pattern is exhausted after several pages in a row without new words.
Addresses without a variable part belong to no pattern and are never traps.

A small site of pages made from one mould looks the same, so an exhausted pattern is put behind all others rather than
given up. What tells the endless from the finite is the way: in a trap it goes on from one exhausted page to the next.
"""

from __future__ import annotations

import re
from array import array
from base64 import b64decode, b64encode
from collections.abc import Sequence
from itertools import chain, islice
from typing import TypedDict
from zlib import crc32

from topicrawl.text.lexicon import LONGEST_WORD
from topicrawl.urls import host

_SLOTS = 4096  # of a pattern's memory; a word's slot is its checksum
_FULL = 0.6  # share of taken slots beyond which too many new words would look old
_GENERATION = 30  # pages; what neither this generation nor the one before has seen is new again
_WORDS = 80  # looked at in each quarter of a page, so that a long menu cannot stand for all of it
_SAVED = 500  # patterns whose words survive a restart, some 2 kB each
_VOCABULARY = 50_000  # words whose slot is remembered
_SMALL = 20  # a page that differs from the one before in fewer words is judged as if it were so many
_VARIABLE = re.compile(
    r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"  # uuid
    r"|(?=[A-Za-z]*[0-9])[0-9A-Za-z]{16,}"  # drawn by lot
    r"|(?=[a-f]*[0-9])[0-9a-f]{8,}"  # a number to the base of 16
    r"|[0-9]+"
)


def pattern(url: str) -> str | None:
    """What an address has in common with its siblings; None when it has no variable part.

    >>> pattern("https://example.org/events/2031-05?view=week&id=7")
    'example.org/events/*-*?id&view'
    >>> pattern("https://example.org/wiki/Bird") is None
    True
    """
    address, _, query = url.partition("?")
    name, _, path = address.partition("://")[2].partition("/")
    general, replaced = _VARIABLE.subn("*", path)
    if not query:
        return f"{name}/{general}" if replaced else None
    names = sorted({_VARIABLE.sub("*", part.partition("=")[0]) for part in query.split("&")})
    return f"{name}/{general}?{'&'.join(names)}"


class _Slots(dict[str, int]):
    """Word → slot; −1 for what is no word, because dates and numbers are always new."""

    def __missing__(self, word: str) -> int:
        if len(word) > LONGEST_WORD:
            return -1
        if len(self) >= _VOCABULARY:
            self.clear()
        slot = self[word] = crc32(word.encode("utf-8", "replace")) % _SLOTS if word.isalpha() else -1
        return slot


class _Words:
    """The words lately seen under one pattern.

    Lately, because a series of short notes uses up the common words in the long run, and is no trap for that.
    """

    __slots__ = ("before", "dull", "generation", "pages", "seen", "taken")

    def __init__(self) -> None:
        self.seen = bytearray(_SLOTS)  # the generation in which a slot was last seen
        self.taken = 0  # slots seen in this generation or the one before
        self.generation = 2
        self.pages = 0  # of this generation
        self.before = array("H")  # the slots of the page before
        self.dull = 0  # pages in a row that brought nothing new

    def novelty(self, slots: set[int]) -> float:
        """The share of new words among those that the page before did not have; then remember the page.

        What all pages share (menus, footers) must not hide that an article of twenty words is new.
        """
        if self.pages >= _GENERATION or self.taken > _FULL * _SLOTS:
            self._begin_generation()
        seen, generation = self.seen, self.generation
        last = bytes([seen[slot] for slot in slots])
        new = len(last) - last.count(generation) - last.count(generation - 1)
        different = len(slots.difference(self.before))
        # Some new words fall into taken slots; as many are added again.
        share = new / (1 - self.taken / _SLOTS) / max(different, _SMALL)
        for slot in slots:
            seen[slot] = generation
        self.taken += new
        self.pages += 1
        self.before = array("H", list(slots))
        return share

    def flags(self) -> bytearray:
        """1 for each slot that counts as seen."""
        return self.seen.translate(bytes(seen >= self.generation - 1 for seen in range(256)))

    def _begin_generation(self) -> None:
        self.taken = self.seen.count(self.generation)
        self.pages = 0
        self.generation += 1
        if self.generation > 255:
            self.seen = bytearray([seen == 255 for seen in self.seen])
            self.generation = 2


class MonotonyState(TypedDict):
    """What survives a restart."""

    exhausted: list[str]
    recent: list[tuple[str, int, str, list[int]]]


class Monotony:
    """Remembers what each address pattern has brought.

    >>> monotony = Monotony(patience=3)
    >>> for day in range(6):
    ...     monotony.seen(f"https://example.org/calendar/{day}", ["no", "events", "today", str(day)])
    >>> monotony.exhausted("https://example.org/calendar/77"), monotony.exhausted("https://example.org/news/77")
    (True, False)
    """

    def __init__(self, *, patience: int = 6, novelty: float = 0.05, patterns: int = 5000, furthest: int = 16) -> None:
        self._patience = patience
        self._novelty = novelty
        self._patterns = patterns
        self._slots = _Slots()
        self._words: dict[str, _Words] = {}  # the least recently seen first
        self._exhausted: dict[str, None] = {}
        self._hosts: dict[str, int] = {}  # exhausted patterns of each host
        self._furthest = furthest
        self._runs: dict[str, int] = {}  # page → exhausted pages in a row on the way to it, the oldest first

    def seen(self, url: str, words: Sequence[str], source: str = "") -> None:
        """Learn from a page; its words are in lower case, `source` is the page that led to it."""
        key = pattern(url)
        if key is None:
            return
        if key in self._exhausted:
            self._runs[url] = self._runs.get(source, 0) + 1
            if len(self._runs) > self._patterns:
                del self._runs[next(iter(self._runs))]
            return
        known = self._words.pop(key, None) or _Words()
        self._words[key] = known
        if len(self._words) > self._patterns:
            del self._words[next(iter(self._words))]
        slots = set(map(self._slots.__getitem__, _sample(words)))
        slots.discard(-1)
        known.dull = known.dull + 1 if known.novelty(slots) < self._novelty else 0
        if known.dull >= self._patience:
            del self._words[key]
            self._close(key)

    def exhausted(self, url: str) -> bool:
        """Does the address belong to a pattern that brings nothing new?"""
        # Asked for every link of every page, and most hosts have no trap.
        return host(url) in self._hosts and pattern(url) in self._exhausted

    @property
    def alert(self) -> bool:
        """Whether any pattern is exhausted at all; asked before the question is put for every link."""
        return bool(self._hosts)

    def endless(self, url: str, source: str) -> bool:
        """Is the way to this address already too long a row of exhausted pages?"""
        return self._runs.get(source, 0) >= self._furthest and self.exhausted(url)

    def state(self) -> MonotonyState:
        """Exhausted patterns, and those seen lately; the others are learned again within a few pages."""
        recent = [
            (key, words.dull, b64encode(_packed(words.flags())).decode(), sorted(words.before))
            for key, words in islice(reversed(self._words.items()), _SAVED)
        ]
        return {"exhausted": list(self._exhausted), "recent": recent[::-1]}

    def restore(self, state: MonotonyState) -> None:
        """Go on from a `state`."""
        for key in state["exhausted"]:
            self._close(key)
        for key, dull, seen, before in state["recent"]:
            words = self._words[key] = _Words()
            words.dull, words.before = dull, array("H", before)
            words.seen = _unpacked(b64decode(seen))
            words.taken = sum(words.seen)

    def _close(self, key: str) -> None:
        self._exhausted[key] = None
        name = key.partition("/")[0]
        self._hosts[name] = self._hosts.get(name, 0) + 1
        if len(self._exhausted) > self._patterns:
            oldest = next(iter(self._exhausted))
            del self._exhausted[oldest]
            self._hosts[oldest.partition("/")[0]] -= 1


def _sample(words: Sequence[str]) -> Sequence[str]:
    """The words in the middle of each quarter; all of a short page."""
    quarter = len(words) // 4
    if quarter <= _WORDS:
        return words
    first = (quarter - _WORDS) // 2
    starts = range(first, first + 4 * quarter, quarter)
    return list(chain.from_iterable([words[start : start + _WORDS] for start in starts]))


def _packed(flags: bytearray) -> bytes:
    """Eight flags a byte."""
    return int(flags.translate(_DIGITS), 2).to_bytes(_SLOTS // 8, "big")


def _unpacked(packed: bytes) -> bytearray:
    return bytearray(f"{int.from_bytes(packed, 'big'):0{_SLOTS}b}".encode()).translate(_FLAGS)


_DIGITS = bytes.maketrans(b"\x00\x01", b"01")
_FLAGS = bytes.maketrans(b"01", b"\x00\x01")
