"""Looking for pages that repeat others in an experiment: off unless it is asked for.

Labels and published figures count each recorded page by its address, also where two have the same text. With pages
left out, harvest and recall would be measured on another web than the one that others were measured on.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from topicrawl.collection.duplicates import Duplicates
from topicrawl.collection.marks import Marks
from topicrawl.parts import Found
from topicrawl.records import Link, Page, Response


@dataclass
class Remembered:
    """The pages of an experiment so far, in memory; whoever keeps visits, and whoever looks for duplicates."""

    pages: dict[int, Page] = field(default_factory=dict)  # by step
    places: dict[str, int] = field(default_factory=dict)  # by address
    marks: Marks = field(default_factory=Marks)

    def __post_init__(self) -> None:
        self.duplicates = Duplicates(self)

    def steps(self, marks: Iterable[int]) -> dict[int, int]:
        return {mark: step for mark in marks if (step := self.marks.step(mark)) is not None}

    def add(self, marks: Iterable[int], step: int) -> None:
        for mark in marks:
            self.marks.add(mark, step)

    def step_at(self, url: str) -> int | None:
        return self.places.get(url)

    def page(self, step: int) -> Page | None:
        return self.pages.get(step)

    # As whoever keeps visits

    def step_of(self, link: Link) -> int | None:
        return None

    def keep(self, found: Sequence[Found]) -> None:
        for visit, _, _ in found:
            if visit.page is not None and visit.failure is None:
                self.duplicates.stored(visit.url, visit.step)
                self.pages[visit.step] = visit.page
                self.places[visit.url] = visit.step

    def settled(self) -> None:
        pass

    def retry(self, link: Link, response: Response, attempt: int) -> None:
        pass
