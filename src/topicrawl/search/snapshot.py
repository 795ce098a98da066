"""One state of the search engine of a collection: document frequencies, matching pages, BM25 scores and facets.

A page is in the text field of its language, so a word of a query is looked up as one stem per main language of the
collection. The engine finds the best pages. Their scores are then computed again, because the engine only knows the
statistics of its own collection. From its score s of a word on a page follows the saturation of the word,

    x = s / (idf · (k + 1)) = f / (f + k (1 − b + b · length / mean))

and with r, the ratio of k (1 − b + b · length / mean) with the values of all collections to that with the values of the
engine, the saturation is x / (x + r (1 − x)) in all collections together. `bm25.py` describes the score.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import log1p
from typing import Any, NamedTuple, TypeAlias

import tantivy
from tantivy import FieldType, Occur

from topicrawl.search.analysis import ANALYZER_NAMES, get_analyzer_name, is_stop_word, stem_word
from topicrawl.search.bm25 import B, CorpusStats, K
from topicrawl.search.query import ParsedQuery, QueryClause, SearchFilters
from topicrawl.search.query_limits import MAX_PREFIX_WORDS, MAX_SCORED_CLAUSES, check_prefix_words

_ENGINE_K = 1.2  # k of the engine; its b is that of `bm25.py`
_MAX_LANGUAGES = 5  # languages whose stemmers are applied to a query
_MIN_LANGUAGE_SHARE = 0.01  # minimum share of the pages for a language to be used
_MAX_CACHED_CLAUSES = 10_000  # clauses whose stems are cached
_MAX_FACET_VALUES = 20  # values of a facet with the most pages
_RELEVANCE_BANDS = (0.25, 0.5, 0.75)  # borders of the relevance bands
TEXT_FACETS = ("host", "language", "type", "verdict", "tag", "month")

Address: TypeAlias = tuple[int, int]  # number of a segment, and of a document in it
SubQuery: TypeAlias = tuple[Occur, tantivy.Query]


class FieldStems(NamedTuple):
    """The stems of a clause in one field of the engine; a phrase has several, and a prefix is not stemmed."""

    field: str
    stems: tuple[str, ...]


class Candidate(NamedTuple):
    """A page that may be a hit."""

    address: tantivy.DocAddress
    score: float


class MatchingPages(NamedTuple):
    """The best pages of a query, best first, and the number of all matching pages."""

    candidates: Sequence[Candidate]
    total: int


@dataclass(frozen=True, slots=True)
class LanguageStats:
    """Number of pages in a language, and of their words."""

    pages: int
    words: int


class EngineSnapshot:
    """A searcher of the engine with the statistics of its languages. It does not see later commits.

    `document_count` includes deleted documents, which still count in the statistics of the engine.
    """

    def __init__(self, engine: tantivy.Index, languages: Mapping[str, LanguageStats], *, document_count: int) -> None:
        self.searcher = engine.searcher()
        self._schema = engine.schema
        self._document_count = document_count
        self.page_count = sum(stats.pages for stats in languages.values())
        self.word_count = sum(stats.words for stats in languages.values())
        by_pages = sorted(languages, key=lambda language: -languages[language].pages)
        minimum = _MIN_LANGUAGE_SHARE * max(1, self.page_count)
        self.languages = [name for name in by_pages if languages[name].pages > minimum][:_MAX_LANGUAGES] or [""]
        self._field_words: dict[str, int] = {}
        for language, stats in languages.items():
            name = get_analyzer_name(language)
            self._field_words[name] = self._field_words.get(name, 0) + stats.words
        self._prefix_words: dict[FieldStems, list[str]] = {}
        self._stem_cache: dict[QueryClause, list[FieldStems]] = {}

    def list_field_stems(self, clause: QueryClause) -> list[FieldStems]:
        """Return the stems of a clause in each field in which it can occur, without repetitions; cached."""
        forms = self._stem_cache.get(clause)
        if forms is None:
            if len(self._stem_cache) > _MAX_CACHED_CLAUSES:
                self._stem_cache.clear()
            forms = self._stem_cache[clause] = self._stem_clause(clause)
        return forms

    def _stem_clause(self, clause: QueryClause) -> list[FieldStems]:
        if clause.column == "url":
            words = clause.words if clause.is_prefix else tuple(stem_word(word, "") for word in clause.words)
            return [FieldStems("url", words)]
        column = "title" if clause.column == "title" else "text"
        found = []
        for language in self.languages:
            stems = clause.words if clause.is_prefix else tuple(stem_word(word, language) for word in clause.words)
            if all(stems):
                found.append(FieldStems(f"{column}_{get_analyzer_name(language)}", stems))
        return list(dict.fromkeys(found))

    def list_scored_forms(self, clauses: Collection[QueryClause]) -> dict[QueryClause, list[FieldStems]]:
        """Return the stems of clauses in the fields in which they are scored: stop words of the language are left out.

        In a language in which all words of a query are stop words, all are scored. Phrases and prefixes always are.
        """
        forms = {clause: self.list_field_stems(clause) for clause in clauses}
        stop_words = {
            language: {clause for clause in clauses if _is_stop_word(clause, language)} for language in self.languages
        }
        skipped = {
            (clause, f"{column}_{get_analyzer_name(language)}")
            for language, stopped in stop_words.items()
            if len(stopped) < len(clauses)
            for clause in stopped
            for column in ("text", "title")
        }
        return {
            clause: [form for form in fields if (clause, form.field) not in skipped] for clause, fields in forms.items()
        }

    def check_prefixes(self, clauses: Iterable[QueryClause]) -> None:
        """Raise `CollectionError` if the prefixes of a query match too many words."""
        prefixes = [clause for clause in clauses if clause.is_prefix]
        check_prefix_words(
            sum(len(self._find_prefix_words(form)) for part in prefixes for form in self.list_field_stems(part))
        )

    def _find_prefix_words(self, form: FieldStems) -> list[str]:
        words = self._prefix_words.get(form)
        if words is None:
            found = self.searcher.terms_with_prefix(form.field, form.stems[0], limit=MAX_PREFIX_WORDS + 1)
            words = self._prefix_words[form] = [word for word, _ in found]
        return words

    def compute_stats(self, clauses: Iterable[QueryClause]) -> CorpusStats:
        """Return the corpus statistics of the collection for clauses of a query."""
        pages_with = {clause.key: min(self.page_count, self._count_pages(clause)) for clause in clauses}
        return CorpusStats(self.page_count, self.word_count, pages_with)

    def _count_pages(self, clause: QueryClause) -> int:
        if len(clause.words) > 1 or clause.is_prefix:
            query = self._build_clause_query(clause, {})
            return self.count_pages(query) if query is not None else 0
        return sum(self.searcher.doc_freq(form.field, form.stems[0]) for form in self.list_field_stems(clause))

    def count_pages(self, query: tantivy.Query) -> int:
        """Return the number of pages that match a query of the engine."""
        return _get_count(self.searcher.search(query, limit=1))

    def get_numbers(self, name: str, addresses: Sequence[tantivy.DocAddress]) -> list[int]:
        """Return the values of an integer field of pages."""
        return [int(value or 0) for value in self.searcher.fast_field_values(name, list(addresses))]

    def compute_idf(self, words: Sequence[str], language: str) -> dict[str, float]:
        """Return the inverse document frequencies of words in a language."""
        field = f"text_{get_analyzer_name(language)}"
        counts = {word: self.searcher.doc_freq(field, stem_word(word, language)) for word in words}
        return {word: CorpusStats(self.page_count, 0, {word: count}).idf(word) for word, count in counts.items()}

    def find_pages(
        self, query: ParsedQuery, stats: CorpusStats, *, limit: int, excluded_ids: Sequence[int] = ()
    ) -> MatchingPages:
        """Return the best `limit` pages of a query, scored with the given statistics."""
        weights = select_clauses(query, stats)
        scored = self._build_scored_query(weights, stats)
        engine_query = self.build_query(query, scored, excluded_ids)
        if engine_query is None:
            return MatchingPages((), 0)
        if scored is None:
            result = self.searcher.search(engine_query, limit=limit, order_by_field="step", order=tantivy.Order.Asc)
            return MatchingPages([Candidate(address, 0.0) for _, address in result.hits], _get_count(result))
        result = self.searcher.search(engine_query, limit=limit)
        addresses = [address for _, address in result.hits]
        scores = PageScorer(self, addresses, stats).score(weights)
        steps = self.get_numbers("step", addresses)
        order = sorted(range(len(addresses)), key=lambda at: (-scores[at], steps[at]))
        return MatchingPages([Candidate(addresses[at], scores[at]) for at in order], _get_count(result))

    def build_matching_query(
        self, query: ParsedQuery, stats: CorpusStats, excluded_ids: Sequence[int] = ()
    ) -> tantivy.Query | None:
        """Return the engine query of the pages that match a query, or None if no page can match."""
        return self.build_query(query, self._build_scored_query(select_clauses(query, stats), stats), excluded_ids)

    def build_query(
        self, query: ParsedQuery, scored: tantivy.Query | None, excluded_ids: Sequence[int]
    ) -> tantivy.Query | None:
        """Return the engine query with the conditions of a query; None if no page can match."""
        if scored is None and (query.clause_weights or query == ParsedQuery()):
            return None
        conditions: list[SubQuery] = []
        for clause in query.required:
            required = self._build_clause_query(clause, {})
            conditions.append((Occur.Must, _without_score(required or tantivy.Query.empty_query())))
        conditions += [(Occur.Must, _without_score(part)) for part in self._build_filters(query.filters)]
        for clause in query.excluded:
            if (excluded := self._build_clause_query(clause, {})) is not None:
                conditions.append((Occur.MustNot, excluded))
        if excluded_ids:
            conditions.append((Occur.MustNot, self._build_any_query("id", excluded_ids)))
        base = scored if scored is not None else tantivy.Query.all_query()
        return tantivy.Query.boolean_query([(Occur.Must, base), *conditions]) if conditions else base

    def _build_scored_query(self, weights: Mapping[QueryClause, float], stats: CorpusStats) -> tantivy.Query | None:
        """Return the query of the pages with any clause of positive weight, boosted to the given statistics."""
        parts: list[SubQuery] = []
        for clause, forms in self.list_scored_forms(weights).items():
            weight = weights[clause]
            if weight <= 0:
                continue
            boosts = {}
            for form in forms:
                local = 1.0 if clause.is_prefix else self._compute_local_idf(form)
                boosts[form] = weight * stats.idf(clause.key) / local if local > 0 else 0.0
            if (part := self._build_forms_query(clause, forms, boosts)) is not None:
                parts.append((Occur.Should, part))
        if len(parts) == 1:
            return parts[0][1]
        return tantivy.Query.boolean_query(parts) if parts else None

    def _build_clause_query(self, clause: QueryClause, boosts: Mapping[FieldStems, float]) -> tantivy.Query | None:
        """Return the query of the pages with a clause in any of its fields."""
        return self._build_forms_query(clause, self.list_field_stems(clause), boosts)

    def _build_forms_query(
        self, clause: QueryClause, forms: Iterable[FieldStems], boosts: Mapping[FieldStems, float]
    ) -> tantivy.Query | None:
        parts = []
        for form in forms:
            part = self.build_field_query(form, is_prefix=clause.is_prefix)
            if part is not None:
                parts.append(tantivy.Query.boost_query(part, boosts[form]) if form in boosts else part)
        if len(parts) == 1:
            return parts[0]
        return tantivy.Query.boolean_query([(Occur.Should, part) for part in parts]) if parts else None

    def build_field_query(self, form: FieldStems, *, is_prefix: bool) -> tantivy.Query | None:
        """Return the query of the pages with a word, phrase or prefix in one field; None if there are no such pages.

        The score of a prefix is 1.
        """
        if is_prefix:
            words = self._find_prefix_words(form)
            part = tantivy.Query.term_set_query(self._schema, form.field, words)
            return tantivy.Query.const_score_query(part, 1.0) if words else None
        if len(form.stems) > 1:
            return tantivy.Query.phrase_query(self._schema, form.field, list(form.stems))
        return tantivy.Query.term_query(self._schema, form.field, form.stems[0])

    def _compute_local_idf(self, form: FieldStems) -> float:
        """Return the idf that the engine uses for a word; that of a phrase is the sum over its words."""
        total = 0.0
        for stem in form.stems:
            count = self.searcher.doc_freq(form.field, stem)
            total += log1p((self._document_count - count + 0.5) / (count + 0.5)) if count else 0.0
        return total

    def compute_saturations(self, form: FieldStems, pages: tantivy.Query, count: int) -> dict[Address, float]:
        """Return the saturation of a word or phrase on those of `count` given pages that contain it."""
        idf = self._compute_local_idf(form)
        part = self.build_field_query(form, is_prefix=False)
        if not idf or part is None:
            return {}
        query = tantivy.Query.boolean_query([(Occur.Must, part), (Occur.Must, pages)])
        hits = self.searcher.search(query, limit=count, count=False).hits
        return {(address.segment_ord, address.doc): score / (idf * (_ENGINE_K + 1)) for score, address in hits}

    def get_mean_length(self, field: str) -> float:
        """Return the mean number of words that the engine uses for a text field: that of all its documents."""
        return max(1.0, self._field_words.get(field.removeprefix("text_"), 0)) / max(1, self.page_count)

    def build_id_query(self, ids: Sequence[int]) -> tantivy.Query:
        """Return the query of the pages with given ids, with the score 0."""
        return _without_score(self._build_any_query("id", ids))

    def _build_any_query(self, field: str, values: Iterable[int | str]) -> tantivy.Query:
        """Return the query of the pages with any of a few values in a field.

        The set query of the engine takes eight times as long for 30 page ids (.45 ms), because it searches all terms.
        """
        terms = [(Occur.Should, tantivy.Query.term_query(self._schema, field, value)) for value in values]
        return tantivy.Query.boolean_query(terms) if terms else tantivy.Query.empty_query()

    def find_page(self, page_id: int) -> tantivy.Document | None:
        """Return the document of a page, or None if the engine does not contain it."""
        hits = self.searcher.search(tantivy.Query.term_query(self._schema, "id", page_id), limit=1).hits
        return self.searcher.doc(hits[0][1]) if hits else None

    def _build_filters(self, filters: SearchFilters) -> list[tantivy.Query]:
        """Return the conditions on the metadata of pages."""
        fields = {
            "domain": filters.hosts,
            "language": filters.languages,
            "type": filters.types,
            "verdict": tuple(verdict or "none" for verdict in filters.verdicts),
        }
        queries = [self._build_any_query(name, values) for name, values in fields.items() if values]
        queries += [tantivy.Query.term_query(self._schema, "tag", tag) for tag in filters.tags]
        bounds = {"relevance": (filters.relevance, 2.0), "at": (filters.since, filters.before)}
        for name, (lower, upper) in bounds.items():
            if lower > 0 or upper < (2.0 if name == "relevance" else float("inf")):
                queries.append(
                    tantivy.Query.range_query(
                        self._schema,
                        name,
                        FieldType.Float,
                        lower_bound=max(lower, -1e300),
                        upper_bound=min(upper, 1e300),
                        include_upper=False,
                    )
                )
        return queries

    def count_facets(self, query: tantivy.Query) -> dict[str, dict[str, int]]:
        """Count the matching pages by facet.

        The result contains the most frequent values of each of `TEXT_FACETS`, and the non-empty bands of `relevance`,
        named by their lower bound, such as `0.50`.
        """
        request: dict[str, Any] = {name: {"terms": {"field": name, "size": _MAX_FACET_VALUES}} for name in TEXT_FACETS}
        borders = (0.0, *_RELEVANCE_BANDS, 1.01)
        ranges = [{"from": lower, "to": upper} for lower, upper in pairwise(borders)]
        request["relevance"] = {"range": {"field": "relevance", "ranges": ranges}}
        reply = self.searcher.aggregate(query, request)
        facets = {
            name: {bucket["key"]: int(bucket["doc_count"]) for bucket in reply[name]["buckets"]} for name in TEXT_FACETS
        }
        bands = {
            f"{bucket['from']:.2f}": int(bucket["doc_count"])
            for bucket in reply["relevance"]["buckets"]
            if bucket["doc_count"] and "from" in bucket
        }
        return {**facets, "relevance": bands}


class PageScorer:
    """BM25 scores of a few pages of an engine, with the statistics of all collections."""

    def __init__(self, snapshot: EngineSnapshot, addresses: Sequence[tantivy.DocAddress], stats: CorpusStats) -> None:
        self._snapshot, self._stats = snapshot, stats
        self._pages = [(address.segment_ord, address.doc) for address in addresses]
        self._ids = snapshot.get_numbers("id", addresses)
        self._lengths = list(map(quantize_length, snapshot.get_numbers("words", addresses)))
        self._fields = {f"text_{ANALYZER_NAMES[number]}" for number in snapshot.get_numbers("analyzer", addresses)}

    @cached_property
    def _page_query(self) -> tantivy.Query:
        return self._snapshot.build_id_query(self._ids)

    def score(self, weights: Mapping[QueryClause, float]) -> list[float]:
        """Return the scores of the pages for weighted clauses."""
        totals = [0.0] * len(self._pages)
        if not self._pages:
            return totals
        for clause, forms in self._snapshot.list_scored_forms(weights).items():
            value = weights[clause] * self._stats.idf(clause.key)
            best = [0.0] * len(totals)
            for form in forms:
                if form.field.startswith("text_") and form.field not in self._fields:
                    continue
                for at, share in self._compute_shares(form, is_prefix=clause.is_prefix).items():
                    best[at] = max(best[at], share)
            for at, share in enumerate(best):
                totals[at] += value * share
        return totals

    def _compute_shares(self, form: FieldStems, *, is_prefix: bool) -> dict[int, float]:
        """Return x (k + 1) of each page that contains a word, phrase or prefix; 1 for a prefix."""
        if is_prefix:
            return self._find_prefix_pages(form)
        found = self._snapshot.compute_saturations(form, self._page_query, len(self._pages))
        means = self._stats.mean_length, self._snapshot.get_mean_length(form.field)
        shares = {}
        for at, page in enumerate(self._pages):
            if page in found:
                saturation, ratio = min(found[page], 1 - 1e-9), K / _ENGINE_K
                if form.field.startswith("text_"):
                    norms = [_length_norm(self._lengths[at], mean) for mean in means]
                    ratio *= norms[0] / norms[1]
                shares[at] = (K + 1) * saturation / (saturation + ratio * (1 - saturation))
        return shares

    def _find_prefix_pages(self, form: FieldStems) -> dict[int, float]:
        part = self._snapshot.build_field_query(form, is_prefix=True)
        if part is None:
            return {}
        query = tantivy.Query.boolean_query([(Occur.Must, part), (Occur.Must, self._page_query)])
        hits = self._snapshot.searcher.search(query, limit=len(self._pages), count=False).hits
        found = {(address.segment_ord, address.doc) for _, address in hits}
        return {at: 1.0 for at, page in enumerate(self._pages) if page in found}


def select_clauses(query: ParsedQuery, stats: CorpusStats) -> dict[QueryClause, float]:
    """Return the clauses to score with their weights: the most selective ones, without those that are too common."""
    weights = dict(query.clause_weights)
    selective = {clause: weight for clause, weight in weights.items() if not stats.is_too_common(clause.key)}
    chosen = selective or weights
    if len(chosen) > MAX_SCORED_CLAUSES:
        strongest = sorted(chosen, key=lambda clause: -abs(chosen[clause]) * stats.idf(clause.key))
        # A word that is on no page of the searched collections does not change any score.
        present = [clause for clause in strongest if stats.pages_with.get(clause.key, 0)]
        chosen = {clause: chosen[clause] for clause in present[:MAX_SCORED_CLAUSES]} or chosen
    return chosen


def _is_stop_word(clause: QueryClause, language: str) -> bool:
    """Whether a clause is a single stop word of a language."""
    is_word = len(clause.words) == 1 and not clause.is_prefix
    return is_word and clause.column != "url" and is_stop_word(clause.words[0], language)


def quantize_length(length: int) -> int:
    """Return a page length as the engine stores it: exactly below 40 words, else with four significant bits.

    >>> [quantize_length(length) for length in (7, 40, 41, 57, 1000)]
    [7, 40, 40, 56, 984]
    """
    if length < 40:
        return length
    shift = (length - 24).bit_length() - 4
    return (((length - 24) >> shift) << shift) + 24


def _length_norm(length: float, mean_length: float) -> float:
    return 1 - B + B * length / mean_length


def _get_count(result: tantivy.SearchResult) -> int:
    """Return the number of all matching pages, which the type stubs of the engine lack."""
    return int(getattr(result, "count", None) or 0)


def _without_score(query: tantivy.Query) -> tantivy.Query:
    return tantivy.Query.const_score_query(query, 0.0)
