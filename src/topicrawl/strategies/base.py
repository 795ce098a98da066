"""Strategy interface: compute the priority of links in the frontier.

A strategy only computes. It does no I/O, reads no clock and does not access the frontier. It gets its random generator
from the crawl. Its parameters are its dataclass fields, with the values of its paper as defaults.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, ClassVar, Protocol

from topicrawl.models import JsonValue, Link, LinkContextLevel, Page, Priority, Visit
from topicrawl.strategies.training.training_data import TrainingData
from topicrawl.topic import Topic

if TYPE_CHECKING:
    from topicrawl.relevance.base import Relevance
    from topicrawl.relevance.vsm import Vsm  # imports numpy, which `--help` does not need


@dataclass(frozen=True, slots=True)
class StrategyContext:
    """Objects that a crawl passes to its strategy before the first page."""

    topic: Topic
    vsm: Vsm  # shared with the relevance model, so each page is vectorised only once
    random: Random
    describe_url: Callable[[str], str | None] = field(
        default=lambda url: None
    )  # a search engine's description of a URL
    judge: Relevance | None = None  # the user's relevance model; None: a model of Topicrawl
    has_cosine_judge: bool = False  # whether the relevance of visits is the cosine similarity, not a probability

    def score_page(self, page: Page) -> float:
        """Return the relevance of a page: the score of the user's judge, or else the similarity to the topic."""
        return (self.vsm if self.judge is None else self.judge).score(page)

    def is_relevant(self, visit: Visit) -> bool:
        """Return whether a visit led to a relevant page, as the strategies of the papers define it.

        They compare the cosine similarity to the topic with a threshold, unless the user has a judge. A page that
        another worker has fetched is relevant if that worker's judge says so.
        """
        if self.judge is None and visit.page is not None and not self.has_cosine_judge:
            similarity = self.vsm.score(visit.page)
            return similarity > 0 and similarity >= self.topic.similarity_threshold
        return bool(visit.relevance) and (visit.relevance or 0.0) >= self.topic.threshold


class SyncProtocol(Protocol):
    """Exchange of learned state between the workers of a shared crawl."""

    def export_delta(self) -> JsonValue:
        """Return the changes learned since the last call as plain values, or None if there are none."""

    def apply_delta(self, delta: JsonValue) -> None:
        """Apply the delta of another worker."""

    def rescore_links(self) -> Mapping[str, float]:
        """Return new scores for waiting links after deltas were applied. Each worker rescores only its own links."""

    def export_snapshot(self) -> JsonValue:
        """Return the sum of all exported and applied deltas, for a worker that joins later."""

    def load_snapshot(self, snapshot: JsonValue) -> None:
        """Replace the learned state with a snapshot."""


class Strategy(ABC):
    """Base class of all strategies. A subclass implements `score_links`.

    The crawl calls `bind`, then `fit` (new crawl) or `restore_state` (resumed crawl), then `score_seeds`. After each
    fetch it calls `learn`, `score_links` and `rescore`.
    """

    name: ClassVar[str]
    family: ClassVar[str]
    paper: ClassVar[str]  # short reference
    required_inputs: ClassVar[tuple[str, ...]] = ("words",)  # any of: words, examples, sessions
    link_context: ClassVar[LinkContextLevel | bool] = (
        LinkContextLevel.NONE
    )  # which context of links the parser must extract
    needs_styles: ClassVar[bool] = False  # whether the parser must extract styled sentences
    # Whether `score_links` needs the links to URLs that are done. If not, the crawl leaves most of them out, and the
    # priority of a link must not depend on the other links in the call.
    needs_all_links: ClassVar[bool] = True
    is_focused: ClassVar[bool] = True  # whether a higher score promises a better page
    batch_size: int = 1  # links leased from the frontier at a time

    def bind(self, context: StrategyContext) -> None:
        """Store the context of the crawl. The crawl calls this method once, before all others."""
        self.context = context

    def fit(self, training_data: TrainingData) -> None:  # noqa: B027 - optional hook
        """Train on the training data. The crawl calls this method once after `bind`, in a new crawl only.

        Raise `StrategyError` if training data is missing, and say how to create it. A resumed crawl calls
        `restore_state` instead, so the trained model must be part of the state.
        """

    def score_seeds(self, links: Sequence[Link]) -> list[Priority]:
        """Return the priorities of the seeds. By default they get the highest score."""
        return [Priority(1.0) for _ in links]

    @abstractmethod
    def score_links(self, links: Sequence[Link], visit: Visit) -> list[Priority | None]:
        """Return a priority for each link of a visited page. None means that the link is not followed.

        This method must not change the state of the strategy.
        """

    def merge(self, old: Priority, new: Priority) -> Priority:
        """Return the priority of a waiting link after another page links to it.

        By default the higher score wins.
        """
        return new if new.score > old.score else old

    def explain(self, link: Link) -> tuple[tuple[str, float], ...]:
        """Return named contributions to the score of a link. The crawl calls this before `learn`.

        An empty tuple means that the parts of the link's priority are the explanation. Override this method if the
        parts are too expensive to compute for every link.
        """
        return ()

    def learn(self, visit: Visit) -> None:  # noqa: B027 - optional hook
        """Learn from a visit. The crawl calls this method before `score_links` for the same visit.

        Only this method and `rescore` may change the state. After a crash, the crawl replays the visits since the last
        checkpoint in the same order.
        """

    def rescore(self) -> Mapping[str, float]:
        """Return new scores for waiting links (URL → score). The crawl calls this after every visit."""
        return {}

    def get_state(self) -> JsonValue:
        """Return the learned state as plain values."""
        return None

    def restore_state(self, state: JsonValue) -> None:  # noqa: B027 - optional hook
        """Restore a state that `get_state` returned."""

    def sync_protocol(self) -> SyncProtocol | None:
        """Return a protocol that is cheaper than sharing visits, or None to share visits.

        The crawl calls this method once, before the first visit.
        """
        return None

    @property
    def merges(self) -> bool:
        """Whether the strategy overrides `merge`, so that a second in-link can do more than raise the score."""
        return type(self).merge is not Strategy.merge
