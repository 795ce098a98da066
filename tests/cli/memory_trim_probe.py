"""Script for test_event_loop.py: print how many MB of free memory the event loop returns to the system.

The argument is the delay before a trim in seconds. The script needs a process of its own with a fresh heap.
"""

from __future__ import annotations

import asyncio
import resource
import sys
from pathlib import Path

from topicrawl.cli import event_loop


def resident_megabytes() -> float:
    """Return the resident memory of this process."""
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    return pages * resource.getpagesize() / 1e6


async def wait_for_trim() -> float:
    """Return the resident memory after a pause."""
    await asyncio.sleep(0.1)
    return resident_megabytes()


def main(delay: float) -> None:
    """Fragment the heap, run the event loop and print the difference in memory."""
    # The C library cannot return these blocks when they are freed, because the last one is still in use.
    blocks = [bytes(1000) for _ in range(200_000)]
    last = blocks.pop()
    del blocks
    event_loop._FIRST_TRIM_DELAY = event_loop._TRIM_INTERVAL = delay
    before = resident_megabytes()
    print(before - event_loop.run_async(wait_for_trim()))  # noqa: T201
    del last


if __name__ == "__main__":
    main(float(sys.argv[1]))
