"""Run the `topicrawl` command, and measure the event loop and the memory of all its processes.

python crawl_probe.py REPORT ARGUMENT…     write the figures as JSON to the file REPORT

A heartbeat task measures the CPU time of the thread of the event loop between two of its turns. CPU time, unlike wall
time, hardly depends on other processes on the machine. The task also times a fixed workload during the crawl, and
`slowdown` is its mean divided by the time on an ordinary machine. A thread sums the resident memory of this process and
its child processes every 20 ms. Memory that they share counts several times, so the sum is an upper bound.
"""

from __future__ import annotations

import asyncio
import json
import sys
import threading
import time
from collections.abc import Coroutine
from contextlib import suppress
from itertools import count
from pathlib import Path
from statistics import mean
from typing import Any

from topicrawl.cli import main

_BEAT_SECONDS = 0.005
_SAMPLE_SECONDS = 0.02
_WORKLOAD_BEATS = 100  # beats between two runs of the fixed workload
_WORKLOAD_SECONDS = 0.0010  # seconds of the fixed workload on an ordinary machine


class Probe:
    """Largest figures so far."""

    def __init__(self) -> None:
        self.blocks: list[float] = []  # CPU seconds of the longest blocks of the event loop
        self.workload_seconds: list[float] = []
        self.total_megabytes = 0.0  # largest sum over all processes
        self.megabytes: list[float] = []  # of each process at the same time, this one first
        self.is_over = threading.Event()

    async def beat(self) -> None:
        """Measure the longest blocks of the event loop."""
        for number in count():
            before = time.thread_time()
            await asyncio.sleep(_BEAT_SECONDS)
            after = time.thread_time()
            self.blocks = sorted([*self.blocks, after - before], reverse=True)[:10]
            if number % _WORKLOAD_BEATS == 0:
                sum(value * value for value in range(20_000))
                self.workload_seconds.append(time.thread_time() - after)

    async def run(self, command: Coroutine[Any, Any, object]) -> object:
        """Await the command while the heartbeat runs."""
        heartbeat = asyncio.create_task(self.beat())
        try:
            return await command
        finally:
            heartbeat.cancel()

    def sample_memory(self) -> None:
        """Sum the resident memory of all processes until the command is over."""
        while not self.is_over.wait(_SAMPLE_SECONDS):
            own, *others = list_processes(Path("/proc/self"))
            megabytes = [read_megabytes(own), *(read_megabytes(path) for path in others if not is_copy(path))]
            if sum(megabytes) > self.total_megabytes:
                self.total_megabytes, self.megabytes = sum(megabytes), megabytes

    def save(self, path: Path) -> None:
        """Write the figures."""
        slowdown = mean(self.workload_seconds) / _WORKLOAD_SECONDS
        figures = {
            "blocks": self.blocks,
            "slowdown": slowdown,
            "total": self.total_megabytes,
            "megabytes": self.megabytes,
        }
        path.write_text(json.dumps(figures), "utf-8")


def list_processes(path: Path) -> list[Path]:
    """Return a process and all of its descendants."""
    found = [path]
    with suppress(OSError):
        for task in (path / "task").iterdir():
            for child in (task / "children").read_text().split():
                found += list_processes(Path("/proc") / child)
    return found


def is_copy(path: Path) -> bool:
    """Return whether a process was just forked and shares the memory of this process until it starts its program."""
    with suppress(OSError):
        return (path / "cmdline").read_bytes() == Path("/proc/self/cmdline").read_bytes()
    return True


def read_megabytes(path: Path) -> float:
    """Return the resident memory of a process, 0 if it has ended."""
    with suppress(OSError, ValueError):
        for line in (path / "status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) / 1024
    return 0.0


def run_probe() -> None:
    """Run the command of the arguments and write the report."""
    report, sys.argv[1:] = Path(sys.argv[1]), sys.argv[2:]
    probe, run = Probe(), asyncio.Runner.run
    asyncio.Runner.run = lambda self, command, **options: run(self, probe.run(command), **options)  # type: ignore[method-assign,assignment]
    thread = threading.Thread(target=probe.sample_memory)
    thread.start()
    try:
        main()
    finally:
        probe.is_over.set()
        thread.join()
        probe.save(report)


if __name__ == "__main__":
    run_probe()
