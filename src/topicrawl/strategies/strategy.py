"""What every strategy promises: it gives links a place in the frontier.

A strategy answers and never acts: no I/O, no clock, no view of the frontier; randomness is handed to it.
Its parameters are its dataclass fields, with the values of its paper as defaults.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, ClassVar, Protocol

from topicrawl.records import Around, Carry, Link, Place, Visit
from topicrawl.strategies.material import Material
from topicrawl.topic import Topic

if TYPE_CHECKING:
    from topicrawl.relevance.vsm import Vsm  # it loads numpy, which `--help` can do without


@dataclass(frozen=True, slots=True)
class Setting:
    """What a strategy is told before the first page."""

    topic: Topic
    vsm: Vsm  # shared with the judge, so that a page is weighed once
    random: Random
    describe: Callable[[str], str | None] = field(default=lambda url: None)  # what search engines say of a URL


class Colleague(Protocol):
    """How a strategy that learns believes the same in all workers of a crawl."""

    def lesson(self) -> Carry:
        """What was learned here since the last lesson, as plain values; None: nothing."""

    def hear(self, lesson: Carry) -> None:
        """Take in another worker's lesson."""

    def revised(self) -> Mapping[str, float]:
        """New scores for links that wait, after lessons were heard; each worker has its own links."""

    def beliefs(self) -> Carry:
        """The sum of all lessons that were given or heard, for a worker that comes later."""

    def take(self, beliefs: Carry) -> None:
        """Believe that, and nothing else."""


class Strategy(ABC):
    """From a link to its place in the frontier."""

    name: ClassVar[str]
    family: ClassVar[str]
    paper: ClassVar[str]  # short reference
    inputs: ClassVar[tuple[str, ...]] = ("words",)  # of: words, examples, sessions
    context: ClassVar[Around | bool] = Around.NOTHING  # what it reads of what stands around links
    styles: ClassVar[bool] = False  # whether it reads the styled sentences of pages
    batch: int = 1  # links taken from the frontier at a time

    def begin(self, setting: Setting) -> None:
        """Called once, before anything else."""
        self.setting = setting

    def prepare(self, material: Material) -> None:  # noqa: B027 - most strategies need words alone
        """Called once after `begin`, in a new crawl: train on what there is, or say what is missing and how to make it.

        A crawl that goes on is given its `state` back instead, so what was trained is part of it.
        """

    def seeds(self, links: Sequence[Link]) -> list[Place]:
        """Where the crawl's first links go: to the front."""
        return [Place(1.0) for _ in links]

    @abstractmethod
    def place(self, links: Sequence[Link], visit: Visit) -> list[Place | None]:
        """A place for each link of a visited page. None: not to be followed from here. No state changes here."""

    def combine(self, old: Place, new: Place) -> Place:
        """The place of a waiting link when a second page links to it; by default the better one."""
        return new if new.score > old.score else old

    def reasons(self, link: Link) -> tuple[tuple[str, float], ...]:
        """What speaks for a link whose page has arrived, asked before `learn`; none: the parts of its place say it all.

        For strategies whose parts are too costly to name for every link that is offered.
        """
        return ()

    def learn(self, visit: Visit) -> None:  # noqa: B027 - most strategies have nothing to learn
        """Every visit passes here before its links are placed; with `revise`, the only place where the state changes.

        After a crash the visits since the last checkpoint pass here again, in the same order.
        """

    def revise(self) -> Mapping[str, float]:
        """New scores for links that wait, asked for after every visit."""
        return {}

    def state(self) -> Carry:
        """What was learned, as plain values."""
        return None

    def restore(self, state: Carry) -> None:  # noqa: B027 - nor anything to take up
        """Take up what `state` gave."""

    def colleague(self) -> Colleague | None:
        """What workers of one crawl tell each other, where that is less than the visits; None: they tell their visits.

        Asked for once, before the first visit.
        """
        return None

    @property
    def combines(self) -> bool:
        """Whether a second in-link does anything else than raise the score."""
        return type(self).combine is not Strategy.combine
