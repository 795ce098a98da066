"""What every relevance model promises: it judges fetched pages and knows nothing of links."""

from __future__ import annotations

from typing import Protocol

from topicrawl.records import Page


class Relevance(Protocol):
    """Judges a page that has been fetched."""

    def score(self, page: Page) -> float:
        """From 0, nothing to do with the topic, to 1, all about it."""

    def learn(self, page: Page, relevant: bool) -> None:
        """A reader's verdict on a page."""
