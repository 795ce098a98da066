"""Lessons go round in Redis: all workers come to the same sum, whoever comes later and whoever was away."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.redis_server import MISSING, REASON, running

from topicrawl.exchange import Exchange
from topicrawl.frontier.redis_crawl import SharedCrawl
from topicrawl.frontier.redis_server import connected
from topicrawl.records import Carry

pytestmark = pytest.mark.skipif(MISSING, reason=REASON)


class Counting:
    """Learns how often each word was said; a lesson that is heard twice or never shows."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self.new: dict[str, int] = {}

    def learn(self, word: str) -> None:
        for counts in (self.counts, self.new):
            counts[word] = counts.get(word, 0) + 1

    def lesson(self) -> Carry:
        new, self.new = self.new, {}
        return dict(new) or None

    def hear(self, lesson: Carry) -> None:
        assert isinstance(lesson, dict)
        for word, count in lesson.items():
            self.counts[word] = self.counts.get(word, 0) + int(str(count))

    def revised(self) -> Mapping[str, float]:
        return {word: float(count) for word, count in self.counts.items()}

    def beliefs(self) -> Carry:
        return dict(self.counts)

    def take(self, beliefs: Carry) -> None:
        assert isinstance(beliefs, dict)
        self.counts = {word: int(str(count)) for word, count in beliefs.items()}


Made = Callable[[], Awaitable[tuple[Exchange, Counting]]]


def together(folder: Path, use: Callable[[Made], Awaitable[None]]) -> None:
    """Let workers of one crawl do something."""

    async def main(address: str) -> None:
        servers = []

        async def made() -> tuple[Exchange, Counting]:
            servers.append(await connected(address))
            mind, crawl = Counting(), SimpleNamespace(settled=True)
            exchange = Exchange(SharedCrawl(servers[-1], "owls"), crawl, mind)  # type: ignore[arg-type]
            await exchange.join()
            return exchange, mind

        try:
            await use(made)
        finally:
            for server in servers:
                await server.close()

    with running(folder) as server:
        asyncio.run(main(server.address))


def test_every_lesson_is_heard_once_by_all_also_by_those_who_come_later_or_were_away(tmp_path: Path) -> None:
    async def use(made: Made) -> None:
        (one, first), (two, second), (away, sleeper) = [await made() for _ in range(3)]
        first.learn("owl")
        second.learn("owl")
        sleeper.learn("bat")
        await one.round()
        assert await two.round() == {"owl": 2.0}
        for word in ("owl", "bee", "ant"):
            # The sum is written down, by turns, with the writer's own last lesson in it.
            first.learn(word)
            second.learn(word)
            await one.shared.server.ask("DEL", f"{one.shared.base}:beliefs:turn")
            await one.round()
            await two.round()
        (late, newcomer) = await made()
        assert newcomer.counts == {"owl": 4, "bee": 2, "ant": 2}
        # Its place in the stream is forgotten; what it has not told yet is not.
        await away.round()
        for exchange in (one, two, late, away):
            await exchange.round()
        for mind in (first, second, sleeper, newcomer):
            assert mind.counts == {"owl": 4, "bee": 2, "ant": 2, "bat": 1}
        assert int(await one.shared.server.ask("XLEN", f"{one.shared.base}:lessons")) < 8

    together(tmp_path, use)


def test_a_lesson_waits_until_the_page_it_comes_from_is_complete(tmp_path: Path) -> None:
    async def use(made: Made) -> None:
        (one, first), (two, _) = await made(), await made()
        busy: Any = one.crawl
        busy.settled = False
        first.learn("owl")
        await one.round()
        assert await two.round() == {}
        busy.settled = True
        await one.round()
        assert await two.round() == {"owl": 1.0}
        assert (one.lessons, two.lessons) == (0, 1)

    together(tmp_path, use)


def test_a_lesson_that_cannot_be_read_is_passed_over(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def use(made: Made) -> None:
        (one, first), (two, _) = await made(), await made()
        await one.shared.server.ask("XADD", f"{one.shared.base}:lessons", "*", "lesson", b"torn")
        first.learn("owl")
        await one.round()
        assert await two.round() == {"owl": 1.0}
        assert caplog.text.count("cannot be read") == 2

    together(tmp_path, use)
