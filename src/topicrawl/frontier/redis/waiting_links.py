"""Iteration over all waiting links of a Redis frontier in batches, for rescoring."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection

from topicrawl.frontier.base import FrontierEntry
from topicrawl.frontier.redis.frontier import RedisFrontierReader
from topicrawl.frontier.redis.links import decode_best_links, decode_link, url_fingerprint
from topicrawl.models import Link

_MAX_RANK = 2**48 - 1  # same value as in lua/1_run.lua
_LINKS_PER_BATCH = 500  # links per batch
_HOSTS_PER_BATCH = 200  # hosts per batch
_MEMBERS_PER_BATCH = 20_000  # queue members per command, because Redis serves no other client meanwhile


async def get_last_number(reader: RedisFrontierReader) -> int:
    """Return the sequence number of the most recently found link."""
    return int(await reader.connection.execute("HGET", f"{reader.key_prefix}:c", "next") or 0)


async def iter_waiting(reader: RedisFrontierReader, until: int) -> AsyncIterator[list[FrontierEntry]]:
    """Yield each waiting link with a sequence number up to `until` once, in batches, without links in the overflow."""
    seen: set[bytes] = set()
    async for hosts in reader.iter_hosts(_HOSTS_PER_BATCH):
        # HSCAN may return a host twice while the hash grows.
        new = [name for name, _ in hosts if name not in seen]
        seen.update(new)
        for name in new:
            marks = await _get_fingerprints(reader, name, until)
            for at in range(0, len(marks), _LINKS_PER_BATCH):
                stored = await reader.connection.execute(
                    "HMGET", f"{reader.key_prefix}:links", *marks[at : at + _LINKS_PER_BATCH]
                )
                # Links that were leased meanwhile may be included: `rescore` ignores them.
                yield [decode_link(data).as_entry() for data in stored if data is not None]


async def _get_fingerprints(reader: RedisFrontierReader, host: bytes, until: int) -> list[bytes]:
    """Return the fingerprints of all waiting links of a host, before the caller rescores and so reorders them."""
    fingerprints: dict[bytes, None] = {}
    at, more = 0, True
    # The best links are stored with the host, not in the queue. They are read before and after the queue because links
    # may move between the two meanwhile.
    tops = [await reader.connection.execute("HGET", f"{reader.key_prefix}:hosts", host)]
    while more:
        members = await reader.connection.execute(
            "ZRANGE", reader.key_prefix.encode() + b":queue:" + host, at, at + _MEMBERS_PER_BATCH - 1
        )
        fingerprints.update(
            (member[6:], None) for member in members if _MAX_RANK - int.from_bytes(member[:6], "big") <= until
        )
        at, more = at + _MEMBERS_PER_BATCH, len(members) == _MEMBERS_PER_BATCH
    tops.append(await reader.connection.execute("HGET", f"{reader.key_prefix}:hosts", host))
    best = [member for stored in tops if stored is not None for _, member in decode_best_links(stored)]
    fingerprints.update((member[6:], None) for member in best if _MAX_RANK - int.from_bytes(member[:6], "big") <= until)
    return list(fingerprints)


async def get_waiting_links(reader: RedisFrontierReader, urls: Collection[str]) -> list[Link]:
    """Return those of the URLs that are waiting or leased, as links with source and anchor text; skip the others."""
    if not urls:
        return []
    stored = await reader.connection.execute("HMGET", f"{reader.key_prefix}:links", *map(url_fingerprint, urls))
    return [decode_link(data).link for data in stored if data is not None]
