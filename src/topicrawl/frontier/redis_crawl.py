"""A crawl that lives in Redis: how it is made, found, paused and ended.

Beside the frontier's own keys (see `lua/1_run.lua`) a crawl has

    :facts      hash   what workers must know: topic, settings, identity, the format of it all
    :trained    text   what its strategy had learned before the first page
    :workers    hash   worker → when it was heard of last, and what it said of itself

and the set `{topicrawl}:crawls` names them all.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from secrets import token_hex

from topicrawl import __version__
from topicrawl.errors import ClusterError, SettingError
from topicrawl.frontier.contract import Counts, Rules
from topicrawl.frontier.redis import RedisLook, pairs
from topicrawl.frontier.redis_server import TAG, Server

FORMAT = 4  # of what is in Redis; it never changes while a crawl lives, so workers of one format may differ in version
OLDEST_FORMAT = 4  # that is still understood
RUNNING, PAUSED, FINISHED = range(3)
_STATES = ("running", "paused", "finished")
_SILENT = 15.0  # seconds after which a worker is taken for gone
_COUNTERS = "offset next token closed waiting leased done dropped hosts kept paused pages refused away"
# The second one to come finds the crawl of the first.
_MAKE = """
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


def first_facts(rules: Rules) -> dict[str, str]:
    """What the function in `lua/` must find before its first run."""
    return {
        "epoch": f"e{token_hex(8)}", "life": "", "outer": "-inf", "inner": "-inf", "crashed": "-inf", "buckets": "1",
        "pace": "", **dict.fromkeys(_COUNTERS.split(), "0"), **rule_facts(rules),
    }  # fmt: skip


def rule_facts(rules: Rules) -> dict[str, str]:
    """The rules of a frontier as facts."""
    return {
        "delay": repr(rules.delay), "parallel": str(rules.parallel), "host_pages": str(rules.host_pages),
        "lease": repr(rules.lease_seconds), "attempts": str(rules.attempts), "capacity": str(rules.capacity),
    }  # fmt: skip


def shared_facts(rules: Rules, pages: int) -> dict[str, str]:
    """The rules of a crawl that workers share: what has no room is put away by them, not dropped."""
    return {**rule_facts(rules), "capacity": "0", "room": str(rules.capacity), "pages": str(pages)}


@dataclass(frozen=True)
class Worker:
    """What is known of a worker."""

    name: str
    ago: float  # seconds since it was heard of
    report: Mapping[str, object]

    @property
    def alive(self) -> bool:
        return self.ago < _SILENT


@dataclass(frozen=True)
class Status:
    """How a crawl is doing."""

    name: str
    state: str
    pages: int  # kept by all workers
    wanted: int  # 0: no limit
    frontier: Counts
    workers: list[Worker] = field(default_factory=list)
    memory: int = 0  # bytes that the server uses for everything
    away: int = 0  # links that were put away for want of room
    refused: int = 0  # acknowledgements that came too late

    def plain(self) -> dict[str, object]:
        """For programs."""
        workers = [{**asdict(worker), "alive": worker.alive} for worker in self.workers]
        return {**asdict(self), "workers": workers}


