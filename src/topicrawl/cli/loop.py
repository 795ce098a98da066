"""The event loop that commands run in, and how it is interrupted."""

from __future__ import annotations

import gc
import logging
import signal
from collections.abc import Callable, Coroutine
from typing import TypeVar

import click

log = logging.getLogger("topicrawl")
Result = TypeVar("Result")

_BEFORE_THE_FIRST = 2.0  # seconds: a short command needs none of it
_BETWEEN_RETURNS = 10.0
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # of the GNU C library
_LARGE = 1 << 19  # bytes: what is larger goes back to the system at once


def run(main: Coroutine[object, object, Result]) -> Result:
    """`asyncio.run` on the faster uvloop (`pip install topicrawl[fast]`), or on asyncio's own loop without it.

    >>> async def four() -> int:
    ...     return 4
    >>> run(four())
    4
    """
    # It takes a sixth of the time that a command has before it does anything.
    import asyncio

    _spare_the_collector()
    try:
        from uvloop import new_event_loop
    except ImportError:
        return asyncio.run(_thrifty(main))
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        return runner.run(_thrifty(main))


async def _thrifty(main: Coroutine[object, object, Result]) -> Result:
    import asyncio

    # Ends with the loop.
    giving = asyncio.create_task(_give_back())
    try:
        return await main
    finally:
        giving.cancel()


async def _give_back() -> None:
    """Return memory to the system now and then: pages come and go in all sizes, and what the C library keeps of
    their room grows for days. It takes some milliseconds; where the library is another one, there is no need.
    """
    import asyncio

    await asyncio.sleep(_BEFORE_THE_FIRST)
    import ctypes

    library = ctypes.CDLL(None)
    trim = getattr(library, "malloc_trim", None)
    if trim is not None and hasattr(library, "mallopt"):
        # Else it takes ever larger pieces out of its heap, and what lies behind one keeps its room when it is gone.
        library.mallopt(_M_MMAP_THRESHOLD, _LARGE)
        library.mallopt(_M_TRIM_THRESHOLD, 16 * _LARGE)
    while trim is not None:
        trim(0)
        await asyncio.sleep(_BETWEEN_RETURNS)


def on_signals(interrupt: Callable[[], None], *, quiet: bool = False) -> Callable[[], None]:
    """The first Ctrl-C (or SIGTERM) finishes what is in flight; a second one ends at once, which loses nothing.

    Returns what puts things back as they were. `quiet`: only the log is told.
    """
    import asyncio

    loop = asyncio.get_running_loop()
    signals = (signal.SIGINT, signal.SIGTERM)

    def restore() -> None:
        for number in signals:
            loop.remove_signal_handler(number)

    def interrupted() -> None:
        restore()
        log.info("finishing what is in flight", extra={"event": "draining"})
        if not quiet:
            click.echo("\nfinishing what is in flight; Ctrl-C again to end at once (nothing is lost)", err=True)
        interrupt()

    for number in signals:
        loop.add_signal_handler(number, interrupted)
    return restore


def _spare_the_collector() -> None:
    """Let it look for circles seldom: a page makes thousands of objects that all die by themselves.

    Its defaults cost a crawl 4 % of its time. This is the command's process; a program that uses the package
    keeps its own settings.
    """
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)
