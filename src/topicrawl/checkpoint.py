"""What a crawl has learned, written down now and then; after a kill, the visits since then are learned from again.

A crawl that learns must go on as if it had never been stopped. Writing everything down after each page would cost
more than the page, so a checkpoint names the last visit it knows of, and the visits behind it are read back from the
archive and passed to the strategy in their order.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import cast

from topicrawl.collection.directory import Collection
from topicrawl.collection.shelf import reread
from topicrawl.collection.store import Stored
from topicrawl.crawl import Crawl
from topicrawl.errors import DamagedError
from topicrawl.frontier.monotony import MonotonyState
from topicrawl.records import Carry, Failure, Page, Visit
from topicrawl.strategies.strategy import Strategy
from topicrawl.urls import container

log = logging.getLogger("topicrawl")

_LEAST = 500  # visits between two checkpoints
# What taking up plain values that are not what they should be can raise.
_UNREADABLE = (TypeError, ValueError, LookupError, AttributeError, ArithmeticError)
_SHARE = 20  # of a long crawl, this part of the visits: what is learned grows with them, and so does writing it


@dataclass
class Checkpoint:
    """Saves what the strategy and the trap finder of a crawl know, and brings it back."""

    collection: Collection
    crawl: Crawl
    step: int = 0  # the last visit that a checkpoint knows of

    def due(self) -> bool:
        return self.crawl.step - self.step >= max(_LEAST, self.crawl.step // _SHARE)

    def save(self) -> None:
        """Write down what was learned, and why the crawl stopped."""
        facts: dict[str, Carry] = {"stopped": self.crawl.stopped}
        # Half of a visit is worse than none: it would be learned from a second time.
        if self.crawl.settled:
            parts = self.crawl.parts
            learned: dict[str, Carry] = {"step": self.crawl.step, "strategy": parts.strategy.state()}
            if parts.fences.monotony is not None:
                learned["monotony"] = cast(Carry, parts.fences.monotony.state())
            facts["learned"] = learned
            self.step = self.crawl.step
        self.collection.store.set_facts(facts)

    async def restore(self) -> bool:
        """Bring back what was learned. False: nothing was ever written down, the crawl is new."""
        learned = self.collection.store.fact("learned")
        if not isinstance(learned, dict):
            return False
        parts = self.crawl.parts
        try:
            parts.strategy.restore(learned.get("strategy"))
            if parts.fences.monotony is not None and learned.get("monotony"):
                parts.fences.monotony.restore(cast(MonotonyState, learned["monotony"]))
            self.step = int(cast(int, learned.get("step", self.crawl.step)))
        except _UNREADABLE as error:
            directory = self.collection.directory
            raise DamagedError(
                f"{directory}: what {parts.strategy.name} has learned cannot be taken up "
                f"({type(error).__name__}: {error}); `topicrawl doctor {directory} --repair` takes it away, and the "
                "crawl then learns again from its pages"
            ) from error
        if self.crawl.step > self.step and learns(parts.strategy):
            await self._replay()
        return True

    async def begin(self) -> None:
        """The first checkpoint of a crawl; one that has lost what it knew learns again from all its visits."""
        if self.crawl.step and learns(self.crawl.parts.strategy):
            await self._replay()
        self.save()

    async def _replay(self) -> None:
        """Learn again from what came after the checkpoint."""
        parts, count = self.crawl.parts, 0
        scores: Mapping[str, float] = {}
        async for visit in self._visits():
            parts.strategy.learn(visit)
            if parts.fences.monotony is not None and visit.page is not None:
                parts.fences.monotony.seen(visit.link.url, visit.page.words, visit.link.source)
            scores = parts.strategy.revise()
            count += 1
        # Every earlier revision has reached the frontier; whether the last one did, nobody knows.
        if scores:
            await parts.frontier.rescore(parts.fences.late(scores))
        log.info("learned again from %d visits that no checkpoint knew of", count)

    async def _visits(self) -> AsyncIterator[Visit]:
        """The visits behind the checkpoint that were completed, in their order."""
        for row in self.collection.store.visits("step > ?", (self.step,)):
            # A file of an archive is complete when the archive is.
            asked = row.source if row.source and container(row.requested) == row.source else row.requested
            entry = await self.crawl.parts.frontier.find(asked)
            # One that was kept and not completed is still to be made, and learned from then.
            if entry is None or entry.state not in ("waiting", "leased"):
                yield Visit(
                    row.step, row.link, row.place, row.url, self._page(row), row.relevance,
                    Failure(row.failure) if row.failure else None, row.at, row.status, row.detail, row.twin,
                )  # fmt: skip

    def _page(self, row: Stored) -> Page | None:
        return None if row.failure is not None else reread(self.collection.archive, row, self.crawl.parts.parse)


def learns(strategy: Strategy) -> bool:
    """Whether a visit can leave anything behind in the strategy."""
    kind = type(strategy)
    return kind.learn is not Strategy.learn or kind.revise is not Strategy.revise
