"""Interest ratios for the strategy `intelligent`: Aggarwal, Al-Garawi and Yu 2001.

The interest ratio of an event tells how much more often pages are relevant if the event holds. The event is known
before the fetch.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import fsum, log

from msgspec import Struct, convert

from topicrawl.models import JsonValue
from topicrawl.serialization import PackedValues, pack_numbers, pack_texts, unpack_numbers, unpack_texts

_MAX_EVENTS = 20_000  # maximum number of events
_MIN_DEVIATIONS = 2.0  # standard deviations from the expected count
_FIND_TOKENS = re.compile(r"[^\W_]{2,}").findall


@dataclass
class InterestRatios:
    """Counts of pages and relevant pages for each event.

    Eight pages, four of them relevant. Six have the word, four of these are relevant. P(C) = .5. With one more page at
    the base rate, P(C | word) = 4.5 / 7, a ratio of 9/7. The expected count is 3 ± √1.5, and 4 is less than two
    standard deviations away, so the ratio is not significant.

    >>> ratios = InterestRatios()
    >>> for number in range(6):
    ...     ratios.count_events(["owl"], number < 4)
    >>> round(ratios.log_ratio("owl", 0.5), 6), round(log(9 / 7), 6), ratios.mean_log_ratio(["owl", "never seen"], 0.5)
    (0.251314, 0.251314, 0.0)
    """

    page_counts: dict[str, int] = field(default_factory=dict)
    relevant_counts: dict[str, int] = field(default_factory=dict)

    def count_events(self, events: Iterable[str], relevant: bool) -> None:
        """Count a page for each of its events. Above the limit, the rarest quarter of the events is dropped."""
        for event in events:
            self.page_counts[event] = self.page_counts.get(event, 0) + 1
            if relevant:
                self.relevant_counts[event] = self.relevant_counts.get(event, 0) + 1
        if len(self.page_counts) > _MAX_EVENTS:
            # Ratios of rare events are never significant. The sort is stable, so the oldest of them are dropped first.
            for event in sorted(self.page_counts, key=self.page_counts.__getitem__)[: _MAX_EVENTS // 4]:
                del self.page_counts[event]
                self.relevant_counts.pop(event, None)

    def log_ratio(self, event: str, base_rate: float) -> float:
        """Return the logarithm of P(C | event) / P(C). The result is 0 while no page, or every page, is relevant."""
        if not 0 < base_rate < 1:
            return 0.0
        return log((self.relevant_counts.get(event, 0) + base_rate) / (self.page_counts.get(event, 0) + 1) / base_rate)

    def mean_log_ratio(self, events: Sequence[str], base_rate: float) -> float:
        """Return the mean logarithm of the significant ratios, which is the logarithm of their geometric mean.

        The result is 0 if no ratio is significant.
        """
        if not 0 < base_rate < 1:
            return 0.0
        logs = []
        min_square = _MIN_DEVIATIONS**2 * base_rate * (1 - base_rate)
        for event in events:
            seen = self.page_counts.get(event, 0)
            deviation = self.relevant_counts.get(event, 0) - seen * base_rate
            if seen and deviation * deviation >= min_square * seen:
                logs.append(self.log_ratio(event, base_rate))
        return fsum(logs) / len(logs) if logs else 0.0

    def get_state(self) -> JsonValue:
        """Return the counts as plain values."""
        good = [self.relevant_counts.get(event, 0) for event in self.page_counts]
        return [pack_texts(self.page_counts), pack_numbers("I", self.page_counts.values()), pack_numbers("I", good)]

    @classmethod
    def from_state(cls, state: JsonValue) -> InterestRatios:
        """Create the ratios from the values of `get_state`."""
        names, seen, good = convert(state, tuple[PackedValues, PackedValues, PackedValues])
        ratios = cls()
        for name, count, relevant in zip(
            unpack_texts(names), unpack_numbers("I", seen), unpack_numbers("I", good), strict=True
        ):
            ratios.page_counts[name] = int(count)
            if relevant:
                ratios.relevant_counts[name] = int(relevant)
        return ratios


class SiblingGroupState(Struct, frozen=True, array_like=True):
    """Stored state of a sibling group: a list of its values."""

    words: str
    is_relevant: bool
    fetched_count: int
    relevant_count: int
    frontier_log: float
    urls: PackedValues
    logs: PackedValues


@dataclass
class SiblingGroup:
    """A page and its links: counts of the fetched and the relevant links, and the waiting links.

    Three of four siblings are relevant while P(C) is one in four: (3 + .25) / (4 + 1) / .25 = 2.6.

    >>> family = SiblingGroup([], True, fetched_count=4, relevant_count=3)
    >>> round(family.log_ratio(0.25), 6), round(log(2.6), 6)
    (0.955511, 0.955511)
    """

    words: list[str]  # terms of the page
    is_relevant: bool  # whether the page itself is relevant
    fetched_count: int = 0
    relevant_count: int = 0
    frontier_log: float = 0.0  # shared part of log I in the frontier scores of its links
    waiting_links: dict[str, float] = field(default_factory=dict)  # waiting URL → URL part of log I

    def log_ratio(self, base_rate: float) -> float:
        """Return the logarithm of the interest ratio of the siblings."""
        if not 0 < base_rate < 1:
            return 0.0
        return log((self.relevant_count + base_rate) / (self.fetched_count + 1) / base_rate)

    def get_state(self) -> JsonValue:
        """Return the group as plain values."""
        urls, logs = pack_texts(self.waiting_links), pack_numbers("d", self.waiting_links.values())
        return [
            " ".join(self.words),
            self.is_relevant,
            self.fetched_count,
            self.relevant_count,
            self.frontier_log,
            urls,
            logs,
        ]

    @classmethod
    def from_state(cls, state: JsonValue) -> SiblingGroup:
        """Create the group from the values of `get_state`."""
        saved = convert(state, SiblingGroupState, strict=False)
        links = dict(zip(unpack_texts(saved.urls), unpack_numbers("d", saved.logs), strict=True))
        words = saved.words.split(" ") if saved.words else []
        return cls(words, saved.is_relevant, saved.fetched_count, saved.relevant_count, saved.frontier_log, links)


def tokenize_url(url: str) -> list[str]:
    """Return the distinct words of a URL, without its scheme.

    >>> tokenize_url("http://www.owls.example/Barn-owls/barn_owl.html?page=2")
    ['www', 'owls', 'example', 'barn', 'owl', 'html', 'page']
    """
    return list(dict.fromkeys(_FIND_TOKENS(url.partition("://")[2].lower())))
