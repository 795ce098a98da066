"""After the crawl. Collections become answers: an index of each, and one answer from many, here and on other servers.

    index.py       Index: the full text of one collection; `indexing.py` brings it up to date from the store, with what
                   `reading.py` makes of pages and `segments.py` of their words
    query.py       what is asked: words, "phrases", fields
    scoring.py     BM25 over what the index holds, with anybody's statistics
    servers.py     Server: who answers; Here: the collections on this machine; `peer.py`: Peer, another server
    cori.py        which collections are worth asking
    answer.py      a query to the servers that may know, and one answer from all
    feedback.py    this one yes, this one no: Rocchio
    wire.py        what servers say to each other: `reply` answers for `POST /api/peer/…`

`answer`, `more_like` and `judge` are coroutines; an `Index` is for one thread.
"""

from topicrawl.search.answer import answer, judge, more_like, overlapping
from topicrawl.search.answers import Answer, Asked, Feedback, Hit, Overlap, Query
from topicrawl.search.feedback import taught
from topicrawl.search.index import Index
from topicrawl.search.peer import Peer
from topicrawl.search.servers import Here, Server
from topicrawl.search.wire import reply

__all__ = [
    "Answer",
    "Asked",
    "Feedback",
    "Here",
    "Hit",
    "Index",
    "Overlap",
    "Peer",
    "Query",
    "Server",
    "answer",
    "judge",
    "more_like",
    "overlapping",
    "reply",
    "taught",
]
