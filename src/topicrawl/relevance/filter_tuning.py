"""The variable part of a filter: Kluev 2000, section 4, step 5.

After every N recommended pages these count as a new core: elements of middle frequency are drawn from it at random,
in each class 30 % as many as the permanent part has, in place of the ones before; and the weights of all terms move
towards their weights in the new core.

    w ← w + .2 · (new − w)                new: the term's frequency over the greatest

The paper says what the factor damps and gives no formula. It does not say what a middle frequency is either: here
what stands on a tenth to a half of the N pages. N is not printed; ours is 100, the size of its core.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from random import Random

from topicrawl.records import Carry
from topicrawl.relevance.sieve import Key, Said, Sieve
from topicrawl.topic.filter import SIZES

MIDDLE = (0.1, 0.5)
#: Elements of a class that a page contributes, the most frequent first: what is kept in memory stays small.
_OF_A_PAGE = {"terms": 50, "pairs": 30, "triples": 20}


def damped(old: float, new: float, factor: float = 0.2) -> float:
    """A weight on its way to a new one.

    >>> round(damped(1.0, 0.5), 6), round(damped(0.0, 0.5), 6)
    (0.9, 0.1)
    """
    return old + factor * (new - old)


@dataclass
class Recommended:
    """What pages that were recommended lately say: class → element → pages that say it; and how often, for terms."""

    count: int = 0
    pages: dict[str, Counter[Key]] = field(default_factory=lambda: {name: Counter() for name in SIZES})
    times: Counter[str] = field(default_factory=Counter)

    def add(self, spoken: Said, known: Mapping[str, float], classes: Iterable[str] = ("pairs", "triples")) -> None:
        """One more page; terms that the filter knows count also when they are rare on it."""
        self.count += 1
        said: dict[Key, int] = {(term,): times for term, times in spoken.counts.items()}
        most = _frequent(said, "terms")
        self.pages["terms"].update(most)
        self.times.update({term: spoken.counts[term] for (term,) in most})
        self.times.update(
            {term: spoken.counts[term] for term in known if term in spoken.counts and (term,) not in most}
        )
        for name in classes:
            # Neighbours that something separates are counted too, and left out: that is faster than to look at each.
            found = Counter(zip(*(spoken.terms[start:] for start in range(SIZES[name])), strict=False))
            self.pages[name].update(_frequent({key: times for key, times in found.items() if times > 1}, name))

    def middle(self, name: str, without: Iterable[Key]) -> list[Key]:
        """Elements of middle frequency that are not permanent, in the order of their spelling."""
        low, high = (share * self.count for share in MIDDLE)
        known = set(without)
        return sorted(key for key, pages in self.pages[name].items() if low <= pages <= high and key not in known)

    def state(self) -> Carry:
        spelled = {name: {" ".join(key): n for key, n in part.items()} for name, part in self.pages.items()}
        return {"count": self.count, "pages": spelled, "times": dict(self.times)}  # type: ignore[dict-item]

    @classmethod
    def restored(cls, state: Mapping[str, object]) -> Recommended:
        pages: Mapping[str, Mapping[str, int]] = state["pages"]  # type: ignore[assignment]
        count: int = state["count"]  # type: ignore[assignment]
        times: Mapping[str, int] = state["times"]  # type: ignore[assignment]
        spelled = {name: Counter({tuple(k.split(" ")): n for k, n in part.items()}) for name, part in pages.items()}
        return cls(count, spelled, Counter(times))


def _frequent(found: Mapping[Key, int], name: str) -> list[Key]:
    """The most frequent elements of a page, the first of equals; numbers and what something separates are none."""
    keys = [key for key in found if "" not in key and not any(map(str.isnumeric, key))]
    return sorted(keys, key=found.__getitem__, reverse=True)[: _OF_A_PAGE[name]]


@dataclass(frozen=True)
class Tuning:
    """How a filter follows what is found."""

    every: int = 100  # pages that were recommended beyond doubt
    share: float = 0.3  # elements of the variable part, for each of the permanent part
    factor: float = 0.2  # how far weights move

    def tuned(self, permanent: Sieve, now: Sieve, lately: Recommended, random: Random) -> Sieve:
        """The filter with a new variable part and moved weights."""
        classes = {
            "terms": [(term,) for term in permanent.terms],
            "pairs": permanent.pairs,
            "triples": permanent.triples,
        }
        drawn: dict[str, list[Key]] = {}
        for name, kept in classes.items():
            middle = lately.middle(name, kept)
            drawn[name] = random.sample(middle, min(len(middle), round(self.share * len(kept))))
        greatest = max(lately.times.values(), default=1)
        weights = {
            term: damped(now.terms.get(term, 0.0), lately.times[term] / greatest, self.factor)
            for term in (*permanent.terms, *(term for (term,) in drawn["terms"]))
        }
        pairs, triples = (dict.fromkeys((*classes[name], *drawn[name]), 1.0) for name in ("pairs", "triples"))
        return Sieve(now.lexicon, now.own, weights, pairs, triples)
