"""Federated search over the collections of several servers (Kluev 2000, section 3: the OASIS query server).

1. Every server returns a summary of each of its collections: corpus statistics for the clauses of the query, and
   feedback on similar queries.
2. CORI selects the collections to search.
3. The selected collections are searched with the statistics of all collections together, so that their scores are
   comparable.
4. The hits are merged. A page in several collections is one hit that names all of them.

If a server fails, the results contain its error message and the hits of the other servers.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from msgspec.structs import replace

from topicrawl.errors import TopicrawlError, UsageError
from topicrawl.search import cori
from topicrawl.search.bm25 import CorpusStats
from topicrawl.search.feedback import assign_id, merge_feedback, rocchio
from topicrawl.search.index import NO_HITS, SIMILARITY_WEIGHT, CollectionHits
from topicrawl.search.models import (
    MAX_HITS,
    MAX_OFFSET,
    CollectionReport,
    FacetCounts,
    Feedback,
    Overlap,
    Query,
    SearchHit,
    SearchResults,
)
from topicrawl.search.overlap import find_overlaps
from topicrawl.search.query import parse_query
from topicrawl.search.servers import CollectionSummary, LocalServer, SearchServer

T = TypeVar("T")
REQUEST_TIMEOUT = 10.0  # timeout of each of the two requests to a server


@dataclass(frozen=True, slots=True)
class SearchScope:
    """The collections that a query may search, and how many of them it does."""

    names: tuple[str, ...] = ()  # names of collections as in the results; empty for all collections
    search_all: bool = False  # search all of them, not only those that are likely to match
    max_collections: int | None = None  # maximum number of searched collections


@dataclass
class _SearchCandidate:
    """The state of one collection during a query."""

    server: SearchServer
    summary: CollectionSummary
    belief: float = 0.0
    is_selected: bool = False
    hits: CollectionHits = NO_HITS
    error: str = ""
    is_searched: bool = False  # the collection has already been searched

    @property
    def name(self) -> str:
        """Name of the collection, with the address of its server as a prefix if the server is remote."""
        return f"{self.server.address}/{self.summary.name}" if self.server.address else self.summary.name

    def to_report(self) -> CollectionReport:
        """Return the report on this collection for the results."""
        pages = self.summary.world.pages
        return CollectionReport(self.name, pages, round(self.belief, 4), self.is_selected, self.hits.total, self.error)


async def search_servers(
    servers: Sequence[SearchServer],
    query: Query,
    *,
    scope: SearchScope | None = None,
    overlap: bool = False,
    timeout_seconds: float = REQUEST_TIMEOUT,
) -> SearchResults:
    """Search the collections of all servers and return the best hits.

    `scope` selects the collections, by default all that are likely to match. With `overlap`, the results contain the
    overlaps of the collections. `timeout_seconds` is the time limit of one request to a server, in seconds. The reports
    in the results name the servers and collections that failed. Raise `UsageError` if the query is invalid.
    """
    started = time.perf_counter()
    if not (0 < query.count <= MAX_HITS and 0 <= query.offset <= MAX_OFFSET):
        raise UsageError(f"the number of hits must be from 1 to {MAX_HITS} and the offset at most {MAX_OFFSET}")
    scope = scope or SearchScope()
    parsed_query = parse_query(query)
    candidates, failures = await _get_summaries(servers, query, scope, timeout_seconds)
    if query.learned and (
        gained := merge_feedback(feedback for candidate in candidates for feedback in candidate.summary.feedback)
    ):
        query = replace(query, weights={**gained, **query.weights}, learned=False)
        parsed_query = parse_query(query)
        # Words from the feedback of one server apply to all servers.
        candidates, failures = await _get_summaries(servers, query, scope, timeout_seconds)
    weights = {clause.key: weight for clause, weight in parsed_query.clause_weights.items()}
    stats_list = [candidate.summary.world for candidate in candidates]
    stats = CorpusStats.merge(stats_list)
    for candidate, belief, is_selected in zip(
        candidates,
        cori.compute_beliefs(stats_list, weights),
        _select_collections(stats_list, weights, scope),
        strict=True,
    ):
        candidate.belief, candidate.is_selected = belief, is_selected
        candidate.hits = candidate.hits if is_selected else NO_HITS
    await _search_candidates(candidates, query, stats, timeout_seconds)
    labelled = [hit for candidate in candidates for hit in _label_hits(candidate, _compute_max_score(stats, weights))]
    hits = merge_hits(labelled)
    common = await compute_overlaps(servers, timeout_seconds=timeout_seconds) if overlap else ()
    reports = (candidate.to_report() for candidate in sorted(candidates, key=lambda candidate: -candidate.belief))
    return SearchResults(
        query,
        tuple(hits[query.offset : query.offset + query.count]),
        sum(candidate.hits.total for candidate in candidates) - (len(labelled) - len(hits)),
        (*reports, *failures),
        common,
        time.perf_counter() - started,
        merge_facets(candidate.hits.facets for candidate in candidates),
    )


async def find_similar_pages(
    servers: Sequence[SearchServer],
    url: str,
    *,
    count: int = 10,
    scope: SearchScope | None = None,
    timeout_seconds: float = REQUEST_TIMEOUT,
) -> SearchResults:
    """Find pages similar to the page at `url`, without the page itself ("more like this").

    The page may be in any collection; `scope` selects those to search. Raise `UsageError` if no collection contains it.
    """
    vectors = await _get_vectors(servers, [url], timeout_seconds)
    if not vectors:
        raise UsageError(f"{url} is in none of the collections")
    strongest = dict(list(vectors[0].items())[:25])
    query = Query("", count, 0, strongest, (url,), learned=False)
    return await search_servers(servers, query, scope=scope, timeout_seconds=timeout_seconds)


async def submit_feedback(
    servers: Sequence[SearchServer],
    query: str,
    relevant: Sequence[str],
    irrelevant: Sequence[str],
    *,
    at: float,
    teach: bool = False,
) -> Feedback:
    """Compute the Rocchio weights of relevance feedback and send the feedback to all servers.

    The servers apply it to later queries that are similar. With `teach`, servers may also store it as verdicts on the
    pages, which change the topics of crawls. `at` is the time of the feedback as a Unix timestamp. Raise `UsageError`
    if no collection contains any of the pages. Servers that do not answer are skipped.
    """
    groups = await asyncio.gather(*(_get_vectors(servers, urls, REQUEST_TIMEOUT) for urls in (relevant, irrelevant)))
    if not any(groups):
        raise UsageError("none of these pages is in any of the collections")
    terms = rocchio(query, *groups)
    feedback = assign_id(Feedback(query, tuple(relevant), tuple(irrelevant), terms, at=at, teach=teach))
    await asyncio.gather(*(_await_reply(server, server.add_feedback(feedback), REQUEST_TIMEOUT) for server in servers))
    return feedback


async def undo_feedback(servers: Sequence[SearchServer], feedback_id: str) -> None:
    """Undo feedback on all servers. Servers that do not answer are skipped."""
    requests = (_await_reply(server, server.remove_feedback(feedback_id), REQUEST_TIMEOUT) for server in servers)
    await asyncio.gather(*requests)


async def compute_overlaps(
    servers: Sequence[SearchServer], *, timeout_seconds: float = REQUEST_TIMEOUT
) -> tuple[Overlap, ...]:
    """Estimate the overlap of each pair of collections. Servers that do not answer are left out."""
    replies = await asyncio.gather(
        *(_await_reply(server, server.get_sketches(), timeout_seconds) for server in servers)
    )
    sketches = {
        f"{server.address}/{name}" if server.address else name: sketch
        for server, (server_sketches, _) in zip(servers, replies, strict=True)
        for name, sketch in (server_sketches or {}).items()
    }
    return find_overlaps(sketches)


def merge_hits(hits: Iterable[SearchHit]) -> list[SearchHit]:
    """Sort hits by score and merge those with the same URL or the same text.

    >>> one, two = (
    ...     SearchHit("http://a.example/", "A", 2.0, digest="x"),
    ...     SearchHit("http://b.example/", "A", 1.0, digest="x"),
    ... )
    >>> [(hit.url, hit.copies) for hit in merge_hits([two, one])]
    [('http://a.example/', ('http://b.example/',))]
    """
    merged: list[SearchHit] = []
    positions: dict[str, int] = {}
    for hit in sorted(hits, key=lambda hit: (-hit.score, hit.url)):
        at = positions.get(hit.url, positions.get(f"digest {hit.digest}") if hit.digest else None)
        if at is None:
            at = len(merged)
            merged.append(hit)
        else:
            first = merged[at]
            copies = dict.fromkeys(url for url in (*first.copies, hit.url, *hit.copies) if url != first.url)
            collections = dict.fromkeys((*first.collections, *hit.collections))
            merged[at] = replace(first, copies=tuple(copies), collections=tuple(collections))
        positions[hit.url] = at
        if hit.digest:
            positions[f"digest {hit.digest}"] = at
    return merged


def merge_facets(collections: Iterable[FacetCounts]) -> dict[str, dict[str, int]]:
    """Return the sum of the facets of several collections, with the most frequent values first.

    >>> merge_facets([{"language": {"en": 2}}, {"language": {"de": 3, "en": 2}}])
    {'language': {'en': 4, 'de': 3}}
    """
    merged: dict[str, Counter[str]] = {}
    for facets in collections:
        for name, counts in facets.items():
            merged.setdefault(name, Counter()).update(counts)
    return {name: dict(counts.most_common()) for name, counts in merged.items()}


def _select_collections(stats_list: Sequence[CorpusStats], weights: dict[str, float], scope: SearchScope) -> list[bool]:
    if not weights or scope.search_all:
        return [True] * len(stats_list)  # if the query has only filters, there are no statistics for them
    return cori.select_collections(stats_list, weights, limit=scope.max_collections)


async def _get_summaries(
    servers: Sequence[SearchServer], query: Query, scope: SearchScope, timeout_seconds: float
) -> tuple[list[_SearchCandidate], tuple[CollectionReport, ...]]:
    """Return the collections in the scope with their summaries, and reports on the servers that failed.

    Raise `UsageError` if no server has a collection of the scope.
    """
    if len(servers) == 1 and not scope.names and isinstance(local := servers[0], LocalServer):
        # The statistics of a single collection are those of all collections, so one request is enough.
        reply, error = await _await_reply(local, local.search_single(_from_first_hit(query)), timeout_seconds)
        if reply is not None:
            summary, hits = reply
            return [_SearchCandidate(local, summary, hits=hits, error=summary.trouble, is_searched=True)], ()
        if error:
            return [], (CollectionReport("here", 0, 0.0, False, 0, error),)
    replies = await asyncio.gather(
        *(_await_reply(server, server.get_summaries(query), timeout_seconds) for server in servers)
    )
    candidates, failures = [], []
    for server, (summaries, error) in zip(servers, replies, strict=True):
        candidates += [_SearchCandidate(server, summary, error=summary.trouble) for summary in summaries or ()]
        if error:
            failures.append(CollectionReport(server.address or "here", 0, 0.0, False, 0, error))
    if scope.names:
        candidates = [candidate for candidate in candidates if candidate.name in scope.names]
        if not candidates and not failures:
            raise UsageError(f"there is no collection {scope.names[0]!r}")
    return candidates, tuple(failures)


async def _search_candidates(
    candidates: Sequence[_SearchCandidate], query: Query, stats: CorpusStats, timeout_seconds: float
) -> None:
    """Search the selected collections and set their hits or errors.

    A collection returns each text once, so the number of hits that the caller needs is enough from each collection.
    """
    full_query = _from_first_hit(query)
    by_server: dict[int, list[_SearchCandidate]] = {}
    for candidate in candidates:
        if candidate.is_selected and not candidate.is_searched:
            by_server.setdefault(id(candidate.server), []).append(candidate)
    groups = list(by_server.values())
    replies = await asyncio.gather(
        *(
            _await_reply(
                server,
                server.search(full_query, [candidate.summary.name for candidate in group], stats),
                timeout_seconds,
            )
            for group in groups
            for server in (group[0].server,)
        )
    )
    for group, (hits, error) in zip(groups, replies, strict=True):
        for candidate in group:
            is_missing = hits is None or candidate.summary.name not in hits
            candidate.error = error or ("the collection could not be searched" if is_missing else "")
            candidate.hits = NO_HITS if hits is None else hits.get(candidate.summary.name, NO_HITS)


def _from_first_hit(query: Query) -> Query:
    """Return the query with offset 0, because the offset applies to the merged hits of all collections."""
    return replace(query, count=query.offset + query.count, offset=0)


def _compute_max_score(stats: CorpusStats, weights: dict[str, float]) -> float:
    return (1 + SIMILARITY_WEIGHT) * stats.max_score(weights)


def _label_hits(candidate: _SearchCandidate, max_score: float) -> Iterable[SearchHit]:
    """Set the collection name of hits, and limit scores to the possible maximum, which a remote server may exceed."""
    return (replace(hit, score=min(hit.score, max_score), collections=(candidate.name,)) for hit in candidate.hits.hits)


async def _get_vectors(
    servers: Sequence[SearchServer], urls: Sequence[str], timeout_seconds: float
) -> list[dict[str, float]]:
    """Return the term vectors of pages; leave out pages that no server has."""
    vectors = []
    for url in urls:
        replies = await asyncio.gather(
            *(_await_reply(server, server.get_vector(url), timeout_seconds) for server in servers)
        )
        vectors += [vector for vector, _ in replies if vector][:1]
    return vectors


async def _await_reply(server: SearchServer, request: Awaitable[T], timeout_seconds: float) -> tuple[T | None, str]:
    """Await a request to a server; return the reply and "", or None and an error message.

    A `UsageError` is raised, because the query is invalid for every server.
    """
    try:
        async with asyncio.timeout(timeout_seconds):
            return await request, ""
    except TimeoutError:
        return None, f"no answer within {timeout_seconds:g} s"
    except UsageError:
        raise
    except TopicrawlError as error:
        return None, str(error).removeprefix(f"{server.address}: ")  # the report shows the address of the server
