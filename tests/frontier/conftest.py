"""Reference frontier (oracle) for the conformance tests: it scans all links in each call, slow but simple."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import shutil
import socket
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.helpers.redis_server import RedisServer, running

from topicrawl.frontier.base import (
    EXPECTED_SECONDS,
    NO_LIMITS,
    SLOW_LEASE_SECONDS,
    Frontier,
    FrontierCounts,
    FrontierEntry,
    FrontierRules,
    Lease,
    LeaseLimits,
    Offer,
)
from topicrawl.frontier.memory import MemoryFrontier
from topicrawl.frontier.redis.frontier import RedisFrontier
from topicrawl.frontier.redis.server import RedisConnection, load_library
from topicrawl.frontier.redis.shared_crawl import build_initial_facts
from topicrawl.frontier.sqlite.frontier import SqliteFrontier
from topicrawl.models import Link, Priority
from topicrawl.urls import get_host as host_of


@dataclass
class Clock:
    time: float = 1_000_000.0

    def __call__(self) -> float:
        return self.time


@dataclass
class Item:
    link: Link
    place: Priority
    first_score: float
    seq: int
    state: str = "waiting"
    attempts: int = 0
    reason: str = ""
    token: int = 0
    until: float = 0.0
    since: float = 0.0
    completed: bool = False

    @property
    def host(self) -> str:
        return host_of(self.link.url)


@dataclass
class Host:
    delay: float
    last: float = -inf
    hold: float = -inf
    wait: float = 0.0
    blocked: float = -inf
    starts: list[float] = field(default_factory=list)


def stored_fields(link: Link) -> Link:
    """Return a link with the fields that a frontier stores."""
    return Link(link.url, link.source, link.anchor, depth=link.depth)


class Oracle:
    """Literal implementation of the frontier contract.

    With `shared` it models a frontier for many workers: it stores little of done links, the leases of a killed process
    stay active until they expire, and a request may have started late in an expired lease.
    """

    def __init__(self, rules: FrontierRules, clock: Clock, *, shared: bool = False) -> None:
        self.rules, self.clock, self.shared = rules, clock, shared
        self.numbers = 0
        self.items: dict[str, Item] = {}
        self.hosts: dict[str, Host] = {}
        self.before = self.noted = clock()  # last reading of the clock, and last saved reading
        self.offset, self.tokens = 0.0, 0

    # Queries

    def get_priorities(self, urls: Sequence[str]) -> dict[str, Priority]:
        return {u: self.items[u].place for u in urls if u in self.items and self.items[u].state == "waiting"}

    def get_entry(self, url: str) -> FrontierEntry | None:
        item = self.items.get(url)
        return item and FrontierEntry(item.link, item.place, item.state, item.attempts, item.first_score, item.reason)

    def get_best_entries(self, n: int) -> list[FrontierEntry]:
        waiting = sorted(self.all("waiting"), key=lambda item: (-item.place.score, item.seq))
        return [self.get_entry(item.link.url) for item in waiting[:n]]

    def get_counts(self) -> FrontierCounts:
        states = [item.state for item in self.items.values()]
        return FrontierCounts(*(states.count(s) for s in ("waiting", "leased", "done", "dropped")), len(self.hosts))

    # Operations

    def add(self, offers: Sequence[Offer]) -> int:
        self.now()
        return self.apply_offers(offers)

    def lease(self, n: int, limits: LeaseLimits = NO_LIMITS) -> list[Lease]:
        now, leases = self.now(), []
        poor_score, max_poor = self.poor_score(limits, now), self.max_poor(limits)
        while len(leases) < n:
            ready = [item for item in self.all("waiting") if self.is_ready(item.host, now)]
            if not ready:
                break
            item = min(ready, key=lambda item: (-item.place.score, item.seq))
            poor = item.place.score < poor_score
            if item.place.score < limits.min_score:
                break
            if poor and sum(lease.is_poor for lease in leases) >= max_poor:
                break
            self.tokens += 1
            item.state, item.token, item.since = "leased", self.tokens, now
            item.until = now + self.rules.lease_seconds
            item.attempts += 1
            self.host(item.host).last = now
            self.host(item.host).starts.append(now)
            until = item.until - self.offset
            leases.append(Lease(item.link, item.place, item.host, item.token, item.attempts, until, poor))
        return leases

    def poor_score(self, limits: LeaseLimits, now: float) -> float:
        """Return the score below which links are poor."""
        known = [item.place.score for item in self.all("waiting") if self.is_expected(item.host, now)]
        known += [item.place.score for item in self.all("leased") if item.since + SLOW_LEASE_SECONDS >= now]
        best = max(known, default=0.0) if limits.focus else 0.0
        return limits.focus * best if best > 0 else -inf

    def max_poor(self, limits: LeaseLimits) -> int:
        """Return how many poor links may be leased."""
        return max(limits.max_poor, limits.min_leased - len(self.all("leased")))

    def is_expected(self, name: str, now: float) -> bool:
        """Return whether a host is ready, or will be after its crawl delay."""
        host = self.host(name)
        soon = self.ready_at(name) - min(host.delay, EXPECTED_SECONDS) <= now
        is_slow = host.last + SLOW_LEASE_SECONDS < now
        return soon and self.has_pages_left(name) and (self.has_room(name) or not is_slow)

    def complete(
        self, lease: Lease, reason: str, offers: Sequence[Offer] = (), *, wait: float = 0.0, unused: bool = False
    ) -> bool:
        now, item = self.now(), self.items[lease.link.url]
        if item.state != "leased" or item.token != lease.token:
            return False
        self.refund_delay(item.host, unused)
        item.state, item.reason, item.completed = "done", reason, True
        self.discard_fields(item)
        self.postpone(item.host, now, wait)
        if self.is_spent(item.host):
            for other in self.all("waiting"):
                if other.host == item.host:
                    other.state, other.reason = "dropped", "host_budget"
                    self.discard_fields(other)
        self.apply_offers(offers)
        return True

    def release(self, lease: Lease, *, wait: float = 0.0, count_attempt: bool = True, unused: bool = False) -> bool:
        now, item = self.now(), self.items[lease.link.url]
        if item.state != "leased" or item.token != lease.token:
            return False
        self.refund_delay(item.host, unused)
        self.postpone(item.host, now, wait)
        self.requeue(item, count=count_attempt)
        return True

    def extend(self, lease: Lease) -> bool:
        now, item = self.now(), self.items[lease.link.url]
        if item.state != "leased" or item.token != lease.token:
            return False
        item.until = now + self.rules.lease_seconds
        return True

    def mark_done(self, urls: Iterable[str], reason: str) -> None:
        self.now()
        for url in urls:
            self.host(host_of(url))
            item = self.items.setdefault(url, Item(Link(url), Priority(0.0), 0.0, self.next_number()))
            if item.state in ("waiting", "dropped"):
                item.state, item.reason, item.attempts = "done", reason, 0
                self.discard_fields(item)

    def reopen(self, offers: Sequence[Offer]) -> None:
        self.now()
        self.apply_offers(offers, reopen=True)

    def rescore(self, scores: Mapping[str, float]) -> int:
        self.now()
        waiting = [url for url in scores if url in self.items and self.items[url].state == "waiting"]
        for url in waiting:
            self.items[url].place = replace(self.items[url].place, score=scores[url])
        return len(waiting)

    def set_host_delay(self, host: str, delay: float) -> None:
        self.now()
        self.host(host).delay = max(self.rules.delay, delay)

    def block(self, host: str, until: float) -> None:
        self.now()
        self.host(host).blocked = until + self.offset

    def seconds_until_ready(self, limits: LeaseLimits = NO_LIMITS) -> float | None:
        now, times = self.now(), [inf]
        least = limits.min_score
        if self.max_poor(limits) <= 0:
            least = max(least, self.poor_score(limits, now))
        for item in self.all("waiting"):
            if self.has_room(item.host) and item.place.score >= least:
                times.append(self.ready_at(item.host))
        for item in self.all("leased"):
            times.append(max(item.until, self.ready_at(item.host)))
        return None if min(times) == inf else max(0.0, min(times) - now)

    # Process events

    def close(self) -> None:
        """Close the frontier properly."""
        self.now()
        for item in self.all("leased"):
            self.requeue(item, count=False)

    def crash(self) -> None:
        """Simulate a kill: the reading of the clock is not saved, and requests may have just started."""
        if self.shared:
            return
        for item in self.all("leased"):
            self.requeue(item, count=True)
        self.before = self.noted
        for host in self.hosts.values():
            host.last = inf

    def open(self) -> None:
        """Simulate a new process that opens the same file."""
        if self.shared:
            return
        now = self.now()
        self.noted = self.before
        for host in self.hosts.values():
            host.last = min(host.last, now)
            host.hold = min(host.hold, now + host.wait)

    # Helpers

    def all(self, state: str) -> list[Item]:
        return [item for item in self.items.values() if item.state == state]

    def now(self) -> float:
        """Return the monotonic time, after expired leases have been requeued."""
        time = self.clock()
        if time < self.before:
            self.offset += self.before - time
            self.noted = time
        self.before = time
        for item in self.all("leased"):
            if item.until <= time + self.offset:
                self.requeue(item, count=True)
                if self.shared:
                    host, late = self.host(item.host), item.until - 0.2 * self.rules.lease_seconds
                    host.hold = max(host.hold, late + host.delay)
        return time + self.offset

    def host(self, name: str) -> Host:
        return self.hosts.setdefault(name, Host(self.rules.delay))

    def ready_at(self, name: str) -> float:
        host = self.host(name)
        return max(host.last + host.delay, host.hold, host.blocked)

    def count_links(self, name: str, state: str) -> int:
        return sum(item.host == name for item in self.all(state))

    def pages(self, name: str) -> int:
        return sum(item.host == name and item.completed for item in self.all("done"))

    def is_spent(self, name: str) -> bool:
        return 0 < self.rules.host_pages <= self.pages(name)

    def has_room(self, name: str) -> bool:
        return self.has_pages_left(name) and (
            not self.rules.parallel or self.count_links(name, "leased") < self.rules.parallel
        )

    def has_pages_left(self, name: str) -> bool:
        return not 0 < self.rules.host_pages <= self.pages(name) + self.count_links(name, "leased")

    def is_ready(self, name: str, now: float) -> bool:
        return self.ready_at(name) <= now and self.has_room(name)

    def refund_delay(self, name: str, unused: bool) -> None:
        if unused:
            self.host(name).last -= self.host(name).delay

    def postpone(self, name: str, now: float, wait: float) -> None:
        host = self.host(name)
        if wait > 0 and now + wait > host.hold:
            host.hold, host.wait = now + wait, wait

    def requeue(self, item: Item, *, count: bool) -> None:
        item.state = "waiting"
        if not count:
            item.attempts -= 1
        elif item.attempts >= self.rules.attempts:
            item.state, item.reason = "dropped", "set_aside"
            self.discard_fields(item)

    def next_number(self) -> int:
        self.numbers += 1
        return self.numbers

    def discard_fields(self, item: Item) -> None:
        """Discard the fields of a closed link. A link dropped for lack of capacity keeps the score to exceed."""
        if self.shared:
            score = item.place.score if item.reason == "dropped" else 0.0
            item.link, item.place, item.first_score, item.attempts = Link(item.link.url), Priority(score), score, 0

    def restore_fields(self, item: Item, link: Link, place: Priority) -> None:
        """Treat a link whose fields were discarded as newly found."""
        if self.shared:
            item.link, item.first_score, item.seq = link, place.score, self.next_number()

    def apply_offers(self, offers: Sequence[Offer], *, reopen: bool = False) -> int:
        new = 0
        for offer in offers:
            link, place = stored_fields(offer.link), offer.priority
            item = self.items.get(link.url)
            self.host(host_of(link.url))
            if reopen and item and item.state == "done":
                was_completed, item.completed = item.completed, False
                if self.is_spent(item.host):
                    item.completed = was_completed
                else:
                    self.restore_fields(item, link, place)
                    depth = min(link.depth, item.link.depth)
                    item.state, item.attempts, item.reason = "waiting", 0, ""
                    item.place, item.link = place, replace(link, depth=depth)
            elif self.is_spent(host_of(link.url)):
                pass
            elif item is None:
                self.items[link.url] = Item(link, place, place.score, self.next_number())
                new += 1
            else:
                self.apply_offer(item, offer)
        waiting = sorted(self.all("waiting"), key=lambda item: (item.place.score, -item.seq))
        if 0 < self.rules.capacity < len(waiting):
            for item in waiting[: len(waiting) - int(self.rules.capacity * 0.9)]:
                item.state, item.reason = "dropped", "dropped"
                self.discard_fields(item)
        return new

    def apply_offer(self, item: Item, offer: Offer) -> None:
        better = offer.priority.score > item.place.score
        if better and item.reason == "dropped" and item.state == "dropped":
            item.state, item.reason = "waiting", ""
            self.restore_fields(item, stored_fields(offer.link), offer.priority)
        if item.state == "waiting" and (better or offer.replace):
            item.place = offer.priority
            if better:
                item.link = replace(stored_fields(offer.link), depth=min(offer.link.depth, item.link.depth))


class InMemory:
    """Memory frontier: nothing persists."""

    share, shared = 1.0, False
    endings: tuple[str, ...] = ()

    def __init__(self, folder: Path) -> None:
        pass

    def open(self, rules: FrontierRules, clock: Clock) -> Frontier:
        return MemoryFrontier(rules, clock)


class InFile:
    """SQLite frontier. A crash is simulated by a copy of the file at that instant."""

    share, shared = 1.0, False
    endings: tuple[str, ...] = ("close", "crash")

    def __init__(self, folder: Path) -> None:
        self.folder, self.crashes = folder, 0

    @property
    def path(self) -> Path:
        return self.folder / f"frontier-{self.crashes}.db"

    def open(self, rules: FrontierRules, clock: Clock) -> Frontier:
        # Small caches, so that all code paths are tested.
        return SqliteFrontier(self.path, rules, clock, cache_size=40, max_idle_hosts=2)

    async def crash(self, frontier: Frontier) -> None:
        old = self.path
        self.crashes += 1
        for suffix in ("", "-wal"):
            shutil.copyfile(f"{old}{suffix}", f"{self.path}{suffix}")
        await frontier.close()


class InRedis:
    """Redis frontier. A crash is simulated by closing the connection without releasing the leases."""

    # A server is slower, so run fewer operations; TOPICRAWL_SHARE=1 runs as many as for the others.
    share, shared = float(os.environ.get("TOPICRAWL_SHARE", "0.2")), True
    endings: tuple[str, ...] = ("close", "crash")
    server: RedisServer

    def __init__(self, folder: Path) -> None:
        self.base = f"{{topicrawl}}:{folder}"
        self.epoch = ""

    def open(self, rules: FrontierRules, clock: Clock) -> Frontier:
        if not self.epoch:
            facts = build_initial_facts(rules)
            self.epoch = facts["epoch"]
            self.command("HSET", f"{self.base}:c", *(text for pair in facts.items() for text in pair))
        return RedisFrontier(RedisConnection(self.server.address), self.base, self.epoch, "worker", clock=clock)

    async def crash(self, frontier: Frontier) -> None:
        assert isinstance(frontier, RedisFrontier)
        await frontier.connection.close()

    def command(self, *words: str) -> None:
        with socket.create_connection(("127.0.0.1", self.server.port)) as line:
            parts = "".join(f"${len(word.encode())}\r\n{word}\r\n" for word in words)
            line.sendall(f"*{len(words)}\r\n{parts}".encode())
            assert line.recv(64).startswith(b":")


#: All implementations under test.
KINDS = {"memory": InMemory, "file": InFile, "redis": InRedis}
Kind = InMemory | InFile | InRedis


@pytest.fixture(scope="session")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    if importlib.util.find_spec("redis") is None:
        pytest.skip("redis-py is not installed: pip install 'topicrawl[cluster]'")
    with running(tmp_path_factory.mktemp("redis")) as server:
        asyncio.run(load_small_library(server.address))
        yield server


async def load_small_library(address: str) -> None:
    """Load the function with space for three links per host, so that all paths between host and queue are tested."""
    _, text = load_library()
    assert "local MAX_BEST_SIZE = 8 *" in text
    server = RedisConnection(address)
    await server.execute("FUNCTION", "LOAD", text.replace("local MAX_BEST_SIZE = 8 *", "local MAX_BEST_SIZE = 3 *"))
    await server.close()


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest, tmp_path: Path) -> Kind:
    kind_ = KINDS[request.param](tmp_path)
    if isinstance(kind_, InRedis):
        kind_.server = request.getfixturevalue("redis_server")
    return kind_


@pytest.fixture
def kinds() -> dict[str, type[Kind]]:
    return KINDS


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def oracle() -> type[Oracle]:
    return Oracle
