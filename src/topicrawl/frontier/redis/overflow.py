"""Overflow storage for the worst links of a queue that exceeds its capacity, until there is room again.

A waiting link costs Redis 300 bytes: the link, its position in the queue of its host, and the keys of both. In the
overflow it costs a quarter of that. Workers store packs of a thousand links, compressed together, and for each link its
fingerprint and the score that a better offer must exceed. No link is lost, and the links in the queues are still leased
best first. A sample of the scores determines which links are the worst.

    :attic   hash   number → pack
    :packs   zset   number by the score of the best link in the pack
"""

from __future__ import annotations

import struct
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import NamedTuple

import zstandard

from topicrawl.frontier.redis.frontier import RedisFrontier, iter_pairs
from topicrawl.frontier.redis.links import decode_best_links, decode_link, url_fingerprint
from topicrawl.urls import get_host

_LINKS_PER_PACK = 1000  # links per pack
_SAMPLE_SIZE = 1000  # links in the sample of scores
_HOSTS_PER_BATCH = 500  # hosts per batch
_LINKS_PER_HOST = 500  # links of one host per batch
# Shares of the capacity: fill after moving links out, fill below which links return, and fill after their return.
_TARGET_FILL, _LOW_FILL, _REFILL_TARGET = 0.9, 0.5, 0.7
_LOCK_SECONDS = 60  # lifetime of the lock that lets only one worker rebalance
_LENGTH_PREFIX = struct.Struct("<I")


class OverflowCounts(NamedTuple):
    """Number of waiting links, number of links in the overflow, and capacity of the queues."""

    waiting: int
    away: int
    room: int  # 0: no limit


