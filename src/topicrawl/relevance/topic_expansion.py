"""Expansion of a topic by the pages of a crawl: pseudo-relevance feedback with a guard against drift.

The pages that the topic itself matches best, and the pages that reviewers accept, supply terms and a mean vector. The
guard has four rules:

- A page becomes a source only by its match with the original topic, never by its match with the expansion.
- A term must occur on several sources, unless the only source is a page that a reviewer accepts. It must be more
  frequent there than on the other pages of the crawl.
- The expansion counts little as long as it has few sources, or if the topic consists of general words: pages that match
  "home pages" best are not good examples of it.
- A source that a reviewer rejects is removed. If reviewers reject more sources than they accept, only the pages that
  they accept remain sources.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import sqrt
from typing import Any

import numpy as np
from msgspec import Struct, convert
from numpy.typing import NDArray

from topicrawl.models import JsonValue
from topicrawl.serialization import PackedValues, pack_array, unpack_array

MAX_TERMS = 30  # terms of an expansion
PAGE_TERMS = 60  # heaviest terms of a page that are considered
MIN_SOURCE_SCORE = 0.7  # relevance by the original topic from which a page is a source
MIN_SOURCE_COVERAGE = 0.6  # share of the topic's units that a source contains
_MAX_SOURCES = 15  # best pages
_MAX_REVIEWED = 200  # most recent pages of each verdict
_MIN_TERM_SHARE = 0.2  # share of the sources that contain a term
_HALF_WEIGHT_SOURCES = 3  # sources with which topic and expansion count the same
_REJECTED_SHARE = 0.5  # share of the rejected pages' weights that is subtracted
_MAX_BACKGROUND_TERMS = 5000
_FEW_PAGES = 5  # with fewer background pages, the background says little

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class SourcePage:
    """Page that supplies terms: its score by the original topic, its heaviest terms and its vector."""

    url: str
    score: float
    terms: Mapping[str, float]
    vector: Floats | None


class SourceState(Struct, frozen=True):
    """Stored source page."""

    url: str
    score: float
    terms: dict[str, float]
    vector: PackedValues | None = None


class ExpansionState(Struct, frozen=True):
    """Stored expansion. Reviewed pages are not stored: the crawl passes all verdicts again when it resumes."""

    pages: int
    background: dict[str, float]
    sources: list[SourceState]
    vector_total: PackedValues | None = None
    relevant_examples: list[SourceState] = []
    irrelevant_examples: list[SourceState] = []


@dataclass
class TopicExpansion:
    """Terms and mean vector of the best pages, relative to all pages of the crawl.

    >>> expansion = TopicExpansion()
    >>> for number in range(4):
    ...     expansion.add_page(SourcePage(f"http://a/{number}", 0.9, {"owl": 0.8, "home": 0.6}, None), is_source=True)
    >>> for number in range(20):
    ...     expansion.add_page(SourcePage(f"http://b/{number}", 0.1, {"home": 1.0}, None), is_source=False)
    >>> expansion.terms, round(expansion.weight, 2)
    ({'owl': 1.0}, 0.57)
    """

    excluded: frozenset[str] = frozenset()  # terms that the user does not want
    _sources: dict[str, SourcePage] = field(default_factory=dict)
    _reviewed: dict[bool, dict[str, tuple[SourcePage, float]]] = field(default_factory=lambda: {True: {}, False: {}})
    _examples: dict[bool, dict[str, SourcePage]] = field(default_factory=lambda: {True: {}, False: {}})
    _background: dict[str, float] = field(default_factory=dict)
    _vector_total: Floats | None = None
    _pages: int = 0
    _terms: dict[str, float] | None = None  # None: must be computed
    _vector: Floats | None = None
    _rejected_terms: dict[str, float] = field(default_factory=dict)

    def add_page(self, page: SourcePage, *, is_source: bool) -> None:
        """Keep a page of the crawl if it is one of the best sources; otherwise count it as background."""
        if not is_source:
            self._add_background(page)
        elif page.url not in self._reviewed[False]:
            self._sources[page.url] = page
            if len(self._sources) > _MAX_SOURCES:
                worst = min(self._sources.values(), key=lambda source: source.score)
                del self._sources[worst.url]
            self._terms = None

    def _add_background(self, page: SourcePage) -> None:
        """Update the sums of the terms and the vectors of all pages that are not sources."""
        self._pages += 1
        if len(self._background) > _MAX_BACKGROUND_TERMS:
            heaviest = sorted(self._background.items(), key=lambda item: (-item[1], item[0]))
            self._background = dict(heaviest[: _MAX_BACKGROUND_TERMS // 2])
        for term, weight in page.terms.items():
            self._background[term] = self._background.get(term, 0.0) + weight
        if page.vector is not None:
            total = self._vector_total
            self._vector_total = page.vector.copy() if total is None else total + page.vector

    def add_verdict(self, page: SourcePage, *, relevant: bool, weight: float = 1.0) -> None:
        """Record a reviewer's verdict on a page. It replaces an earlier verdict on the same page."""
        self.remove_verdict(page.url)
        pages = self._reviewed[relevant]
        pages[page.url] = page, weight
        if len(pages) > _MAX_REVIEWED:
            del pages[next(iter(pages))]
        if not relevant:
            self._sources.pop(page.url, None)
        self._terms = None

    def add_example(self, page: SourcePage, *, relevant: bool) -> None:
        """Add an example page of the topic."""
        self._examples[relevant][page.url] = page
        self._terms = None

    def _get_judged_pages(self, *, relevant: bool) -> list[tuple[SourcePage, float]]:
        """Return the example pages and the reviewed pages with their weights."""
        examples = [(page, 1.0) for page in self._examples[relevant].values()]
        return [*examples, *self._reviewed[relevant].values()]

    def remove_verdict(self, url: str) -> None:
        """Remove the verdict on a page."""
        for pages in self._reviewed.values():
            if pages.pop(url, None) is not None:
                self._terms = None

    @property
    def is_contradicted(self) -> bool:
        """Whether reviewers have rejected more pages that match the topic than they have accepted."""
        accepted, rejected = (
            sum(page.score >= MIN_SOURCE_SCORE for page, _ in self._reviewed[relevant].values())
            for relevant in (True, False)
        )
        return rejected > accepted

    def _get_sources(self) -> dict[str, tuple[SourcePage, float]]:
        """URL → page and weight of each source. An accepted page that is also one of the best pages counts once."""
        found = {} if self.is_contradicted else {url: (page, page.score) for url, page in self._sources.items()}
        for page, weight in self._get_judged_pages(relevant=True):
            found[page.url] = page, max(weight, found[page.url][1] if page.url in found else 0.0)
        return found

    @property
    def sources(self) -> dict[str, float]:
        """URL → weight of each page that supplies terms."""
        return {url: weight for url, (_, weight) in self._get_sources().items()}

    @property
    def weight(self) -> float:
        """Weight of the expansion compared with the topic, from 0 to less than 1.

        Each of the best pages counts as one source, and each other accepted page with the weight of its verdict.
        """
        count = sum(1.0 if url in self._sources else weight for url, weight in self.sources.items())
        return count / (count + _HALF_WEIGHT_SOURCES)

    def compute_weight(self, trust: float) -> float:
        """Return the weight of the expansion for a topic whose own matches have a trust from 0 to 1.

        The trust does not matter for pages that people have accepted.
        """
        accepted = sum(weight for _, weight in self._get_judged_pages(relevant=True))
        return max(trust * self.weight, accepted / (accepted + _HALF_WEIGHT_SOURCES))

    @property
    def rejected_weight(self) -> float:
        """Weight of the rejected pages, from 0 to less than 1."""
        total = sum(weight for _, weight in self._get_judged_pages(relevant=False))
        return total / (total + 1.0)

    @property
    def terms(self) -> Mapping[str, float]:
        """Terms of the expansion with their weights, as a vector of length 1; the heaviest first."""
        if self._terms is None:
            self._compute()
        assert self._terms is not None
        return self._terms

    @property
    def rejected_terms(self) -> Mapping[str, float]:
        """Terms of the rejected pages that the sources do not have, as a vector of length 1."""
        if self._terms is None:
            self._compute()
        return self._rejected_terms

    def compute_vector_similarity(self, vector: Floats | None) -> float:
        """Return the cosine of a page vector and the sources' mean vector, both relative to the mean page."""
        if self._terms is None:
            self._compute()
        if vector is None or self._vector is None:
            return 0.0
        own = vector - self._compute_mean_vector()
        length = float(np.linalg.norm(own)) * float(np.linalg.norm(self._vector))
        return max(0.0, float(own @ self._vector) / length) if length else 0.0

    def _compute_mean_vector(self) -> Floats | np.float32:
        """Return the mean vector of the background pages. It is shorter as long as these are few."""
        if self._vector_total is None:
            return np.float32(0.0)
        return self._vector_total / np.float32(self._pages + _FEW_PAGES)

    def _compute(self) -> None:
        """Compute the terms and the vector from the sources."""
        sources = self._get_sources()
        accepted = list(sources.values())
        rejected = self._get_judged_pages(relevant=False)
        means, rejected_means = _compute_mean_terms(accepted), _compute_mean_terms(rejected)
        is_only_verdict = len(accepted) == 1 and not sources.keys() & self._sources.keys()
        least = 1.0 if is_only_verdict else max(2.0, _MIN_TERM_SHARE * len(accepted))
        counts: dict[str, int] = {}
        for page, _ in accepted:
            for term in page.terms:
                counts[term] = counts.get(term, 0) + 1
        background = {term: self._background.get(term, 0.0) / (self._pages + _FEW_PAGES) for term in means}
        gains = {
            term: weight - background[term] - _REJECTED_SHARE * rejected_means.get(term, 0.0)
            for term, weight in means.items()
            if counts[term] >= least and term not in self.excluded
        }
        self._terms = _scale_heaviest(gains)
        self._rejected_terms = _scale_heaviest(
            {term: weight - means.get(term, 0.0) for term, weight in rejected_means.items()}
        )
        vectors = [(page.vector, weight) for page, weight in accepted if page.vector is not None]
        self._vector = None
        if vectors:
            shares = np.array([weight for _, weight in vectors], np.float32)
            mean: Floats = shares @ np.stack([vector for vector, _ in vectors]) / shares.sum()
            self._vector = mean - self._compute_mean_vector()

    def export_sources(self) -> dict[str, JsonValue]:
        """Return the best pages as plain values, by URL."""
        return {url: _dump_page(page) for url, page in self._sources.items()}

    def add_sources(self, sources: Mapping[str, JsonValue], *, dimensions: int | None = None) -> None:
        """Add pages that `export_sources` of another process has returned.

        Raise `ValueError` and add none if their vectors have another number of dimensions than the given one.
        """
        pages = [_load_page(page) for page in convert(list(sources.values()), list[SourceState], strict=False)]
        _check_dimensions((page.vector for page in pages), dimensions)
        for page in pages:
            self.add_page(page, is_source=True)

    def get_state(self) -> JsonValue:
        """Return the expansion as plain values."""
        state: dict[str, Any] = {
            "pages": self._pages,
            "background": {term: round(total, 4) for term, total in self._background.items()},
            "sources": list(map(_dump_page, self._sources.values())),
            "vector_total": None if self._vector_total is None else pack_array(self._vector_total),
            "relevant_examples": list(map(_dump_page, self._examples[True].values())),
            "irrelevant_examples": list(map(_dump_page, self._examples[False].values())),
        }
        return state

    def restore_state(self, state: JsonValue) -> None:
        """Restore the values of `get_state`."""
        saved = convert(state, ExpansionState, strict=False)
        self._pages, self._background = saved.pages, dict(saved.background)
        self._vector_total = None if saved.vector_total is None else unpack_array(saved.vector_total, np.float32)
        self._sources, relevant, irrelevant = (
            {page.url: _load_page(page) for page in pages}
            for pages in (saved.sources, saved.relevant_examples, saved.irrelevant_examples)
        )
        self._examples = {True: relevant, False: irrelevant}
        self._terms = None

    def check_dimensions(self, dimensions: int | None) -> None:
        """Raise `ValueError` if restored vectors have another number of dimensions, because the embedding changed."""
        pages = (*self._sources.values(), *self._examples[True].values(), *self._examples[False].values())
        _check_dimensions((self._vector_total, *(page.vector for page in pages)), dimensions)


