"""Indexers: update search indexes in this process, or in a subprocess with low priority.

`main` is the entry point of the subprocess, which communicates over its standard input and output.
"""

from __future__ import annotations

import marshal
import subprocess
import sys
from pathlib import Path
from threading import Lock
from typing import IO, Any, Protocol

from topicrawl.errors import CollectionError, InUseError, TopicrawlError
from topicrawl.search.index_file import has_index, is_writable
from topicrawl.search.indexing import IndexWriter

SLICE_SIZE = 1024  # pages to index in one collection before the next collection
_NICENESS = 10  # niceness: the process gets about a tenth of the CPU time of a process with normal priority
_LENGTH_PREFIX_BYTES = 8  # bytes of the length prefix of a message


class Indexer(Protocol):
    """Update the search indexes of collections. Only `stop` is thread-safe."""

    def index_slice(self, directory: Path, index_directory: Path | None = None) -> int:
        """Index at most `SLICE_SIZE` missing pages of a collection and return how many were added.

        The index is in `index_directory`, by default in the directory of the collection. Returns 0 if another process
        is updating the index, or if the directory of the index is read-only.
        """

    def stop(self) -> None:
        """Interrupt the running update; the next update continues after the last committed batch."""

    def close(self) -> None:
        """Release the indexes, so that another process can update them."""


class InProcessIndexer:
    """Update indexes in this process."""

    def __init__(self) -> None:
        self._writers: dict[Path, IndexWriter] = {}

    def index_slice(self, directory: Path, index_directory: Path | None = None) -> int:
        """Index at most `SLICE_SIZE` missing pages of a collection in this process, and return how many were added."""
        if directory in self._writers and not self._writers[directory].is_current:
            self._writers.pop(directory).close()
        if directory not in self._writers:
            if has_index(directory) and not is_writable(index_directory or directory):
                return 0
            try:
                self._writers[directory] = IndexWriter(directory, index_directory)
            except InUseError:
                return 0
        return self._writers[directory].update(max_pages=SLICE_SIZE)

    def stop(self) -> None:
        """Do nothing: an update in this process ends after one slice."""

    def close(self) -> None:
        """Close the index writers, so that another process can update the indexes."""
        for writer in self._writers.values():
            writer.close()
        self._writers.clear()


class SubprocessIndexer:
    """Update indexes in a subprocess, which starts with the first update and ends with this process."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._start_lock = Lock()
        self._stopped = False

    def index_slice(self, directory: Path, index_directory: Path | None = None) -> int:
        """Index at most `SLICE_SIZE` missing pages of a collection in the subprocess, and return how many were added.

        Raise `CollectionError` if the subprocess reports an error or has ended.
        """
        process = self._start_process()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            send_message(process.stdin, (str(directory.absolute()), str((index_directory or directory).absolute())))
            added, message = receive_message(process.stdout)
        except (OSError, EOFError) as error:
            self.close()
            raise CollectionError(
                f"{directory}: the indexing process has ended; a new process continues with the next update"
            ) from error
        if message:
            raise CollectionError(message)
        return int(added)

    def stop(self) -> None:
        """Terminate the subprocess, and start no other. The next update continues after the last committed batch."""
        with self._start_lock:
            self._stopped = True
            if self._process is not None:
                self._process.terminate()

    def close(self) -> None:
        """Terminate the subprocess and wait for its end. The next update starts a new subprocess."""
        if self._process is not None:
            self._process.terminate()
            self._process.communicate()
            self._process = None

    def _start_process(self) -> subprocess.Popen[bytes]:
        with self._start_lock:
            if self._stopped:
                raise CollectionError("the server is shutting down")
            if self._process is None:
                # The process lowers its priority before the first import. It has its own process group, so that Ctrl-C
                # reaches only the parent, which shuts both down in order.
                main = f"import os; os.nice({_NICENESS}); from {__name__} import main; main()"
                self._process = subprocess.Popen(
                    [sys.executable, "-P", "-c", main],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    process_group=0,
                )
            return self._process


def send_message(pipe: IO[bytes], message: Any) -> None:
    """Write a message to a pipe. Uses `marshal`, because both ends run the same program."""
    data = marshal.dumps(message)
    pipe.write(len(data).to_bytes(_LENGTH_PREFIX_BYTES, "big") + data)
    pipe.flush()


def receive_message(pipe: IO[bytes]) -> Any:
    """Read the next message from a pipe; raise `EOFError` if the other end has closed it."""
    size = pipe.read(_LENGTH_PREFIX_BYTES)
    data = pipe.read(int.from_bytes(size, "big"))
    if len(size) < _LENGTH_PREFIX_BYTES:
        raise EOFError
    return marshal.loads(data)


def main() -> None:
    """Process the requests of the parent process until it closes the pipe."""
    indexer = InProcessIndexer()
    while True:
        try:
            directory, index_directory = map(Path, receive_message(sys.stdin.buffer))
        except EOFError:
            return
        added, message = 0, ""
        try:
            added = indexer.index_slice(directory, index_directory)
        except TopicrawlError as error:
            message = str(error)
        try:
            send_message(sys.stdout.buffer, (added, message))
        except BrokenPipeError:
            return
