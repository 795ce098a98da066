"""Protocols of relevance models. A relevance model scores fetched pages; it does not score links."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol, runtime_checkable

from topicrawl.models import JsonValue, Page


@runtime_checkable
class Relevance(Protocol):
    """Relevance model: scores fetched pages and learns from annotations."""

    def score(self, page: Page) -> float:
        """Return the relevance of a page, from 0 (not about the topic) to 1 (entirely about it)."""

    def learn(self, page: Page, relevant: bool) -> None:
        """Learn from a user's annotation of a page."""


@runtime_checkable
class LearnsFromPages(Protocol):
    """Relevance model that also learns from fetched pages without annotations, and whose state is saved."""

    def observe(self, page: Page) -> None:
        """Learn from a fetched page, after its score was computed. The crawl calls this once for each page."""

    def learn_examples(self, relevant: Iterable[Page], irrelevant: Iterable[Page]) -> None:
        """Learn from the example pages of the topic, before the first page."""

    def get_state(self) -> JsonValue:
        """Return what the model has learned from pages and examples."""

    def restore_state(self, state: JsonValue) -> None:
        """Restore the values of `get_state`."""


@runtime_checkable
class SharesSources(Protocol):
    """Relevance model that learns from its best pages, and exchanges them with the workers of a shared crawl."""

    def export_sources(self) -> Mapping[str, JsonValue]:
        """Return the pages of the crawl that the model learns from: URL → page as plain values."""

    def add_sources(self, sources: Mapping[str, JsonValue]) -> None:
        """Also learn from pages that another worker has exported."""


@runtime_checkable
class SupportsForget(Protocol):
    """Relevance model that can discard the annotation of a page.

    Other models receive only the new annotation when a user changes one.
    """

    def forget(self, url: str) -> None:
        """Discard the annotation of the page at a URL."""
