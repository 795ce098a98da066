"""Limits on the work for one query in one collection."""

from __future__ import annotations

import time

from topicrawl.errors import CollectionError

MAX_PREFIX_WORDS = 2000  # words of the index that all prefixes of a query match together
MAX_SECONDS = 2.0  # time to look up the words of a query and to select the hits


class QueryDeadline:
    """Time limit of one query, from its creation."""

    def __init__(self) -> None:
        self._end = time.monotonic() + MAX_SECONDS

    def check(self) -> None:
        """Raise `CollectionError` if the time is over."""
        if time.monotonic() > self._end:
            raise CollectionError(
                f"the query takes more than {MAX_SECONDS:g} s in this collection: use rarer or fewer words"
            )


def check_prefix_words(number: int) -> None:
    """Raise `CollectionError` if the prefixes of a query match too many words of the index."""
    if number > MAX_PREFIX_WORDS:
        raise CollectionError(
            f"the prefixes of the query match {number} words, and the maximum is {MAX_PREFIX_WORDS}: "
            "use longer or fewer prefixes"
        )
