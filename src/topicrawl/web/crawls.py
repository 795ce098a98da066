"""Crawls that are started from the web page: each a process of its own, `topicrawl crawl`, which outlives a crash of
the server and writes into its directory alone. They are steered by orders in their collections.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from topicrawl.collection.directory import crawling
from topicrawl.errors import CollectionError, UsageError

_TAIL = 4000  # bytes of what a crawl said last
_PATIENCE = 15.0  # seconds for a crawl to end when the server does
_INTERRUPTED = 130  # how a command ends that was told to stop


@dataclass
class Started:
    """A process and what it says."""

    process: subprocess.Popen[bytes]
    said: IO[bytes]

    @property
    def running(self) -> bool:
        return self.process.poll() is None

    @property
    def failed(self) -> bool:
        """Whether it ended in an error; to be interrupted is none."""
        return self.process.poll() not in (None, 0, _INTERRUPTED)

    def words(self) -> str:
        """The last lines it wrote for people."""
        size = os.fstat(self.said.fileno()).st_size
        text = os.pread(self.said.fileno(), _TAIL, max(0, size - _TAIL)).decode("utf-8", "replace")
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        return "\n".join(lines[-6:])


@dataclass
class Crawls:
    """The crawls that this server has started."""

    config: Path | None = None  # settings for all of them, which no visitor can change
    _started: dict[Path, Started] = field(default_factory=dict)

    def start(self, directory: Path, arguments: Sequence[str] = ()) -> None:
        """Begin a crawl into a directory, or go on with the one in it."""
        if crawling(directory) or self.running(directory):
            raise CollectionError(f"{directory.name} is being crawled already")
        # A file and no pipe: a crawl must be able to speak on when the server is gone.
        said = tempfile.TemporaryFile()  # noqa: SIM115 - as long as the process
        command = [sys.executable, "-m", "topicrawl", "crawl", "--out", str(directory)]
        if self.config is not None:
            command += ["--config", str(self.config)]
        process = subprocess.Popen(
            [*command, *arguments], stdin=subprocess.DEVNULL, stdout=said, stderr=said, start_new_session=True
        )
        self._started[directory] = Started(process, said)

    def running(self, directory: Path) -> bool:
        started = self._started.get(directory)
        return started is not None and started.running

    def trouble(self, directory: Path) -> str:
        """Why the crawl of a directory has failed; "": it has not, or was not started from here."""
        started = self._started.get(directory)
        return named(directory, started.words()) if started is not None and started.failed else ""

    def waiting(self) -> dict[Path, Started]:
        """Crawls that were started, by their directories."""
        return dict(self._started)

    def close(self) -> None:
        """End them as Ctrl-C would: what is in flight is finished, nothing is lost."""
        running = [it for it in self._started.values() if it.running]
        for started in running:
            started.process.send_signal(signal.SIGINT)
        for started in running:
            try:
                started.process.wait(_PATIENCE)
            except subprocess.TimeoutExpired:
                started.process.kill()
                started.process.wait()
        for started in self._started.values():
            started.said.close()


def named(directory: Path, words: str) -> str:
    """What a crawl says, without the place on the disk where its directory stands: that is nobody's business."""
    return words.replace(str(directory), directory.name)


def new_directory(home: Path | None, topic: str) -> Path:
    """Where a new crawl goes: a directory of its own, named by the topic."""
    if home is None:
        raise UsageError("there is no place for new crawls: start the server with a directory that is no crawl itself")
    name = re.sub(r"\W+", "-", topic.lower()).strip("-")[:60] or "crawl"
    directory, number = home / name, 2
    while directory.exists():
        directory, number = home / f"{name}-{number}", number + 1
    return directory
