"""Crawls started from the web page, each in its own `topicrawl crawl` process.

A crawl survives a crash of the server and writes only into its directory. The server steers it with commands that it
stores in the collection.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from topicrawl.collection.directory import is_crawling
from topicrawl.errors import CollectionError, UsageError

_OUTPUT_TAIL_BYTES = 4000  # bytes of the end of the output
_STOP_TIMEOUT = 15.0  # seconds to wait for a crawl to end when the server ends
_INTERRUPT_EXIT_CODE = 130  # exit code of an interrupted command


@dataclass
class CrawlProcess:
    """A crawl process and the file with its output."""

    process: subprocess.Popen[bytes]
    output: IO[bytes]
    form_values: Mapping[str, str] = field(default_factory=dict)  # input of the user

    @property
    def is_running(self) -> bool:
        """Whether the process is running."""
        return self.process.poll() is None

    @property
    def has_failed(self) -> bool:
        """Whether the process ended with an error; an interrupt is not an error."""
        return self.process.poll() not in (None, 0, _INTERRUPT_EXIT_CODE)

    def read_output(self) -> str:
        """Return the last six lines of the output."""
        size = os.fstat(self.output.fileno()).st_size
        text = os.pread(self.output.fileno(), _OUTPUT_TAIL_BYTES, max(0, size - _OUTPUT_TAIL_BYTES)).decode(
            "utf-8", "replace"
        )
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        return "\n".join(lines[-6:])


@dataclass
class CrawlProcesses:
    """The crawl processes that this server has started."""

    config: Path | None = None  # settings file of all crawls, which users of the web page cannot change
    options: tuple[str, ...] = ()  # options of all crawls
    max_running: int = 8  # crawls that run at the same time
    _processes: dict[Path, CrawlProcess] = field(default_factory=dict)

    def start(
        self, directory: Path, arguments: Sequence[str] = (), form_values: Mapping[str, str] | None = None
    ) -> None:
        """Start a crawl in a directory, or resume the crawl that it contains."""
        if is_crawling(directory) or self.is_running(directory):
            raise CollectionError(f"the crawl {directory.name} is already running")
        if sum(crawl.is_running for crawl in self._processes.values()) >= self.max_running:
            raise CollectionError(f"{self.max_running} crawls of this server are running: stop one first")
        # A file instead of a pipe, so that the crawl can continue to write after the server has ended.
        output = tempfile.TemporaryFile()  # noqa: SIM115 - it is open as long as the process runs
        command = [sys.executable, "-m", "topicrawl", "crawl", "--out", str(directory)]
        if self.config is not None:
            command += ["--config", str(self.config)]
        process = subprocess.Popen(
            [*command, *self.options, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
        if (previous := self._processes.get(directory)) is not None:
            previous.output.close()
        self._processes[directory] = CrawlProcess(process, output, form_values or {})

    def is_running(self, directory: Path) -> bool:
        """Whether a crawl process of this server is running in a directory."""
        crawl = self._processes.get(directory)
        return crawl is not None and crawl.is_running

    def get_error(self, directory: Path) -> str:
        """Return the output of a failed crawl, or "" if the crawl has not failed or this server did not start it."""
        crawl = self._processes.get(directory)
        return hide_path(directory, crawl.read_output()) if crawl is not None and crawl.has_failed else ""

    def forget(self, directory: Path) -> None:
        """Forget the ended crawl of a directory that is renamed or removed."""
        if not self.is_running(directory) and (crawl := self._processes.pop(directory, None)) is not None:
            crawl.output.close()

    def get_processes(self) -> dict[Path, CrawlProcess]:
        """Return all crawl processes that this server has started, by directory."""
        return dict(self._processes)

    def close(self) -> None:
        """Interrupt all crawls like Ctrl-C: they finish the requests in flight and save their state."""
        running = [crawl for crawl in self._processes.values() if crawl.is_running]
        for crawl in running:
            crawl.process.send_signal(signal.SIGINT)
        for crawl in running:
            try:
                crawl.process.wait(_STOP_TIMEOUT)
            except subprocess.TimeoutExpired:
                crawl.process.kill()
                crawl.process.wait()
        for crawl in self._processes.values():
            crawl.output.close()


def hide_path(directory: Path, text: str) -> str:
    """Replace the path of a directory in a text by its name, because users of the web page must not see the path."""
    return text.replace(str(directory), directory.name)


def choose_directory(home: Path | None, topic: str, used_names: Collection[str] = ()) -> Path:
    """Return an unused directory for a new crawl, named after the topic, whose name is not in `used_names`."""
    if home is None:
        raise UsageError("the server has no directory for new crawls: start it with a directory that is not a crawl")
    name = re.sub(r"\W+", "-", topic.lower()).strip("-")[:60] or "crawl"
    directory, number = home / name, 2
    while directory.exists() or directory.name in used_names:
        directory, number = home / f"{name}-{number}", number + 1
    return directory
