"""The filter of a topic: what its pages say, and how much of it a page must say (Kluev 2000, section 4, Tables 1 to 3).

This is the permanent part, which the user may edit; while a crawl runs, a strategy may add a part that varies.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields

from topicrawl.errors import TopicError
from topicrawl.text.tokens import words as tokenise

HEAVIEST = 1e6
#: The classes of a filter, and of how many words their elements are.
SIZES = {"terms": 1, "pairs": 2, "triples": 3}


@dataclass(frozen=True, slots=True)
class Filter:
    """Words and collocations that mark pages on the topic, each with its weight.

    >>> bool(Filter()), bool(Filter(pairs={"dengue fever": 1.0}))
    (False, True)
    >>> Filter(pairs={"fever": 1.0})
    Traceback (most recent call last):
    topicrawl.errors.TopicError: filter.pairs: 'fever' is not of 2 words
    """

    terms: Mapping[str, float] = field(default_factory=dict)
    pairs: Mapping[str, float] = field(default_factory=dict)
    triples: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, size in SIZES.items():
            for element, weight in self.part(name).items():
                found = len(tokenise(element))
                # A term of a script without spaces is cut into pairs of characters; a collocation may be as well.
                if not found or (found != size and element.isascii()):
                    raise TopicError(f"filter.{name}: {element!r} is not of {size} word{'s' * (size > 1)}")
                if not 0 < weight <= HEAVIEST:
                    raise TopicError(f"filter.{name}: the weight of {element!r} is {weight}: it must be above 0")

    def part(self, name: str) -> Mapping[str, float]:
        """One class of elements."""
        elements: Mapping[str, float] = getattr(self, name)
        return elements

    def __bool__(self) -> bool:
        return any(self.part(name) for name in SIZES)


@dataclass(frozen=True, slots=True)
class Thresholds:
    """From where each metric calls a page relevant; None: not set, so whoever asks takes its own.

    `terms`, `pairs` and `triples` are shares of the filter's elements that a page says, `vsm` and `passage` are
    similarities of a page and of its best passage.
    """

    vsm: float | None = None
    terms: float | None = None
    pairs: float | None = None
    triples: float | None = None
    passage: float | None = None

    def __post_init__(self) -> None:
        for name, value in self.set().items():
            if not 0 <= value <= 1:
                raise TopicError(f"thresholds.{name} is {value}: it must be from 0 to 1")

    def set(self) -> dict[str, float]:
        """Those that are set.

        >>> Thresholds(vsm=0.18).set()
        {'vsm': 0.18}
        """
        found = {item.name: getattr(self, item.name) for item in fields(self)}
        return {name: value for name, value in found.items() if value is not None}
