"""Where the worst links of a queue that is too long are put away, until there is room for them again.

A link that waits costs Redis 300 bytes: itself, its place in the queue of its host, and both their keys. Put away, it
costs a quarter of that: packs of a thousand links each, compressed by whoever put them away, and for each link the mark
and the score that a better link to it must beat. Nothing is lost by that, and what waits in the queues is still leased
best first. Which links are the worst is told by a sample of the scores.

    :attic   hash   number → pack
    :packs   zset   number by the score of the best link in it
"""

from __future__ import annotations

import struct
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import NamedTuple

import zstandard

from topicrawl.frontier.redis import Redis, pairs
from topicrawl.frontier.redis_links import mark, stands, waiting
from topicrawl.urls import host

_PACK = 1000  # links
_SAMPLE = 1000  # links whose scores tell where the worst begin
_HOSTS = 500  # hosts that are looked at at once
_MOST = 500  # links of one host at once
_FULL, _LOW, _REFILLED = 0.9, 0.5, 0.7  # of the room: after putting away; when links come back, and until how many
_SECONDS = 60  # for which one worker has the attic for itself
_LENGTH = struct.Struct("<I")


class Stock(NamedTuple):
    """How much there is, and for how much there is room."""

    waiting: int
    away: int
    room: int  # 0: no limit


class Attic:
    """What was put away of a crawl."""

    def __init__(self, frontier: Redis) -> None:
        self.frontier = frontier
        self._ask = frontier.server.ask

    async def stock(self) -> Stock:
        """What is there."""
        found = await self._ask("HMGET", f"{self.frontier.base}:c", "waiting", "away", "room")
        return Stock(*(int(value or 0) for value in found))

    async def tidy(self) -> int:
        """Put links away, or take them back, as there is room. Returns by how many the queues have become longer."""
        stock = await self.stock()
        is_full = 0 < stock.room < stock.waiting
        if not is_full and not (stock.away and (not stock.room or stock.waiting < stock.room * _LOW)):
            return 0
        lock = f"{self.frontier.base}:tidying"
        if await self._ask("SET", lock, self.frontier.worker, "NX", "EX", _SECONDS) is None:
            return 0
        try:
            if is_full:
                return -await self._put_away(stock)
            return await self._take_back(int(stock.room * _REFILLED) - stock.waiting if stock.room else stock.away)
        finally:
            await self._ask("DEL", lock)

    async def _put_away(self, stock: Stock) -> int:
        surplus = stock.waiting - int(stock.room * _FULL)
        highest, done = await self._highest(surplus / stock.waiting), 0
        async for links in self._worst(highest):
            if part := links[: surplus - done]:
                done += await self._run("put_away", packed(part), *_about(part))
            if done >= surplus:
                break
        return done

    async def _highest(self, share: float) -> float:
        """The score below which that share of the links is, by a sample."""
        found = await self._ask("HRANDFIELD", f"{self.frontier.base}:links", _SAMPLE, "WITHVALUES")
        scores = sorted(waiting(data).place.score for _, data in pairs(found))
        return scores[min(int(share * len(scores)), len(scores) - 1)] if scores else 0.0

    async def _worst(self, highest: float) -> AsyncIterator[list[bytes]]:
        """Links that wait with no more than that score, some at a time, as they are stored."""
        base = self.frontier.base.encode()
        found: list[bytes] = []
        async for hosts in self.frontier.hosts(_HOSTS):
            tops = [best for _, stored in hosts for best in stands(stored)]
            found += [member[6:] for score, member in tops if score <= highest]
            asked: list[tuple[str | bytes | float, ...]] = [
                ("ZRANGE", base + b":queue:" + name, "-inf", repr(highest), "BYSCORE", "LIMIT", 0, _MOST)
                for name, _ in hosts
            ]
            for queue in await self.frontier.server.ask_all(asked):
                found += [member[6:] for member in queue]
            while len(found) >= _PACK:
                yield await self._stored(found[:_PACK])
                del found[:_PACK]
        if found:
            yield await self._stored(found)

    async def _stored(self, marks: Sequence[bytes]) -> list[bytes]:
        return [data for data in await self._ask("HMGET", f"{self.frontier.base}:links", *marks) if data is not None]

    async def _take_back(self, room: int) -> int:
        """The packs with the best links first."""
        done = 0
        while done < room:
            best = await self._ask("ZRANGE", f"{self.frontier.base}:packs", -1, -1)
            pack = await self._ask("HGET", f"{self.frontier.base}:attic", best[0]) if best else None
            if pack is None:
                break
            links = list(unpacked(pack))
            done += await self._run("take_back", best[0], *_whole(links))
        return done

    async def _run(self, operation: str, *values: str | bytes | float) -> int:
        frontier = self.frontier
        done = await frontier.server.run(frontier.base, frontier.epoch, "", frontier.worker, operation, *values)
        return int(done)


def _about(links: Sequence[bytes]) -> Iterator[str | bytes]:
    """The best score of these links, then mark and host of each."""
    known = [waiting(data) for data in links]
    yield repr(max(link.place.score for link in known))
    for each in known:
        yield mark(each.link.url)
        yield host(each.link.url)


def _whole(links: Sequence[bytes]) -> Iterator[str | bytes]:
    """Mark and host of each link, and the link itself."""
    for data in links:
        url = waiting(data).link.url
        yield mark(url)
        yield host(url)
        yield data


def packed(links: Sequence[bytes]) -> bytes:
    """Links as they are stored, compressed together.

    >>> list(unpacked(packed([b"one", b"", b"three"])))
    [b'one', b'', b'three']
    """
    return zstandard.compress(b"".join(_LENGTH.pack(len(link)) + link for link in links))


def unpacked(pack: bytes) -> Iterator[bytes]:
    """The links in a pack."""
    data, at = zstandard.decompress(pack), 0
    while at < len(data):
        (length,) = _LENGTH.unpack_from(data, at)
        at += _LENGTH.size + length
        yield data[at - length : at]
