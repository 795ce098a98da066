"""Measure how much of a filter a page contains: the term, collocation and VSM metrics of Kluev 2000, section 4."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import fsum, hypot
from typing import Any, NamedTuple, cast

from topicrawl.models import JsonValue, Page
from topicrawl.relevance.passages import (
    STEP_CHARS,
    WINDOW_CHARS,
    best_window_similarity,
    insert_step_marks,
    remove_step_marks,
)
from topicrawl.text.collocations import extract_clause_terms, get_phrase_key
from topicrawl.text.lexicon import LanguageLexicon
from topicrawl.text.sparse_vectors import norm
from topicrawl.text.tokenizer import tokenise
from topicrawl.topic import TopicFilter

#: The stems of a word or a collocation.
ElementKey = tuple[str, ...]


class PageTerms(NamedTuple):
    """Terms of a page in reading order, with "" at separators, and the index at which each step begins."""

    terms: list[str]
    step_starts: list[int]
    counts: Mapping[str, int]  # occurrences of each term


class FilterCoverage(NamedTuple):
    """Share of a filter's elements of each class that a page contains, and its similarity to the filter's terms."""

    terms: float
    pairs: float
    triples: float
    vsm: float


def extract_page_terms(page: Page, lexicon: LanguageLexicon, keep_words: frozenset[str] = frozenset()) -> PageTerms:
    """Extract the terms of a page's title and text. Words in `keep_words` are never stop words."""
    terms = extract_clause_terms(insert_step_marks(f"{page.title}\n{page.text}", STEP_CHARS), lexicon, keep_words)
    page_terms, starts = remove_step_marks(terms)
    counts = Counter(page_terms)
    del counts[""]
    return PageTerms(page_terms, starts, counts)


@dataclass
class FilterModel:
    """Elements of a filter by their stems, with their weights.

        share = elements that the page contains / elements of the filter
        vsm = cosine of the page and the filter's terms, both weighted by tf·idf

    The page contains one of two terms and the only pair:

    >>> from topicrawl.text.lexicon import load_lexicon
    >>> sieve = FilterModel.of(TopicFilter({"fever": 1.0, "rash": 1.0}, {"dengue fever": 1.0}), load_lexicon("xx"))
    >>> shares = sieve.measure_coverage(sieve.extract_terms(Page("http://a/", text="dengue fever")))
    >>> shares.terms, shares.pairs, shares.triples, round(shares.vsm, 6)
    (0.5, 1.0, 0.0, 0.5)
    """

    lexicon: LanguageLexicon
    keep_words: frozenset[str]
    terms: Mapping[str, float]
    pairs: Mapping[ElementKey, float]
    triples: Mapping[ElementKey, float]

    def __post_init__(self) -> None:
        self.query = {term: weight * self.lexicon.idf(term) for term, weight in self.terms.items()}
        self._query_norm = norm(self.query)
        self._pair_keys, self._triple_keys = frozenset(self.pairs), frozenset(self.triples)

    @classmethod
    def of(cls, filter: TopicFilter, lexicon: LanguageLexicon, keep_words: frozenset[str] = frozenset()) -> FilterModel:
        """Convert a filter to stems. The words of the filter are never stop words."""
        keep_words = keep_words | {token for term in filter.terms for token in tokenise(term)}
        terms: dict[str, float] = {}
        for term, weight in filter.terms.items():
            for stem in get_phrase_key(term, lexicon):
                terms[stem] = max(weight, terms.get(stem, 0.0))
        pairs, triples = (
            {get_phrase_key(phrase, lexicon): weight for phrase, weight in part.items()}
            for part in (filter.pairs, filter.triples)
        )
        return cls(
            lexicon, frozenset(word for word in keep_words if not lexicon.extract_terms([word])), terms, pairs, triples
        )

    def extract_terms(self, page: Page) -> PageTerms:
        """Extract the terms of a page."""
        return extract_page_terms(page, self.lexicon, self.keep_words)

    def measure_coverage(self, page_terms: PageTerms) -> FilterCoverage:
        """Return the share of the filter that a page contains, and the page's similarity to the filter."""
        terms, counts = page_terms.terms, page_terms.counts
        matches = len(self.terms.keys() & counts.keys())
        # No element contains an empty term, so terms on both sides of a separator never match.
        pairs = len(self._pair_keys.intersection(pairwise(terms))) if self._pair_keys else 0
        triples = (
            len(self._triple_keys.intersection(zip(terms, terms[1:], terms[2:], strict=False)))
            if self._triple_keys
            else 0
        )
        return FilterCoverage(
            matches / len(self.terms) if self.terms else 0.0,
            pairs / len(self.pairs) if self.pairs else 0.0,
            triples / len(self.triples) if self.triples else 0.0,
            self.compute_similarity(counts) if matches else 0.0,
        )

    def compute_similarity(self, counts: Mapping[str, int]) -> float:
        """Return the cosine of term counts and the filter's terms, both weighted by idf."""
        idf, rarest = self.lexicon.idf_table
        length = hypot(*[count * idf.get(term, rarest) for term, count in counts.items()])
        if not length or not self._query_norm:
            return 0.0
        product = fsum([w * counts[t] * idf.get(t, rarest) for t, w in self.query.items() if t in counts])
        return min(1.0, product / (length * self._query_norm))

    def get_state(self) -> JsonValue:
        """Return the elements as JSON values."""
        pairs, triples = (
            {" ".join(key): weight for key, weight in part.items()} for part in (self.pairs, self.triples)
        )
        return cast(JsonValue, [sorted(self.keep_words), dict(self.terms), pairs, triples])

    @classmethod
    def from_state(cls, state: Sequence[Any], lexicon: LanguageLexicon) -> FilterModel:
        """Rebuild a model from its state."""
        own, terms, *parts = state
        pairs, triples = ({tuple(key.split(" ")): weight for key, weight in part.items()} for part in parts)
        return cls(lexicon, frozenset(own), terms, pairs, triples)

    def best_passage_similarity(self, page_terms: PageTerms) -> float:
        """Return the similarity of the best passage of a page."""
        return best_window_similarity(
            page_terms.terms, page_terms.step_starts, self.query, self.lexicon, steps=WINDOW_CHARS // STEP_CHARS
        )
