"""A frontier that looks at everything each time: too slow to use, too simple to be wrong."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import shutil
import socket
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from pathlib import Path

import pytest
from tests.redis_server import RedisServer, running

from topicrawl.frontier.contract import LATELY, Counts, Entry, Frontier, Lease, Offer, Rules
from topicrawl.frontier.memory import Memory
from topicrawl.frontier.redis import Redis
from topicrawl.frontier.redis_crawl import first_facts
from topicrawl.frontier.redis_server import Server, library
from topicrawl.frontier.sqlite import Sqlite
from topicrawl.records import Link, Place
from topicrawl.urls import host as host_of


@dataclass
class Clock:
    time: float = 1_000_000.0

    def __call__(self) -> float:
        return self.time


@dataclass
class Item:
    link: Link
    place: Place
    first_score: float
    seq: int
    state: str = "waiting"
    attempts: int = 0
    reason: str = ""
    token: int = 0
    until: float = 0.0
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


def kept(link: Link) -> Link:
    return Link(link.url, link.source, link.anchor, depth=link.depth)


class Oracle:
    """The contract, word for word.

    `shared`: for many workers. Then little is kept of links that are done, a killed process leaves its leases behind
    until they are overdue, and a request may have left late in an overdue lease.
    """

    def __init__(self, rules: Rules, clock: Clock, *, shared: bool = False) -> None:
        self.rules, self.clock, self.shared = rules, clock, shared
        self.numbers = 0
        self.items: dict[str, Item] = {}
        self.hosts: dict[str, Host] = {}
        self.before = self.noted = clock()  # what the clock showed last, and what was written down of it
        self.offset, self.tokens = 0.0, 0
        self.lately: list[float] = []  # scores of what was leased

    # What can be asked

    def places(self, urls: Sequence[str]) -> dict[str, Place]:
        return {u: self.items[u].place for u in urls if u in self.items and self.items[u].state == "waiting"}

    def find(self, url: str) -> Entry | None:
        item = self.items.get(url)
        return item and Entry(item.link, item.place, item.state, item.attempts, item.first_score, item.reason)

    def best(self, n: int) -> list[Entry]:
        waiting = sorted(self.all("waiting"), key=lambda item: (-item.place.score, item.seq))
        return [self.find(item.link.url) for item in waiting[:n]]

    def counts(self) -> Counts:
        states = [item.state for item in self.items.values()]
        return Counts(*(states.count(s) for s in ("waiting", "leased", "done", "dropped")), len(self.hosts))

    # What can be done

    def add(self, offers: Sequence[Offer]) -> int:
        self.now()
        return self.take(offers)

    def lease(self, n: int, *, focus: float = 0.0, few: int = 0) -> list[Lease]:
        now, found = self.now(), []
        able = [item.place.score for item in self.all("waiting") if self.may_be_asked(item.host, now)]
        best = max(self.lately[-LATELY:], default=0.0) if focus else 0.0
        floor = focus * best if best > 0 else -inf
        if max(able, default=-inf) < floor and (few := few - len(self.all("leased"))) > 0:
            n, floor = min(n, few), -inf
        while len(found) < n:
            ready = [item for item in self.all("waiting") if self.may_be_asked(item.host, now)]
            if not ready:
                break
            item = min(ready, key=lambda item: (-item.place.score, item.seq))
            if item.place.score < floor:
                break
            self.tokens += 1
            item.state, item.token, item.until = "leased", self.tokens, now + self.rules.lease_seconds
            item.attempts += 1
            self.lately.append(item.place.score)
            self.host(item.host).last = now
            self.host(item.host).starts.append(now)
            until = item.until - self.offset
            found.append(Lease(item.link, item.place, item.host, item.token, item.attempts, until))
        return found

    def complete(
        self, lease: Lease, reason: str, offers: Sequence[Offer] = (), *, wait: float = 0.0, unused: bool = False
    ) -> bool:
        now, item = self.now(), self.items[lease.link.url]
        if item.state != "leased" or item.token != lease.token:
            return False
        self.spare(item.host, unused)
        item.state, item.reason, item.completed = "done", reason, True
        self.forget(item)
        self.postpone(item.host, now, wait)
        if self.is_spent(item.host):
            for other in self.all("waiting"):
                if other.host == item.host:
                    other.state, other.reason = "dropped", "host_budget"
                    self.forget(other)
        self.take(offers)
        return True

    def give_back(self, lease: Lease, *, wait: float = 0.0, count: bool = True, unused: bool = False) -> bool:
        now, item = self.now(), self.items[lease.link.url]
        if item.state != "leased" or item.token != lease.token:
            return False
        self.spare(item.host, unused)
        del self.lately[:-LATELY]
        if unused and item.place.score in self.lately:
            self.lately.remove(item.place.score)
        self.postpone(item.host, now, wait)
        self.put_back(item, count=count)
        return True

    def extend(self, lease: Lease) -> bool:
        now, item = self.now(), self.items[lease.link.url]
        if item.state != "leased" or item.token != lease.token:
            return False
        item.until = now + self.rules.lease_seconds
        return True

    def settle(self, urls: Iterable[str], reason: str) -> None:
        self.now()
        for url in urls:
            self.host(host_of(url))
            item = self.items.setdefault(url, Item(Link(url), Place(0.0), 0.0, self.number()))
            if item.state in ("waiting", "dropped"):
                item.state, item.reason, item.attempts = "done", reason, 0
                self.forget(item)

    def reopen(self, offers: Sequence[Offer]) -> None:
        self.now()
        self.take(offers, reopen=True)

    def rescore(self, scores: Mapping[str, float]) -> int:
        self.now()
        waiting = [url for url in scores if url in self.items and self.items[url].state == "waiting"]
        for url in waiting:
            self.items[url].place = replace(self.items[url].place, score=scores[url])
        return len(waiting)

    def set_delay(self, host: str, delay: float) -> None:
        self.now()
        self.host(host).delay = max(self.rules.delay, delay)

    def block(self, host: str, until: float) -> None:
        self.now()
        self.host(host).blocked = until + self.offset

    def next_ready(self) -> float | None:
        now, times = self.now(), [inf]
        for item in self.all("waiting"):
            if self.has_room(item.host):
                times.append(self.ready_at(item.host))
        for item in self.all("leased"):
            times.append(max(item.until, self.ready_at(item.host)))
        return None if min(times) == inf else max(0.0, min(times) - now)

    # What can happen

    def close(self) -> None:
        """The process ends properly."""
        self.now()
        for item in self.all("leased"):
            self.put_back(item, count=False)

    def crash(self) -> None:
        """The process is killed: nobody writes down what the clock shows, and requests may have just begun."""
        if self.shared:
            return
        for item in self.all("leased"):
            self.put_back(item, count=True)
        self.before = self.noted
        for host in self.hosts.values():
            host.last = inf

    def open(self) -> None:
        """The next process goes on with the same file."""
        if self.shared:
            return
        now = self.now()
        self.lately.clear()
        self.noted = self.before
        for host in self.hosts.values():
            host.last = min(host.last, now)
            host.hold = min(host.hold, now + host.wait)

    # What it rests on

    def all(self, state: str) -> list[Item]:
        return [item for item in self.items.values() if item.state == state]

    def now(self) -> float:
        """Time goes on from where it was when the clock is set back. Overdue leases end here."""
        time = self.clock()
        if time < self.before:
            self.offset += self.before - time
            self.noted = time
        self.before = time
        for item in self.all("leased"):
            if item.until <= time + self.offset:
                self.put_back(item, count=True)
                if self.shared:
                    host, late = self.host(item.host), item.until - 0.2 * self.rules.lease_seconds
                    host.hold = max(host.hold, late + host.delay)
        return time + self.offset

    def host(self, name: str) -> Host:
        return self.hosts.setdefault(name, Host(self.rules.delay))

    def ready_at(self, name: str) -> float:
        host = self.host(name)
        return max(host.last + host.delay, host.hold, host.blocked)

    def of_host(self, name: str, state: str) -> int:
        return sum(item.host == name for item in self.all(state))

    def pages(self, name: str) -> int:
        return sum(item.host == name and item.completed for item in self.all("done"))

    def is_spent(self, name: str) -> bool:
        return 0 < self.rules.host_pages <= self.pages(name)

    def has_room(self, name: str) -> bool:
        leased, rules = self.of_host(name, "leased"), self.rules
        if 0 < rules.host_pages <= self.pages(name) + leased:
            return False
        return not rules.parallel or leased < rules.parallel

    def may_be_asked(self, name: str, now: float) -> bool:
        return self.ready_at(name) <= now and self.has_room(name)

    def spare(self, name: str, unused: bool) -> None:
        if unused:
            self.host(name).last -= self.host(name).delay

    def postpone(self, name: str, now: float, wait: float) -> None:
        host = self.host(name)
        if wait > 0 and now + wait > host.hold:
            host.hold, host.wait = now + wait, wait

    def put_back(self, item: Item, *, count: bool) -> None:
        item.state = "waiting"
        if not count:
            item.attempts -= 1
        elif item.attempts >= self.rules.attempts:
            item.state, item.reason = "dropped", "set_aside"
            self.forget(item)

    def number(self) -> int:
        self.numbers += 1
        return self.numbers

    def forget(self, item: Item) -> None:
        """Of what is done or dropped for good, only that remains; of what had no room, the score to beat."""
        if self.shared:
            score = item.place.score if item.reason == "dropped" else 0.0
            item.link, item.place, item.first_score, item.attempts = Link(item.link.url), Place(score), score, 0

    def remember(self, item: Item, link: Link, place: Place) -> None:
        """What was forgotten is as if it had just been found."""
        if self.shared:
            item.link, item.first_score, item.seq = link, place.score, self.number()

    def take(self, offers: Sequence[Offer], *, reopen: bool = False) -> int:
        new = 0
        for offer in offers:
            link, place = kept(offer.link), offer.place
            item = self.items.get(link.url)
            self.host(host_of(link.url))
            if reopen and item and item.state == "done":
                was_completed, item.completed = item.completed, False
                if self.is_spent(item.host):
                    item.completed = was_completed
                else:
                    self.remember(item, link, place)
                    depth = min(link.depth, item.link.depth)
                    item.state, item.attempts, item.reason = "waiting", 0, ""
                    item.place, item.link = place, replace(link, depth=depth)
            elif self.is_spent(host_of(link.url)):
                pass
            elif item is None:
                self.items[link.url] = Item(link, place, place.score, self.number())
                new += 1
            else:
                self.take_known(item, offer)
        waiting = sorted(self.all("waiting"), key=lambda item: (item.place.score, -item.seq))
        if 0 < self.rules.capacity < len(waiting):
            for item in waiting[: len(waiting) - int(self.rules.capacity * 0.9)]:
                item.state, item.reason = "dropped", "dropped"
                self.forget(item)
        return new

    def take_known(self, item: Item, offer: Offer) -> None:
        better = offer.place.score > item.place.score
        if better and item.reason == "dropped" and item.state == "dropped":
            item.state, item.reason = "waiting", ""
            self.remember(item, kept(offer.link), offer.place)
        if item.state == "waiting" and (better or offer.replace):
            item.place = offer.place
            if better:
                item.link = replace(kept(offer.link), depth=min(offer.link.depth, item.link.depth))


class InMemory:
    """Nothing outlives it."""

    share, shared = 1.0, False
    endings: tuple[str, ...] = ()

    def __init__(self, folder: Path) -> None:
        pass

    def open(self, rules: Rules, clock: Clock) -> Frontier:
        return Memory(rules, clock)


class InFile:
    """One file; a crash is a copy of it as it was at that instant."""

    share, shared = 1.0, False
    endings: tuple[str, ...] = ("close", "crash")

    def __init__(self, folder: Path) -> None:
        self.folder, self.crashes = folder, 0

    @property
    def path(self) -> Path:
        return self.folder / f"frontier-{self.crashes}.db"

    def open(self, rules: Rules, clock: Clock) -> Frontier:
        # Small caches, so that all ways are taken.
        return Sqlite(self.path, rules, clock, cached=40, idle=2)

    async def crash(self, frontier: Frontier) -> None:
        old = self.path
        self.crashes += 1
        for suffix in ("", "-wal"):
            shutil.copyfile(f"{old}{suffix}", f"{self.path}{suffix}")
        await frontier.close()


class InRedis:
    """One crawl in a server; a crash is a connection that ends without a word."""

    # Asking a server takes its time; TOPICRAWL_SHARE=1 does all that is done to the others.
    share, shared = float(os.environ.get("TOPICRAWL_SHARE", "0.2")), True
    endings: tuple[str, ...] = ("close", "crash")
    server: RedisServer

    def __init__(self, folder: Path) -> None:
        self.base = f"{{topicrawl}}:{folder}"
        self.epoch = ""

    def open(self, rules: Rules, clock: Clock) -> Frontier:
        if not self.epoch:
            facts = first_facts(rules)
            self.epoch = facts["epoch"]
            self.command("HSET", f"{self.base}:c", *(text for pair in facts.items() for text in pair))
        return Redis(Server(self.server.address), self.base, self.epoch, "worker", clock=clock)

    async def crash(self, frontier: Frontier) -> None:
        assert isinstance(frontier, Redis)
        await frontier.server.close()

    def command(self, *words: str) -> None:
        with socket.create_connection(("127.0.0.1", self.server.port)) as line:
            parts = "".join(f"${len(word.encode())}\r\n{word}\r\n" for word in words)
            line.sendall(f"*{len(words)}\r\n{parts}".encode())
            assert line.recv(64).startswith(b":")


#: Every implementation; a new one is put into this table.
KINDS = {"memory": InMemory, "file": InFile, "redis": InRedis}


@pytest.fixture(scope="session")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    if importlib.util.find_spec("redis") is None:
        pytest.skip("redis-py is not installed: pip install 'topicrawl[cluster]'")
    with running(tmp_path_factory.mktemp("redis")) as server:
        asyncio.run(with_little_room(server.address))
        yield server


async def with_little_room(address: str) -> None:
    """Room for three links with their host, so that all ways between host and queue are taken."""
    _, text = library()
    assert "local ROOM = 8 *" in text
    server = Server(address)
    await server.ask("FUNCTION", "LOAD", text.replace("local ROOM = 8 *", "local ROOM = 3 *"))
    await server.close()


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest, tmp_path: Path) -> InMemory | InFile | InRedis:
    found = KINDS[request.param](tmp_path)
    if isinstance(found, InRedis):
        found.server = request.getfixturevalue("redis_server")
    return found


@pytest.fixture
def kinds() -> dict[str, type[InMemory] | type[InFile] | type[InRedis]]:
    return KINDS


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def oracle() -> type[Oracle]:
    return Oracle
