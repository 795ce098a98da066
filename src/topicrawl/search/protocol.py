"""JSON messages between Topicrawl servers. Every value is validated, because it comes from another machine.

POST /api/peer/summaries   {"query": {…}}                              → {"summaries": […]}
POST /api/peer/search      {"query": {…}, "names": […], "world": {…}}  → {"found": {name: {"hits": […], …}}}
POST /api/peer/vector      {"url": "…"}                                → {"vector": {word: weight}}
POST /api/peer/sketches    {}                                          → {"sketches": {name: [pages, […]]}}
POST /api/peer/feedback    {"query": "…", "relevant": […], …}          → {"id": "…"}
POST /api/peer/undo        {"id": "…"}                                 → {"id": "…"}
"""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias, TypeVar

from msgspec import Meta, Struct, ValidationError, convert, structs, to_builtins

from topicrawl.errors import UsageError
from topicrawl.search.bm25 import CorpusStats
from topicrawl.search.feedback import parse_feedback
from topicrawl.search.index import CollectionHits
from topicrawl.search.models import (
    MAX_HITS,
    MAX_KEYS,
    MAX_OFFSET,
    Count,
    FacetCounts,
    Query,
    SearchHit,
    UrlText,
    WordWeights,
)
from topicrawl.search.overlap import SKETCH_SIZE
from topicrawl.search.servers import CollectionSummary, LocalServer, SearchServer
from topicrawl.urls import canonicalize_url

OPERATIONS = ("summaries", "search", "vector", "sketches", "feedback", "undo")
_MAX_COLLECTIONS = 200  # collections of one server

CollectionName: TypeAlias = Annotated[str, Meta(max_length=200)]
PageSketch: TypeAlias = tuple[Count, Annotated[list[int], Meta(max_length=SKETCH_SIZE)]]
T = TypeVar("T")


class SummaryRequest(Struct, frozen=True):
    """Body of a request for summaries."""

    query: Query


class SearchRequest(Struct, frozen=True):
    """Body of a search request."""

    query: Query
    names: Annotated[list[CollectionName], Meta(max_length=_MAX_COLLECTIONS)]
    world: CorpusStats


class VectorRequest(Struct, frozen=True):
    """Body of a request for a page vector."""

    url: UrlText


class UndoRequest(Struct, frozen=True):
    """Body of a request to undo feedback."""

    id: Annotated[str, Meta(max_length=64)]


class SummaryMessage(Struct, frozen=True):
    """Summary of a collection as transmitted: `parse_feedback` validates the feedback."""

    name: CollectionName
    world: CorpusStats
    feedback: Annotated[tuple[dict[str, Any], ...], Meta(max_length=MAX_KEYS)] = ()
    trouble: Annotated[str, Meta(max_length=2000)] = ""


class HitsMessage(Struct, frozen=True):
    """Hits of one collection as transmitted."""

    hits: Annotated[tuple[SearchHit, ...], Meta(max_length=MAX_OFFSET + MAX_HITS)]
    pages: Count
    facets: FacetCounts = {}


class SummariesReply(Struct, frozen=True):
    """Reply to a request for summaries."""

    summaries: list[SummaryMessage]


class SearchReply(Struct, frozen=True):
    """Reply to a search request."""

    found: dict[str, HitsMessage]


class VectorReply(Struct, frozen=True):
    """Reply to a request for a page vector."""

    vector: WordWeights


class SketchesReply(Struct, frozen=True):
    """Reply to a request for sketches."""

    sketches: dict[str, PageSketch]


async def handle_request(server: LocalServer | SearchServer, operation: str, message: object) -> dict[str, Any]:
    """Handle a request from another server and return the JSON response.

    `operation` is the last part of the request path, one of `OPERATIONS`, and `message` the decoded request body.
    Raises `UsageError` if the request is invalid.
    """
    if operation == "summaries":
        summaries = await server.get_summaries(decode_message(message, SummaryRequest).query)
        return {"summaries": to_builtins(summaries)}
    if operation == "search":
        request = decode_message(message, SearchRequest)
        results = await server.search(request.query, request.names, request.world)
        return {"found": to_builtins({name: HitsMessage(*result) for name, result in results.items()})}
    if operation == "vector":
        return {"vector": await server.get_vector(decode_message(message, VectorRequest).url)}
    if operation == "sketches":
        return {"sketches": await server.get_sketches()}
    if operation == "feedback":
        feedback = parse_feedback(message)
        await server.add_feedback(feedback)
        return {"id": feedback.id}
    if operation == "undo":
        undone = decode_message(message, UndoRequest)
        await server.remove_feedback(undone.id)
        return {"id": undone.id}
    raise UsageError(f"unknown operation {operation!r}; expected one of {', '.join(OPERATIONS)}")


def decode_message(message: object, kind: type[T]) -> T:
    """Convert a decoded JSON value to a message type; raise `UsageError` if it is invalid.

    >>> decode_message({"url": 7}, VectorRequest)
    Traceback (most recent call last):
    topicrawl.errors.UsageError: Expected `str`, got `int` - at `$.url`
    """
    try:
        return convert(message, kind)
    except ValidationError as error:
        raise UsageError(str(error)) from error


def build_summary(message: SummaryMessage) -> CollectionSummary:
    """Return the summary of a remote collection."""
    feedback = tuple(map(parse_feedback, message.feedback))
    return CollectionSummary(message.name, message.world, feedback, message.trouble)


def build_hits(message: HitsMessage) -> CollectionHits:
    """Return the hits of a remote collection, with canonical URLs. The caller sets `collections`."""
    return CollectionHits(tuple(map(_check_hit, message.hits)), message.pages, message.facets)


def _check_hit(hit: SearchHit) -> SearchHit:
    url = canonicalize_url(hit.url)
    if url is None:
        raise UsageError("the url of a hit is not a web address")
    return structs.replace(hit, url=url, collections=())
