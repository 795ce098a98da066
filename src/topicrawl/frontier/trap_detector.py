"""Detection of crawler traps that URL limits do not catch: calendars, session ids, faceted search, soft 404 pages.

Such traps have many URLs of one pattern whose pages contain nothing new. The detector stores which words each URL
pattern has shown. A pattern is exhausted after several consecutive pages without new words. Each URL has up to two
patterns: one without its variable parts, and one for all queries of its path. A page with the same words as several
other pages of its host repeats them, and links on such a page are suspected as well. Directories, whose pages have less
in common, are judged by their lines (`section_monitor.py`).

A small site that renders all pages from one template looks the same. Therefore links of an exhausted pattern are
demoted behind all other links, not dropped. The path to a page separates endless from finite patterns: in a trap, one
exhausted page leads to the next.
"""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from collections.abc import Sequence
from itertools import islice
from typing import NotRequired, TypedDict, TypeVar

import numpy as np

from topicrawl.frontier.page_novelty import NoveltyMemory, SampledSlots, Slots, remove_words
from topicrawl.frontier.section_monitor import SectionMonitor
from topicrawl.urls import get_host

_MAX_SAVED_PATTERNS = 500  # patterns in the saved state, about 2 kB each
_EXTRA_PATIENCE = 2  # additional pages that exhaust all queries of a path
_LETTERS = re.compile("[a-z]+")
Key = TypeVar("Key")
Value = TypeVar("Value")
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


def extract_query_group(url: str) -> str | None:
    """Return the pattern of all queries of a path; None if the URL has no query.

    >>> extract_query_group("https://example.org/shop?colour=red&size=4"), extract_query_group("https://example.org/")
    ('example.org/shop?*', None)
    """
    address, has_query, _ = url.partition("?")
    return f"{_VARIABLE_PART.sub('*', address.partition('://')[2])}?*" if has_query else None


