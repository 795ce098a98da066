"""What every relevance model promises: it judges fetched pages and knows nothing of links."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from topicrawl.records import Page


@runtime_checkable
class Relevance(Protocol):
    """Judges a page that has been fetched."""

    def score(self, page: Page) -> float:
        """From 0, nothing to do with the topic, to 1, all about it."""

    def learn(self, page: Page, relevant: bool) -> None:
        """A reader's verdict on a page."""


@runtime_checkable
class Forgetful(Protocol):
    """A model that can take back what it learned from a page; others are told the new verdict alone."""

    def forget(self, url: str) -> None:
        """A verdict was taken back."""
