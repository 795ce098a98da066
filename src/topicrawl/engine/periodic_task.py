"""Background tasks: run a function periodically, and stop tasks reliably."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from math import inf
from types import TracebackType
from typing import Self

log = logging.getLogger("topicrawl")

_RECANCEL_SECONDS = 0.2  # seconds until a running task is cancelled again


class PeriodicTask:
    """Background task that runs an async function periodically. `async with` starts and stops it.

    The first round starts after one interval. `interval` is a number of seconds, or a function that returns the seconds
    until the next round; `inf` waits for `wake`.

    An exception ends the task. Exceptions of the types in `logged_errors` are logged as warnings. Any other exception
    is raised when the block ends, or logged if the block itself ends with an exception.

    >>> async def main():
    ...     rounds = []
    ...
    ...     async def run_round():
    ...         rounds.append(len(rounds))
    ...
    ...     async with PeriodicTask(run_round, inf, name="example") as task:
    ...         task.wake()
    ...         await asyncio.sleep(0.01)
    ...     return rounds
    >>> asyncio.run(main())
    [0]
    """

    def __init__(
        self,
        run_round: Callable[[], Awaitable[object]],
        interval: float | Callable[[], float],
        *,
        name: str,  # subject of log messages
        logged_errors: tuple[type[Exception], ...] = (),
    ) -> None:
        self._run_round, self._interval = run_round, interval
        self._name, self._logged_errors = name, logged_errors
        self._wake_event = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        task_error = await self.stop()
        if task_error is None:
            return
        if error is None:
            raise task_error
        log.error("the task %r has failed: %r", self._name, task_error)

    def start(self) -> None:
        """Start the task. The first round begins after one interval."""
        self._task = asyncio.create_task(self._run_rounds(), name=self._name)

    async def stop(self) -> BaseException | None:
        """Cancel the task and wait until it ends. Return the exception with which it had failed, or None."""
        if self._task is None:
            return None
        (error,) = await cancel_and_wait([self._task])
        return error

    def wake(self) -> None:
        """Start the next round at once. If a round is running, the next one follows it without a wait."""
        self._wake_event.set()

    def raise_error(self) -> None:
        """Raise the exception with which the task has failed, if any."""
        if self._task is not None and self._task.done() and not self._task.cancelled():
            self._task.result()

    async def _run_rounds(self) -> None:
        while True:
            await self._wait_for_next_round()
            try:
                await self._run_round()
            except self._logged_errors as error:
                log.warning("%s", error)
                return

    async def _wait_for_next_round(self) -> None:
        seconds = self._interval() if callable(self._interval) else self._interval
        with suppress(TimeoutError):
            async with asyncio.timeout(None if seconds == inf else seconds):
                await self._wake_event.wait()
        self._wake_event.clear()


async def cancel_and_wait(tasks: Iterable[asyncio.Task[None]]) -> list[BaseException | None]:
    """Cancel tasks and wait until they end. Return the exception of each task, or None.

    A library may lose a cancellation that arrives together with a network response, so tasks that continue to run
    are cancelled again.

    >>> async def stubborn():
    ...     try:
    ...         await asyncio.sleep(9)
    ...     except asyncio.CancelledError:
    ...         await asyncio.sleep(9)
    >>> async def main():
    ...     task = asyncio.create_task(stubborn())
    ...     await asyncio.sleep(0)
    ...     return await cancel_and_wait([task])
    >>> asyncio.run(main())
    [None]
    """
    all_tasks = list(tasks)
    while running := [task for task in all_tasks if not task.done()]:
        for task in running:
            task.cancel()
        await asyncio.wait(running, timeout=_RECANCEL_SECONDS)
    return [None if task.cancelled() else task.exception() for task in all_tasks]
