"""Training data for strategies: examples, the links to them, and browsing sessions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from topicrawl.errors import StrategyError
from topicrawl.models import Link, Page


class TrainingData(Protocol):
    """Source of training data: a recorded web or an earlier crawl. It contains no pages of the crawl to be started."""

    @property
    def relevant(self) -> Sequence[str]:
        """Distinct canonical URLs of relevant example pages."""

    @property
    def irrelevant(self) -> Sequence[str]:
        """Distinct canonical URLs of irrelevant example pages."""

    @property
    def sessions(self) -> Sequence[Sequence[str]]:
        """Browsing sessions as sequences of canonical URLs. A step back repeats the earlier page."""

    def get_page(self, url: str) -> Page | None:
        """Return the page at a URL, after redirects, or None if it is not available."""

    def get_parents(self, url: str, limit: int = 5) -> Sequence[Link]:
        """Return the first links to a URL on other pages, with their context. Their `source` is the parent page."""


@dataclass(frozen=True)
class UrlsOnlyTrainingData:
    """Training data that has only URLs and no pages."""

    relevant: Sequence[str] = ()
    irrelevant: Sequence[str] = ()
    sessions: Sequence[Sequence[str]] = ()

    def get_page(self, url: str) -> Page | None:
        """Return None: no page is available."""
        return None

    def get_parents(self, url: str, limit: int = 5) -> Sequence[Link]:
        """Return no links: no page is available."""
        return ()


def get_example_pages(training_data: TrainingData) -> tuple[list[Page], list[Page]]:
    """Return the relevant and the irrelevant example pages that can be read."""
    relevant, irrelevant = (
        [page for url in urls if (page := training_data.get_page(url)) is not None]
        for urls in (training_data.relevant, training_data.irrelevant)
    )
    return relevant, irrelevant


def read_text_file(path: str, strategy_name: str) -> str:
    """Return the text of a UTF-8 file named by a strategy parameter. Raise `StrategyError` if it cannot be read."""
    try:
        return Path(path).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise StrategyError(f"{strategy_name}: {path} cannot be read: {reason}") from error
