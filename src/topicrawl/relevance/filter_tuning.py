"""Variable part of a filter: Kluev 2000, section 4, step 5.

After every N recommended pages, these pages form a new core. The crawler draws elements of middle frequency from it at
random, in each class 30 % as many as the permanent part has. They replace the previous variable part. The weights of
all terms move towards their weights in the new core.

    w ← w + .2 · (new − w)                new: the term's frequency over the greatest

The paper describes what the factor damps but gives no formula. It does not define middle frequency either: here, an
element has middle frequency if it occurs on a tenth to a half of the N pages. N is not printed; here it is 100, the
size of the paper's core.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from random import Random

from msgspec import Struct, convert

from topicrawl.models import JsonValue
from topicrawl.relevance.filter_model import ElementKey, FilterModel, PageTerms
from topicrawl.topic.filter import ELEMENT_SIZES

MIDDLE_FREQUENCIES = (0.1, 0.5)
#: Elements of a class that a page contributes, the most frequent first. This bounds the memory.
_MAX_PAGE_ELEMENTS = {"terms": 50, "pairs": 30, "triples": 20}


def damp_weight(old: float, new: float, factor: float = 0.2) -> float:
    """Move a weight towards a new value.

    >>> round(damp_weight(1.0, 0.5), 6), round(damp_weight(0.0, 0.5), 6)
    (0.9, 0.1)
    """
    return old + factor * (new - old)


class PageStatsState(Struct, frozen=True):
    """Stored state of the statistics. The words of an element are separated by spaces."""

    count: int
    pages: dict[str, dict[str, int]]
    times: dict[str, int]


@dataclass
class RecommendedPageStats:
    """Statistics of recently recommended pages: the pages that contain each element, and the occurrences of terms."""

    page_count: int = 0
    page_counts: dict[str, Counter[ElementKey]] = field(
        default_factory=lambda: {name: Counter() for name in ELEMENT_SIZES}
    )
    term_counts: Counter[str] = field(default_factory=Counter)

    def add(
        self, page_terms: PageTerms, filter_terms: Mapping[str, float], classes: Iterable[str] = ("pairs", "triples")
    ) -> None:
        """Count one more page. Terms of the filter count even if they are rare on the page."""
        self.page_count += 1
        term_counts: dict[ElementKey, int] = {(term,): times for term, times in page_terms.counts.items()}
        frequent = _get_most_frequent(term_counts, "terms")
        self.page_counts["terms"].update(frequent)
        self.term_counts.update({term: page_terms.counts[term] for (term,) in frequent})
        self.term_counts.update(
            {
                term: page_terms.counts[term]
                for term in filter_terms
                if term in page_terms.counts and (term,) not in frequent
            }
        )
        for name in classes:
            # Counting also the neighbours across separators and dropping them later is faster than testing each.
            counts = Counter(zip(*(page_terms.terms[start:] for start in range(ELEMENT_SIZES[name])), strict=False))
            self.page_counts[name].update(
                _get_most_frequent({key: times for key, times in counts.items() if times > 1}, name)
            )

    def get_middle_elements(self, name: str, excluded: Iterable[ElementKey]) -> list[ElementKey]:
        """Return the elements of middle frequency that are not in the permanent part, in alphabetical order."""
        low, high = (share * self.page_count for share in MIDDLE_FREQUENCIES)
        permanent = set(excluded)
        return sorted(
            key for key, pages in self.page_counts[name].items() if low <= pages <= high and key not in permanent
        )

    def get_state(self) -> JsonValue:
        """Return the statistics as JSON values."""
        spelled = {name: {" ".join(key): n for key, n in part.items()} for name, part in self.page_counts.items()}
        return {"count": self.page_count, "pages": spelled, "times": dict(self.term_counts)}  # type: ignore[dict-item]

    @classmethod
    def from_state(cls, state: Mapping[str, object]) -> RecommendedPageStats:
        """Rebuild the statistics from their state."""
        saved = convert(state, PageStatsState, strict=False)
        page_counts = {
            name: Counter({tuple(key.split(" ")): count for key, count in part.items()})
            for name, part in saved.pages.items()
        }
        return cls(saved.count, page_counts, Counter(saved.times))


def _get_most_frequent(counts: Mapping[ElementKey, int], name: str) -> list[ElementKey]:
    """Return the most frequent elements of a page; ties keep their order.

    Elements with a number and elements across a separator are left out.
    """
    keys = [key for key in counts if "" not in key and not any(map(str.isnumeric, key))]
    return sorted(keys, key=counts.__getitem__, reverse=True)[: _MAX_PAGE_ELEMENTS[name]]


@dataclass(frozen=True)
class FilterTuning:
    """Parameters of the variable part of a filter."""

    interval: int = 100  # undoubtedly relevant pages between two updates
    share: float = 0.3  # size of the variable part relative to the permanent part
    factor: float = 0.2  # damping factor of the weights

    def update_filter(
        self, permanent: FilterModel, current: FilterModel, recent: RecommendedPageStats, random: Random
    ) -> FilterModel:
        """Return the filter with a new variable part and updated weights."""
        classes = {
            "terms": [(term,) for term in permanent.terms],
            "pairs": permanent.pairs,
            "triples": permanent.triples,
        }
        drawn: dict[str, list[ElementKey]] = {}
        for name, permanent_elements in classes.items():
            middle = recent.get_middle_elements(name, permanent_elements)
            drawn[name] = random.sample(middle, min(len(middle), round(self.share * len(permanent_elements))))
        greatest = max(recent.term_counts.values(), default=1)
        weights = {
            term: damp_weight(current.terms.get(term, 0.0), recent.term_counts[term] / greatest, self.factor)
            for term in (*permanent.terms, *(term for (term,) in drawn["terms"]))
        }
        pairs, triples = (dict.fromkeys((*classes[name], *drawn[name]), 1.0) for name in ("pairs", "triples"))
        return FilterModel(current.lexicon, current.keep_words, weights, pairs, triples)
