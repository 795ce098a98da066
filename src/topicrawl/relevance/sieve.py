"""A filter at work: how much of it a page says (Kluev 2000, section 4: the term, collocation and VSM metrics)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import fsum, hypot
from typing import Any, NamedTuple, cast

from topicrawl.records import Carry, Page
from topicrawl.relevance.passages import STEP, WINDOW, best_window, blocks, marked
from topicrawl.text.collocations import phrase_key, terms_in_clauses
from topicrawl.text.lexicon import Lexicon
from topicrawl.text.tokens import words as tokenise
from topicrawl.text.vectors import norm
from topicrawl.topic import Filter

#: A word or a collocation by its stems.
Key = tuple[str, ...]


class Said(NamedTuple):
    """What a page says: its terms in reading order, "" where something separates, and where each step begins."""

    terms: list[str]
    starts: list[int]
    counts: Mapping[str, int]  # how often each term is said


class Shares(NamedTuple):
    """How much of a filter's elements a page says, and its similarity to the filter's terms."""

    terms: float
    pairs: float
    triples: float
    vsm: float


def said(page: Page, lexicon: Lexicon, own: frozenset[str] = frozenset()) -> Said:
    """The terms of a page's title and text; words in `own` are no stop words."""
    terms = terms_in_clauses(marked(f"{page.title}\n{page.text}", STEP), lexicon, own)
    spoken, starts = blocks(terms)
    counts = Counter(spoken)
    del counts[""]
    return Said(spoken, starts, counts)


@dataclass
class Sieve:
    """The elements of a filter by their stems, with their weights.

        share = elements that the page says / elements of the filter
        vsm = cosine of the page and the filter's terms, both weighted by tf·idf

    A page that says one of two terms, and the only pair:

    >>> from topicrawl.text.lexicon import lexicon
    >>> sieve = Sieve.of(Filter({"fever": 1.0, "rash": 1.0}, {"dengue fever": 1.0}), lexicon("xx"))
    >>> shares = sieve.shares(sieve.said(Page("http://a/", text="dengue fever")))
    >>> shares.terms, shares.pairs, shares.triples, round(shares.vsm, 6)
    (0.5, 1.0, 0.0, 0.5)
    """

    lexicon: Lexicon
    own: frozenset[str]
    terms: Mapping[str, float]
    pairs: Mapping[Key, float]
    triples: Mapping[Key, float]

    def __post_init__(self) -> None:
        self.query = {term: weight * self.lexicon.idf(term) for term, weight in self.terms.items()}
        self._norm = norm(self.query)
        self._pairs, self._triples = frozenset(self.pairs), frozenset(self.triples)

    @classmethod
    def of(cls, filter: Filter, lexicon: Lexicon, own: frozenset[str] = frozenset()) -> Sieve:
        """A filter as it was written, by its stems. What it names is no stop word."""
        own = own | {token for term in filter.terms for token in tokenise(term)}
        terms: dict[str, float] = {}
        for term, weight in filter.terms.items():
            for stem in phrase_key(term, lexicon):
                terms[stem] = max(weight, terms.get(stem, 0.0))
        pairs, triples = (
            {phrase_key(phrase, lexicon): weight for phrase, weight in part.items()}
            for part in (filter.pairs, filter.triples)
        )
        return cls(lexicon, frozenset(word for word in own if not lexicon.terms([word])), terms, pairs, triples)

    def said(self, page: Page) -> Said:
        return said(page, self.lexicon, self.own)

    def shares(self, spoken: Said) -> Shares:
        """What the page says of the filter."""
        terms, counts = spoken.terms, spoken.counts
        found = len(self.terms.keys() & counts.keys())
        # No element holds an empty term, so neighbours that something separates are never found.
        pairs = len(self._pairs.intersection(pairwise(terms))) if self._pairs else 0
        triples = (
            len(self._triples.intersection(zip(terms, terms[1:], terms[2:], strict=False))) if self._triples else 0
        )
        return Shares(
            found / len(self.terms) if self.terms else 0.0,
            pairs / len(self.pairs) if self.pairs else 0.0,
            triples / len(self.triples) if self.triples else 0.0,
            self.similarity(counts) if found else 0.0,
        )

    def similarity(self, counts: Mapping[str, int]) -> float:
        """The cosine of counted terms and the filter's."""
        idf, rarest = self.lexicon.rarity
        length = hypot(*[count * idf.get(term, rarest) for term, count in counts.items()])
        if not length or not self._norm:
            return 0.0
        product = fsum([w * counts[t] * idf.get(t, rarest) for t, w in self.query.items() if t in counts])
        return min(1.0, product / (length * self._norm))

    def state(self) -> Carry:
        """The elements as plain values."""
        pairs, triples = (
            {" ".join(key): weight for key, weight in part.items()} for part in (self.pairs, self.triples)
        )
        return cast(Carry, [sorted(self.own), dict(self.terms), pairs, triples])

    @classmethod
    def restored(cls, state: Sequence[Any], lexicon: Lexicon) -> Sieve:
        own, terms, *parts = state
        pairs, triples = ({tuple(key.split(" ")): weight for key, weight in part.items()} for part in parts)
        return cls(lexicon, frozenset(own), terms, pairs, triples)

    def passage(self, spoken: Said) -> float:
        """The similarity of the best passage."""
        return best_window(spoken.terms, spoken.starts, self.query, self.lexicon, steps=WINDOW // STEP)
