"""A frontier in Redis or Valkey: one crawl for any number of workers, on as many machines.

Every operation is one run of the function in `lua/`: it happens wholly or not at all, in the server's time. A lease
carries a token; whoever was away for longer than a lease finds its token refused, so that no two workers do the same
thing. Of links that are done only a mark and the reason remain: the pages are in the workers' collections.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from heapq import nlargest
from math import inf
from struct import pack
from typing import Any, NamedTuple

from topicrawl.frontier.contract import Counts, End, Entry, Lease, Offer
from topicrawl.frontier.known import check_scores
from topicrawl.frontier.redis_links import closed, ended, handed_out, mark, offered, stands, waiting
from topicrawl.frontier.redis_server import Server
from topicrawl.frontier.redis_turns import Turns
from topicrawl.records import Place
from topicrawl.urls import host as host_of

_CHUNK = 2000  # links that are scored anew, or hosts that are looked at, at a time
_YES = ord("1")
_POLL = 0.2  # seconds after which others may have found something


class _Out(NamedTuple):
    """What a worker has on lease."""

    mark: bytes
    host: str


class Pulse(NamedTuple):
    """How a crawl is doing, as a worker hears of it."""

    paused: int  # 1: no link is given out; 2: and it is over
    kept: int  # pages
    pages: int  # that are wanted; 0: no limit


class RedisLook:
    """A crawl in Redis as a bystander sees it. The crawl's keys begin with `base`."""

    def __init__(self, server: Server, base: str) -> None:
        self.server = server
        self.base = base
        self._reasons: dict[int, str] = {}

    async def places(self, urls: Sequence[str]) -> dict[str, Place]:
        """The places of those URLs that wait."""
        if not urls:
            return {}
        marks = [mark(url) for url in urls]
        out, found = await self.server.ask_all(
            [("HMGET", f"{self.base}:leases", *marks), ("HMGET", f"{self.base}:links", *marks)]
        )
        each = zip(urls, out, found, strict=True)
        return {url: waiting(data).place for url, lease, data in each if lease is None and data is not None}

    async def find(self, url: str) -> Entry | None:
        """What is known of a URL."""
        out, data = await self.server.ask_all(
            [("HEXISTS", f"{self.base}:leases", mark(url)), ("HGET", f"{self.base}:links", mark(url))]
        )
        if data is not None:
            return waiting(data).entry(out=bool(out))
        buckets = int(await self.server.ask("HGET", f"{self.base}:c", "buckets") or 1)
        code = await self.server.ask("HGET", f"{self.base}:known:{bucket(mark(url), buckets)}", mark(url))
        if code is None:
            return None
        if code.isdigit() and int(code) // 3 not in self._reasons:
            names = await self.server.ask("HGETALL", f"{self.base}:reasons")
            self._reasons = {int(number): name.decode() for name, number in pairs(names)}
        return closed(url, code, self._reasons)

    async def best(self, n: int) -> list[Entry]:
        """The best waiting links, whether or not their hosts are ready."""
        found: list[tuple[float, bytes]] = []
        async for hosts in self.hosts(_CHUNK):
            found += [best for _, stored in hosts for best in stands(stored)]
            asked: list[tuple[str | bytes | float, ...]] = [
                ("ZRANGE", self.base.encode() + b":queue:" + name, -max(n, 1), -1, "WITHSCORES") for name, _ in hosts
            ]
            for queue in await self.server.ask_all(asked):
                found += [(float(score), member) for member, score in pairs(queue)]
            found = nlargest(n, found)
        marks = [member[6:] for _, member in found]
        stored = await self.server.ask("HMGET", f"{self.base}:links", *marks) if marks else []
        return [waiting(data).entry() for data in stored if data is not None]

    async def counts(self) -> Counts:
        """How many links are in each state."""
        names = ("waiting", "leased", "done", "dropped", "hosts")
        return Counts(*(int(value or 0) for value in await self.server.ask("HMGET", f"{self.base}:c", *names)))

    async def resting(self) -> int:
        """How many hosts have links that wait and may not be asked yet."""
        return int(await self.server.ask("ZCARD", f"{self.base}:wait"))

    async def close(self) -> None:
        """Let go of the server."""
        await self.server.close()

    async def hosts(self, count: int) -> AsyncIterator[list[tuple[bytes, bytes]]]:
        """All known hosts and what is stored of them, about so many at a time."""
        cursor = b"0"
        while True:
            cursor, values = await self.server.ask("HSCAN", f"{self.base}:hosts", cursor, "COUNT", count)
            if values:
                yield list(pairs(values))
            if int(cursor) == 0:
                return


