"""Step 9. From collections to answers: an index of each, and one answer from many, here and on other servers.

    index.py       Index: the full text of one collection, brought up to date from its store
    query.py       what is asked: words, "phrases", fields
    scoring.py     BM25 over what the index holds, with anybody's statistics
    servers.py     Server: who answers; `Here` for directories on this machine, `peer.py` for other servers
    answer.py      a query to the servers that may know, and one answer from all
    feedback.py    this one yes, this one no: Rocchio

`answer`, `more_like` and `judge` are coroutines; an `Index` is for one thread.
"""

from topicrawl.search.answers import Answer, Asked, Feedback, Hit, Overlap, Query

__all__ = ["Answer", "Asked", "Feedback", "Hit", "Overlap", "Query"]
