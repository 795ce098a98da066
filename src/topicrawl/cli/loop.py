"""The event loop that commands run in: the faster one where it is installed (`pip install topicrawl[fast]`)."""

from __future__ import annotations

import asyncio
import gc
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
    _spare_the_collector()
    try:
        from uvloop import new_event_loop
    except ImportError:
        return asyncio.run(main)
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        return runner.run(main)


def _spare_the_collector() -> None:
    """Let it look for circles seldom: a page makes thousands of objects that all die by themselves.

    Its defaults cost a crawl 4 % of its time. This is the command's process; a program that uses the package
    keeps its own settings.
    """
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)
