"""Queries, results and feedback of the search; `msgspec.to_builtins` converts them for JSON.

`msgspec.convert` checks the limits of the annotated types. Constructors do not check them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, TypeAlias

from msgspec import Meta, Struct, field

MAX_QUERY_CHARS = 5000  # maximum length of a query in characters: an abstract
MAX_HITS = 100  # maximum number of hits in one response
MAX_OFFSET = 1000  # maximum offset of the first hit
MAX_KEYS = 200  # maximum number of keys of one JSON object
MAX_STATISTICS = 3000  # maximum number of words of a query with corpus statistics

Count: TypeAlias = Annotated[int, Meta(ge=0, lt=1 << 53)]
FiniteNumber: TypeAlias = Annotated[float, Meta(ge=-1e300, le=1e300)]
UrlText: TypeAlias = Annotated[str, Meta(max_length=2000)]
Keyword: TypeAlias = Annotated[str, Meta(max_length=1000)]
ShortText: TypeAlias = Annotated[str, Meta(max_length=20)]
Snippet: TypeAlias = Annotated[tuple[tuple[Annotated[str, Meta(max_length=500)], bool], ...], Meta(max_length=MAX_KEYS)]
WordWeights: TypeAlias = Annotated[Mapping[Keyword, FiniteNumber], Meta(max_length=MAX_KEYS)]
#: Facet → value → number of matching pages.
FacetCounts: TypeAlias = Annotated[
    Mapping[ShortText, Annotated[Mapping[Keyword, Count], Meta(max_length=MAX_KEYS)]], Meta(max_length=20)
]
UrlTuple: TypeAlias = Annotated[tuple[UrlText, ...], Meta(max_length=MAX_HITS)]


class Query(Struct, frozen=True):
    """A search query; `text` may contain phrases, fields and filters (see `query.py`)."""

    text: Annotated[str, Meta(max_length=MAX_QUERY_CHARS)]
    count: Annotated[int, Meta(ge=1, le=MAX_OFFSET + MAX_HITS)] = 10
    offset: Annotated[int, Meta(ge=0, le=MAX_OFFSET)] = 0
    weights: WordWeights = field(default_factory=dict)  # word → weight, from feedback, in addition to the text
    without: UrlTuple = ()  # URLs to leave out of the hits
    learned: bool = True  # whether servers may add words from earlier feedback on similar queries
    facets: bool = False  # whether to count the matching pages by facet
    summaries: bool = False  # whether the hits have the summaries of their pages


class SearchHit(Struct, frozen=True):
    """A page that matches a query."""

    url: UrlText
    title: Keyword
    score: FiniteNumber
    snippet: Snippet = ()  # pieces of plain text, each with a flag: it matches the query
    language: ShortText = ""
    relevance: FiniteNumber = 0.0  # to the topic of the collection
    verdict: ShortText = ""  # annotation: "relevant", "irrelevant" or "unsure"; empty if the page has none
    at: FiniteNumber = 0.0  # fetch time, as a Unix timestamp
    digest: Annotated[str, Meta(max_length=64)] = ""
    collections: tuple[str, ...] = ()  # names of the collections that contain the page
    copies: UrlTuple = ()  # other URLs with the same text
    summary: Annotated[tuple[Annotated[str, Meta(max_length=2000)], ...], Meta(max_length=20)] = ()  # if requested


class CollectionReport(Struct, frozen=True):
    """A collection considered for a query: whether it was searched, and with what result."""

    name: str  # unique in the results; collections of a remote server have its address as a prefix
    pages: int
    belief: float  # CORI belief that the collection contains matching pages, 0…1
    chosen: bool
    found: int = 0  # number of matching pages
    trouble: str = ""  # error message in one line; empty if the collection was searched without an error


class Overlap(Struct, frozen=True):
    """Share of the smaller of two collections that the other one contains too."""

    one: str
    other: str
    share: float


class SearchResults(Struct, frozen=True):
    """The best hits of all collections that were searched."""

    query: Query
    hits: tuple[SearchHit, ...] = ()
    found: int = 0  # number of matching pages, without the known copies
    asked: tuple[CollectionReport, ...] = ()
    overlaps: tuple[Overlap, ...] = ()
    seconds: float = 0.0
    facets: FacetCounts = field(default_factory=dict)  # matching pages by facet, if the query asks for them


class Feedback(Struct, frozen=True):
    """Relevance feedback: which hits of a query are relevant and which are not."""

    query: str
    relevant: tuple[str, ...] = ()  # URLs
    irrelevant: tuple[str, ...] = ()  # URLs
    terms: Mapping[str, float] = field(default_factory=dict)  # word → Rocchio weight, computed by `submit_feedback`
    id: str = ""  # the same on every server that receives the feedback
    at: float = 0.0
    teach: bool = False  # whether the pages also become verdicts, so that the topics of their crawls change
