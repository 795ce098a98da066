"""All links that wait in Redis, some at a time, for whoever scores them anew."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection

from topicrawl.frontier.contract import Entry
from topicrawl.frontier.redis import RedisLook
from topicrawl.frontier.redis_links import mark, stands, waiting
from topicrawl.records import Link

_LAST_RANK = 2**48 - 1  # as in lua/1_run.lua
_SLICE = 500  # links
_HOSTS = 200
_MEMBERS = 20_000  # of a queue that are read at once: nobody else is served meanwhile


async def last(look: RedisLook) -> int:
    """The number of the link that was found last."""
    return int(await look.server.ask("HGET", f"{look.base}:c", "next") or 0)


async def all_waiting(look: RedisLook, until: int) -> AsyncIterator[list[Entry]]:
    """Every link up to a number that waits, once; those that were put away for want of room are not among them."""
    seen: set[bytes] = set()
    async for hosts in look.hosts(_HOSTS):
        # While the table of hosts grows, one may be named twice.
        new = [name for name, _ in hosts if name not in seen]
        seen.update(new)
        for name in new:
            marks = await _marks(look, name, until)
            for at in range(0, len(marks), _SLICE):
                stored = await look.server.ask("HMGET", f"{look.base}:links", *marks[at : at + _SLICE])
                # What was leased meanwhile is left alone by whoever scores it.
                yield [waiting(data).entry() for data in stored if data is not None]


async def _marks(look: RedisLook, host: bytes, until: int) -> list[bytes]:
    """The marks of a host's waiting links, all of them before any is moved: moving changes their order."""
    found: dict[bytes, None] = {}
    at, more = 0, True
    # The best ones are not in the queue, and others may change places with them meanwhile.
    tops = [await look.server.ask("HGET", f"{look.base}:hosts", host)]
    while more:
        members = await look.server.ask(
            "ZRANGE", look.base.encode() + b":queue:" + host, at, at + _MEMBERS - 1
        )  # fmt: skip
        found.update((it[6:], None) for it in members if _LAST_RANK - int.from_bytes(it[:6], "big") <= until)
        at, more = at + _MEMBERS, len(members) == _MEMBERS
    tops.append(await look.server.ask("HGET", f"{look.base}:hosts", host))
    best = [member for stored in tops if stored is not None for _, member in stands(stored)]
    found.update((it[6:], None) for it in best if _LAST_RANK - int.from_bytes(it[:6], "big") <= until)
    return list(found)


async def links(look: RedisLook, urls: Collection[str]) -> list[Link]:
    """Those of the URLs that wait, as links with their source and anchor."""
    if not urls:
        return []
    stored = await look.server.ask("HMGET", f"{look.base}:links", *map(mark, urls))
    return [waiting(data).link for data in stored if data is not None]