class OverflowStore:
    """Overflow storage of one crawl."""

    def __init__(self, frontier: RedisFrontier) -> None:
        self.frontier = frontier
        self._execute = frontier.connection.execute

    async def get_counts(self) -> OverflowCounts:
        """Return the number of waiting links and of links in the overflow, and the capacity of the queues."""
        values = await self._execute("HMGET", f"{self.frontier.key_prefix}:c", "waiting", "away", "room")
        return OverflowCounts(*(int(value or 0) for value in values))

    async def rebalance(self) -> int:
        """Move links to the overflow or back, depending on the capacity, unless another worker does it now.

        Return by how many links the queues have grown. The number is negative if links were moved to the overflow.
        """
        stock = await self.get_counts()
        is_full = 0 < stock.room < stock.waiting
        if not is_full and not (stock.away and (not stock.room or stock.waiting < stock.room * _LOW_FILL)):
            return 0
        lock = f"{self.frontier.key_prefix}:tidying"
        if await self._execute("SET", lock, self.frontier.worker, "NX", "EX", _LOCK_SECONDS) is None:
            return 0
        try:
            if is_full:
                return -await self._move_to_overflow(stock)
            return await self._restore_links(
                int(stock.room * _REFILL_TARGET) - stock.waiting if stock.room else stock.away
            )
        finally:
            await self._execute("DEL", lock)

    async def _move_to_overflow(self, counts: OverflowCounts) -> int:
        """Move the worst links to the overflow until the queues are filled to `_TARGET_FILL`. Return their number."""
        surplus = counts.waiting - int(counts.room * _TARGET_FILL)
        max_score, moved = await self._sample_score_quantile(surplus / counts.waiting), 0
        async for links in self._iter_worst_links(max_score):
            if part := links[: surplus - moved]:
                moved += await self._call_function(
                    "move_to_overflow", compress_links(part), *_build_move_arguments(part)
                )
            if moved >= surplus:
                break
        return moved

    async def _sample_score_quantile(self, share: float) -> float:
        """Estimate from a sample the score below which `share` of the links lie; 0 if there are no links."""
        sample = await self._execute("HRANDFIELD", f"{self.frontier.key_prefix}:links", _SAMPLE_SIZE, "WITHVALUES")
        scores = sorted(decode_link(data).priority.score for _, data in iter_pairs(sample))
        return scores[min(int(share * len(scores)), len(scores) - 1)] if scores else 0.0

    async def _iter_worst_links(self, max_score: float) -> AsyncIterator[list[bytes]]:
        """Yield the encoded waiting links that score at most `max_score`, in batches of one pack."""
        base = self.frontier.key_prefix.encode()
        fingerprints: list[bytes] = []
        async for hosts in self.frontier.iter_hosts(_HOSTS_PER_BATCH):
            tops = [best for _, stored in hosts for best in decode_best_links(stored)]
            fingerprints += [member[6:] for score, member in tops if score <= max_score]
            commands: list[tuple[str | bytes | float, ...]] = [
                ("ZRANGE", base + b":queue:" + name, "-inf", repr(max_score), "BYSCORE", "LIMIT", 0, _LINKS_PER_HOST)
                for name, _ in hosts
            ]
            for queue in await self.frontier.connection.execute_all(commands):
                fingerprints += [member[6:] for member in queue]
            while len(fingerprints) >= _LINKS_PER_PACK:
                yield await self._load_links(fingerprints[:_LINKS_PER_PACK])
                del fingerprints[:_LINKS_PER_PACK]
        if fingerprints:
            yield await self._load_links(fingerprints)

    async def _load_links(self, fingerprints: Sequence[bytes]) -> list[bytes]:
        """Return the encoded links that still exist."""
        return [
            data
            for data in await self._execute("HMGET", f"{self.frontier.key_prefix}:links", *fingerprints)
            if data is not None
        ]

    async def _restore_links(self, count: int) -> int:
        """Return links to the queues, the packs with the best links first, until `count` are restored or none is left.

        Return the number of restored links, which may exceed `count` by a part of a pack.
        """
        restored = 0
        while restored < count:
            best = await self._execute("ZRANGE", f"{self.frontier.key_prefix}:packs", -1, -1)
            pack = await self._execute("HGET", f"{self.frontier.key_prefix}:attic", best[0]) if best else None
            if pack is None:
                break
            links = list(decompress_links(pack))
            restored += await self._call_function("restore_overflow", best[0], *_build_restore_arguments(links))
        return restored

    async def _call_function(self, operation: str, *values: str | bytes | float) -> int:
        """Call an operation of the Redis function of the frontier and return its count."""
        frontier = self.frontier
        count = await frontier.connection.call_function(
            frontier.key_prefix, frontier.epoch, "", frontier.worker, operation, *values
        )
        return int(count)


def _build_move_arguments(links: Sequence[bytes]) -> Iterator[str | bytes]:
    """Yield the best score of the links, then the fingerprint and the host of each link."""
    decoded = [decode_link(data) for data in links]
    yield repr(max(link.priority.score for link in decoded))
    for each in decoded:
        yield url_fingerprint(each.link.url)
        yield get_host(each.link.url)


def _build_restore_arguments(links: Sequence[bytes]) -> Iterator[str | bytes]:
    """Yield the fingerprint, the host and the data of each link."""
    for data in links:
        url = decode_link(data).link.url
        yield url_fingerprint(url)
        yield get_host(url)
        yield data


def compress_links(links: Sequence[bytes]) -> bytes:
    """Compress encoded links into one pack.

    >>> list(decompress_links(compress_links([b"one", b"", b"three"])))
    [b'one', b'', b'three']
    """
    return zstandard.compress(b"".join(_LENGTH_PREFIX.pack(len(link)) + link for link in links))


def decompress_links(pack: bytes) -> Iterator[bytes]:
    """Yield the encoded links of a pack."""
    data, at = zstandard.decompress(pack), 0
    while at < len(data):
        (length,) = _LENGTH_PREFIX.unpack_from(data, at)
        at += _LENGTH_PREFIX.size + length
        yield data[at - length : at]
