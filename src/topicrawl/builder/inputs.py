"""The inputs from which a crawl, a recrawl or an import is assembled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from topicrawl.fetch.replay import Recording
from topicrawl.seeds.election import ElectionResult
from topicrawl.settings import Settings
from topicrawl.topic import Topic


@dataclass(frozen=True, slots=True)
class RecrawlOptions:
    """Options of a recrawl."""

    clock: Callable[[], float]
    forget_after: float


@dataclass(frozen=True, slots=True)
class CrawlInputs:
    """What the caller wants to crawl.

    A `recording` replaces the web. `stored_settings` are the settings of the next run, if they differ from `settings`.
    """

    directory: Path
    topic: Topic
    settings: Settings
    seeds: tuple[str, ...] = ()
    election: ElectionResult | None = None
    recrawl_options: RecrawlOptions | None = None
    recording: Recording | None = None
    stored_settings: Settings | None = None
