"""Shared crawl in Redis: create, inspect, pause and finish it.

Besides the keys of the frontier (see `lua/1_run.lua`), a crawl has

    :facts      hash   configuration for the workers: topic, settings, identity, format version
    :trained    text   state of the strategy after training, before the first page
    :workers    hash   worker → time of its last heartbeat, and its report

The set `{topicrawl}:crawls` contains the names of all crawls on the server.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from secrets import token_hex

from msgspec import convert

from topicrawl import __version__
from topicrawl.errors import ClusterError, SettingError
from topicrawl.frontier.base import FrontierCounts, FrontierRules
from topicrawl.frontier.redis.frontier import RedisFrontierReader, iter_pairs
from topicrawl.frontier.redis.server import HASH_TAG, RedisConnection

#: Format of the data in Redis. It is fixed for the lifetime of a crawl, so workers with different versions of Topicrawl
#: can share a crawl if they have the same format.
FORMAT_VERSION = 4
MIN_FORMAT_VERSION = 4  # oldest supported format
RUNNING, PAUSED, FINISHED = range(3)
_STATES = ("running", "paused", "finished")
_WORKER_TIMEOUT = 15.0  # seconds without a heartbeat after which a worker counts as dead
_COUNTERS = "offset next token closed waiting leased done dropped hosts kept paused pages refused away"
# Atomic, so that of two workers that create the same crawl the second one joins the crawl of the first.
_CREATE_SCRIPT = """
local known = redis.call('HGET', KEYS[1] .. ':c', 'epoch')
if known then return known end
local facts, at = {}, 3 + tonumber(ARGV[2])
for i = 3, at - 1 do facts[#facts + 1] = ARGV[i] end
redis.call('HSET', KEYS[1] .. ':c', unpack(facts))
facts = {}
for i = at, #ARGV do facts[#facts + 1] = ARGV[i] end
redis.call('HSET', KEYS[1] .. ':facts', unpack(facts))
redis.call('SADD', KEYS[2], ARGV[1])
return false
"""


def build_initial_facts(rules: FrontierRules) -> dict[str, str]:
    """Return the initial facts and counters that the function in `lua/` requires."""
    return {
        "epoch": f"e{token_hex(8)}",
        "life": "",
        "outer": "-inf",
        "inner": "-inf",
        "crashed": "-inf",
        "buckets": "1",
        "pace": "",
        **dict.fromkeys(_COUNTERS.split(), "0"),
        **build_rule_facts(rules),
    }


def build_rule_facts(rules: FrontierRules) -> dict[str, str]:
    """Return the rules of a frontier as facts."""
    return {
        "delay": repr(rules.delay),
        "parallel": str(rules.parallel),
        "host_pages": str(rules.host_pages),
        "lease": repr(rules.lease_seconds),
        "attempts": str(rules.attempts),
        "capacity": str(rules.capacity),
    }


def build_shared_facts(rules: FrontierRules, pages: int) -> dict[str, str]:
    """Return the rules of a shared crawl, whose workers move links beyond the capacity to the overflow."""
    return {**build_rule_facts(rules), "capacity": "0", "room": str(rules.capacity), "pages": str(pages)}


@dataclass(frozen=True)
class WorkerInfo:
    """Last known state of a worker."""

    name: str
    ago: float  # seconds since its last heartbeat
    report: Mapping[str, object]

    @property
    def relevant(self) -> int:
        """Number of relevant pages that the worker has stored; 0 if its version does not report it."""
        return convert(self.report.get("relevant", 0), int)

    @property
    def is_alive(self) -> bool:
        """Whether the worker has sent a heartbeat recently."""
        return self.ago < _WORKER_TIMEOUT


@dataclass(frozen=True)
class SharedCrawlStatus:
    """Status of a shared crawl."""

    name: str
    state: str
    pages: int  # stored by all workers
    wanted: int  # page limit; 0: no limit
    frontier: FrontierCounts
    workers: list[WorkerInfo] = field(default_factory=list)
    memory: int = 0  # bytes of memory that the server uses in total
    away: int = 0  # links in the overflow
    refused: int = 0  # rejected results of stale leases

    @property
    def relevant(self) -> int:
        """Number of relevant pages that all workers have stored."""
        return sum(worker.relevant for worker in self.workers)

    def to_dict(self) -> dict[str, object]:
        """Return the status as JSON-serialisable values."""
        workers = [{**asdict(worker), "alive": worker.is_alive} for worker in self.workers]
        return {**asdict(self), "relevant": self.relevant, "workers": workers}


@dataclass(frozen=True)
class SharedCrawl:
    """Crawl of a given name on a Redis server."""

    connection: RedisConnection
    name: str

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[\w.-]{1,100}", self.name):
            raise SettingError(
                f"{self.name!r} is not a valid crawl name: use letters, digits, dots, dashes and underscores"
            )

    @property
    def key_prefix(self) -> str:
        """Prefix of all keys of the crawl."""
        return f"{HASH_TAG}:{self.name}"

    async def get_epoch(self) -> str | None:
        """Return the identifier of the crawl, or None if there is no crawl of that name."""
        epoch = await self.connection.execute("HGET", f"{self.key_prefix}:c", "epoch")
        return None if epoch is None else epoch.decode()

    async def create(self, rules: FrontierRules, pages: int, facts: Mapping[str, str]) -> tuple[str, bool]:
        """Create the crawl unless it exists. Return its epoch, which identifies this crawl, and whether it is new."""
        first = {**build_initial_facts(rules), **build_shared_facts(rules, pages), "pace": f"{HASH_TAG}:pace"}
        public = {"format": str(FORMAT_VERSION), "version": __version__, "made": repr(time.time()), **facts}
        values = [text for pair in first.items() for text in pair]
        more = [text for pair in public.items() for text in pair]
        answer = await self.connection.execute(
            "EVAL", _CREATE_SCRIPT, 2, self.key_prefix, f"{HASH_TAG}:crawls", self.name, len(values), *values, *more
        )
        return (first["epoch"], True) if answer is None else (answer.decode(), False)

    async def get_facts(self) -> dict[str, str]:
        """Return the configuration of the crawl. Raise ClusterError if it does not exist or has another format."""
        stored = iter_pairs(await self.connection.execute("HGETALL", f"{self.key_prefix}:facts"))
        facts = {name.decode(): value.decode() for name, value in stored}
        if not facts:
            names = sorted(name.decode() for name in await self.connection.execute("SMEMBERS", f"{HASH_TAG}:crawls"))
            existing = f"existing crawls: {', '.join(names)}" if names else "the server has no crawls yet"
            raise ClusterError(f"no crawl {self.name!r} on {self.connection.display_address}: {existing}")
        if not MIN_FORMAT_VERSION <= int(facts["format"]) <= FORMAT_VERSION:
            must_upgrade = int(facts["format"]) > FORMAT_VERSION
            advice = (
                "upgrade Topicrawl" if must_upgrade else "continue with that version, or gather and start a new crawl"
            )
            raise ClusterError(
                f"the crawl {self.name!r} on {self.connection.display_address} was created by Topicrawl "
                f"{facts.get('version', '?')} in format {facts['format']}, but this is Topicrawl {__version__} "
                f"with format {FORMAT_VERSION}: {advice}"
            )
        return facts

    async def set_facts(self, facts: Mapping[str, str]) -> None:
        """Set fields of the configuration of the crawl. The other fields stay."""
        await self.connection.execute(
            "HSET", f"{self.key_prefix}:facts", *(text for pair in facts.items() for text in pair)
        )

    async def set_rules(self, rules: FrontierRules, pages: int) -> None:
        """Change the rules and the page limit for all workers."""
        facts = build_shared_facts(rules, pages)
        await self.connection.execute(
            "HSET", f"{self.key_prefix}:c", *(text for pair in facts.items() for text in pair)
        )

    async def get_page_limit(self) -> int | None:
        """Return the page limit of all workers, 0 for no limit, or None if there is no crawl of that name."""
        pages = await self.connection.execute("HGET", f"{self.key_prefix}:c", "pages")
        return None if pages is None else int(pages)

    async def set_page_limit(self, pages: int) -> None:
        """Set the page limit of all workers, also in the settings that workers load later."""
        settings = json.loads((await self.get_facts())["settings"])
        await self.connection.execute("HSET", f"{self.key_prefix}:c", "pages", pages)
        await self.set_facts({"settings": json.dumps({**settings, "pages": pages})})

    async def set_state(self, state: int) -> None:
        """Set the state: `RUNNING`, `PAUSED` or `FINISHED`. Raise `ClusterError` if the crawl does not exist."""
        await self.get_facts()
        await self.connection.execute("HSET", f"{self.key_prefix}:c", "paused", state)

    async def get_trained_state(self) -> bytes | None:
        """Return the state of the strategy after training, or None if no worker has published it yet."""
        state: bytes | None = await self.connection.execute("GET", f"{self.key_prefix}:trained")
        return state

    async def set_trained_state(self, state: bytes) -> None:
        """Publish the state of the strategy after training, which replaces an earlier one."""
        await self.connection.execute("SET", f"{self.key_prefix}:trained", state)

    async def list_workers(self) -> list[WorkerInfo]:
        """Return the last known states of all workers by name, also of those that have ended."""
        now, heartbeats = await self.connection.execute_all([("TIME",), ("HGETALL", f"{self.key_prefix}:workers")])
        server_time = int(now[0]) + int(now[1]) / 1e6
        workers = []
        for name, heartbeat in iter_pairs(heartbeats):
            at, _, report = heartbeat.decode().partition(" ")
            workers.append(WorkerInfo(name.decode(), max(0.0, server_time - float(at)), json.loads(report or "{}")))
        return sorted(workers, key=lambda worker: worker.name)

    async def get_status(self) -> SharedCrawlStatus:
        """Return the progress, the counts and the workers of the crawl. Raise `ClusterError` if it does not exist."""
        await self.get_facts()
        facts = await self.connection.execute(
            "HMGET", f"{self.key_prefix}:c", "kept", "pages", "paused", "away", "refused"
        )
        kept, pages, paused, away, refused = (int(fact or 0) for fact in facts)
        workers = await self.list_workers()
        counts = await RedisFrontierReader(self.connection, self.key_prefix).get_counts()
        memory = await self.connection.execute("INFO", "memory")
        used = int(memory.decode().partition("used_memory:")[2].partition("\r")[0] or 0)
        return SharedCrawlStatus(self.name, _STATES[paused], kept, pages, counts, workers, used, away, refused)


async def list_crawls(connection: RedisConnection) -> list[str]:
    """Return the names of all crawls on a server."""
    return sorted(name.decode() for name in await connection.execute("SMEMBERS", f"{HASH_TAG}:crawls"))


def is_newer(version: str, than: str) -> bool:
    """Return whether a version is newer than another one.

    >>> is_newer("0.10.0", "0.9.2"), is_newer("0.9.2", "0.9.2"), is_newer("?", "0.9.2")
    (True, False, False)
    """
    one, other = ([int(number) for number in re.findall(r"\d+", text)] for text in (version, than))
    return one > other
