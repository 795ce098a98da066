"""What a strategy may learn from before the first page: examples, the links that lead to them, browsing sessions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from topicrawl.errors import StrategyError
from topicrawl.records import Link, Page


class Material(Protocol):
    """Where examples come from: a recorded web, an earlier crawl. Nothing of the crawl to come is in it."""

    @property
    def relevant(self) -> Sequence[str]:
        """Canonical URLs of example pages on the topic, without repeats."""

    @property
    def irrelevant(self) -> Sequence[str]:
        """Canonical URLs of example pages that are not."""

    @property
    def sessions(self) -> Sequence[Sequence[str]]:
        """What people read one page after the other, as canonical URLs; a step back repeats the earlier page."""

    def page(self, url: str) -> Page | None:
        """A page that is there to be read, at the end of its redirects. None: it is not there."""

    def parents(self, url: str, most: int = 5) -> Sequence[Link]:
        """The first links on other pages that lead to a URL, with their context; `source` is the parent's URL."""


@dataclass(frozen=True)
class Nothing:
    """Material of which only the names are known: there is no page to read."""

    relevant: Sequence[str] = ()
    irrelevant: Sequence[str] = ()
    sessions: Sequence[Sequence[str]] = ()

    def page(self, url: str) -> Page | None:
        return None

    def parents(self, url: str, most: int = 5) -> Sequence[Link]:
        return ()


def file_text(path: str, strategy: str) -> str:
    """The text of a file that a parameter of a strategy names."""
    try:
        return Path(path).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise StrategyError(f"{strategy}: {path} cannot be read: {reason}") from error
