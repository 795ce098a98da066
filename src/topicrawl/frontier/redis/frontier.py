"""Best-first frontier in Redis or Valkey: one crawl for any number of workers on any number of machines.

Every operation is one call of the function in `lua/`, so it is atomic and uses the clock of the server. A lease has a
token. If a worker is away for longer than its lease, the server rejects its token, so that no two workers process the
same link. Of a link that is done only the fingerprint and the reason remain: the pages are in the collections of the
workers.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from heapq import nlargest
from math import inf
from secrets import token_hex
from struct import pack
from typing import Any, NamedTuple

from topicrawl.frontier.base import (
    FETCHED,
    NO_LIMITS,
    Completion,
    FrontierCounts,
    FrontierEntry,
    Lease,
    LeaseLimits,
    Offer,
)
from topicrawl.frontier.entry import check_scores
from topicrawl.frontier.redis.host_leases import RedisHostLeases
from topicrawl.frontier.redis.links import (
    decode_best_links,
    decode_closed_link,
    decode_leases,
    decode_link,
    encode_completion,
    encode_limits,
    encode_offers,
    encode_unscored_link,
    url_fingerprint,
)
from topicrawl.frontier.redis.server import RedisConnection
from topicrawl.models import Link, Priority
from topicrawl.urls import get_host as host_of

_BATCH_SIZE = 2000  # links per `rescore` call, hosts per scan
_DIGIT_ONE = ord("1")
_POLL_SECONDS = 0.2  # seconds after which other workers may have found new links


class _HeldLease(NamedTuple):
    """Lease that this worker holds."""

    fingerprint: bytes
    host: str


class HeartbeatReply(NamedTuple):
    """State of the crawl in the reply to a heartbeat."""

    state: int  # `RUNNING`, `PAUSED` or `FINISHED`
    stored_pages: int  # pages that all workers have stored
    page_limit: int  # page limit; 0: no limit


class RedisFrontierReader:
    """Reader of a Redis frontier. `key_prefix` is the prefix of all keys of the crawl."""

    def __init__(self, connection: RedisConnection, key_prefix: str) -> None:
        self.connection = connection
        self.key_prefix = key_prefix
        self._reasons: dict[int, str] = {}

    async def get_priorities(self, urls: Sequence[str]) -> dict[str, Priority]:
        """Return the priorities of those URLs that are waiting."""
        if not urls:
            return {}
        fingerprints = [url_fingerprint(url) for url in urls]
        leases, stored = await self.connection.execute_all(
            [
                ("HMGET", f"{self.key_prefix}:leases", *fingerprints),
                ("HMGET", f"{self.key_prefix}:links", *fingerprints),
            ]
        )
        rows = zip(urls, leases, stored, strict=True)
        return {url: decode_link(data).priority for url, lease, data in rows if lease is None and data is not None}

    async def get_entry(self, url: str) -> FrontierEntry | None:
        """Return the entry of a URL, or None if the URL is unknown."""
        is_leased, data = await self.connection.execute_all(
            [
                ("HEXISTS", f"{self.key_prefix}:leases", url_fingerprint(url)),
                ("HGET", f"{self.key_prefix}:links", url_fingerprint(url)),
            ]
        )
        if data is not None:
            return decode_link(data).as_entry(leased=bool(is_leased))
        return (await self._get_closed_entries([url]))[0]

    async def _get_closed_entries(self, urls: Sequence[str]) -> list[FrontierEntry | None]:
        """Return the entries of links that are done, dropped or in the overflow; None for other URLs."""
        buckets = int(await self.connection.execute("HGET", f"{self.key_prefix}:c", "buckets") or 1)
        fingerprints = [url_fingerprint(url) for url in urls]
        keys = [f"{self.key_prefix}:known:{compute_bucket(name, buckets)}" for name in fingerprints]
        commands: list[tuple[str | bytes | float, ...]] = [
            ("HGET", key, name) for key, name in zip(keys, fingerprints, strict=True)
        ]
        codes = await self.connection.execute_all(commands)
        if any(code is not None and code.isdigit() and int(code) // 3 not in self._reasons for code in codes):
            names = await self.connection.execute("HGETALL", f"{self.key_prefix}:reasons")
            self._reasons = {int(number): name.decode() for name, number in iter_pairs(names)}
        return [
            None if code is None else decode_closed_link(url, code, self._reasons)
            for url, code in zip(urls, codes, strict=True)
        ]

    async def get_best_entries(self, n: int) -> list[FrontierEntry]:
        """Return the `n` best waiting links, whether or not their hosts are ready."""
        ranked: list[tuple[float, bytes]] = []
        async for hosts in self.iter_hosts(_BATCH_SIZE):
            ranked += [best for _, stored in hosts for best in decode_best_links(stored)]
            commands: list[tuple[str | bytes | float, ...]] = [
                ("ZRANGE", self.key_prefix.encode() + b":queue:" + name, -max(n, 1), -1, "WITHSCORES")
                for name, _ in hosts
            ]
            for queue in await self.connection.execute_all(commands):
                ranked += [(float(score), member) for member, score in iter_pairs(queue)]
            ranked = nlargest(n, ranked)
        fingerprints = [member[6:] for _, member in ranked]
        stored = (
            await self.connection.execute("HMGET", f"{self.key_prefix}:links", *fingerprints) if fingerprints else []
        )
        return [decode_link(data).as_entry() for data in stored if data is not None]

    async def get_counts(self) -> FrontierCounts:
        """Count the links in each state."""
        names = ("waiting", "leased", "done", "dropped", "hosts")
        return FrontierCounts(
            *(int(value or 0) for value in await self.connection.execute("HMGET", f"{self.key_prefix}:c", *names))
        )

    async def count_delayed_hosts(self) -> int:
        """Count the hosts that have waiting links and are not ready yet."""
        return int(await self.connection.execute("ZCARD", f"{self.key_prefix}:wait"))

    async def close(self) -> None:
        """Close the connection."""
        await self.connection.close()

    async def iter_hosts(self, count: int) -> AsyncIterator[list[tuple[bytes, bytes]]]:
        """Yield the names and the stored data of all known hosts, in batches of about `count`."""
        cursor = b"0"
        while True:
            cursor, values = await self.connection.execute("HSCAN", f"{self.key_prefix}:hosts", cursor, "COUNT", count)
            if values:
                yield list(iter_pairs(values))
            if int(cursor) == 0:
                return


class RedisFrontier(RedisFrontierReader):
    """Best-first frontier with per-host politeness, shared by many workers.

    `epoch` identifies this crawl. If the server does not know it, the state of the crawl was wiped. `worker` is the
    name of the worker that leases links. Without `clock`, the clock of the server counts; tests may pass their own.
    """

    def __init__(
        self,
        connection: RedisConnection,
        key_prefix: str,
        epoch: str,
        worker: str,
        *,
        clock: Callable[[], float] | None = None,
    ) -> None:
        super().__init__(connection, key_prefix)
        self.epoch = epoch
        self.worker = worker
        self.stored_pages = 0  # pages that all workers have stored, as of the last reply
        self.host_leases = RedisHostLeases(self._request_claim)
        self._held_leases: dict[int, _HeldLease] = {}  # token → lease of this worker
        self._lease_counts: Counter[str] = Counter()  # number of these leases per host
        self._clock = clock
        self._local_clock = clock or time.time
        self._poll_seconds = inf if clock else _POLL_SECONDS

    async def add(self, offers: Sequence[Offer]) -> int:
        """Add links and return how many of them are new."""
        check_scores([offer.priority.score for offer in offers])
        return int(await self._call_function("add", encode_offers(offers)))

    def find_closed(self, urls: Sequence[str]) -> set[str]:
        """Return an empty set: the links are in the server."""
        return set()

    async def lease(self, n: int, limits: LeaseLimits = NO_LIMITS) -> list[Lease]:
        """Lease up to `n` of the best links whose hosts are ready, best first, as far as the limits allow."""
        if not self.host_leases.lease_seconds:
            self.host_leases.lease_seconds = float(
                await self.connection.execute("HGET", f"{self.key_prefix}:c", "lease") or 60.0
            )
        until, start = self._local_clock() + self.host_leases.lease_seconds, self.host_leases.compute_deadline()
        leases = []
        answer = await self._call_function("lease", n, *encode_limits(limits))
        for token, name, stored, is_poor in decode_leases(answer):
            self._held_leases[token] = _HeldLease(url_fingerprint(stored.link.url), name)
            self._lease_counts[name] += 1
            self.host_leases.set_deadline(name, start)
            attempts = stored.failed_attempts + 1
            leases.append(Lease(stored.link, stored.priority, name, token, attempts, until, is_poor))
        return leases

    async def send_heartbeat(self, report: str) -> HeartbeatReply:
        """Send a heartbeat with a report of this worker, extend its leases, and return the state of the crawl.

        If the server rejects a lease, because it has expired, no further request to its host may start.
        """
        held, start = list(self._held_leases.items()), self.host_leases.compute_deadline()
        values = [value for token, lease in held for value in (token, lease.fingerprint)]
        paused, self.stored_pages, pages, *valid = await self._call_function("heartbeat", report, *values)
        for (token, lease), is_valid in zip(held, valid, strict=True):
            if token in self._held_leases:
                self.host_leases.set_deadline(lease.host, start if is_valid else -inf)
        return HeartbeatReply(paused, self.stored_pages, pages)

    async def complete(
        self, lease: Lease, reason: str, offers: Sequence[Offer] = (), *, wait: float = 0.0, unused: bool = False
    ) -> bool:
        """Mark a leased link as done and add its out-links, atomically. Return False if the lease is stale."""
        (done,) = await self.complete_all([Completion(lease, reason, offers, wait, unused)])
        return done

    async def complete_all(self, completions: Sequence[Completion]) -> list[bool]:
        """Complete several leases in one call of the Redis function. Return for each whether its lease was valid."""
        check_scores([offer.priority.score for end in completions for offer in end.offers])
        if not completions:
            return []
        done, self.stored_pages = await self._call_function("complete", b"".join(map(encode_completion, completions)))
        for end in completions:
            self._forget_lease(end.lease)
        return [digit == _DIGIT_ONE for digit in done]

    async def release(
        self, lease: Lease, *, wait: float = 0.0, count_attempt: bool = True, unused: bool = False
    ) -> bool:
        """Return a leased link to the queue. Return False if the lease is stale."""
        values = (lease.token, url_fingerprint(lease.link.url), repr(wait), int(count_attempt), int(unused))
        is_valid = bool(await self._call_function("release", *values))
        self._forget_lease(lease)
        return is_valid

    async def extend(self, lease: Lease) -> bool:
        """Restart the full duration of a lease now. Return False if the lease is stale."""
        (is_valid,) = await self._call_function("extend", lease.token, url_fingerprint(lease.link.url))
        return bool(is_valid)

    async def mark_done(self, urls: Iterable[str], reason: str) -> None:
        """Mark URLs as done without a lease."""
        urls = list(urls)
        if reason == FETCHED and urls:
            # As the function does for leased links, of which it knows more than the fingerprint.
            links = [value for url in urls for value in (url_fingerprint(url), encode_unscored_link(Link(url)))]
            await self.connection.execute("HSET", self._completed_keys[0], *links)
        await self._call_function(
            "mark_done", str(reason), *(value for url in urls for value in (url_fingerprint(url), host_of(url)))
        )

    async def iterate_done(self) -> AsyncIterator[Sequence[FrontierEntry]]:
        """Yield the done links that this worker has completed and whose pages may not be synced to its disk."""
        for key in self._completed_keys:
            stored = [decode_link(data) for _, data in iter_pairs(await self.connection.execute("HGETALL", key))]
            if stored:
                closed = await self._get_closed_entries([each.link.url for each in stored])
                yield [
                    FrontierEntry(
                        each.link,
                        each.priority,
                        entry.state,
                        each.failed_attempts + 1,
                        each.first_score,
                        entry.reason,
                    )
                    for each, entry in zip(stored, closed, strict=True)
                    if entry is not None and entry.state == "done"
                ]

    async def confirm_stored(self) -> None:
        """Tell the server that the collection of this worker was synced to disk since the last call.

        The server then forgets the links that were complete at the last call: see `iterate_done`.
        """
        await self._call_function("confirm_stored", token_hex(8))

    async def sync_to_disk(self) -> None:
        """Do nothing: a power failure of this machine does not affect the server."""

    @property
    def _completed_keys(self) -> tuple[str, str]:
        """Keys of the links that this worker has completed, since its last confirmation and before."""
        key = f"{self.key_prefix}:completed:{self.worker}"
        return key, f"{key}:old"

    async def reopen(self, offers: Sequence[Offer]) -> None:
        """Queue done links again with the offered priority."""
        check_scores([offer.priority.score for offer in offers])
        await self._call_function("reopen", encode_offers(offers))

    async def rescore(self, scores: Mapping[str, float]) -> int:
        """Set new scores of waiting links and return how many of the URLs are waiting."""
        check_scores(scores.values())
        values: list[str | bytes] = []
        for url, score in scores.items():
            values += (url_fingerprint(url), host_of(url), pack("<d", score + 0.0))
        # In batches, because Redis serves no other client while the function runs.
        parts = [values[at : at + 3 * _BATCH_SIZE] for at in range(0, len(values), 3 * _BATCH_SIZE)]
        return sum([int(await self._call_function("rescore", *part)) for part in parts])

    async def set_host_delay(self, host: str, delay: float) -> None:
        """Set the crawl delay of a host. The delay of the rules is the minimum."""
        await self._call_function("set_host_delay", host, repr(delay))

    async def block(self, host: str, until: float) -> None:
        """Do not lease links of a host before `until`."""
        await self._call_function("block", host, repr(until - self._local_clock()))

    async def seconds_until_ready(self, limits: LeaseLimits = NO_LIMITS) -> float | None:
        """Return the seconds until a link within the limits can be leased, or None if none ever can.

        The result is limited to a short poll interval while other workers may find new links.
        """
        answer = await self._call_function("seconds_until_ready", *encode_limits(limits))
        ready, expiry = (max(0.0, float(value)) for value in answer)
        seconds = min(ready, expiry)
        if seconds == inf:
            return None
        return min(seconds, self._poll_seconds) if expiry < inf or seconds < _MAX_POLLED_WAIT else seconds

    async def release_all(self, *, count_attempts: bool = False) -> None:
        """Return all leased links of this worker to the queue, also those of an earlier process with its name.

        With `count_attempts`, the leases count as attempts, and their hosts wait for their delay.
        """
        await self._call_function("release_all", int(count_attempts))
        self._held_leases.clear()
        self._lease_counts.clear()
        self.host_leases.clear()

    async def close(self) -> None:
        """Return all leased links of this worker to the queue and close the connection."""
        try:
            await self.release_all()
        finally:
            await super().close()

    def _forget_lease(self, lease: Lease) -> None:
        """Remove a lease, and the deadline of its host if this was the last lease of the host."""
        if self._held_leases.pop(lease.token, None) is not None:
            self._lease_counts[lease.host] -= 1
            if not self._lease_counts[lease.host]:
                del self._lease_counts[lease.host]
                self.host_leases.remove_host(lease.host)

    async def _request_claim(self, host: str) -> float:
        """Request permission for one request to a host. Return the seconds to wait, or 0 if it is granted."""
        return float(await self._call_function("claim_host", host))

    async def _call_function(self, operation: str, *values: str | bytes | float) -> Any:
        """Call an operation of the Redis function. Raise `WipedError` if the server does not know the epoch."""
        now = "" if self._clock is None else repr(self._clock())
        return await self.connection.call_function(self.key_prefix, self.epoch, now, self.worker, operation, *values)


_MAX_POLLED_WAIT = 60.0  # seconds; a longer wait is not polled


def compute_bucket(fingerprint: bytes, buckets: int) -> int:
    """Return the bucket of a fingerprint among `buckets` buckets, as in lua/3_links.lua.

    >>> [compute_bucket(bytes([0, 0, 0, n]), 3) for n in range(5)]
    [0, 1, 2, 1, 0]
    """
    level = 1 << buckets.bit_length() - 1
    number = int.from_bytes(fingerprint[:4], "big")
    index = number % (2 * level)
    return index if index < buckets else number % level


def iter_pairs(values: Sequence[bytes]) -> Iterator[tuple[bytes, bytes]]:
    """Yield the name and value pairs of a flat Redis reply.

    >>> list(iter_pairs([b"a", b"1", b"b", b"2"]))
    [(b'a', b'1'), (b'b', b'2')]
    """
    return zip(values[::2], values[1::2], strict=True)
