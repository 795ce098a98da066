"""Pool of page readers for an index: one reader in this process for a few pages, subprocesses for many."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

from topicrawl.search.page_reader import (
    PageContent,
    PageReader,
    PageReadRequest,
    ReaderReply,
    receive_message,
    send_message,
)

log = logging.getLogger("topicrawl")
# Pages from which subprocesses pay off; starting one takes about half a second of CPU time
MIN_PAGES_FOR_PROCESSES = 1000
_MAX_PROCESSES = 4  # subprocesses: the index writer cannot keep more of them busy


class _PageReaderProcess:
    """A page reader in a subprocess, which ends with this process even if this process is killed."""

    def __init__(self, directory: Path) -> None:
        # The subprocess has its own process group, so that Ctrl-C reaches only the parent, which closes the pool.
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "topicrawl.search.page_reader", str(directory.absolute())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            process_group=0,
        )

    def read_pages(self, requests: Sequence[PageReadRequest]) -> ReaderReply:
        """Read pages in the subprocess. Raise OSError or EOFError if the subprocess has ended."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        send_message(self._process.stdin, [tuple(request) for request in requests])
        first, new, contents, terms = receive_message(self._process.stdout)
        return first, new, [PageContent(*content) for content in contents], terms

    def close(self) -> None:
        """End the subprocess."""
        self._process.kill()
        self._process.communicate()


class PageReaderPool:
    """Distributes pages to idle readers. The replies of one reader are in the order of its requests."""

    def __init__(self, directory: Path, pages: int, *, use_processes: bool) -> None:
        self._directory, self.use_processes = directory, use_processes
        processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        self.process_count = (
            min(processors, _MAX_PROCESSES, 1 + pages // MIN_PAGES_FOR_PROCESSES)
            if use_processes and processors > 1
            else 0
        )
        self._idle: SimpleQueue[tuple[int, PageReader | _PageReaderProcess]] = SimpleQueue()
        for number in range(self.process_count):
            self._idle.put((number, _PageReaderProcess(directory)))
        if not self.process_count:
            self._idle.put((0, PageReader(directory)))
        self._reader_count = max(1, self.process_count)
        self._threads = ThreadPoolExecutor(self._reader_count, "reading")

    def submit(self, requests: Sequence[PageReadRequest]) -> Future[tuple[int, ReaderReply]]:
        """Let the next idle reader read pages. Return a future of the number of the reader and its reply."""
        return self._threads.submit(self._read_pages, requests)

    def close(self) -> None:
        """Cancel pending requests and close the readers."""
        self._threads.shutdown(cancel_futures=True)
        while not self._idle.empty():
            self._idle.get()[1].close()

    def _read_pages(self, requests: Sequence[PageReadRequest]) -> tuple[int, ReaderReply]:
        number, reader = self._idle.get()
        try:
            try:
                return number, reader.read_pages(requests)
            except (OSError, EOFError) as error:
                log.warning(
                    "a page reader process of the search index has ended (%s): reading in this process",
                    error or "killed",
                )
                reader.close()
                # The replacement numbers terms from the start, so it needs a new reader number.
                number, reader = number + self._reader_count, PageReader(self._directory)
                return number, reader.read_pages(requests)
        finally:
            self._idle.put((number, reader))
