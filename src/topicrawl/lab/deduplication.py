"""Deduplication in a simulated crawl. It is off by default.

Labels and published figures count each recorded page by its URL, even if two pages have the same text. Without the
duplicates, harvest and recall are measured on a different web and are not comparable with published figures.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from topicrawl.collection.deduplication import DuplicateDetector
from topicrawl.collection.key_index import KeyIndex
from topicrawl.engine.sinks import MemorySink, ProcessedVisit
from topicrawl.models import Page


@dataclass
class DeduplicatingSink(MemorySink):
    """Visit sink in memory that is also the page store of a `DuplicateDetector`."""

    steps_by_url: dict[str, int] = field(default_factory=dict)  # URL → step
    key_index: KeyIndex = field(default_factory=KeyIndex)

    def __post_init__(self) -> None:
        self.duplicates = DuplicateDetector(self)

    def find_steps(self, keys: Iterable[int]) -> dict[int, int]:
        """Return the step of the page for each known deduplication key."""
        return {key: step for key in keys if (step := self.key_index.find_step(key)) is not None}

    def add_keys(self, keys: Iterable[int], step: int) -> None:
        """Add the deduplication keys of the page with this step."""
        for key in keys:
            self.key_index.add_key(key, step)

    def find_step_by_url(self, url: str) -> int | None:
        """Return the step of the page with this URL, or None."""
        return self.steps_by_url.get(url)

    def load_page(self, step: int) -> Page | None:
        """Return the page with this step, or None."""
        visit = self.visits.get(step)
        return None if visit is None else visit.page

    def store_visits(self, processed: Sequence[ProcessedVisit]) -> None:
        """Keep the successful visits and register their pages for the detection of duplicates."""
        successful = [each for each in processed if each.visit.page is not None and each.visit.failure is None]
        super().store_visits(successful)
        for visit, _, _ in successful:
            self.duplicates.register_stored(visit.url, visit.step)
            self.steps_by_url[visit.url] = visit.step
