"""Filter of a topic: words and collocations, and the share of them that a page must contain (Kluev 2000, section 4,
Tables 1 to 3).

This is the permanent part, which the user may edit. During a crawl, a strategy may add a variable part.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields

from topicrawl.errors import TopicError
from topicrawl.text.tokenizer import tokenise

MAX_WEIGHT = 1e6
#: Classes of filter elements, with the number of words of their elements.
ELEMENT_SIZES = {"terms": 1, "pairs": 2, "triples": 3}


@dataclass(frozen=True, slots=True)
class TopicFilter:
    """Words and collocations that distinguish pages on the topic, with their weights.

    >>> bool(TopicFilter()), bool(TopicFilter(pairs={"dengue fever": 1.0}))
    (False, True)
    >>> TopicFilter(pairs={"fever": 1.0})
    Traceback (most recent call last):
    topicrawl.errors.TopicError: filter.pairs: 'fever' must have 2 words
    """

    terms: Mapping[str, float] = field(default_factory=dict)
    pairs: Mapping[str, float] = field(default_factory=dict)
    triples: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, size in ELEMENT_SIZES.items():
            for element, weight in self.get_elements(name).items():
                word_count = len(tokenise(element))
                # In a script without spaces, the tokeniser splits an element into pairs of characters.
                if not word_count or (word_count != size and element.isascii()):
                    raise TopicError(f"filter.{name}: {element!r} must have {size} word{'s' * (size > 1)}")
                if not 0 < weight <= MAX_WEIGHT:
                    raise TopicError(f"filter.{name}: the weight of {element!r} is {weight}: it must be above 0")

    def get_elements(self, name: str) -> Mapping[str, float]:
        """Return the elements of one class."""
        elements: Mapping[str, float] = getattr(self, name)
        return elements

    def __bool__(self) -> bool:
        return any(self.get_elements(name) for name in ELEMENT_SIZES)


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Thresholds from which each metric counts a page as relevant. None: not set, the metric uses its default.

    `terms`, `pairs` and `triples` are shares of the filter's elements that a page contains. `vsm` and `passage` are
    similarities of a page and of its best passage. The thresholds that begin with `undoubted` are those from which a
    metric counts as one of the two that make a page undoubtedly relevant; None: the same as without `undoubted`.
    """

    vsm: float | None = None
    terms: float | None = None
    pairs: float | None = None
    triples: float | None = None
    passage: float | None = None
    undoubted_vsm: float | None = None
    undoubted_terms: float | None = None
    undoubted_pairs: float | None = None
    undoubted_triples: float | None = None

    def __post_init__(self) -> None:
        for name, value in self.get_defined().items():
            if not 0 <= value <= 1:
                raise TopicError(f"thresholds.{name} is {value}: it must be from 0 to 1")

    def get_defined(self) -> dict[str, float]:
        """Return the thresholds that are set.

        >>> Thresholds(vsm=0.18).get_defined()
        {'vsm': 0.18}
        """
        values = {item.name: getattr(self, item.name) for item in fields(self)}
        return {name: value for name, value in values.items() if value is not None}

    def get_undoubted(self, name: str) -> float:
        """Return the threshold of a metric for undoubtedly relevant pages, which is never the lower one.

        >>> thresholds = Thresholds(vsm=0.18, terms=0.5, undoubted_vsm=0.3)
        >>> thresholds.get_undoubted("vsm"), thresholds.get_undoubted("terms")
        (0.3, 0.5)
        """
        return max(getattr(self, name) or 0.0, getattr(self, f"undoubted_{name}", None) or 0.0)
