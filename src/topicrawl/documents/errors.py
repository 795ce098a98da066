"""Exception of the document converters; `reader.py` turns it into a failure of the response."""

from __future__ import annotations

from topicrawl.models import Failure


class UnreadableDocument(Exception):
    """A document cannot be read: the failure, and a detail for the user."""

    def __init__(self, failure: Failure, detail: str) -> None:
        super().__init__(f"{failure}: {detail}")
        self.failure = failure
        self.detail = detail
