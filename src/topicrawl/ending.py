"""Ends tasks that work beside others."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

_AGAIN = 0.2  # seconds after which a task is told once more


async def ended(tasks: Iterable[asyncio.Task[None]]) -> list[BaseException | None]:
    """Cancel tasks and wait until they have ended; what each ended with, None where that was the cancellation.

    A cancellation that arrives together with an answer may be lost in the library that waits for the answer: a task
    that goes on is told again.

    >>> async def stubborn():
    ...     try:
    ...         await asyncio.sleep(9)
    ...     except asyncio.CancelledError:
    ...         await asyncio.sleep(9)
    >>> async def main():
    ...     task = asyncio.create_task(stubborn())
    ...     await asyncio.sleep(0)
    ...     return await ended([task])
    >>> asyncio.run(main())
    [None]
    """
    told = list(tasks)
    while left := [task for task in told if not task.done()]:
        for task in left:
            task.cancel()
        await asyncio.wait(left, timeout=_AGAIN)
    return [None if task.cancelled() else task.exception() for task in told]