def _dump_page(page: SourcePage) -> dict[str, Any]:
    """Return a page as plain values."""
    vector = None if page.vector is None else pack_array(page.vector)
    return {"url": page.url, "score": page.score, "terms": dict(page.terms), "vector": vector}


def _load_page(page: SourceState) -> SourcePage:
    """Return a stored page."""
    vector = None if page.vector is None else unpack_array(page.vector, np.float32)
    return SourcePage(page.url, page.score, page.terms, vector)


def _check_dimensions(vectors: Iterable[Floats | None], dimensions: int | None) -> None:
    """Raise `ValueError` if a vector has another number of dimensions. None as the number allows any."""
    for vector in vectors:
        if vector is not None and dimensions is not None and len(vector) != dimensions:
            raise ValueError(f"the embedding has {dimensions} dimensions, but stored vectors have {len(vector)}")


def _compute_mean_terms(pages: Iterable[tuple[SourcePage, float]]) -> dict[str, float]:
    """Return the weighted mean of the terms of pages."""
    total, sums = 0.0, dict[str, float]()
    for page, share in pages:
        total += share
        for term, weight in page.terms.items():
            sums[term] = sums.get(term, 0.0) + share * weight
    return {term: weight / total for term, weight in sums.items()} if total else {}


def _scale_heaviest(weights: Mapping[str, float]) -> dict[str, float]:
    """Return the terms with the largest positive weights, scaled to length 1."""
    order = sorted((item for item in weights.items() if item[1] > 0), key=lambda item: (-item[1], item[0]))[:MAX_TERMS]
    length = sqrt(sum(weight * weight for _, weight in order)) or 1.0
    return {term: weight / length for term, weight in order}
