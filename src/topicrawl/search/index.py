"""Full-text search in one collection: words, phrases and fields, BM25, facets, snippets, and term vectors of pages.

A `SearchIndex` belongs to the thread that created it. It is read-only; each query sees everything that an `IndexWriter`
has committed.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Any, NamedTuple

import tantivy

from topicrawl.database import Database, translate_errors
from topicrawl.errors import InUseError
from topicrawl.models import Page
from topicrawl.relevance.page_summary import SHOWN_SENTENCES, select_summary
from topicrawl.search.bm25 import CorpusStats
from topicrawl.search.index_file import (
    ENGINE_DIRECTORY,
    INDEX_FILE,
    LIVE,
    SCHEMA,
    count_engine_documents,
    get_inode,
    has_index,
    is_writable,
    link_engine_files,
    open_engine,
    translate_engine_errors,
)
from topicrawl.search.indexing import IndexWriter, get_stored_text
from topicrawl.search.models import FacetCounts, Query, SearchHit
from topicrawl.search.page_vectors import build_page_vector
from topicrawl.search.query import ParsedQuery, parse_query
from topicrawl.search.snapshot import Candidate, EngineSnapshot, LanguageStats, MatchingPages, select_clauses
from topicrawl.search.snippets import Snippet, SnippetBuilder
from topicrawl.search.text_vectors import QueryVectors
from topicrawl.urls import canonicalize_url, fingerprint

#: Weight of the similarity of the page vectors, relative to the highest possible score of the words.
SIMILARITY_WEIGHT = 0.2
_MIN_CANDIDATES = 30  # pages that are scored with the statistics of all collections
_EXTRA_CANDIDATES = 10  # candidates beyond twice the requested number
_MAX_COPIES = 20  # other URLs of the same text in a hit
_MAX_SENTENCE_CHARS = 2000  # characters of a sentence of a summary


class CollectionHits(NamedTuple):
    """The best hits of one collection, the number of matching pages, and the pages by facet value."""

    hits: tuple[SearchHit, ...]
    total: int
    facets: FacetCounts = MappingProxyType({})


NO_HITS = CollectionHits((), 0)


class SearchIndex:
    """Read-only search index of one collection. `open_updated` updates the index before it opens it.

    The methods raise `DamagedError` if the index is damaged; `remove_index` then lets the next update rebuild it.
    `index_directory` is the directory of the index, if it is not in the directory of the collection.
    """

    def __init__(self, directory: Path, index_directory: Path | None = None) -> None:
        self.directory, self._index_directory = directory, index_directory or directory
        self.name = directory.resolve().name
        if not has_index(self._index_directory):
            update_index(directory, index_directory, max_pages=0)
        self._inode = get_inode(self._index_directory)
        self._links: TemporaryDirectory[str] | None = None
        self._database, self._engine = self._open_parts()
        self._commit = (0, 0, 0)
        self._snapshot: EngineSnapshot | None = None
        self._text_share: tuple[EngineSnapshot, float] | None = None  # texts per page of a snapshot

    def _open_parts(self) -> tuple[Database, tantivy.Index]:
        """Open both parts of the index. The engine locks its files, so those in a read-only directory are linked."""
        directory = self._index_directory
        database = Database(directory / INDEX_FILE, SCHEMA, readonly=True)
        try:
            if not is_writable(directory):
                self._links = TemporaryDirectory(prefix="topicrawl-search-", ignore_cleanup_errors=True)
                link_engine_files(directory, Path(self._links.name))
                directory = Path(self._links.name)
            return database, open_engine(directory)
        except BaseException:
            database.close()
            raise

    @classmethod
    def open_updated(cls, directory: Path) -> SearchIndex:
        """Update the index of a collection and open it. If another process updates it now, open it as it is."""
        update_index(directory)
        return cls(directory)

    def close(self) -> None:
        """Close the database."""
        self._snapshot = None
        self._database.close()
        if self._links is not None:
            self._links.cleanup()

    @property
    def is_current(self) -> bool:
        """Whether the open file is still the index of the collection."""
        return self._inode == get_inode(self._index_directory)

    @property
    def page_count(self) -> int:
        """Number of searchable pages."""
        return self._get_snapshot().page_count

    def get_statistics(self, query: ParsedQuery) -> CorpusStats:
        """Return the corpus statistics of this index for the clauses of a query."""
        snapshot = self._get_snapshot()
        with self._translate_errors():
            snapshot.check_prefixes(query.clauses)
            return snapshot.compute_stats(query.clauses)

    def search(self, query: Query, stats: CorpusStats | None = None) -> CollectionHits:
        """Return the best hits, scored with the given corpus statistics or else those of this index.

        These are the first `offset + count` hits: the caller merges the collections and then skips `offset` hits.
        """
        return self.search_single(query, stats)[1]

    def search_single(self, query: Query, stats: CorpusStats | None = None) -> tuple[CorpusStats, CollectionHits]:
        """Search like `search`, and also return the corpus statistics that were used."""
        parsed_query = parse_query(query)
        snapshot = self._get_snapshot()
        with self._translate_errors():
            snapshot.check_prefixes(parsed_query.clauses)
            stats = snapshot.compute_stats(parsed_query.clauses) if stats is None else stats
            excluded = [_compute_id(url) for url in query.without]
            best, total = self._select_best(snapshot, parsed_query, stats, query.offset + query.count, excluded)
            snippets = SnippetBuilder(_list_stems(snapshot, parsed_query, stats))
            hits = tuple(
                self._build_hit(
                    document,
                    score,
                    snippets.build(get_stored_text(document, "body"), language),
                    copies,
                    has_summary=query.summaries,
                )
                for document, score, copies in best
                for language in (document.get_first("language") or "",)
            )
            facets: dict[str, dict[str, int]] = {}
            if query.facets and (matching := snapshot.build_matching_query(parsed_query, stats, excluded)) is not None:
                facets = snapshot.count_facets(matching)
            return stats, CollectionHits(hits, total, facets)

    def _select_best(
        self, snapshot: EngineSnapshot, query: ParsedQuery, stats: CorpusStats, count: int, excluded: Sequence[int]
    ) -> tuple[list[tuple[tantivy.Document, float, list[str]]], int]:
        """Return the `count` pages with the best scores, each text once, with its other URLs; and the matching texts.

        The number of texts is exact if all matching pages were scored, or if no page of the collection repeats another.
        Otherwise it is an estimate.
        """
        limit = max(_MIN_CANDIDATES, 2 * count + _EXTRA_CANDIDATES)
        while True:
            found = snapshot.find_pages(query, stats, limit=limit, excluded_ids=excluded)
            found = self._add_similarities(snapshot, found, query, stats)
            selected = self._group_copies(snapshot, found, count)
            if len(selected) >= count or found.total <= len(found.candidates):
                break
            limit *= 4  # many of the best pages have the same text
        if found.total <= len(found.candidates):
            keys = snapshot.get_numbers("text_key", [page.address for page in found.candidates])
            return selected, len(set(keys))
        return selected, round(found.total * self._get_text_share(snapshot))

    def _add_similarities(
        self, snapshot: EngineSnapshot, found: MatchingPages, query: ParsedQuery, stats: CorpusStats
    ) -> MatchingPages:
        """Add the similarity of the page vectors and the query to the scores of the candidates, and sort them again."""
        weights = select_clauses(query, stats)
        words = {
            clause.words[0]: weight
            for clause, weight in weights.items()
            if len(clause.words) == 1 and not clause.is_prefix and clause.column != "url"
        }
        if not words or not found.candidates:
            return found
        vectors, best = QueryVectors(words), stats.max_score({clause.key: weight for clause, weight in weights.items()})
        ids = snapshot.get_numbers("id", [page.address for page in found.candidates])
        # A cross join looks up the language of each vector.
        sql = (
            "SELECT page, language, vector FROM page_vectors CROSS JOIN pages ON id = page"
            f" WHERE page IN ({','.join('?' * len(ids))})"
        )
        similarities = {
            page: vectors.compute_similarity(vector, language)
            for page, language, vector in self._database.execute(sql, ids)
        }
        candidates = [
            page._replace(score=page.score + SIMILARITY_WEIGHT * best * similarities.get(id, 0.0))
            for page, id in zip(found.candidates, ids, strict=True)
        ]
        return found._replace(candidates=sorted(candidates, key=lambda page: -page.score))

    def _get_text_share(self, snapshot: EngineSnapshot) -> float:
        """Return the number of distinct texts of the collection per page: 1 if no page repeats another."""
        if self._text_share is None or self._text_share[0] is not snapshot:
            sql = f"SELECT count(*), count(DISTINCT text_key) FROM pages WHERE state = {LIVE}"
            ((pages, texts),) = self._database.execute(sql)
            self._text_share = snapshot, texts / pages if pages else 1.0
        return self._text_share[1]

    def _group_copies(
        self, snapshot: EngineSnapshot, found: MatchingPages, count: int
    ) -> list[tuple[tantivy.Document, float, list[str]]]:
        """Return the documents of the first `count` distinct texts, with their scores and other URLs."""
        keys = snapshot.get_numbers("text_key", [page.address for page in found.candidates])
        groups: dict[object, list[Candidate]] = {}
        for key, page in zip(keys, found.candidates, strict=True):
            if key in groups:
                groups[key].append(page)
            elif len(groups) < count:
                groups[key] = [page]
        selected = []
        for pages in groups.values():
            documents = [snapshot.searcher.doc(page.address) for page in pages[: _MAX_COPIES + 1]]
            copies = [get_stored_text(document, "page_url") for document in documents[1:]]
            selected.append((documents[0], pages[0].score, copies))
        return selected

    def get_vector(self, url: str) -> dict[str, float]:
        """Return the term vector of a page; empty if the index does not contain the page."""
        snapshot = self._get_snapshot()
        with self._translate_errors():
            document = snapshot.find_page(_compute_id(url))
            if document is None:
                return {}
            language = document.get_first("language") or ""
            title, text = get_stored_text(document, "title"), get_stored_text(document, "body")
            return build_page_vector(title, text, language, lambda words: snapshot.compute_idf(words, language))

    def compute_sketch(self, size: int) -> tuple[int, list[int]]:
        """Return the number of distinct texts, and the `size` lowest of their fingerprints (see `overlap.py`)."""
        with translate_errors(self._index_directory / INDEX_FILE):
            ((count,),) = self._database.execute(f"SELECT count(DISTINCT text_key) FROM pages WHERE state = {LIVE}")
            sql = f"SELECT DISTINCT text_key FROM pages WHERE state = {LIVE} ORDER BY text_key LIMIT ?"
            return int(count), [int(key) for (key,) in self._database.execute(sql, (size,))]

    def _get_snapshot(self) -> EngineSnapshot:
        """Return a snapshot of the last commit."""
        with self._translate_errors():
            directory = self._index_directory if self._links is None else Path(self._links.name)
            status = (directory / ENGINE_DIRECTORY / "meta.json").stat()
            ((version,),) = self._database.execute("PRAGMA data_version")
            commit = status.st_mtime_ns, status.st_ino, int(version)
            if self._snapshot is None or commit != self._commit:
                self._engine.reload()
                documents = count_engine_documents(directory)
                self._snapshot = EngineSnapshot(self._engine, self._load_languages(), document_count=documents)
                self._commit = commit
            return self._snapshot

    def _load_languages(self) -> dict[str, LanguageStats]:
        sql = f"SELECT language, count(*), sum(words) FROM pages WHERE state = {LIVE} GROUP BY language"
        return {language: LanguageStats(pages, words) for language, pages, words in self._database.execute(sql)}

    def _translate_errors(self) -> Any:
        return translate_engine_errors(self._index_directory / ENGINE_DIRECTORY)

    def _build_hit(
        self, document: tantivy.Document, score: float, snippet: Snippet, copies: Sequence[str], *, has_summary: bool
    ) -> SearchHit:
        verdict = document.get_first("verdict") or ""
        return SearchHit(
            get_stored_text(document, "page_url"),
            get_stored_text(document, "title"),
            score,
            snippet,
            document.get_first("language") or "",
            document.get_first("relevance") or 0.0,
            "" if verdict == "none" else verdict,
            document.get_first("at") or 0.0,
            get_stored_text(document, "digest"),
            (self.name,),
            tuple(copies),
            _summarise(document) if has_summary else (),
        )


def _list_stems(snapshot: EngineSnapshot, query: ParsedQuery, stats: CorpusStats) -> set[str]:
    """Return the stems of a query that snippets mark."""
    clauses = [clause for clause in select_clauses(query, stats) if not stats.is_too_common(clause.key)]
    return {stem for forms in snapshot.list_scored_forms(clauses).values() for form in forms for stem in form.stems}


def _summarise(document: tantivy.Document) -> tuple[str, ...]:
    """Return the main sentences of a page. The index stores no styles, so hidden text is not recognised here."""
    page = Page(
        get_stored_text(document, "page_url"),
        title=get_stored_text(document, "title"),
        text=get_stored_text(document, "body"),
        language=document.get_first("language") or "",
    )
    return tuple(sentence[:_MAX_SENTENCE_CHARS] for sentence in select_summary(page, limit=SHOWN_SENTENCES))


def _compute_id(url: str) -> int:
    """Return the page id of a URL."""
    return fingerprint(canonicalize_url(url) or url)


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
