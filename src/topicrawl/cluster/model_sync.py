"""Synchronise the learned model of a strategy between workers, through a Redis stream, within a second or two.

    :lessons   stream   model deltas: what a worker has learned since its last delta
    :beliefs   hash     snapshot: the sum of all deltas up to one of them, for workers that join later

Deltas are sums, so their order does not matter and no worker waits for another. A worker that joins later, or was away
for longer than deltas are stored, loads the snapshot and applies the deltas after it. No delta is applied twice.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import zstandard

from topicrawl.engine.crawl import Crawl
from topicrawl.frontier.redis.shared_crawl import SharedCrawl
from topicrawl.models import JsonValue
from topicrawl.strategies.base import SyncProtocol

log = logging.getLogger("topicrawl")

_DELTAS_PER_READ = 64  # deltas per read
_SNAPSHOT_INTERVAL = 60  # seconds between two snapshots
_MAX_DELTA_BYTES = 1 << 28  # maximum size of a decompressed delta in bytes
#: Errors of a delta that is truncated or was written by another version.
_DECODE_ERRORS = (zstandard.ZstdError, ValueError, KeyError, TypeError, IndexError)
# Atomic, because readers of the snapshot must know whether it contains this delta. Only deltas before the previous
# snapshot are deleted, so that a slightly delayed worker misses none.
_SAVE_SCRIPT = """
local included = ARGV[4]
if ARGV[3] ~= '' then included = included .. ' ' .. redis.call('XADD', KEYS[1], '*', 'lesson', ARGV[3]) end
local previous = redis.call('HGET', KEYS[2], 'after') or '0-0'
redis.call('HSET', KEYS[2], 'state', ARGV[1], 'after', ARGV[2], 'but', included, 'forgotten', previous)
redis.call('XTRIM', KEYS[1], 'MINID', previous)
return included
"""


@dataclass
class ModelSync:
    """Model synchronisation of one worker.

    Workers send deltas only between pages, never while they process one, except before they load a snapshot. They apply
    the deltas of others at any time.
    """

    shared: SharedCrawl
    crawl: Crawl
    sync_protocol: SyncProtocol
    last_delta_id: str = "0-0"  # stream id of the last delta that was read
    applied_deltas: int = 0  # deltas of other workers that were applied
    _known_delta_ids: set[str] = field(default_factory=set)  # ids of later deltas that the model already contains

    @property
    def _stream(self) -> str:
        return f"{self.shared.key_prefix}:lessons"

    @property
    def _snapshot_key(self) -> str:
        return f"{self.shared.key_prefix}:beliefs"

    async def join(self) -> None:
        """Load the model of the other workers, which replaces the local one. The first worker publishes its own."""
        state = compress_json(self.sync_protocol.export_snapshot())
        await self.shared.connection.execute("HSETNX", self._snapshot_key, "state", state)
        await self._load_snapshot()
        await self._receive_deltas()

    async def run_round(self) -> Mapping[str, float]:
        """Publish the local delta, apply the deltas of other workers, and return new scores of waiting links.

        The result is empty if no delta was received. While a page is being processed, no delta is published.
        """
        # While a page is being processed, a delta would contain only a part of its effects.
        delta = self.sync_protocol.export_delta() if self.crawl.is_at_visit_boundary else None
        if delta is not None:
            stream_id = await self.shared.connection.execute("XADD", self._stream, "*", "lesson", compress_json(delta))
            self._known_delta_ids.add(stream_id.decode())
        received = await self._receive_deltas()
        await self._save_snapshot()
        return self.sync_protocol.rescore_links() if received else {}

    async def _receive_deltas(self) -> int:
        """Apply all new deltas of other workers and return their number.

        If deltas were deleted from the stream before this worker read them, load the snapshot first.
        """
        count, more = 0, True
        while more:
            commands: list[tuple[str | bytes | float, ...]] = [
                ("HGET", self._snapshot_key, "forgotten"),
                ("XREAD", "COUNT", _DELTAS_PER_READ, "STREAMS", self._stream, self.last_delta_id),
            ]
            forgotten, streams = await self.shared.connection.execute_all(commands)
            if forgotten is not None and parse_stream_id(forgotten.decode()) > parse_stream_id(self.last_delta_id):
                log.warning("this worker was away for longer than model deltas are stored: loading the model snapshot")
                await self._load_snapshot()
                continue
            entries = streams[0][1] if streams else []
            more = len(entries) == _DELTAS_PER_READ
            for stream_id, fields in entries:
                self.last_delta_id = stream_id.decode()
                if self.last_delta_id in self._known_delta_ids:
                    self._known_delta_ids.discard(self.last_delta_id)
                else:
                    count += self._apply_delta(fields[1])
        self.applied_deltas += count
        self.crawl.applied_deltas = self.applied_deltas
        return count

    def _apply_delta(self, data: bytes) -> bool:
        """Apply a delta of another worker. If it cannot be read, log a warning and return False."""
        try:
            self.sync_protocol.apply_delta(decompress_json(data))
        except _DECODE_ERRORS as error:
            log.warning("a model delta of another worker cannot be read: %s", error)
            return False
        return True

    async def _load_snapshot(self) -> None:
        """Replace the model by the snapshot in Redis. Do nothing if there is none.

        Unpublished changes are published first, and are applied again from the stream.
        """
        delta = self.sync_protocol.export_delta()
        if delta is not None:
            await self.shared.connection.execute("XADD", self._stream, "*", "lesson", compress_json(delta))
        names = ("state", "after", "but")
        state, after, included = await self.shared.connection.execute("HMGET", self._snapshot_key, *names)
        if state is None:
            return  # the state of the crawl is gone: the next frontier call reports it
        self.sync_protocol.load_snapshot(decompress_json(state))
        self.last_delta_id = "0-0" if after is None else after.decode()
        self._known_delta_ids = set((included or b"").decode().split())

    async def _save_snapshot(self) -> None:
        """Write a snapshot for workers that join later, unless a worker has written one within the interval."""
        server = self.shared.connection
        if (
            not self.crawl.is_at_visit_boundary
            or await server.execute("SET", f"{self._snapshot_key}:turn", 1, "NX", "EX", _SNAPSHOT_INTERVAL) is None
        ):
            return
        # No other task runs between the two calls, so the snapshot equals the sum of all deltas including this one.
        delta, state = self.sync_protocol.export_delta(), compress_json(self.sync_protocol.export_snapshot())
        data = compress_json(delta) if delta is not None else b""
        values = (state, self.last_delta_id, data, " ".join(self._known_delta_ids))
        included = await server.execute("EVAL", _SAVE_SCRIPT, 2, self._stream, self._snapshot_key, *values)
        self._known_delta_ids = set(included.decode().split())


def parse_stream_id(stream_id: str) -> tuple[int, int]:
    """Parse a Redis stream id into a sortable tuple of milliseconds and sequence number.

    >>> parse_stream_id("1700000000000-12") < parse_stream_id("1700000000001-2")
    True
    """
    milliseconds, _, sequence = stream_id.partition("-")
    return int(milliseconds), int(sequence)


def compress_json(values: JsonValue) -> bytes:
    """Encode JSON values and compress them.

    >>> decompress_json(compress_json({"a": [1, 2.5, None]}))
    {'a': [1, 2.5, None]}
    """
    return zstandard.compress(json.dumps(values).encode(), 1)


def decompress_json(data: bytes) -> JsonValue:
    """Decode values that `compress_json` encoded."""
    values: Any = json.loads(zstandard.decompress(data, max_output_size=_MAX_DELTA_BYTES))
    return cast(JsonValue, values)
