"""Model synchronisation: all workers reach the same sum, including late and absent ones."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.helpers.redis_server import MISSING, REASON, running

from topicrawl.cluster.model_sync import ModelSync
from topicrawl.frontier.redis.server import connect_redis
from topicrawl.frontier.redis.shared_crawl import SharedCrawl
from topicrawl.models import JsonValue

pytestmark = pytest.mark.skipif(MISSING, reason=REASON)


class Counting:
    """Model that counts words, so that a delta applied twice or never shows."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self.new: dict[str, int] = {}

    def learn(self, word: str) -> None:
        for counts in (self.counts, self.new):
            counts[word] = counts.get(word, 0) + 1

    def export_delta(self) -> JsonValue:
        new, self.new = self.new, {}
        return dict(new) or None

    def apply_delta(self, delta: JsonValue) -> None:
        assert isinstance(delta, dict)
        for word, count in delta.items():
            self.counts[word] = self.counts.get(word, 0) + int(str(count))

    def rescore_links(self) -> Mapping[str, float]:
        return {word: float(count) for word, count in self.counts.items()}

    def export_snapshot(self) -> JsonValue:
        return dict(self.counts)

    def load_snapshot(self, snapshot: JsonValue) -> None:
        assert isinstance(snapshot, dict)
        self.counts = {word: int(str(count)) for word, count in snapshot.items()}


Join = Callable[[], Awaitable[tuple[ModelSync, Counting]]]


def run_workers(folder: Path, use: Callable[[Join], Awaitable[None]]) -> None:
    """Call `use` with a function that adds workers to one crawl."""

    async def main(address: str) -> None:
        servers = []

        async def join() -> tuple[ModelSync, Counting]:
            servers.append(await connect_redis(address))
            model, crawl = Counting(), SimpleNamespace(is_at_visit_boundary=True)
            exchange = ModelSync(SharedCrawl(servers[-1], "owls"), crawl, model)  # type: ignore[arg-type]
            await exchange.join()
            return exchange, model

        try:
            await use(join)
        finally:
            for server in servers:
                await server.close()

    with running(folder) as server:
        asyncio.run(main(server.address))


def test_every_delta_is_applied_once_by_all_workers_including_late_and_absent_ones(tmp_path: Path) -> None:
    async def use(join: Join) -> None:
        (one, first), (two, second), (away, sleeper) = [await join() for _ in range(3)]
        first.learn("owl")
        second.learn("owl")
        sleeper.learn("bat")
        await one.run_round()
        assert await two.run_round() == {"owl": 2.0}
        for word in ("owl", "bee", "ant"):
            # One of the workers writes a snapshot, which contains its own last delta.
            first.learn(word)
            second.learn(word)
            await one.shared.connection.execute("DEL", f"{one.shared.key_prefix}:beliefs:turn")
            await one.run_round()
            await two.run_round()
        (late, newcomer) = await join()
        assert newcomer.counts == {"owl": 4, "bee": 2, "ant": 2}
        # Its position in the stream is trimmed, but its unpublished delta is not lost.
        await away.run_round()
        for exchange in (one, two, late, away):
            await exchange.run_round()
        for model in (first, second, sleeper, newcomer):
            assert model.counts == {"owl": 4, "bee": 2, "ant": 2, "bat": 1}
        assert int(await one.shared.connection.execute("XLEN", f"{one.shared.key_prefix}:lessons")) < 8

    run_workers(tmp_path, use)


def test_a_delta_is_not_published_while_a_page_is_processed(tmp_path: Path) -> None:
    async def use(join: Join) -> None:
        (one, first), (two, _) = await join(), await join()
        busy: Any = one.crawl
        busy.is_at_visit_boundary = False
        first.learn("owl")
        await one.run_round()
        assert await two.run_round() == {}
        busy.is_at_visit_boundary = True
        await one.run_round()
        assert await two.run_round() == {"owl": 1.0}
        assert (one.applied_deltas, two.applied_deltas) == (0, 1)

    run_workers(tmp_path, use)


def test_an_unreadable_delta_is_skipped(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def use(join: Join) -> None:
        (one, first), (two, _) = await join(), await join()
        await one.shared.connection.execute("XADD", f"{one.shared.key_prefix}:lessons", "*", "lesson", b"torn")
        first.learn("owl")
        await one.run_round()
        assert await two.run_round() == {"owl": 1.0}
        assert caplog.text.count("cannot be read") == 2

    run_workers(tmp_path, use)
