"""Checkpoints of the learned state: save, restore, and replay of the visits since the last checkpoint.

A resumed crawl must behave as if it had never stopped. Saving the state after each page would take longer than
processing the page, so a checkpoint is saved at intervals and records the last visit it includes. After a kill, the
later visits are read from the archive and passed to the strategy again, in their order.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import cast

from topicrawl.collection.directory import Collection
from topicrawl.collection.page_loader import reload_page
from topicrawl.collection.store import StoredVisit
from topicrawl.engine.crawl import Crawl
from topicrawl.engine.link_filter import LinkFilter
from topicrawl.engine.sinks import VisitObserver
from topicrawl.errors import DamagedError
from topicrawl.frontier.domain_monitor import DomainMonitorState
from topicrawl.frontier.trap_detector import TrapDetectorState
from topicrawl.models import Failure, JsonValue, Page, Visit
from topicrawl.relevance.base import LearnsFromPages
from topicrawl.strategies.base import Strategy
from topicrawl.urls import get_archive_url

log = logging.getLogger("topicrawl")

_MIN_INTERVAL = 500  # minimum number of visits between two checkpoints
# Exceptions that restoring malformed state can raise.
_INVALID_STATE_ERRORS = (TypeError, ValueError, LookupError, AttributeError, ArithmeticError)
# A long crawl saves after 1/20 of its visits, because the state and the time to save it grow with them
_INTERVAL_DIVISOR = 20


@dataclass
class Checkpoint(VisitObserver):
    """Save and restore the learned state of the strategy, the relevance model, the trap detector and the domain
    monitor."""

    collection: Collection
    crawl: Crawl
    saved_step: int = 0  # last visit included in the saved checkpoint

    def is_due(self) -> bool:
        """Return whether enough visits have been made since the last checkpoint."""
        return self.crawl.step - self.saved_step >= max(_MIN_INTERVAL, self.crawl.step // _INTERVAL_DIVISOR)

    def on_batch_completed(self) -> None:
        """Save a checkpoint if one is due."""
        if self.is_due():
            self.save()

    def save(self) -> None:
        """Save the stop reason and, between two visits, the learned state with the number of the last visit.

        While a visit is being processed, the previous learned state stays in effect.
        """
        facts: dict[str, JsonValue] = {"stopped": self.crawl.stop_reason}
        # Never save in the middle of a visit: after a restart, the strategy would learn from it twice.
        if self.crawl.is_at_visit_boundary:
            parts = self.crawl.context
            learned: dict[str, JsonValue] = {"step": self.crawl.step, "strategy": parts.strategy.get_state()}
            if isinstance(parts.relevance, LearnsFromPages):
                learned["judge"] = parts.relevance.get_state()
            if parts.link_filter.trap_detector is not None:
                learned["trap_detector"] = cast(JsonValue, parts.link_filter.trap_detector.get_state())
            if parts.link_filter.domain_monitor is not None:
                learned["domains"] = cast(JsonValue, parts.link_filter.domain_monitor.get_state())
            if parts.link_filter.address_budget is not None:
                learned["address_pages"] = cast(JsonValue, parts.link_filter.address_budget.get_state())
            facts["learned"] = learned
            self.saved_step = self.crawl.step
        self.collection.store.set_facts(facts)

    async def restore(self) -> bool:
        """Restore the learned state, and replay the visits since it was saved.

        Return False if no checkpoint exists, which means that the crawl is new. Raise `DamagedError` if it cannot be
        restored.
        """
        learned = self.collection.store.get_fact("learned")
        if not isinstance(learned, dict):
            return False
        parts = self.crawl.context
        try:
            parts.strategy.restore_state(learned.get("strategy"))
            if isinstance(parts.relevance, LearnsFromPages) and "judge" in learned:
                parts.relevance.restore_state(learned["judge"])
            restore_link_rules(parts.link_filter, learned)
            self.saved_step = int(cast(int, learned.get("step", self.crawl.step)))
        except _INVALID_STATE_ERRORS as error:
            directory = self.collection.directory
            raise DamagedError(
                f"{directory}: the learned state of {parts.strategy.name} cannot be restored "
                f"({type(error).__name__}: {error}); `topicrawl doctor {directory} --repair` deletes it, and the "
                "crawl then learns again from its pages"
            ) from error
        if self.crawl.step > self.saved_step and can_learn(parts.strategy):
            await self._replay_visits()
        return True

    async def save_initial(self) -> None:
        """Save the first checkpoint. A crawl without a saved state but with visits replays all of them first."""
        if self.crawl.step and can_learn(self.crawl.context.strategy):
            await self._replay_visits()
        self.save()

    async def _replay_visits(self) -> None:
        """Pass the visits after the checkpoint to the strategy and the link filter again, in their order.

        The last scores of the strategy are sent to the frontier, because they may be missing there.
        """
        parts, count = self.crawl.context, 0
        scores: Mapping[str, float] = {}
        async for visit in self._read_unsaved_visits():
            if visit.page is not None and isinstance(parts.relevance, LearnsFromPages):
                parts.relevance.observe(visit.page)
            parts.strategy.learn(visit)
            parts.link_filter.observe_visit(visit)
            scores = parts.strategy.rescore()
            count += 1
        # The frontier has all earlier scores. The last ones may be missing, so they are sent again.
        if scores:
            await parts.frontier.rescore(parts.link_filter.adjust_scores(scores))
        log.info("replayed %d visits after the last checkpoint", count)

    async def _read_unsaved_visits(self) -> AsyncIterator[Visit]:
        """Yield the visits after the checkpoint in their order, without those that the frontier has not completed."""
        for row in self.collection.store.iterate_visits("step > ?", (self.saved_step,)):
            # A member of an archive is complete when the archive is.
            requested = row.source if row.source and get_archive_url(row.requested) == row.source else row.requested
            entry = await self.crawl.context.frontier.get_entry(requested)
            # A visit that was stored but not completed is repeated, and the strategy learns from it then.
            if entry is None or entry.state not in ("waiting", "leased"):
                yield Visit(
                    row.step,
                    row.link,
                    row.priority,
                    row.url,
                    self._load_page(row),
                    row.relevance,
                    Failure(row.failure) if row.failure else None,
                    row.at,
                    row.status,
                    row.detail,
                    row.duplicate_of,
                )

    def _load_page(self, row: StoredVisit) -> Page | None:
        return None if row.failure is not None else reload_page(self.collection.archive, row, self.crawl.context.parse)


def can_learn(strategy: Strategy) -> bool:
    """Return whether the strategy overrides `learn` or `rescore`, so that visits can change its state."""
    kind = type(strategy)
    return kind.learn is not Strategy.learn or kind.rescore is not Strategy.rescore


def restore_link_rules(link_filter: LinkFilter, learned: Mapping[str, JsonValue]) -> None:
    """Restore the trap detector and the domain monitor of a link filter from a saved checkpoint."""
    # Format 4 and older name this state "monotony".
    trap_state = learned.get("trap_detector", learned.get("monotony"))
    if link_filter.trap_detector is not None and trap_state:
        link_filter.trap_detector.restore_state(cast(TrapDetectorState, trap_state))
    if link_filter.domain_monitor is not None and (domain_state := learned.get("domains")):
        link_filter.domain_monitor.restore_state(cast(DomainMonitorState, domain_state))
    if link_filter.address_budget is not None and (pages_by_address := learned.get("address_pages")):
        link_filter.address_budget.restore_state(cast(Mapping[str, int], pages_by_address))