class Redis(RedisLook):
    """Known links, best first, host by host, for many workers.

    `epoch` names this very crawl: where it is missing, the state was wiped. `worker` is the name under which links are
    leased. Without `clock` the server's time counts; one may be given for tests.
    """

    def __init__(
        self, server: Server, base: str, epoch: str, worker: str, *, clock: Callable[[], float] | None = None
    ) -> None:
        super().__init__(server, base)
        self.epoch = epoch
        self.worker = worker
        self.kept = 0  # pages that all workers have kept, as far as is known here
        self.turns = Turns(self._claimed)
        self._out: dict[int, _Out] = {}  # what this worker has on lease
        self._held: Counter[str] = Counter()  # how much of it on each host
        self._clock = clock
        self._local = clock or time.time
        self._poll = inf if clock else _POLL

    async def add(self, offers: Sequence[Offer]) -> int:
        """Put links in. Returns how many were new."""
        check_scores([offer.place.score for offer in offers])
        return int(await self._run("add", offered(offers)))

    async def lease(self, n: int, *, focus: float = 0.0, few: int = 0) -> list[Lease]:
        """The best `n` links whose hosts may be asked now, best first."""
        if not self.turns.lease_seconds:
            self.turns.lease_seconds = float(await self.server.ask("HGET", f"{self.base}:c", "lease") or 60.0)
        until, start = self._local() + self.turns.lease_seconds, self.turns.latest()
        found = []
        for token, name, known in handed_out(await self._run("lease", n, repr(focus), few)):
            self._out[token] = _Out(mark(known.link.url), name)
            self._held[name] += 1
            self.turns.grant(name, start)
            found.append(Lease(known.link, known.place, name, token, known.attempts + 1, until))
        return found

    async def beat(self, report: str) -> Pulse:
        """Tell that this worker is alive, so that its leases go on; hear how the crawl is doing."""
        held, start = list(self._out.items()), self.turns.latest()
        values = [value for token, out in held for value in (token, out.mark)]
        paused, self.kept, pages, *alive = await self._run("beat", report, *values)
        for (token, out), is_alive in zip(held, alive, strict=True):
            if token in self._out:
                self.turns.grant(out.host, start if is_alive else -inf)
        return Pulse(paused, self.kept, pages)

    async def complete(
        self, lease: Lease, reason: str, offers: Sequence[Offer] = (), *, wait: float = 0.0, unused: bool = False
    ) -> bool:
        """Acknowledge and add the out-links in one step. False: the lease was stale."""
        (done,) = await self.complete_all([End(lease, reason, offers, wait, unused)])
        return done

    async def complete_all(self, ends: Sequence[End]) -> list[bool]:
        """`complete` for each in turn, in one run of the script."""
        check_scores([offer.place.score for end in ends for offer in end.offers])
        if not ends:
            return []
        done, self.kept = await self._run("complete", b"".join(map(ended, ends)))
        for end in ends:
            self._ended(end.lease)
        return [digit == _YES for digit in done]

    async def give_back(self, lease: Lease, *, wait: float = 0.0, count: bool = True, unused: bool = False) -> bool:
        """The link waits again; its host is asked in `wait` seconds at the earliest."""
        given = (lease.token, mark(lease.link.url), repr(wait), int(count), int(unused))
        done = bool(await self._run("give_back", *given))
        self._ended(lease)
        return done

    async def extend(self, lease: Lease) -> bool:
        """The lease runs for its full time again, from now. False: it was stale."""
        (done,) = await self._run("extend", lease.token, mark(lease.link.url))
        return bool(done)

    async def settle(self, urls: Iterable[str], reason: str) -> None:
        """Mark URLs as done without a lease."""
        await self._run("settle", str(reason), *(value for url in urls for value in (mark(url), host_of(url))))

    async def reopen(self, offers: Sequence[Offer]) -> None:
        """Put done links back with the offered place."""
        check_scores([offer.place.score for offer in offers])
        await self._run("reopen", offered(offers))

    async def rescore(self, scores: Mapping[str, float]) -> int:
        """New scores for links that wait. Returns how many were waiting."""
        check_scores(scores.values())
        values: list[str | bytes] = []
        for url, score in scores.items():
            values += (mark(url), host_of(url), pack("<d", score + 0.0))
        # In parts: nobody else can do anything while the script runs.
        parts = [values[at : at + 3 * _CHUNK] for at in range(0, len(values), 3 * _CHUNK)]
        return sum([int(await self._run("rescore", *part)) for part in parts])

    async def set_delay(self, host: str, delay: float) -> None:
        """The host's own delay from now on, never below the rules'."""
        await self._run("set_delay", host, repr(delay))

    async def block(self, host: str, until: float) -> None:
        """Ask nothing of the host before `until`."""
        await self._run("block", host, repr(until - self._local()))

    async def next_ready(self) -> float | None:
        """Seconds until some host may be asked; while others are at work, there may be news sooner."""
        soon, out = (max(0.0, float(value)) for value in await self._run("next_ready"))
        when = min(soon, out)
        if when == inf:
            return None
        return min(when, self._poll) if out < inf or when < _SOON else when

    async def leave(self, *, count: bool = False) -> None:
        """What this worker has out waits again."""
        await self._run("leave", int(count))
        self._out.clear()
        self._held.clear()
        self.turns.clear()

    async def close(self) -> None:
        """Let go of the server; what this worker has out waits again."""
        try:
            await self.leave()
        finally:
            await super().close()

    def _ended(self, lease: Lease) -> None:
        if self._out.pop(lease.token, None) is not None:
            self._held[lease.host] -= 1
            if not self._held[lease.host]:
                del self._held[lease.host]
                self.turns.end(lease.host)

    async def _claimed(self, host: str) -> float:
        return float(await self._run("claim", host))

    async def _run(self, operation: str, *values: str | bytes | float) -> Any:
        now = "" if self._clock is None else repr(self._clock())
        return await self.server.run(self.base, self.epoch, now, self.worker, operation, *values)


_SOON = 60.0  # seconds: a longer wait is not worth looking again and again


def bucket(mark: bytes, buckets: int) -> int:
    """Which bucket a mark is in when there are so many; the same as in lua/3_links.lua.

    >>> [bucket(bytes([0, 0, 0, n]), 3) for n in range(5)]
    [0, 1, 2, 1, 0]
    """
    level = 1 << buckets.bit_length() - 1
    number = int.from_bytes(mark[:4], "big")
    found = number % (2 * level)
    return found if found < buckets else number % level


def pairs(values: Sequence[bytes]) -> Iterator[tuple[bytes, bytes]]:
    """Names and values by turns.

    >>> list(pairs([b"a", b"1", b"b", b"2"]))
    [(b'a', b'1'), (b'b', b'2')]
    """
    return zip(values[::2], values[1::2], strict=True)