class TrapDetectorState(TypedDict):
    """Saved state of a `TrapDetector`."""

    exhausted: list[str]
    recent: list[tuple[str, int, str, list[int]]]
    sections: NotRequired[list[str]]  # repetitive sections; states of earlier versions do not have them


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
        self._slots = SampledSlots()
        self._memories: dict[str, NoveltyMemory] = {}  # least recently seen first
        self._exhausted: dict[str, None] = {}
        self._exhausted_by_host: dict[str, int] = {}  # number of exhausted patterns per host
        self._sections = SectionMonitor(patience=patience + _EXTRA_PATIENCE, max_sections=max_patterns)
        self._max_run = max_run
        self._runs: dict[str, int] = {}  # URL → consecutive exhausted pages on the path to it, oldest first
        self._contents: dict[tuple[str, int], tuple[str, ...]] = {}  # host and hash of the words → URLs, oldest first
        self._repeating: dict[str, None] = {}  # URLs of pages that repeat several others, oldest first

    def add_page(
        self, url: str, words: Sequence[str], source: str = "", *, text: str = "", anchors: Sequence[str] = ()
    ) -> None:
        """Learn from a fetched page, and mark its URL pattern as exhausted when `patience` is reached.

        `words` are in lower case, `source` is the URL of the page that linked to it, `text` has one line per block of
        the page, and `anchors` are the texts of its links. Words of the URL do not count, because an error page often
        quotes its URL.
        """
        if text:
            self._sections.add_page(url, text, anchors, source)
        slots = remove_words(self._slots.find_slots(words), _LETTERS.findall(url.lower()))
        is_same = self._compare_words(url, slots)
        if self.is_exhausted(url, source):
            self._extend_run(url, source)
        if self._matches_exhausted_pattern(url):
            return
        for key, patience in self._list_patterns(url):
            memory = self._memories.pop(key, None) or NoveltyMemory()
            self._memories[key] = memory
            self._drop_oldest(self._memories)
            if memory.add_page(slots) < self._novelty:
                # The same words are stronger evidence than known words.
                memory.repetitive_pages += 2 if is_same else 1
            else:
                memory.repetitive_pages = 0
            self._mark_if_exhausted(key, memory, patience)

    def add_duplicate(self, url: str, source: str = "") -> None:
        """Learn from a page that repeats a stored page, and is not stored itself. It counts as without new words."""
        self._sections.add_duplicate(url)
        if self.is_exhausted(url, source):
            self._extend_run(url, source)
        if self._matches_exhausted_pattern(url):
            return
        for key, patience in self._list_patterns(url):
            memory = self._memories.setdefault(key, NoveltyMemory())
            self._drop_oldest(self._memories)
            memory.repetitive_pages += 1
            self._mark_if_exhausted(key, memory, patience)

    def is_exhausted(self, url: str, source: str = "") -> bool:
        """Return whether a URL belongs to an exhausted pattern or section, or `source` repeats several other pages."""
        return (
            (source != "" and source in self._repeating)
            or self._matches_exhausted_pattern(url)
            or self._sections.is_repetitive(url)
        )

    @property
    def has_exhausted_patterns(self) -> bool:
        """Whether any link is suspected. Callers check it before they call `is_exhausted` for each link."""
        return bool(self._exhausted_by_host or self._repeating) or self._sections.has_repetitive_sections

    def is_endless(self, url: str, source: str) -> bool:
        """Return whether a URL is exhausted and `source` already ends a run of `max_run` exhausted pages."""
        return self._runs.get(source, 0) >= self._max_run and self.is_exhausted(url, source)

    def get_state(self) -> TrapDetectorState:
        """Return the exhausted and the most recent patterns. The others are relearned within a few pages."""
        recent = [
            (
                key,
                memory.repetitive_pages,
                b64encode(memory.pack_seen_slots()).decode(),
                memory.previous_slots.tolist(),
            )
            for key, memory in islice(reversed(self._memories.items()), _MAX_SAVED_PATTERNS)
        ]
        return {
            "exhausted": list(self._exhausted),
            "recent": recent[::-1],
            "sections": self._sections.get_state(),
        }

    def restore_state(self, state: TrapDetectorState) -> None:
        """Restore a state that `get_state` returned."""
        self._sections.restore_state(state.get("sections", []))
        for key in state["exhausted"]:
            self._mark_exhausted(key)
        for key, repetitive_pages, seen, before in state["recent"]:
            memory = self._memories[key] = NoveltyMemory()
            memory.repetitive_pages, memory.previous_slots = repetitive_pages, np.array(before, np.int64)
            memory.restore_seen_slots(b64decode(seen))

    def _matches_exhausted_pattern(self, url: str) -> bool:
        # Called for every link of every page, and most hosts have no trap: check the host first.
        if get_host(url) not in self._exhausted_by_host:
            return False
        return extract_pattern(url) in self._exhausted or extract_query_group(url) in self._exhausted

    def _list_patterns(self, url: str) -> list[tuple[str, int]]:
        """Return the distinct patterns of a URL, each with its patience."""
        key, group = extract_pattern(url), extract_query_group(url)
        patterns = [(key, self._patience)] if key is not None else []
        if group is not None and group != key:
            patterns.append((group, self._patience + _EXTRA_PATIENCE))
        return patterns

    def _compare_words(self, url: str, slots: Slots) -> bool:
        """Return whether an earlier page of the host has the same words as a page.

        If several pages have them, all of these pages are marked as repeating. A page without words, such as a
        frameset, repeats nothing.
        """
        if not len(slots):
            return False
        key = (get_host(url), hash(slots.tobytes()))
        same = self._contents.pop(key, ())
        self._contents[key] = same = (*same[-self._patience :], url)
        self._drop_oldest(self._contents)
        if 2 * len(same) > self._patience:
            for each in same:
                self._repeating[each] = None
                self._drop_oldest(self._repeating)
        return len(same) > 1

    def _extend_run(self, url: str, source: str) -> None:
        self._runs[url] = self._runs.get(source, 0) + 1
        self._drop_oldest(self._runs)

    def _drop_oldest(self, entries: dict[Key, Value]) -> None:
        """Delete the oldest entry if there are too many."""
        if len(entries) > self._max_patterns:
            del entries[next(iter(entries))]

    def _mark_if_exhausted(self, key: str, memory: NoveltyMemory, patience: int) -> None:
        if memory.repetitive_pages >= patience:
            del self._memories[key]
            self._mark_exhausted(key)

    def _mark_exhausted(self, key: str) -> None:
        """Mark a pattern as exhausted, and forget the oldest one if there are too many."""
        self._exhausted[key] = None
        name = key.partition("/")[0]
        self._exhausted_by_host[name] = self._exhausted_by_host.get(name, 0) + 1
        if len(self._exhausted) > self._max_patterns:
            oldest = next(iter(self._exhausted))
            del self._exhausted[oldest]
            self._exhausted_by_host[oldest.partition("/")[0]] -= 1
