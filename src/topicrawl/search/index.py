"""Full-text search in one collection: words, phrases and fields, BM25, snippets, and term vectors of pages.

A `SearchIndex` belongs to the thread that created it. It is read-only; each query sees everything that an `IndexWriter`
has committed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import zstandard
from numpy.typing import NDArray

from topicrawl.database import translate_errors
from topicrawl.errors import InUseError
from topicrawl.search import bm25
from topicrawl.search.bm25 import CorpusStats
from topicrawl.search.catalogue import Mask, PageMetadata
from topicrawl.search.index_file import (
    INDEX_FILE,
    LIVE,
    IndexedPage,
    decompress_text,
    get_inode,
    get_lexicon,
    open_index,
)
from topicrawl.search.indexing import IndexWriter
from topicrawl.search.models import Query, SearchHit
from topicrawl.search.page_vectors import build_page_vector
from topicrawl.search.postings import Postings, PostingsReader, merge_postings
from topicrawl.search.query import ParsedQuery, QueryClause, parse_query
from topicrawl.search.query_limits import QueryDeadline, check_prefix_words
from topicrawl.search.snippets import Snippet, SnippetBuilder
from topicrawl.urls import canonicalize_url, fingerprint

_MAX_LANGUAGES = 5  # languages whose stemmers are applied to a query
_EXTRA_PAGES = 5  # pages to read beyond the requested number
_MAX_COPIES = 20  # other URLs of the same text in a hit
_MIN_LANGUAGE_SHARE = 0.01  # minimum share of the pages for a language to be used


class CollectionHits(NamedTuple):
    """The best hits of one collection, and the number of matching pages."""

    hits: tuple[SearchHit, ...]
    total: int


NO_HITS = CollectionHits((), 0)


class SearchIndex:
    """Read-only search index of one collection. `open_updated` updates the index before it opens it.

    The methods raise `DamagedError` if the index is damaged; `remove_index` then lets the next update rebuild it.
    `index_directory` is the directory of the index, if it is not in the directory of the collection.
    """

    def __init__(self, directory: Path, index_directory: Path | None = None) -> None:
        self.directory, self._index_directory = directory, index_directory or directory
        self.name = directory.resolve().name
        if not (self._index_directory / INDEX_FILE).exists():
            update_index(directory, index_directory, max_pages=0)
        self._inode = get_inode(self._index_directory)
        self._database = open_index(self._index_directory, readonly=True)
        self._metadata = PageMetadata(self._database)
        self._reader = PostingsReader(self._database)
        self._decompressor = zstandard.ZstdDecompressor()
        self._version = -1
        self._languages: list[str] = []

    @classmethod
    def open_updated(cls, directory: Path) -> SearchIndex:
        """Update the index of a collection and open it. If another process updates it now, open it as it is."""
        update_index(directory)
        return cls(directory)

    def close(self) -> None:
        """Close the database."""
        self._database.close()

    @property
    def is_current(self) -> bool:
        """Whether the open file is still the index of the collection."""
        return self._inode == get_inode(self._index_directory)

    @property
    def page_count(self) -> int:
        """Number of searchable pages."""
        with self._read_snapshot():
            return self._metadata.page_count

    def get_statistics(self, query: ParsedQuery) -> CorpusStats:
        """Return the corpus statistics of this index for the clauses of a query."""
        with self._read_snapshot():
            return self._compute_stats(query, QueryDeadline())

    def search(self, query: Query, stats: CorpusStats | None = None) -> CollectionHits:
        """Return the best hits, scored with the given corpus statistics or else those of this index.

        These are the first `offset + count` hits: the caller merges the collections and then skips `offset` hits.
        """
        return self.search_single(query, stats)[1]

    def search_single(self, query: Query, stats: CorpusStats | None = None) -> tuple[CorpusStats, CollectionHits]:
        """Search like `search`, and also return the corpus statistics that were used."""
        parsed_query = parse_query(query)
        with self._read_snapshot():
            deadline = QueryDeadline()
            stats = self._compute_stats(parsed_query, deadline) if stats is None else stats
            scores, mask = self._score_pages(parsed_query, stats, deadline)
            for url in query.without:
                mask[self._find_page_numbers(url)] = False
            matching = np.flatnonzero(mask)
            shown = [clause for clause in parsed_query.clause_weights if not stats.is_too_common(clause.key)]
            snippets = SnippetBuilder({stem for clause in shown for form in self._stem_clause(clause) for stem in form})
            best = self._select_best(matching, scores, query.offset + query.count, deadline=deadline)
            texts = self._load_texts([row.number for row, _ in best])
            hits = tuple(
                self._build_hit(
                    row, float(scores[row.number]), snippets.build(texts.get(row.number, ""), row.language), copies
                )
                for row, copies in best
            )
            return stats, CollectionHits(hits, len(matching))

    def _compute_stats(self, query: ParsedQuery, deadline: QueryDeadline) -> CorpusStats:
        self._check_prefixes(query)
        pages_with = {clause.key: len(self._get_postings(clause, deadline).numbers) for clause in query.clauses}
        return CorpusStats(self._metadata.page_count, self._metadata.word_count, pages_with)

    def _select_best(
        self, matching: NDArray[np.intp], scores: bm25.Scores, count: int, *, deadline: QueryDeadline
    ) -> list[tuple[IndexedPage, list[str]]]:
        """Return the `count` pages with the best scores, each text once, with the other URLs of the text."""
        selected: dict[str, tuple[IndexedPage, list[str]]] = {}
        done = 0
        while len(selected) < count and done < len(matching):
            deadline.check()
            # Some of the best pages may be duplicates, so read a few more than requested; one pass is usually enough.
            until = min(2 * done + count + _EXTRA_PAGES, len(matching))
            best = matching[bm25.select_highest(scores[matching], until)]
            order = best[np.lexsort((best, -scores[best]))][done:until].tolist()
            rows = self._load_rows(order)
            for row in map(rows.__getitem__, order):
                text_key = row.digest or row.url
                if text_key in selected:
                    selected[text_key][1].append(row.url)
                elif len(selected) < count:
                    selected[text_key] = row, []
            done = until
        return list(selected.values())

    def get_vector(self, url: str) -> dict[str, float]:
        """Return the term vector of a page; empty if the index does not contain the page."""
        with self._read_snapshot():
            for number in self._find_page_numbers(url):
                row = self._load_rows([number])[number]
                return build_page_vector(
                    row.title, self._load_texts([number]).get(number, ""), row.language, self._compute_idf
                )
        return {}

    def compute_sketch(self, size: int) -> tuple[int, list[int]]:
        """Return the number of distinct texts, and the `size` lowest of their fingerprints (see `overlap.py`)."""
        with self._read_snapshot():
            sql = "SELECT digest, url FROM pages WHERE state = ?"
            fingerprints = {fingerprint(digest or url) for digest, url in self._database.execute(sql, (LIVE,))}
        return len(fingerprints), sorted(fingerprints)[:size]

    @contextmanager
    def _read_snapshot(self) -> Iterator[None]:
        """Open a read transaction: a consistent snapshot of the index while a writer updates it.

        If the index has changed since the last snapshot, the metadata and the caches are updated.
        """
        with translate_errors(self._index_directory / INDEX_FILE):
            self._database.execute("BEGIN")
            try:
                ((version,),) = self._database.execute("PRAGMA data_version")
                if version != self._version:
                    self._version = version
                    self._metadata.refresh()
                    self._reader.set_page_count(len(self._metadata.lengths) - 1)
                    self._languages = self._metadata.list_languages(_MIN_LANGUAGE_SHARE)[:_MAX_LANGUAGES] or [""]
                yield
            finally:
                self._database.execute("COMMIT")

    def _check_prefixes(self, query: ParsedQuery) -> None:
        """Raise `CollectionError` if the prefixes of a query match too many words."""
        prefixes = (clause for clause in query.clauses if clause.is_prefix)
        check_prefix_words(sum(map(self._reader.count_prefix_words, prefixes)))

    def _score_pages(self, query: ParsedQuery, stats: CorpusStats, deadline: QueryDeadline) -> tuple[bm25.Scores, Mask]:
        """Return the score of every page, and the mask of the matching pages."""
        self._check_prefixes(query)
        lengths = self._metadata.lengths
        scores = np.zeros(len(lengths), np.float32)
        matching = np.zeros(len(lengths), np.bool_)
        selective = {
            clause: weight for clause, weight in query.clause_weights.items() if not stats.is_too_common(clause.key)
        }
        for clause, weight in (selective or query.clause_weights).items():
            postings = self._get_postings(clause, deadline)
            bm25.add_scores(
                scores, postings, weight * stats.idf(clause.key), self._metadata.get_length_norms(stats.mean_length)
            )
            if weight > 0:
                matching[postings.numbers] = True
        if not query.clause_weights and query != ParsedQuery():
            matching[:] = True  # the query has only filters
        matching &= self._metadata.filter_pages(query.filters)
        for clause in query.required:
            required = np.zeros(len(lengths), np.bool_)
            required[self._get_postings(clause, deadline).numbers] = True
            matching &= required
        for clause in query.excluded:
            matching[self._get_postings(clause, deadline).numbers] = False
        return scores, matching

    def _stem_clause(self, clause: QueryClause) -> list[tuple[str, ...]]:
        """Return the words of a clause as stems, in each of the main languages of the collection."""
        if clause.is_prefix:
            return [clause.words]
        return list(dict.fromkeys(tuple(map(get_lexicon(language).stem, clause.words)) for language in self._languages))

    def _get_postings(self, clause: QueryClause, deadline: QueryDeadline) -> Postings:
        return merge_postings(
            [self._reader.get_postings(replace(clause, words=form), deadline) for form in self._stem_clause(clause)]
        )

    def _compute_idf(self, terms: Sequence[str]) -> Mapping[str, float]:
        pages = self._metadata.page_count
        return {term: CorpusStats(pages, 0, {term: self._reader.get_frequency(term)}).idf(term) for term in terms}

    def _find_page_numbers(self, url: str) -> list[int]:
        """Return the number of the page with a URL in a list; empty if the index does not contain the page."""
        sql = "SELECT number FROM pages WHERE id = ? AND state = ?"
        values = (fingerprint(canonicalize_url(url) or url), LIVE)
        return [int(number) for (number,) in self._database.execute(sql, values) if number < len(self._metadata.live)]

    def _load_rows(self, numbers: Sequence[int]) -> dict[int, IndexedPage]:
        rows = self._database.execute(f"SELECT * FROM pages WHERE number IN ({_placeholders(numbers)})", numbers)
        return {row[0]: IndexedPage(*row) for row in rows}

    def _load_texts(self, numbers: Sequence[int]) -> dict[int, str]:
        rows = self._database.execute(
            f"SELECT number, text FROM texts WHERE number IN ({_placeholders(numbers)})", numbers
        )
        return {number: decompress_text(text, self._decompressor) for number, text in rows}

    def _build_hit(self, row: IndexedPage, score: float, snippet: Snippet, copies: Sequence[str]) -> SearchHit:
        return SearchHit(
            row.url,
            row.title,
            score,
            snippet,
            row.language,
            row.relevance,
            row.verdict,
            row.at,
            row.digest,
            (self.name,),
            tuple(copies[:_MAX_COPIES]),
        )


def _placeholders(values: Sequence[object]) -> str:
    return ",".join("?" * len(values))


def update_index(directory: Path, index_directory: Path | None = None, *, max_pages: int | None = None) -> bool:
    """Add at most `max_pages` missing pages to an index; return False if another process is updating it."""
    try:
        writer = IndexWriter(directory, index_directory)
    except InUseError:
        return False
    try:
        writer.update(max_pages=max_pages)
    finally:
        writer.close()
    return True
