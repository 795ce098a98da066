"""Limits on the work for one query in one collection.

The engine cannot interrupt a query, so the limits bound its work: the words that it scores, the phrases whose positions
it compares, and the words that prefixes match.
"""

from __future__ import annotations

from topicrawl.errors import CollectionError

MAX_PREFIX_WORDS = 2000  # words of the index that all prefixes of a query match together
MAX_SCORED_CLAUSES = 64  # words, phrases and prefixes of a query that are scored: those with the highest weight · idf
MAX_PHRASES = 16  # phrases of a query


def check_prefix_words(number: int) -> None:
    """Raise `CollectionError` if the prefixes of a query match too many words of the index."""
    if number > MAX_PREFIX_WORDS:
        raise CollectionError(
            f"the prefixes of the query match {number} words, and the maximum is {MAX_PREFIX_WORDS}: "
            "use longer or fewer prefixes"
        )
