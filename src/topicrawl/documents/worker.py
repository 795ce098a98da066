"""Document worker: start, use and stop one child process that converts documents or parses pages.

A process that exceeds its time limit is killed, and one that crashed is replaced. Starting a process costs a quarter of
a second of CPU time, so each process converts many documents.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress

from topicrawl.documents.messages import (
    LENGTH_PREFIX,
    MAX_ARCHIVE_FACTOR,
    ConversionLimits,
    ConversionRequest,
    ConvertedDocument,
    decode_message,
    encode_message,
)
from topicrawl.models import Failure

#: Requests per process, so that memory leaks of the libraries do not add up.
MAX_REQUESTS = 200
_STARTUP_SECONDS = 20.0  # additional seconds for a process that is not running yet
_MAX_METADATA_BYTES = 16 << 20  # largest size of a result without the contents


class DocumentWorker:
    """Owner of one child process, which is started on demand. Only one thread at a time may call `convert`."""

    def __init__(
        self,
        limits: ConversionLimits | None = None,
        module: str = "topicrawl.documents.child_process",
        *,
        max_requests: int = MAX_REQUESTS,
    ) -> None:
        self.limits = limits or ConversionLimits()
        self._max_requests = max_requests
        self._module = module  # the program of the child process; it calls `serve_requests`
        self._process: subprocess.Popen[bytes] | None = None
        self._socket: socket.socket | None = None
        self._document_count = 0  # documents sent to the current process
        self._is_stopped = False

    def convert(self, body: bytes) -> ConvertedDocument:
        """Convert a document. The content of the document never causes an exception: failures are part of the result.

        If the process crashes after earlier documents, a new process gets a second attempt.
        """
        is_fresh = self._process is None
        result = self._request_conversion(body)
        if self._process is None and result.failure == Failure.UNPARSED and not is_fresh:
            # Previous documents may have caused the crash, so a new process gets one more attempt.
            result = self._request_conversion(body)
        if result.failure == Failure.READING_LIMIT or self._document_count >= self._max_requests:
            self.close()
        return result

    def stop(self) -> None:
        """Kill the process, even if another thread is using it, and never start one again."""
        self._is_stopped = True
        if self._process is not None:
            _kill_group(self._process)

    def close(self) -> int | None:
        """Kill the process and its children. Return its exit status, or None if there is no process.

        The next document starts a new process.
        """
        process, line = self._process, self._socket
        self._process = self._socket = None
        if line is not None:
            line.close()
        if process is None:
            return None
        _kill_group(process)
        return process.wait()

    def _request_conversion(self, body: bytes) -> ConvertedDocument:
        """Send a document to the process and wait for the result; kill the process on errors."""
        # The limit is CPU time. Twice as much wall-clock time allows for other processes on the machine.
        until = time.monotonic() + 2 * self.limits.cpu_seconds + (_STARTUP_SECONDS if self._process is None else 0.0)
        try:
            line = self._ensure_started()
            line.settimeout(max(0.1, until - time.monotonic()))
            line.sendall(encode_message(ConversionRequest(body, self.limits)))
            max_bytes = (MAX_ARCHIVE_FACTOR + 1) * self.limits.max_bytes + _MAX_METADATA_BYTES
            reader = _SocketReader(line, until, max_bytes)
            (length,) = LENGTH_PREFIX.unpack(reader.receive(LENGTH_PREFIX.size))
            return decode_message(reader.receive(length), ConvertedDocument)
        except TimeoutError:
            self.close()
            return self._build_timeout_result()
        except (OSError, EOFError, ValueError) as error:
            status = self.close()
            if status == -signal.SIGXCPU:
                return self._build_timeout_result()
            return ConvertedDocument(
                failure=Failure.UNPARSED, detail=f"the document process failed ({type(error).__name__})"
            )

    def _build_timeout_result(self) -> ConvertedDocument:
        """Return the result for a document that exceeds the time limit."""
        return ConvertedDocument(
            failure=Failure.READING_LIMIT, detail=f"not converted within {self.limits.cpu_seconds:g} s"
        )

    def _ensure_started(self) -> socket.socket:
        """Return the socket of the running process; start the process if there is none. Raise EOFError after `stop`."""
        self._document_count += 1
        if self._socket is not None and self._process is not None:
            return self._socket
        if self._is_stopped:
            raise EOFError
        ours, theirs = socket.socketpair()
        with theirs:
            # -B: write no bytecode. -P: import nothing from the working directory.
            self._process = subprocess.Popen(
                [sys.executable, "-B", "-P", "-m", self._module],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                cwd="/",
            )
        self._socket, self._document_count = ours, 1
        return ours


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and its children (its process group)."""
    # A process that has ended keeps its exit status and its id until the parent waits for it.
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


class _SocketReader:
    """Receive bytes from a socket until a deadline, up to a total limit."""

    def __init__(self, connection: socket.socket, deadline: float, max_bytes: int) -> None:
        self._connection = connection
        self._deadline = deadline
        self._remaining_bytes = max_bytes

    def receive(self, size: int) -> bytes:
        """Receive exactly `size` bytes.

        Raise TimeoutError at the deadline, EOFError if the socket is closed, and ValueError above the total limit.
        """
        self._remaining_bytes -= size
        if size < 0 or self._remaining_bytes < 0:
            raise ValueError("the result exceeds the size limit")
        parts = []
        while size:
            left = self._deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError
            self._connection.settimeout(left)
            part = self._connection.recv(min(size, 1 << 20))
            if not part:
                raise EOFError
            parts.append(part)
            size -= len(part)
        return b"".join(parts)
