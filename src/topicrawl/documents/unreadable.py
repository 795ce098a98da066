"""Why a document cannot be read; readers of documents raise it, and it ends as a failure's value."""

from __future__ import annotations

from topicrawl.records import Failure


class Unreadable(Exception):
    """A named reason with a line for people."""

    def __init__(self, failure: Failure, detail: str) -> None:
        super().__init__(f"{failure}: {detail}")
        self.failure = failure
        self.detail = detail
