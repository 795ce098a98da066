"""Who brings indexes up to date: this process, or one beside it that steps back when others have something to do.

python -m topicrawl.search.keeping      the latter, over its standard input and output
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from threading import Lock
from typing import Protocol

from topicrawl.errors import CollectionError, TopicrawlError
from topicrawl.search.indexing import Indexing
from topicrawl.search.reading import received, send

SLICE = 1024  # pages of one collection that are indexed before another has its turn
_NICE = 10  # a tenth of what a process gets that has not stepped back


class Keeping(Protocol):
    """For one thread, but for `stop`."""

    def add(self, directory: Path) -> int:
        """Index what is missing, at most a slice; how many pages that were. Nobody else's work is done twice."""

    def stop(self) -> None:
        """Break off what can be broken off; nothing is lost by it."""

    def close(self) -> None:
        """Let the next one in."""


class KeepingHere:
    """Writes indexes in this process."""

    def __init__(self) -> None:
        self._writers: dict[Path, Indexing] = {}

    def add(self, directory: Path) -> int:
        if directory in self._writers and not self._writers[directory].is_current:
            self._writers.pop(directory).close()
        if directory not in self._writers:
            try:
                self._writers[directory] = Indexing(directory)
            except CollectionError as error:
                if "is in use by process" not in str(error):
                    raise
                return 0
        return self._writers[directory].run(most=SLICE)

    def stop(self) -> None:
        pass

    def close(self) -> None:
        for writer in self._writers.values():
            writer.close()
        self._writers.clear()


class KeepingBeside:
    """Has a process write them: it is started with the first page, and ends when this one does."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._starting = Lock()
        self._stopped = False

    def add(self, directory: Path) -> int:
        process = self._running()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            send(process.stdin, str(directory.absolute()))
            added, trouble = received(process.stdout)
        except (OSError, EOFError) as error:
            self.close()
            raise CollectionError(f"{directory}: the process that indexes it has ended: another will go on") from error
        if trouble:
            raise CollectionError(trouble)
        return int(added)

    def stop(self) -> None:
        with self._starting:
            self._stopped = True
            if self._process is not None:
                self._process.terminate()

    def close(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.communicate()
            self._process = None

    def _running(self) -> subprocess.Popen[bytes]:
        with self._starting:
            if self._stopped:
                raise CollectionError("the server is ending")
            if self._process is None:
                # It steps back before its first import. A group of its own, so that Ctrl-C reaches only whoever can end
                # in order.
                main = f"import os; os.nice({_NICE}); from {__name__} import main; main()"
                self._process = subprocess.Popen(
                    [sys.executable, "-P", "-c", main],
                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, process_group=0,
                )  # fmt: skip
            return self._process


def main() -> None:
    """The process beside: serve whoever started this, and end with it."""
    keeping = KeepingHere()
    while True:
        try:
            directory = Path(received(sys.stdin.buffer))
        except EOFError:
            return
        added, trouble = 0, ""
        try:
            added = keeping.add(directory)
        except TopicrawlError as error:
            trouble = str(error)
        try:
            send(sys.stdout.buffer, (added, trouble))
        except BrokenPipeError:
            return
