"""Protocols of relevance models. A relevance model scores fetched pages; it does not score links."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol, runtime_checkable

from topicrawl.models import JsonValue, Page, PageJudgement

#: Names of the relevance models of Topicrawl.
BUILT_IN_JUDGES = ("topic", "cosine", "multi_metric", "summary")
#: Review group of the pages that need no review.
UNDOUBTED = "undoubted"
#: Multiple of the threshold's odds from which a page is undoubtedly relevant, for models that give a probability.
_UNDOUBTED_ODDS_FACTOR = 4.0


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
class BuildsJudgements(Protocol):
    """Relevance model that says which metrics select a page. The relevance of other models is their only metric."""

    def build_judgement(self, page: Page) -> PageJudgement:
        """Return the metrics that select a page, and its review group. The crawl calls this after `score`."""


def is_undoubted(relevance: float, threshold: float) -> bool:
    """Return whether the odds of a page are at least four times those of the threshold: .8 for a threshold of .5.

    >>> is_undoubted(0.8, 0.5), is_undoubted(0.79, 0.5), is_undoubted(1.0, 1.0), is_undoubted(0.5, 0.0)
    (True, False, True, True)
    """
    return relevance * (1 - threshold) >= _UNDOUBTED_ODDS_FACTOR * threshold * (1 - relevance)


def build_score_judgement(relevance: float, threshold: float) -> PageJudgement:
    """Return the judgement on a page of which only the relevance is known.

    >>> [build_score_judgement(score, 0.5).group for score in (0.4, 0.5, 0.8)]
    ['', 'relevance', 'undoubted']
    """
    scores = {"relevance": relevance}
    if relevance < threshold:
        return PageJudgement(scores=scores)
    return PageJudgement(UNDOUBTED if is_undoubted(relevance, threshold) else "relevance", ("relevance",), scores)


@runtime_checkable
class SupportsForget(Protocol):
    """Relevance model that can discard the annotation of a page.

    Other models receive only the new annotation when a user changes one.
    """

    def forget(self, url: str) -> None:
        """Discard the annotation of the page at a URL."""
