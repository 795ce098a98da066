"""Build the permanent part of a filter from example pages and tune its thresholds (Kluev 2000, section 4, steps 2 to 4;
Tables 1 and 2).

In the paper an expert selects 20 to 100 elements of each class from lists of the elements that occur in the relevant
examples (the core). Here the selection is automatic, and the user may edit the result. An element ranks higher the more
pages of the core contain it and the rarer it is in the language. If there are irrelevant examples, the element must be
less frequent in them. The thresholds are tuned so that 60 to 70 % of the core pass. This needs several pages: for a
small core, the values of the paper are an upper bound. The passage threshold of the paper is half of the VSM threshold.
It is raised if more than 5 % of the irrelevant examples reach it: on recorded webs it accepts up to 63 % of the pages.

A page is undoubtedly relevant if two metrics vote for it. On the webs of today, where most fetched pages are not
relevant, the thresholds that 60 to 70 % of the core pass are too low for that: half of these pages were wrong. With
irrelevant examples, the votes for an undoubted page therefore have thresholds of their own, which at most 1 % of the
irrelevant examples reach by each metric (`bench/undoubted.py` measures the effect).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil, floor
from typing import NamedTuple

from msgspec.structs import replace

from topicrawl.models import Page
from topicrawl.relevance.filter_model import ElementKey, FilterCoverage, FilterModel, PageTerms, extract_page_terms
from topicrawl.text.collocations import (
    count_collocations,
    extract_clause_terms,
    find_usual_spellings,
    iter_collocations,
)
from topicrawl.text.lexicon import LanguageLexicon
from topicrawl.text.tokenizer import tokenise
from topicrawl.topic import Thresholds, Topic, TopicFilter
from topicrawl.topic.filter import ELEMENT_SIZES

#: Thresholds of Kluev 2000, Table 2. The VSM threshold is .18 for one collection and .25 for the other.
PAPER_THRESHOLDS = FilterCoverage(terms=0.5, pairs=0.1, triples=0.08, vsm=0.18)
MIN_ELEMENTS, MAX_ELEMENTS = 20, 100  # number of elements of a class
TARGET_PASS_RATE = 0.65  # target share of the core that passes; the paper says 60 to 70 %
MIN_TUNING_PAGES = 10  # pages; thresholds tuned on fewer pages do not generalise
_MIN_IRRELEVANT_PAGES = 20  # irrelevant examples from which the passage threshold is tuned
_MAX_PASSAGE_ERRORS = 0.05  # share of the irrelevant examples that may reach the passage threshold
_MAX_UNDOUBTED_ERRORS = 0.01  # share of them that may reach the threshold of one metric for undoubted pages
_SMALL_CORE = 4  # pages; in a smaller core, an element of a single page may be selected
_FOLDS = 5  # cross-validation folds of the core
_MIN_BOILERPLATE_PAGES = 3  # pages; boilerplate cannot be recognised in fewer


class ElementCounts(NamedTuple):
    """Counts of the elements of one class: the pages that contain each element, and its occurrences on all pages."""

    page_counts: Counter[ElementKey]
    occurrences: Counter[ElementKey]


def count_elements(page_terms: PageTerms) -> dict[str, Counter[ElementKey]]:
    """Count the elements of each class on a page. Elements with a number are left out."""
    elements = {}
    for name, size in ELEMENT_SIZES.items():
        counts = count_collocations(page_terms.terms, size)
        elements[name] = Counter({key: times for key, times in counts.items() if not any(map(str.isnumeric, key))})
    return elements


def sum_element_counts(counts: Iterable[Mapping[str, Counter[ElementKey]]]) -> dict[str, ElementCounts]:
    """Sum the element counts of several pages, class by class."""
    totals = {name: ElementCounts(Counter(), Counter()) for name in ELEMENT_SIZES}
    for page_counts in counts:
        for name, tally in totals.items():
            tally.page_counts.update(page_counts[name].keys())
            tally.occurrences.update(page_counts[name])
    return totals


@dataclass(frozen=True)
class FilterBuilder:
    """Select a filter and its thresholds from the example pages of a topic."""

    lexicon: LanguageLexicon
    keep_words: frozenset[str]
    relevant: Sequence[Page]
    irrelevant: Sequence[Page] = ()

    @cached_property
    def page_terms(self) -> list[PageTerms]:
        """Terms of each relevant page."""
        return [extract_page_terms(page, self.lexicon, self.keep_words) for page in self.relevant]

    @cached_property
    def element_counts(self) -> list[dict[str, Counter[ElementKey]]]:
        """Element counts of each relevant page: class → element → occurrences."""
        return [count_elements(terms) for terms in self.page_terms]

    @cached_property
    def irrelevant_counts(self) -> dict[str, ElementCounts]:
        """Element counts of all irrelevant pages together, by class."""
        return sum_element_counts(
            count_elements(extract_page_terms(page, self.lexicon, self.keep_words)) for page in self.irrelevant
        )

    def build_filter(self) -> TopicFilter:
        """Return the elements that distinguish the core, in their usual spelling, with their relative frequencies."""
        selected = self._select_elements(self.element_counts)
        texts = [f"{page.title}\n{page.text}" for page in self.relevant]
        parts = {}
        for name, elements in selected.items():
            spelling = find_usual_spellings(texts, self.lexicon, ELEMENT_SIZES[name], elements)
            parts[name] = {spelling[key]: weight for key, weight in elements.items() if key in spelling}
        return TopicFilter(**parts)

    def _select_elements(
        self, counts: Sequence[Mapping[str, Counter[ElementKey]]]
    ) -> dict[str, dict[ElementKey, float]]:
        """Select the distinguishing elements: class → element → occurrences divided by the maximum of the class."""
        parts = {}
        for name, tally in sum_element_counts(counts).items():
            keys = self._rank_elements(tally, len(counts), self.irrelevant_counts[name].page_counts)
            greatest = max((tally.occurrences[key] for key in keys), default=1)
            parts[name] = {key: tally.occurrences[key] / greatest for key in keys}
        return parts

    def _rank_elements(
        self, elements: ElementCounts, page_count: int, irrelevant_pages: Mapping[ElementKey, int]
    ) -> list[ElementKey]:
        """Return the best elements of one class, ranked by document frequency and idf."""
        irrelevant_count = max(1, len(self.irrelevant))
        ranks: dict[ElementKey, float] = {}
        for key, pages in elements.page_counts.items():
            surplus = pages / page_count - irrelevant_pages.get(key, 0) / irrelevant_count
            # An element of a single page describes that page, not the topic.
            if surplus > 0 and elements.occurrences[key] > 1 and (pages > 1 or page_count < _SMALL_CORE):
                ranks[key] = surplus * sum(map(self.lexicon.idf, key)) / len(key)
        ranked = sorted(ranks, key=lambda key: (-ranks[key], -elements.occurrences[key]))
        frequent = sum(elements.page_counts[key] >= page_count / 10 for key in ranked)
        return sorted(ranked, key=lambda key: elements.page_counts[key] < page_count / 10)[
            : min(MAX_ELEMENTS, max(frequent, MIN_ELEMENTS))
        ]

    def tune_thresholds(self, filter: TopicFilter | None = None) -> Thresholds:
        """Return thresholds that 60 to 70 % of the core pass by at least one metric.

        The passage threshold is half of the VSM threshold. Pages contain more elements of a filter that was selected
        from them than other pages do. Without a given filter, each fifth of the core is therefore measured with a
        filter selected from the other four fifths (cross-validation).
        """
        if filter is not None:
            model = FilterModel.of(filter, self.lexicon, self.keep_words)
            rows = [model.measure_coverage(terms) for terms in self.page_terms]
        else:
            rows = [row for part in range(min(_FOLDS, len(self.page_terms))) for row in self._measure_fold(part)]
        candidates = (_get_thresholds_at_rank(rows, rank) for rank in range(len(rows)))
        tuned = min(candidates, key=lambda thresholds: abs(pass_rate(rows, thresholds) - TARGET_PASS_RATE))
        if len(rows) < MIN_TUNING_PAGES:
            tuned = FilterCoverage(*map(min, tuned, PAPER_THRESHOLDS))
        # If a metric is 0 on all pages of the core, its threshold is that of the paper.
        at = FilterCoverage(
            *(floor(value * 1e4) / 1e4 or printed for value, printed in zip(tuned, PAPER_THRESHOLDS, strict=True))
        )
        return Thresholds(at.vsm, at.terms, at.pairs, at.triples, at.vsm / 2)

    def tune_passage_threshold(self, model: FilterModel) -> float:
        """Return the least threshold that at most 5 % of the irrelevant examples reach by a passage.

        It is 0 if there are too few irrelevant examples to tell.
        """
        if len(self.irrelevant) < _MIN_IRRELEVANT_PAGES:
            return 0.0
        values = [model.best_passage_similarity(model.extract_terms(page)) for page in self.irrelevant]
        return _get_exceeded_threshold(values, _MAX_PASSAGE_ERRORS)

    def tune_undoubted_thresholds(self, model: FilterModel) -> dict[str, float]:
        """Return for each metric the least value that at most 1 % of the irrelevant examples reach.

        The result is empty if there are too few irrelevant examples to tell.
        """
        if len(self.irrelevant) < _MIN_IRRELEVANT_PAGES:
            return {}
        rows = [model.measure_coverage(model.extract_terms(page)) for page in self.irrelevant]
        return {
            name: _get_exceeded_threshold(values, _MAX_UNDOUBTED_ERRORS)
            for name, values in zip(FilterCoverage._fields, zip(*rows, strict=True), strict=True)
        }

    def _measure_fold(self, fold: int) -> list[FilterCoverage]:
        """Measure one fold of the core with a filter selected from the other folds."""
        rest = [
            counts for number, counts in enumerate(self.element_counts) if number % _FOLDS != fold
        ] or self.element_counts
        selected = self._select_elements(rest)
        terms = {term: weight for (term,), weight in selected["terms"].items()}
        model = FilterModel(self.lexicon, self.keep_words, terms, selected["pairs"], selected["triples"])
        return [model.measure_coverage(page_terms) for page_terms in self.page_terms[fold::_FOLDS]]


def _get_exceeded_threshold(values: Iterable[float], share: float) -> float:
    """Return the least threshold that at most this share of the values reaches.

    >>> _get_exceeded_threshold([0.1, 0.5, 0.2, 0.3], 0.25), _get_exceeded_threshold([0.1, 0.5], 0.1)
    (0.3001, 0.5001)
    """
    ascending = sorted(values)
    return min(1.0, ceil(ascending[-1 - floor(share * len(ascending))] * 1e4 + 1) / 1e4)


def _get_thresholds_at_rank(rows: Sequence[FilterCoverage], rank: int) -> FilterCoverage:
    """Return, metric by metric, the value at a rank of the ascending order."""
    return FilterCoverage(*(sorted(values)[rank] for values in zip(*rows, strict=True)))


def pass_rate(rows: Sequence[FilterCoverage], thresholds: FilterCoverage) -> float:
    """Return the share of pages that reach at least one threshold.

    >>> pass_rate([FilterCoverage(0.5, 0, 0, 0), FilterCoverage(0, 0, 0, 0.1)], FilterCoverage(0.5, 0.1, 0.08, 0.18))
    0.5
    """
    reached = [any(0 < limit <= value for value, limit in zip(row, thresholds, strict=True)) for row in rows]
    return sum(reached) / len(rows)


def fit_filter(
    topic: Topic, relevant: Sequence[Page] = (), irrelevant: Sequence[Page] = ()
) -> tuple[TopicFilter, Thresholds]:
    """Return the filter and the thresholds of a topic.

    Values in the topic come first, then values from the example pages, then values from the topic's words.

    >>> filter, thresholds = fit_filter(Topic.of("dengue fever"))
    >>> list(filter.terms), list(filter.pairs), thresholds.terms, thresholds.vsm
    (['dengue', 'fever'], ['dengue fever'], 0.5, 0.16)
    """
    builder = FilterBuilder(topic.lexicon, topic.tokens, remove_boilerplate(relevant), remove_boilerplate(irrelevant))
    filter = topic.filter or (builder.build_filter() if relevant else _build_filter_from_words(topic))
    if relevant:
        thresholds = builder.tune_thresholds(topic.filter or None)
    else:
        # The threshold of the topic is tuned for a few words. A complete filter uses the value of the paper.
        vsm = PAPER_THRESHOLDS.vsm if topic.filter else topic.similarity_threshold
        thresholds = Thresholds(vsm, PAPER_THRESHOLDS.terms, PAPER_THRESHOLDS.pairs, PAPER_THRESHOLDS.triples)
    given = topic.thresholds.get_defined()
    values = {**thresholds.get_defined(), **given}
    model = FilterModel.of(filter, topic.lexicon, topic.tokens)
    if "passage" not in given:
        values["passage"] = values["vsm"] / 2
        if "vsm" not in given:
            values["passage"] = max(values["passage"], builder.tune_passage_threshold(model))
    # Thresholds that the user chose stay in force for undoubted pages too.
    tuned = {} if given else builder.tune_undoubted_thresholds(model)
    higher = {f"undoubted_{name}": value for name, value in tuned.items() if value > values[name]}
    return filter, Thresholds(**values, **higher)


#: Columns of the list of candidates.
CANDIDATE_COLUMNS = ("class", "element", "pages", "occurrences", "irrelevant_pages", "chosen")
_MAX_CANDIDATES = 300  # elements of a class; the paper lets the expert choose 20 to 100


class FilterCandidate(NamedTuple):
    """An element that an expert may choose for the filter."""

    element_class: str  # terms, pairs or triples
    element: str  # in its usual spelling
    pages: int  # pages of the core that contain it
    occurrences: int  # on all pages of the core
    irrelevant_pages: int  # irrelevant examples that contain it
    chosen: str  # yes if the filter of the topic contains it, else no


def list_candidates(topic: Topic, relevant: Sequence[Page], irrelevant: Sequence[Page] = ()) -> list[FilterCandidate]:
    """Return the most frequent elements of each class in the core, with their counts (section 4, step 2)."""
    builder = FilterBuilder(topic.lexicon, topic.tokens, remove_boilerplate(relevant), remove_boilerplate(irrelevant))
    texts = [f"{page.title}\n{page.text}" for page in builder.relevant]
    candidates = []
    for name, tally in sum_element_counts(builder.element_counts).items():
        order = sorted(tally.page_counts, key=lambda key: (-tally.page_counts[key], -tally.occurrences[key], key))
        keys = order[:_MAX_CANDIDATES]
        spelling = find_usual_spellings(texts, topic.lexicon, ELEMENT_SIZES[name], keys)
        chosen = topic.filter.get_elements(name)
        others = builder.irrelevant_counts[name].page_counts
        candidates += [
            FilterCandidate(
                name,
                spelling[key],
                tally.page_counts[key],
                tally.occurrences[key],
                others[key],
                "yes" if spelling[key] in chosen else "no",
            )
            for key in keys
            if key in spelling
        ]
    return candidates


def _build_filter_from_words(topic: Topic) -> TopicFilter:
    """Build a filter from the topic's words.

    A name of two or three words also counts as a phrase; a longer name counts as a list of words.
    """
    terms = extract_clause_terms(topic.name, topic.lexicon, topic.tokens)
    parts = {"terms": dict(topic.words)}
    for name in ("pairs", "triples") if len(terms) <= ELEMENT_SIZES["triples"] else ():
        keys = list(iter_collocations(terms, ELEMENT_SIZES[name]))
        parts[name] = dict.fromkeys(
            find_usual_spellings([topic.name], topic.lexicon, ELEMENT_SIZES[name], keys).values(), 1.0
        )
    return TopicFilter(**parts)


def remove_boilerplate(pages: Sequence[Page]) -> list[Page]:
    r"""Remove the lines that occur on more than half of the pages: they are boilerplate of a site, not content.

    >>> pages = [Page(f"http://a/{n}", text=f"About us\nOwls {n}") for n in range(3)]
    >>> [page.text for page in remove_boilerplate(pages)]
    ['Owls 0', 'Owls 1', 'Owls 2']
    """
    if len(pages) < _MIN_BOILERPLATE_PAGES:
        return list(pages)
    lines = Counter(line for page in pages for line in set(page.text.split("\n")))
    boilerplate = {line for line, count in lines.items() if count > len(pages) / 2}
    texts = ["\n".join(line for line in page.text.split("\n") if line not in boilerplate) for page in pages]
    return [replace(page, text=text, words=tuple(tokenise(text))) for page, text in zip(pages, texts, strict=True)]
