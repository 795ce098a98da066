"""Background tasks of a worker in a shared crawl: model synchronisation and URL sharing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from topicrawl.cluster.judge_sync import JudgeSync
from topicrawl.cluster.model_sync import ModelSync
from topicrawl.cluster.url_sharing import UrlSharing
from topicrawl.engine.checkpoint import can_learn
from topicrawl.engine.crawl import Crawl
from topicrawl.engine.link_filter import LinkFilter
from topicrawl.engine.periodic_task import PeriodicTask
from topicrawl.engine.scheduling import OutlinkDecision
from topicrawl.engine.sinks import VisitObserver
from topicrawl.errors import TopicrawlError
from topicrawl.frontier.redis.frontier import RedisFrontier, iter_pairs
from topicrawl.frontier.redis.links import url_fingerprint
from topicrawl.frontier.redis.shared_crawl import SharedCrawl, WorkerInfo
from topicrawl.frontier.redis.waiting_links import get_waiting_links
from topicrawl.models import Visit
from topicrawl.relevance.base import SharesSources
from topicrawl.strategies.base import SyncProtocol
from topicrawl.strategies.visit_sync import VisitSync

_ROUND_SECONDS = 0.5  # seconds between two rounds
_ROUNDS_PER_COUNT = 10  # rounds between two counts of the workers


@dataclass
class ScoreSubmitter:
    """Sends new scores of waiting links to the shared frontier. Its method `submit_scores` is a hook of the crawl.

    Workers that learn from the visits of all workers compute the same scores. They divide the links among them by the
    fingerprints of the URLs, so that each score is sent once. Other workers are responsible for all of their scores.
    """

    shared: SharedCrawl
    frontier: RedisFrontier
    link_filter: LinkFilter
    _worker_index: int = 0
    _worker_count: int = 1  # number of workers that divide the links

    async def submit_scores(self, scores: Mapping[str, float]) -> None:
        """Rescore waiting links with new scores of the strategy, as far as this worker is responsible for them."""
        if self._worker_count > 1:
            scores = {url: score for url, score in scores.items() if self.is_responsible(url)}
        if scores:
            await self.rescore_links(scores)

    async def rescore_links(self, scores: Mapping[str, float]) -> None:
        """Rescore waiting links in the shared frontier, after applying the user feedback and the demotions."""
        user_feedback = self.link_filter.user_feedback
        if user_feedback:
            # The feedback may have changed since the links were found, or another worker may have found them.
            for link in await get_waiting_links(self.frontier, list(scores)):
                user_feedback.adjust_score(link, 0.0)
        await self.frontier.rescore(self.link_filter.adjust_scores(scores))

    def is_responsible(self, url: str) -> bool:
        """Return whether this worker is responsible for the score of a URL."""
        return int.from_bytes(url_fingerprint(url)[:2], "big") % self._worker_count == self._worker_index

    async def count_workers(self) -> None:
        """Update the number of live workers and the index of this one, which determine `is_responsible`."""
        commands: list[tuple[str | bytes | float, ...]] = [("TIME",), ("HGETALL", f"{self.shared.key_prefix}:workers")]
        (seconds, _), heartbeats = await self.shared.connection.execute_all(commands)
        names = sorted(
            name.decode()
            for name, heartbeat in iter_pairs(heartbeats)
            if WorkerInfo(name.decode(), int(seconds) - float(heartbeat.partition(b" ")[0]), {}).is_alive
        )
        self._worker_count = max(1, len(names))
        self._worker_index = names.index(self.frontier.worker) if self.frontier.worker in names else 0


class WorkerTasks(VisitObserver):
    """Background tasks of one worker. `async with` synchronises the model, then runs periodic rounds until the exit."""

    def __init__(self, crawl: Crawl, score_submitter: ScoreSubmitter, *, cooperate: bool) -> None:
        self.crawl, self.score_submitter = crawl, score_submitter
        shared, strategy = score_submitter.shared, crawl.context.strategy
        self._visit_sync: VisitSync | None = None
        self.model_sync: ModelSync | None = None
        sync_protocol: SyncProtocol | None = None
        if can_learn(strategy):
            sync_protocol = strategy.sync_protocol()
            if sync_protocol is None:
                sync_protocol = self._visit_sync = VisitSync(strategy, score_submitter.is_responsible)
        if isinstance(crawl.context.relevance, SharesSources):
            sync_protocol = JudgeSync(crawl.context.relevance, sync_protocol)
        if sync_protocol is not None:
            self.model_sync = ModelSync(shared, crawl, sync_protocol)
        self.url_sharing = UrlSharing(shared, crawl) if cooperate else None
        self._round_number = 0
        # The crawl loop calls the frontier constantly and stops with the same error.
        self._task = PeriodicTask(
            self._run_round, _ROUND_SECONDS, name="model synchronisation", logged_errors=(TopicrawlError,)
        )

    async def __aenter__(self) -> Self:
        if self.model_sync is not None:
            await self.model_sync.join()
        await self._run_round()
        await self._task.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._task.__aexit__(kind, error, trace)
        if error is None:
            # Publish what the worker learned from the last pages.
            await self._run_round()

    def observe_visit(self, visit: Visit, outlinks: Sequence[OutlinkDecision]) -> None:
        """Record a visit of this worker for the other workers, and for other crawls on the server."""
        if self._visit_sync is not None:
            self._visit_sync.record_visit(visit)
        if self.url_sharing is not None:
            self.url_sharing.observe_visit(visit)

    async def _run_round(self) -> None:
        """Synchronise the model, rescore the waiting links if it has changed, and share URLs, once."""
        if self._visit_sync is not None and self._round_number % _ROUNDS_PER_COUNT == 0:
            await self.score_submitter.count_workers()
        self._round_number += 1
        if self.model_sync is not None and (scores := await self.model_sync.run_round()):
            await self.score_submitter.rescore_links(scores)
            self.crawl.wake()
        if self.model_sync is not None:
            self.crawl.applied_deltas = self.model_sync.applied_deltas
        if self.url_sharing is not None:
            await self.url_sharing.run_round()
