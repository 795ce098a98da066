"""Interest ratios: how much more often pages are relevant when something holds that was known before they were fetched.

Aggarwal, Al-Garawi and Yu 2001; for the strategy `intelligent`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import fsum, log
from typing import cast

from topicrawl.packing import numbers_of, packed_numbers, packed_texts, texts_of
from topicrawl.records import Carry

_MOST = 20_000  # words whose ratios are kept
_SIGNIFICANT = 2.0  # standard deviations from what chance would give
_TOKENS = re.compile(r"[^\W_]{2,}").findall


@dataclass
class Ratios:
    """Events with how many pages they were seen for and how many of these were relevant.

    Eight pages, four relevant; six had the word, four of them relevant. P(C) = .5; with one page more at chance,
    P(C | word) = 4.5 / 7, a ratio of 9/7. Chance would give 3 ± √1.5, and 4 is less than two of that away: an accident.

    >>> ratios = Ratios()
    >>> for number in range(6):
    ...     ratios.count(["owl"], number < 4)
    >>> round(ratios.log_ratio("owl", 0.5), 6), round(log(9 / 7), 6), ratios.mean_log(["owl", "never seen"], 0.5)
    (0.251314, 0.251314, 0.0)
    """

    seen: dict[str, int] = field(default_factory=dict)
    good: dict[str, int] = field(default_factory=dict)

    def count(self, events: Iterable[str], relevant: bool) -> None:
        for event in events:
            self.seen[event] = self.seen.get(event, 0) + 1
            if relevant:
                self.good[event] = self.good.get(event, 0) + 1
        if len(self.seen) > _MOST:
            # Rare events say nothing that could be told from chance; among equals the oldest go first.
            for event in sorted(self.seen, key=self.seen.__getitem__)[: _MOST // 4]:
                del self.seen[event]
                self.good.pop(event, None)

    def log_ratio(self, event: str, chance: float) -> float:
        """The logarithm of P(C | event) / P(C); 0 while nothing, or everything, is relevant."""
        if not 0 < chance < 1:
            return 0.0
        return log((self.good.get(event, 0) + chance) / (self.seen.get(event, 0) + 1) / chance)

    def mean_log(self, events: Sequence[str], chance: float) -> float:
        """The mean over the events whose ratio is no accident: the logarithm of their geometric mean."""
        if not 0 < chance < 1:
            return 0.0
        logs = []
        wide = _SIGNIFICANT**2 * chance * (1 - chance)
        for event in events:
            seen = self.seen.get(event, 0)
            apart = self.good.get(event, 0) - seen * chance
            if seen and apart * apart >= wide * seen:
                logs.append(self.log_ratio(event, chance))
        return fsum(logs) / len(logs) if logs else 0.0

    def packed(self) -> Carry:
        good = [self.good.get(event, 0) for event in self.seen]
        return [packed_texts(self.seen), packed_numbers("I", self.seen.values()), packed_numbers("I", good)]

    @classmethod
    def unpacked(cls, packed: Carry) -> Ratios:
        names, seen, good = cast("list[str]", packed)
        ratios = cls()
        for name, count, relevant in zip(texts_of(names), numbers_of("I", seen), numbers_of("I", good), strict=True):
            ratios.seen[name] = int(count)
            if relevant:
                ratios.good[name] = int(relevant)
        return ratios


@dataclass
class Family:
    """A page, and its links as siblings: how many were fetched, how many of these were relevant, which ones wait.

    Three of four siblings were relevant where one in four is: (3 + .25) / (4 + 1) / .25 = 2.6.

    >>> family = Family([], True, fetched=4, relevant=3)
    >>> round(family.log_ratio(0.25), 6), round(log(2.6), 6)
    (0.955511, 0.955511)
    """

    words: list[str]  # of the page
    itself: bool  # whether the page is relevant
    fetched: int = 0
    relevant: int = 0
    told: float = 0.0  # the logarithm that its links stand for in the frontier
    links: dict[str, float] = field(default_factory=dict)  # URL → the logarithm of its own words' ratio

    def log_ratio(self, chance: float) -> float:
        if not 0 < chance < 1:
            return 0.0
        return log((self.relevant + chance) / (self.fetched + 1) / chance)

    def packed(self) -> Carry:
        urls, logs = packed_texts(self.links), packed_numbers("d", self.links.values())
        return [" ".join(self.words), self.itself, self.fetched, self.relevant, self.told, urls, logs]

    @classmethod
    def unpacked(cls, packed: Carry) -> Family:
        words, itself, fetched, relevant, told, urls, logs = cast("list[str]", packed)
        links = dict(zip(texts_of(urls), numbers_of("d", logs), strict=True))
        return cls(words.split(" ") if words else [], bool(itself), int(fetched), int(relevant), float(told), links)


def url_tokens(url: str) -> list[str]:
    """The words of an address without its scheme, each once.

    >>> url_tokens("http://www.owls.example/Barn-owls/barn_owl.html?page=2")
    ['www', 'owls', 'example', 'barn', 'owl', 'html', 'page']
    """
    return list(dict.fromkeys(_TOKENS(url.partition("://")[2].lower())))
