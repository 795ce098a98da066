"""The event loop that commands run in: the faster one where it is installed (`pip install topicrawl[fast]`)."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import TypeVar

Result = TypeVar("Result")


def run(main: Coroutine[object, object, Result]) -> Result:
    """`asyncio.run` on uvloop, or on asyncio's own loop where there is no uvloop.

    >>> async def four() -> int:
    ...     return 4
    >>> run(four())
    4
    """
    try:
        from uvloop import new_event_loop
    except ImportError:
        return asyncio.run(main)
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        return runner.run(main)
