"""Event loop of the commands: uvloop, memory trimming and signal handlers."""

from __future__ import annotations

import gc
import logging
import os
import resource
import signal
from collections.abc import Callable, Coroutine, Iterable
from typing import TYPE_CHECKING, TypeVar

from topicrawl.errors import ResourceError

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

log = logging.getLogger("topicrawl")
Result = TypeVar("Result")

_MIN_OPEN_FILES = 64  # a crawl of one host has about 25 open files
_FIRST_TRIM_DELAY = 2.0  # seconds; a short command ends before the first trim
_TRIM_INTERVAL = 10.0  # seconds
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # parameters of mallopt() in the GNU C library
_MMAP_THRESHOLD_BYTES = 1 << 19  # bytes; the C library returns larger blocks to the system when they are freed


def run_async(main: Coroutine[object, object, Result]) -> Result:
    """Run a coroutine on uvloop (`pip install topicrawl[fast]`), or on the asyncio loop if uvloop is not installed.

    >>> async def four() -> int:
    ...     return 4
    >>> run_async(four())
    4
    """
    # Importing asyncio takes a sixth of the start time of a command.
    import asyncio

    try:
        _check_file_limit()
        _tune_garbage_collector()
        with asyncio.Runner(loop_factory=_find_loop_factory()) as runner:
            runner.get_loop()  # fails without resources, before the coroutine starts
            return runner.run(_run_with_memory_trimming(main))
    finally:
        main.close()  # prevents a warning if the coroutine has not started


def _find_loop_factory() -> Callable[[], AbstractEventLoop] | None:
    """Return the function that creates a uvloop event loop, or None if uvloop is not installed."""
    try:
        from uvloop import new_event_loop
    except ImportError:
        return None
    return new_event_loop


def _check_file_limit() -> None:
    """Raise `ResourceError` if the process may open fewer than `_MIN_OPEN_FILES` files.

    Without this check, the first file that cannot be opened decides the error message, and it may be any file.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= _MIN_OPEN_FILES:
        return
    if hard != resource.RLIM_INFINITY and hard < _MIN_OPEN_FILES:
        raise ResourceError(
            f"the process may open only {hard} files, and needs {_MIN_OPEN_FILES}: raise the limit with ulimit -n 1024"
        )
    resource.setrlimit(resource.RLIMIT_NOFILE, (_MIN_OPEN_FILES, hard))


async def _run_with_memory_trimming(main: Coroutine[object, object, Result]) -> Result:
    """Await a coroutine while a background task returns free memory to the system."""
    import asyncio

    trimming = asyncio.create_task(_trim_memory_periodically())
    try:
        return await main
    finally:
        trimming.cancel()


async def _trim_memory_periodically() -> None:
    """Return free memory to the system at regular intervals.

    Pages have all sizes, so the heap of the GNU C library fragments and grows for days. A trim takes some
    milliseconds. Other C libraries have no `malloc_trim` and do not need it.
    """
    import asyncio

    await asyncio.sleep(_FIRST_TRIM_DELAY)
    import ctypes

    library = ctypes.CDLL(None)
    trim = getattr(library, "malloc_trim", None)
    if trim is not None and hasattr(library, "mallopt"):
        # A fixed threshold: by default the library raises it, allocates larger and larger blocks on the heap, and
        # cannot return freed memory below a block that is still in use.
        library.mallopt(_M_MMAP_THRESHOLD, _MMAP_THRESHOLD_BYTES)
        library.mallopt(_M_TRIM_THRESHOLD, 16 * _MMAP_THRESHOLD_BYTES)
    while trim is not None:
        trim(0)
        await asyncio.sleep(_TRIM_INTERVAL)


def install_signal_handlers(
    interrupt: Callable[[], None], *, announce: Callable[[], None] | None = None
) -> Callable[[], None]:
    """Call `interrupt` on the first Ctrl-C, SIGTERM or SIGHUP. A second Ctrl-C or SIGTERM ends the process at once.

    A process that ignores SIGHUP, as under `nohup`, continues to ignore it. Return a function that removes the
    handlers. `announce` tells the user about the interruption, before `interrupt` is called.
    """
    import asyncio

    loop = asyncio.get_running_loop()
    signals = [signal.SIGINT, signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        signals.append(signal.SIGHUP)
    terminals = [number for number in (1, 2) if os.isatty(number)]

    def restore() -> None:
        for number in signals:
            loop.remove_signal_handler(number)

    def handle_signal(received: signal.Signals) -> None:
        restore()
        if received == signal.SIGHUP:
            # The shell and the system may both send the signal when a terminal closes.
            signal.signal(signal.SIGHUP, signal.SIG_IGN)
            _discard_output(terminals)
        log.info("finishing the fetches in flight", extra={"event": "draining"})
        if announce is not None:
            announce()
        interrupt()

    for number in signals:
        loop.add_signal_handler(number, handle_signal, number)
    return restore


def _discard_output(descriptors: Iterable[int]) -> None:
    """Discard all further output to file descriptors, because writing to a closed terminal raises an error."""
    for descriptor in descriptors:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, descriptor)
        os.close(null)


def _tune_garbage_collector() -> None:
    """Make the garbage collector search for reference cycles less often.

    Parsing a page creates thousands of objects without cycles, and the default thresholds cost a crawl 4 % of its
    time. Only the commands change the thresholds; a program that imports the package keeps its own.
    """
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)
