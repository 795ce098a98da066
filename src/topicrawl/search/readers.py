"""Those who read pages for an index: one in this process for a few, one for each processor when there are many."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

from topicrawl.search.reading import Reading, Reply, Said, Wanted, received, send

log = logging.getLogger("topicrawl")
MANY = 1000  # pages from which processes are worth their start, about half a second of computing each
_MOST = 4  # processes: the one that writes the index keeps no more busy


class _Process:
    """A reader beside this process; it ends when this one does, however that happens."""

    def __init__(self, directory: Path) -> None:
        # A group of its own, so that Ctrl-C reaches only whoever can end in order.
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "topicrawl.search.reading", str(directory.absolute())],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, process_group=0,
        )  # fmt: skip

    def read(self, wanted: Sequence[Wanted]) -> Reply:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        send(self._process.stdin, [tuple(one) for one in wanted])
        first, new, said, terms = received(self._process.stdout)
        return first, new, [Said(*one) for one in said], terms

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()


class Readers:
    """Hands pages to whoever is free; replies of one reader come in the order in which it was asked."""

    def __init__(self, directory: Path, pages: int, *, beside: bool) -> None:
        self._directory, self.beside = directory, beside
        processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        self.processes = min(processors, _MOST, 1 + pages // MANY) if beside and processors > 1 else 0
        self._idle: SimpleQueue[tuple[int, Reading | _Process]] = SimpleQueue()
        for number in range(self.processes):
            self._idle.put((number, _Process(directory)))
        if not self.processes:
            self._idle.put((0, Reading(directory)))
        self._named = max(1, self.processes)
        self._threads = ThreadPoolExecutor(self._named, "reading")

    def submit(self, wanted: Sequence[Wanted]) -> Future[tuple[int, Reply]]:
        """The reply will come with the number of its reader."""
        return self._threads.submit(self._read, wanted)

    def close(self) -> None:
        self._threads.shutdown(cancel_futures=True)
        while not self._idle.empty():
            self._idle.get()[1].close()

    def _read(self, wanted: Sequence[Wanted]) -> tuple[int, Reply]:
        number, reader = self._idle.get()
        try:
            try:
                return number, reader.read(wanted)
            except (OSError, EOFError) as error:
                log.warning("a process that reads pages for the index has ended (%s): reading here", error or "killed")
                reader.close()
                # Terms are numbered anew, so it is another reader.
                number, reader = number + self._named, Reading(self._directory)
                return number, reader.read(wanted)
        finally:
            self._idle.put((number, reader))
