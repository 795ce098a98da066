"""Periodic tasks: rounds, waking, stopping and errors."""

from __future__ import annotations

import asyncio
import logging
from math import inf

import pytest

from topicrawl.engine.periodic_task import PeriodicTask
from topicrawl.errors import ClusterError, TopicrawlError


class Rounds:
    """Function of a task that counts its rounds and fails in the given one."""

    def __init__(self, error: Exception | None = None, failing_round: int = 1) -> None:
        self.count, self.error, self.failing_round = 0, error, failing_round
        self._finished = asyncio.Event()

    async def run(self) -> None:
        self.count += 1
        self._finished.set()
        if self.error is not None and self.count == self.failing_round:
            raise self.error

    async def wait_for(self, count: int) -> None:
        async with asyncio.timeout(10):
            while self.count < count:
                self._finished.clear()
                await self._finished.wait()


def test_rounds_repeat_until_the_block_ends() -> None:
    rounds = Rounds()

    async def main() -> int:
        async with PeriodicTask(rounds.run, 0.001, name="test"):
            assert rounds.count == 0  # the first round starts after one interval
            await rounds.wait_for(3)
        count = rounds.count
        await asyncio.sleep(0.01)
        return count

    assert asyncio.run(main()) == rounds.count


def test_the_interval_may_change_after_each_round() -> None:
    rounds = Rounds()

    async def main() -> None:
        async with PeriodicTask(rounds.run, lambda: 0.0 if rounds.count < 2 else inf, name="test"):
            await rounds.wait_for(2)
            await asyncio.sleep(0.01)

    asyncio.run(main())
    assert rounds.count == 2


def test_wake_starts_a_round_at_once() -> None:
    rounds = Rounds()

    async def main() -> None:
        async with PeriodicTask(rounds.run, inf, name="test") as task:
            for count in (1, 2):
                task.wake()
                await rounds.wait_for(count)
            await asyncio.sleep(0.01)
            assert rounds.count == 2

    asyncio.run(main())


def test_wake_during_a_round_starts_another_one() -> None:
    started, count = asyncio.Event(), 0

    async def run_round() -> None:
        nonlocal count
        count += 1
        started.set()
        await asyncio.sleep(0.01)

    async def main() -> None:
        async with PeriodicTask(run_round, inf, name="test") as task:
            task.wake()
            await started.wait()
            task.wake()
            await asyncio.sleep(0.1)

    asyncio.run(main())
    assert count == 2


def test_an_error_is_raised_when_the_block_ends() -> None:
    rounds = Rounds(ValueError("broken"))

    async def main() -> None:
        async with PeriodicTask(rounds.run, 0.0, name="test") as task:
            await rounds.wait_for(1)
            await asyncio.sleep(0.001)
            with pytest.raises(ValueError, match="broken"):
                task.raise_error()

    with pytest.raises(ValueError, match="broken"):
        asyncio.run(main())
    assert rounds.count == 1


def test_an_error_of_the_block_has_precedence(caplog: pytest.LogCaptureFixture) -> None:
    rounds = Rounds(ValueError("broken"))

    async def main() -> None:
        async with PeriodicTask(rounds.run, 0.0, name="test"):
            await rounds.wait_for(1)
            raise KeyError("block")

    with caplog.at_level(logging.ERROR, "topicrawl"), pytest.raises(KeyError):
        asyncio.run(main())
    assert "'test' has failed: ValueError('broken')" in caplog.text


def test_logged_errors_end_the_task_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    rounds = Rounds(ClusterError("the server does not answer"), failing_round=2)

    async def main() -> None:
        async with PeriodicTask(rounds.run, 0.0, name="test", logged_errors=(TopicrawlError,)) as task:
            await rounds.wait_for(2)
            await asyncio.sleep(0.01)
            task.raise_error()

    with caplog.at_level(logging.WARNING, "topicrawl"):
        asyncio.run(main())
    assert rounds.count == 2
    assert [record.message for record in caplog.records] == ["the server does not answer"]


def test_a_task_that_ignores_a_cancellation_is_cancelled_again() -> None:
    started = asyncio.Event()

    async def run_round() -> None:
        started.set()
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            await asyncio.sleep(60)

    async def main() -> None:
        async with asyncio.timeout(10), PeriodicTask(run_round, 0.0, name="test"):
            await started.wait()

    asyncio.run(main())


def test_a_task_that_was_never_started_stops() -> None:
    assert asyncio.run(PeriodicTask(Rounds().run, 1.0, name="test").stop()) is None
