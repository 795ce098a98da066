"""Full-text search: one index per collection, and federated queries over local and remote collections.

    index.py       `SearchIndex`: full-text search in one collection. `indexing.py` updates the index from the store,
                   `index_file.py` describes its files, `analysis.py` stems words
    snapshot.py    queries to the search engine (tantivy), and scores with the statistics of all collections
    query.py       parser of the query language: words, "phrases", fields, filters
    bm25.py        BM25 with the corpus statistics of any set of collections
    servers.py     `SearchServer`: the search protocol; `LocalServer`: the collections on this machine
    remote.py      `RemoteServer`: the collections of another Topicrawl server
    cori.py        collection selection
    federated.py   send a query to the selected collections of all servers and merge the results
    feedback.py    relevance feedback (Rocchio)
    protocol.py    JSON messages between servers: `handle_request` implements `POST /api/peer/…`

`search_servers`, `find_similar_pages` and `submit_feedback` are coroutines. A `SearchIndex` belongs to one thread.
"""

from topicrawl.search.federated import (
    SearchScope,
    compute_overlaps,
    find_similar_pages,
    search_servers,
    submit_feedback,
    undo_feedback,
)
from topicrawl.search.feedback import apply_feedback, parse_feedback
from topicrawl.search.index import SearchIndex
from topicrawl.search.models import CollectionReport, Feedback, Overlap, Query, SearchHit, SearchResults
from topicrawl.search.protocol import handle_request
from topicrawl.search.remote import RemoteServer
from topicrawl.search.servers import LocalServer, SearchServer

__all__ = [
    "CollectionReport",
    "Feedback",
    "LocalServer",
    "Overlap",
    "Query",
    "RemoteServer",
    "SearchHit",
    "SearchIndex",
    "SearchResults",
    "SearchScope",
    "SearchServer",
    "apply_feedback",
    "compute_overlaps",
    "find_similar_pages",
    "handle_request",
    "parse_feedback",
    "search_servers",
    "submit_feedback",
    "undo_feedback",
]
