"""Session of a worker in a shared crawl: join, send heartbeats, follow the state of the crawl, and leave.

The topic, the strategy and the settings are read from Redis, so a worker only needs an address and a crawl name. It
stores the fetched pages in its own directory; `gather` merges the directories of all workers.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import socket
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from secrets import token_hex
from typing import cast

import zstandard

from topicrawl import __version__
from topicrawl.cluster.object_store import UPLOAD_INTERVAL, ObjectStore
from topicrawl.cluster.steering_sync import SharedSteering
from topicrawl.cluster.url_sharing import parse_topic
from topicrawl.cluster.worker_tasks import ScoreSubmitter, WorkerTasks
from topicrawl.collection.directory import Collection, load_crawl_topic
from topicrawl.engine.crawl import Crawl
from topicrawl.engine.limits import StopReason
from topicrawl.engine.link_filter import LinkFilter
from topicrawl.engine.periodic_task import PeriodicTask
from topicrawl.errors import ClusterError, SeedError, SettingError, TopicrawlError, WipedError
from topicrawl.frontier.base import FrontierRules
from topicrawl.frontier.redis.address import strip_password
from topicrawl.frontier.redis.frontier import RedisFrontier
from topicrawl.frontier.redis.overflow import OverflowStore
from topicrawl.frontier.redis.server import RedisConnection, connect_redis
from topicrawl.frontier.redis.shared_crawl import FINISHED, SharedCrawl, is_newer
from topicrawl.models import JsonValue
from topicrawl.settings import Settings, list_settings, parse_stored_settings
from topicrawl.strategies.base import Strategy
from topicrawl.topic import Topic

log = logging.getLogger("topicrawl")

_HEARTBEATS_PER_LEASE = 4.0  # heartbeats during one lease, at least
_MAX_INTERVAL = 1.0  # maximum seconds between two heartbeats, and between two checks of the overflow
_SYNC_INTERVAL = 1000  # visits between two syncs of the collection to disk
_MAX_TRAINING_POLLS = 120  # polls for the trained state of the first worker
#: Settings of the machine, which are not shared with the crawl.
_LOCAL_SETTINGS = ("frontier", "concurrency", "min_free", "seconds", "proxy")


@dataclass
class WorkerSession:
    """Session of one worker in a shared crawl."""

    shared: SharedCrawl
    settings: Settings
    is_new: bool  # whether this worker creates the crawl
    frontier: RedisFrontier
    object_store: ObjectStore | None = None  # destination of copies of the fetched pages
    _collection: Collection | None = None  # set by `join`
    _synced_step: int = 0  # last visit when the collection was synced
    _worker_report: dict[str, object] = field(default_factory=dict)

    async def join(self, collection: Collection) -> RedisFrontier:
        """Create the crawl on its server or join it. Return its frontier.

        Raise `WipedError` if the server has lost the crawl of the collection, and `SettingError` if its crawl has
        another topic or strategy. If this worker was killed, its leased links wait again, and the server gets the
        settings of this run. A worker that joins the crawl sets only its page limit.
        """
        store, settings = collection.store, self.settings
        self._collection = collection
        identity = json.dumps(store.get_fact("identity"), sort_keys=True)
        topic, settings_json = load_crawl_topic(collection.directory).to_toml(), json.dumps(export_settings(settings))
        facts = {"topic": topic, "settings": settings_json, "identity": identity}
        previous_epoch = store.get_fact("epoch")
        if previous_epoch is None:
            epoch, self.is_new = await self.shared.create(build_rules(settings), settings.pages, facts)
        else:
            epoch = await self.shared.get_epoch() or ""
        if previous_epoch not in (None, epoch):
            raise WipedError(
                f"{collection.directory} belongs to an earlier crawl with the name {self.shared.name!r}, which is gone "
                "from Redis: gather its pages, and start the new crawl in another directory"
            )
        if (await self.shared.get_facts())["identity"] != identity:
            raise SettingError(
                f"{self.shared.connection.display_address} holds a crawl {self.shared.name!r} "
                "with another topic, strategy or embedding: "
                "specify another directory with --out"
            )
        name = store.get_fact("worker")
        self.frontier.epoch = epoch
        self.frontier.worker = name if isinstance(name, str) else f"{socket.gethostname()}-{token_hex(4)}"
        self._worker_report = {
            "version": __version__,
            "directory": str(collection.directory.absolute()),
            "host": socket.gethostname(),
            "pid": os.getpid(),
        }
        if previous_epoch is None:
            store.set_facts({"worker": self.frontier.worker, "epoch": epoch})
            if settings.pages != await self.shared.get_page_limit():
                await self.shared.set_page_limit(settings.pages)
        else:
            # Requeue the links that were leased when the worker was killed, and publish the settings of this run.
            await self.frontier.release_all(count_attempts=True)
            await self.shared.set_rules(build_rules(settings), settings.pages)
            await self.shared.set_facts({"settings": settings_json})
        return self.frontier

    async def restore_trained_state(self, strategy: Strategy) -> bool:
        """Wait for the trained state of the first worker and restore it. Return False after a timeout."""
        for _ in range(_MAX_TRAINING_POLLS):
            state = await self.shared.get_trained_state()
            if state is not None:
                strategy.restore_state(cast(JsonValue, json.loads(zstandard.decompress(state))))
                return True
            await asyncio.sleep(_MAX_INTERVAL)
        return False

    async def publish_trained_state(self, strategy: Strategy) -> None:
        """Publish the state of the strategy after training, for workers that join later."""
        await self.shared.set_trained_state(zstandard.compress(json.dumps(strategy.get_state()).encode()))

    def create_score_submitter(self, link_filter: LinkFilter) -> ScoreSubmitter:
        """Create the component that sends new scores of waiting links to the shared frontier."""
        return ScoreSubmitter(self.shared, self.frontier, link_filter)

    def create_worker_tasks(self, crawl: Crawl, score_submitter: ScoreSubmitter) -> WorkerTasks:
        """Create the background tasks that synchronise the model and share URLs with other crawls."""
        return WorkerTasks(crawl, score_submitter, cooperate=self.settings.cooperate)

    def create_steering(self, collection: Collection, crawl: Crawl) -> SharedSteering:
        """Create the steering of the shared crawl."""
        guidance = crawl.context.link_filter.user_feedback
        assert guidance is not None
        worker = self.frontier.worker
        return SharedSteering(collection, crawl, guidance, crawl.context.relevance, shared=self.shared, worker=worker)

    @asynccontextmanager
    async def keep_alive(self, crawl: Crawl) -> AsyncIterator[None]:
        """Send heartbeats, rebalance the overflow and upload files for the duration of the block."""
        assert self._collection is not None
        await self._send_heartbeat(crawl)
        async with AsyncExitStack() as stack:
            if self.object_store is not None:
                upload = partial(self.object_store.try_upload, self._collection.directory, self.frontier.worker)
                stack.push_async_callback(upload)
                await stack.enter_async_context(PeriodicTask(upload, UPLOAD_INTERVAL, name="upload"))
            # The crawl loop calls the frontier constantly and stops with the same errors as these tasks.
            rebalance = OverflowStore(self.frontier).rebalance
            await stack.enter_async_context(
                PeriodicTask(rebalance, _MAX_INTERVAL, name="overflow", logged_errors=(TopicrawlError,))
            )
            confirm = partial(self._confirm_stored, self._collection, crawl)
            await stack.enter_async_context(
                PeriodicTask(confirm, _MAX_INTERVAL, name="synchronisation to disk", logged_errors=(TopicrawlError,))
            )
            interval = min(_MAX_INTERVAL, self.settings.lease / _HEARTBEATS_PER_LEASE)
            send_heartbeat = partial(self._send_heartbeat, crawl)
            await stack.enter_async_context(
                PeriodicTask(send_heartbeat, interval, name="heartbeats", logged_errors=(TopicrawlError,))
            )
            yield
        # The other workers must know the final number of relevant pages.
        try:
            await self._send_heartbeat(crawl)
        except TopicrawlError as error:
            log.warning("the last heartbeat failed: %s", error)

    async def _confirm_stored(self, collection: Collection, crawl: Crawl) -> None:
        """Sync the collection to disk after some visits, and confirm it to the server.

        The server keeps the links that this worker has completed until they are confirmed. If a power failure removes
        their pages, the worker reopens them when it resumes.
        """
        if crawl.step - self._synced_step >= _SYNC_INTERVAL:
            self._synced_step = crawl.step
            collection.sync_to_disk()
            await self.frontier.confirm_stored()

    async def _send_heartbeat(self, crawl: Crawl) -> None:
        """Send one heartbeat, and apply the page count and the state of the shared crawl to the local one."""
        report = {
            **self._worker_report,
            "fetches": crawl.step,
            "relevant": crawl.relevant,
            "in_flight": crawl.in_flight,
            "trouble": crawl.last_failure,
        }
        reply = await self.frontier.send_heartbeat(json.dumps(report))
        # The page limit counts the pages of all workers, and another worker may have changed it.
        crawl.pages = reply.stored_pages
        if crawl.limits.pages != reply.page_limit:
            crawl.limits = replace(crawl.limits, pages=reply.page_limit)
            crawl.wake()
        others = [worker for worker in await self.shared.list_workers() if worker.name != self.frontier.worker]
        crawl.relevant_elsewhere = sum(worker.relevant for worker in others)
        if crawl.limits.relevant:
            crawl.wake()
        if reply.state == FINISHED:
            crawl.interrupt(StopReason.FINISHED)


def split_address(address: str, directory: Path) -> tuple[str, str]:
    """Split a frontier address into the server address and the crawl name. The default name is that of the directory.

    >>> split_address("redis://r:6379/0#owls", Path("x")), split_address("redis://r:6379/0", Path("out/owls"))
    (('redis://r:6379/0', 'owls'), ('redis://r:6379/0', 'owls'))
    """
    server, _, name = address.partition("#")
    return server, name or directory.absolute().name


def build_rules(settings: Settings) -> FrontierRules:
    """Return the rules of a shared frontier."""
    return FrontierRules(
        delay=settings.delay,
        host_pages=settings.host_pages,
        lease_seconds=settings.lease,
        # Each death of a worker uses up one attempt of each of its leased links.
        attempts=settings.attempts + 20,
        capacity=settings.capacity,
    )


def export_settings(settings: Settings) -> dict[str, JsonValue]:
    """Return the settings that workers share, without passwords, as JSON values."""
    values = {name: getattr(settings, name) for name in list_settings() if name not in _LOCAL_SETTINGS}
    values["hosts"] = settings.export_hosts()
    values["searxng"] = strip_password(settings.searxng)  # readable for all users of the Redis server
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


@asynccontextmanager
async def connect(directory: Path, settings: Settings, seeds: Sequence[str]) -> AsyncIterator[WorkerSession | None]:
    """Connect to the server of a shared crawl and yield a session. Yield None if the frontier is a local file.

    Raise `SeedError` for a new crawl without seeds. The connection is closed at the end of the block.
    """
    if not settings.frontier:
        if settings.store:
            raise SettingError("--store is for shared crawls: give --frontier too, or copy the directory")
        yield None
        return
    address, name = split_address(settings.frontier, directory)
    server = await connect_redis(address)
    try:
        shared = SharedCrawl(server, name)
        is_new = await shared.get_epoch() is None
        if is_new and not seeds:
            raise SeedError(
                f"there is no crawl {name!r} on {server.display_address} yet: give it a --seed to start from"
            )
        object_store = ObjectStore(settings.store) if settings.store else None
        yield WorkerSession(shared, settings, is_new, RedisFrontier(server, shared.key_prefix, "", ""), object_store)
    finally:
        await server.close()


async def load_page_limit(frontier: str, directory: Path) -> int | None:
    """Return the page limit of the crawl that a worker in a directory would join, or None if it would create one."""
    address, name = split_address(frontier, directory)
    server = await connect_redis(address)
    try:
        return await SharedCrawl(server, name).get_page_limit()
    finally:
        await server.close()


async def load_crawl_config(address: str, name: str, overrides: Mapping[str, object]) -> tuple[Topic, Settings]:
    """Return the topic and the settings of a crawl on a server. `overrides` take precedence.

    Raise `ClusterError` if the crawl does not exist, or has a setting that only a newer version supports.
    """
    server: RedisConnection = await connect_redis(address)
    try:
        facts = await SharedCrawl(server, name).get_facts()
    finally:
        await server.close()
    stored, known = json.loads(facts["settings"]), list_settings()
    unknown = sorted(stored.keys() - known.keys())
    if unknown and is_newer(facts.get("version", ""), __version__):
        raise ClusterError(
            f"the crawl {name!r} was created by Topicrawl {facts['version']} with the setting {unknown[0]!r}, which "
            f"Topicrawl {__version__} does not support: upgrade this installation"
        )
    settings = parse_stored_settings(stored, {**overrides, "frontier": f"{address}#{name}"})
    return parse_topic(facts["topic"]), settings