@dataclass(frozen=True)
class SharedCrawl:
    """A crawl of that name on a server."""

    server: Server
    name: str

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[\w.-]{1,100}", self.name):
            raise SettingError(f"{self.name!r} does not do as the name of a crawl: letters, digits, dots and dashes")

    @property
    def base(self) -> str:
        return f"{TAG}:{self.name}"

    async def epoch(self) -> str | None:
        """Which crawl this very one is; None: there is none of that name."""
        found = await self.server.ask("HGET", f"{self.base}:c", "epoch")
        return None if found is None else found.decode()

    async def make(self, rules: Rules, pages: int, facts: Mapping[str, str]) -> tuple[str, bool]:
        """Make the crawl unless it is there. Returns its epoch, and whether it is new."""
        first = {**first_facts(rules), **shared_facts(rules, pages), "pace": f"{TAG}:pace"}
        told = {"format": str(FORMAT), "version": __version__, "made": repr(time.time()), **facts}
        values = [text for pair in first.items() for text in pair]
        more = [text for pair in told.items() for text in pair]
        answer = await self.server.ask(
            "EVAL", _MAKE, 2, self.base, f"{TAG}:crawls", self.name, len(values), *values, *more
        )
        return (first["epoch"], True) if answer is None else (answer.decode(), False)

    async def facts(self) -> dict[str, str]:
        """What workers must know."""
        found = pairs(await self.server.ask("HGETALL", f"{self.base}:facts"))
        facts = {name.decode(): value.decode() for name, value in found}
        if not facts:
            names = sorted(name.decode() for name in await self.server.ask("SMEMBERS", f"{TAG}:crawls"))
            there = f"there are {', '.join(names)}" if names else "there is none yet"
            raise ClusterError(f"no crawl {self.name!r} on {self.server.shown}: {there}")
        if not OLDEST_FORMAT <= int(facts["format"]) <= FORMAT:
            what = "upgrade it" if int(facts["format"]) > FORMAT else "go on with that one, or gather and start anew"
            raise ClusterError(
                f"the crawl {self.name!r} on {self.server.shown} was made by Topicrawl {facts.get('version', '?')} in "
                f"format {facts['format']}, and this is {__version__} with format {FORMAT}: {what}"
            )
        return facts

    async def set_facts(self, facts: Mapping[str, str]) -> None:
        """Change what workers are told."""
        await self.server.ask("HSET", f"{self.base}:facts", *(text for pair in facts.items() for text in pair))

    async def set_rules(self, rules: Rules, pages: int) -> None:
        """From now on, for all workers."""
        facts = shared_facts(rules, pages)
        await self.server.ask("HSET", f"{self.base}:c", *(text for pair in facts.items() for text in pair))

    async def set_state(self, state: int) -> None:
        """Run, pause or finish."""
        await self.facts()
        await self.server.ask("HSET", f"{self.base}:c", "paused", state)

    async def trained(self) -> bytes | None:
        """What the strategy had learned before the first page; None: nobody has written it down yet."""
        found: bytes | None = await self.server.ask("GET", f"{self.base}:trained")
        return found

    async def set_trained(self, state: bytes) -> None:
        await self.server.ask("SET", f"{self.base}:trained", state)

    async def status(self) -> Status:
        """How it is doing."""
        await self.facts()
        facts = await self.server.ask("HMGET", f"{self.base}:c", "kept", "pages", "paused", "away", "refused")
        kept, pages, paused, away, refused = (int(fact or 0) for fact in facts)
        now = await self.server.ask("TIME")
        time_ = int(now[0]) + int(now[1]) / 1e6
        workers = []
        for name, said in pairs(await self.server.ask("HGETALL", f"{self.base}:workers")):
            at, _, report = said.decode().partition(" ")
            workers.append(Worker(name.decode(), max(0.0, time_ - float(at)), json.loads(report or "{}")))
        workers.sort(key=lambda worker: worker.name)
        counts = await RedisLook(self.server, self.base).counts()
        memory = await self.server.ask("INFO", "memory")
        used = int(memory.decode().partition("used_memory:")[2].partition("\r")[0] or 0)
        return Status(self.name, _STATES[paused], kept, pages, counts, workers, used, away, refused)


async def names(server: Server) -> list[str]:
    """All crawls on a server."""
    return sorted(name.decode() for name in await server.ask("SMEMBERS", f"{TAG}:crawls"))


def newer(version: str, than: str) -> bool:
    """Whether a version comes after another.

    >>> newer("0.10.0", "0.9.2"), newer("0.9.2", "0.9.2"), newer("?", "0.9.2")
    (True, False, False)
    """
    one, other = ([int(number) for number in re.findall(r"\d+", text)] for text in (version, than))
    return one > other
