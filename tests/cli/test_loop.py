"""The loop of commands: it gives memory back while it runs."""

from __future__ import annotations

import ctypes
import subprocess
import sys

import pytest

_KEPT = """
import asyncio, resource
from topicrawl.cli import loop
def held():
    return int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize() / 1e6
# Pieces that the C library keeps when they are free, because the last one is not.
pieces = [bytes(1000) for _ in range(200_000)]
last = pieces.pop()
del pieces
async def work():
    await asyncio.sleep(0.1)
    return held()
loop._BEFORE_THE_FIRST = loop._BETWEEN_RETURNS = float("{}")
before = held()
print(before - loop.run(work()))
"""


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "malloc_trim"), reason="the C library is not glibc")
@pytest.mark.parametrize(("seconds", "returned"), [("0.01", True), ("60", False)])
def test_memory_goes_back_to_the_system_now_and_then(seconds: str, returned: bool) -> None:
    ran = subprocess.run([sys.executable, "-c", _KEPT.format(seconds)], capture_output=True, text=True, check=True)
    assert (float(ran.stdout) > 100) is returned
