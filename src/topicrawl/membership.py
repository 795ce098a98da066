"""A worker's part in a crawl that lives in Redis: it joins, says that it is alive, hears what others say, and leaves.

Topic, strategy and settings are read from Redis, so that a worker needs an address and a name. What it fetches goes
into its own directory; `gather` makes one collection of them all.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import socket
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from secrets import token_hex
from typing import Any, cast

import zstandard

from topicrawl import __version__
from topicrawl.budget import Stop
from topicrawl.collection.directory import Collection, topic_of
from topicrawl.company import Company
from topicrawl.crawl import Crawl
from topicrawl.depot import Depot
from topicrawl.ending import ended
from topicrawl.errors import ClusterError, SeedError, SettingError, TopicrawlError, WipedError
from topicrawl.frontier.contract import Rules
from topicrawl.frontier.redis import Redis
from topicrawl.frontier.redis_address import without_password
from topicrawl.frontier.redis_attic import Attic
from topicrawl.frontier.redis_crawl import FINISHED, SharedCrawl, newer
from topicrawl.frontier.redis_server import Server, connected
from topicrawl.parley import Parley
from topicrawl.passing import told_topic
from topicrawl.records import Carry
from topicrawl.settings import Settings, known_settings
from topicrawl.strategies.strategy import Strategy
from topicrawl.topic import Topic

log = logging.getLogger("topicrawl")

_BEATS = 4.0  # in the time of a lease
_OFTEN = 1.0  # seconds between two beats at the most
_PATIENCE = 120  # looks for what the first worker learns from examples
#: Settings that are a matter of the machine, not of the crawl.
_LOCAL = ("frontier", "concurrency", "min_free", "seconds", "proxy")


@dataclass
class Membership:
    """One worker in a shared crawl."""

    shared: SharedCrawl
    settings: Settings
    is_new: bool  # whether this worker makes the crawl
    frontier: Redis
    depot: Depot | None = None  # where copies of what it fetches go
    _directory: Path = Path()
    _said: dict[str, object] = field(default_factory=dict)

    async def join(self, collection: Collection) -> Redis:
        """Start the crawl on its server, or join it, for the identity that the collection has."""
        store, settings = collection.store, self.settings
        self._directory = collection.directory
        identity = json.dumps(store.fact("identity"), sort_keys=True)
        topic, chosen = topic_of(collection.directory).toml(), json.dumps(plain(settings))
        told = {"topic": topic, "settings": chosen, "identity": identity}
        before = store.fact("epoch")
        if before is None:
            epoch, self.is_new = await self.shared.make(rules_of(settings), settings.pages, told)
        else:
            epoch = await self.shared.epoch() or ""
        if before not in (None, epoch):
            raise WipedError(
                f"{collection.directory} worked on another crawl of the name {self.shared.name!r}, and Redis has "
                "forgotten that one: gather what was fetched, and start the new one in another directory"
            )
        if (await self.shared.facts())["identity"] != identity:
            raise SettingError(
                f"{self.shared.server.shown} holds a crawl {self.shared.name!r} with another topic or strategy: "
                "name another directory with --out"
            )
        name = store.fact("worker")
        self.frontier.epoch = epoch
        self.frontier.worker = name if isinstance(name, str) else f"{socket.gethostname()}-{token_hex(4)}"
        self._said = {
            "version": __version__,
            "directory": str(collection.directory.absolute()),
            "host": socket.gethostname(),
            "pid": os.getpid(),
        }
        if before is None:
            store.set_facts({"worker": self.frontier.worker, "epoch": epoch})
        else:
            # What it had out when it was killed waits again; and whoever goes on may want more of the crawl.
            await self.frontier.leave(count=True)
            await self.shared.set_rules(rules_of(settings), settings.pages)
            await self.shared.set_facts({"settings": chosen})
        return self.frontier

    async def trained(self, strategy: Strategy) -> bool:
        """Take up what the first worker learned from examples. False: it has died over that."""
        for _ in range(_PATIENCE):
            packed = await self.shared.trained()
            if packed is not None:
                strategy.restore(cast(Carry, json.loads(zstandard.decompress(packed))))
                return True
            await asyncio.sleep(_OFTEN)
        return False

    async def tell_trained(self, strategy: Strategy) -> None:
        """Let those who come later have what was learned from examples."""
        await self.shared.set_trained(zstandard.compress(json.dumps(strategy.state()).encode()))

    def company(self, crawl: Crawl) -> Company:
        """This worker among the others: what it learns they learn, and it passes addresses to other crawls."""
        return Company(self.shared, self.frontier, crawl, cooperate=self.settings.cooperate)

    def steered(self, collection: Collection, crawl: Crawl) -> Parley:
        """The steering of a crawl that many workers share."""
        guidance = crawl.parts.fences.guidance
        assert guidance is not None
        worker = self.frontier.worker
        return Parley(collection, crawl, guidance, crawl.parts.relevance, shared=self.shared, worker=worker)

    @asynccontextmanager
    async def alive(self, crawl: Crawl) -> AsyncIterator[None]:
        """Keep the leases going, and follow what the operator says, for as long as the block lasts."""
        await self._beat(crawl)
        tasks = [asyncio.create_task(self._beats(crawl)), asyncio.create_task(self._tidies())]
        if self.depot is not None:
            tasks.append(asyncio.create_task(self.depot.keep(self._directory, self.frontier.worker)))
        try:
            yield
        finally:
            await ended(tasks)
            if self.depot is not None:
                await self.depot.attempt(self._directory, self.frontier.worker)

    async def _tidies(self) -> None:
        """See to it that the queues are no longer than is wanted, beside everything else."""
        attic = Attic(self.frontier)
        while True:
            await asyncio.sleep(_OFTEN)
            try:
                await attic.tidy()
            except TopicrawlError as error:
                log.warning("%s", error)
                return

    async def _beats(self, crawl: Crawl) -> None:
        every = min(_OFTEN, self.settings.lease / _BEATS)
        while True:
            await asyncio.sleep(every)
            try:
                await self._beat(crawl)
            except TopicrawlError as error:
                # The crawl itself asks the frontier all the time and ends with the same words.
                log.warning("%s", error)
                return

    async def _beat(self, crawl: Crawl) -> None:
        said = {**self._said, "fetches": crawl.step, "in_flight": crawl.in_flight, "trouble": crawl.trouble}
        pulse = await self.frontier.beat(json.dumps(said))
        # The goal is one for all workers.
        crawl.pages = pulse.kept
        if pulse.paused == FINISHED:
            crawl.interrupt(Stop.FINISHED)


def split(address: str, directory: Path) -> tuple[str, str]:
    """The server's address and the crawl's name, which is the directory's unless the address ends with one.

    >>> split("redis://r:6379/0#owls", Path("x")), split("redis://r:6379/0", Path("out/owls"))
    (('redis://r:6379/0', 'owls'), ('redis://r:6379/0', 'owls'))
    """
    server, _, name = address.partition("#")
    return server, name or directory.absolute().name


def rules_of(settings: Settings) -> Rules:
    """The rules of a shared frontier."""
    return Rules(
        delay=settings.delay, host_pages=settings.host_pages, lease_seconds=settings.lease,
        # Each time a worker dies, what it had out has used one up.
        attempts=settings.attempts + 20, capacity=settings.capacity,
    )  # fmt: skip


def plain(settings: Settings) -> dict[str, Carry]:
    """Settings as workers are told them."""
    values = {name: getattr(settings, name) for name in known_settings() if name not in _LOCAL}
    values["searxng"] = without_password(settings.searxng)  # whoever may read the Redis reads this
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


@asynccontextmanager
async def met(directory: Path, settings: Settings, seeds: Sequence[str]) -> AsyncIterator[Membership | None]:
    """The crawl on its server, before it is joined; None when the frontier is a file of its own."""
    if not settings.frontier:
        if settings.store:
            raise SettingError("--store is for crawls that workers share: give --frontier too, or copy the directory")
        yield None
        return
    address, name = split(settings.frontier, directory)
    server = await connected(address)
    try:
        shared = SharedCrawl(server, name)
        is_new = await shared.epoch() is None
        if is_new and not seeds:
            raise SeedError(f"there is no crawl {name!r} on {server.shown} yet: give it a --seed to start from")
        depot = Depot(settings.store) if settings.store else None
        yield Membership(shared, settings, is_new, Redis(server, shared.base, "", ""), depot)
    finally:
        await server.close()


async def invited(address: str, name: str, given: Mapping[str, object]) -> tuple[Topic, Settings]:
    """Topic and settings of a crawl on a server; what is given now wins."""
    server: Server = await connected(address)
    try:
        facts = await SharedCrawl(server, name).facts()
    finally:
        await server.close()
    stored, known = json.loads(facts["settings"]), known_settings()
    strange = sorted(stored.keys() - known.keys())
    if strange and newer(facts.get("version", ""), __version__):
        raise ClusterError(
            f"the crawl {name!r} was made by Topicrawl {facts['version']} with the setting {strange[0]!r}, which "
            f"{__version__} does not know: upgrade this one"
        )
    # A setting that an older version had and this one has not is of no use any more.
    values: dict[str, Any] = {
        key: tuple(it) if isinstance(it, list) else it for key, it in stored.items() if key in known
    }
    values |= {**given, "frontier": f"{address}#{name}"}
    return told_topic(facts["topic"]), Settings(**values)
